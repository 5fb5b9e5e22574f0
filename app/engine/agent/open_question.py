"""The one question about an action that waits for its answer."""

import asyncio
from typing import NamedTuple

from oi_tui.app.engine.core.events import DecisionRequested, Emit
from oi_tui.app.engine.core.verbs import Decide, Revise


class NoAnswer(NamedTuple):
    """Nobody answered a question, and it was withdrawn."""

    request_id: str
    why: str


class OpenQuestion:
    """The question of one session; `answer`, `withdraw` and `give_up` end the `ask` that waits."""

    def __init__(self, turns: asyncio.Lock) -> None:
        """`turns` is a lock: one question at a time."""
        self._turns = turns
        self._waiting: tuple[DecisionRequested, asyncio.Future[Decide | Revise | NoAnswer]] | None = None

    async def ask(self, request: DecisionRequested, emit: Emit) -> Decide | Revise | NoAnswer:
        """Emit the request, and wait for what the person says."""
        async with self._turns:
            future: asyncio.Future[Decide | Revise | NoAnswer] = asyncio.get_running_loop().create_future()
            self._waiting = (request, future)
            try:
                emit(request)
                return await future
            finally:
                self._waiting = None

    def answer(self, verb: Decide | Revise) -> bool:
        """The user's answer; False if that request is not waiting (any more), or "run" is about another source."""
        if self._waiting is None:
            return False
        request, future = self._waiting
        if verb.request_id != request.request_id or future.done():
            return False
        match verb:
            case Revise() if not request.tool:
                return False
            case Decide(verdict="run") if verb.source not in (None, request.source):
                return False
            case Decide(install=True) if not (verb.verdict == "run" and request.offer):
                return False
            case _:
                future.set_result(verb)
                return True

    def withdraw(self) -> None:
        """Refuse what is waiting, because the turn is being stopped."""
        if self._waiting is not None:
            self.answer(Decide(request_id=self._waiting[0].request_id, verdict="stop"))

    def give_up(self, why: str) -> None:
        """Refuse what is waiting, because nobody answers."""
        if self._waiting is not None and not self._waiting[1].done():
            self._waiting[1].set_result(NoAnswer(self._waiting[0].request_id, why))
