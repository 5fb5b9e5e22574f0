"""The questions of a session, put to functions of the program."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar, cast

from oi_tui.app.api.results import ApprovalRequest
from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.blocks import Block, CallBlock, CodeBlock
from oi_tui.app.engine.core.events import DecisionRequested, InputRequested
from oi_tui.app.engine.core.verbs import Decide
from oi_tui.app.engine.tools.thread_call import call_in_thread

Approve = Callable[[ApprovalRequest], bool | str | Awaitable[bool | str]]
"""True runs it; a text refuses it, and the model reads why; False refuses it and ends the run. A coroutine, or a plain
function, which is called in a thread and may wait for a person."""

AnswerInput = Callable[[str], str | Awaitable[str | None] | None]
"""Is given the question of running code, and returns the line that it gets; None gives none, which interrupts code."""

ArgumentT = TypeVar("ArgumentT")
AnswerT = TypeVar("AnswerT")


class Callbacks:
    """Callbacks of one session. An error of one ends the run and is passed to the program."""

    def __init__(self, approve: Approve | None, answer_input: AnswerInput | None) -> None:
        self._approve, self._answer_input = approve, answer_input
        self.failure: BaseException | None = None
        """What a function of the program raised in this run."""
        self._tasks: set[asyncio.Task[None]] = set()

    def ask(self, session: Session, event: DecisionRequested | InputRequested) -> None:
        """Put the question; the session gets the answer."""
        match event:
            case DecisionRequested():
                self._begin(self._decide(session, event))
            case InputRequested(call=None):
                self._begin(self._answer(session, event))
            case _:
                pass

    def end_run(self) -> None:
        """The run has ended: a callback that still runs can neither decide nor end the next run."""
        for task in self._tasks:
            task.cancel()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _decide(self, session: Session, event: DecisionRequested) -> None:
        if self._approve is None:  # the program answers lines of input alone
            session.decide(Decide(request_id=event.request_id, verdict="skip", source=event.source))
            return
        request = ApprovalRequest(
            runs_in=runner_name(session.transcript.block(event.block_id)),
            source=event.source,
            is_call=bool(event.tool),
            labels=event.labels,
            why=event.why,
        )
        try:
            answer = await _call(self._approve, request)
        except Exception as error:
            # Boundary: the program's own function. Nothing runs, the run ends, and the program gets its error.
            self.failure = error
            session.interrupt(turn=True)
            return
        if answer is True:
            session.decide(Decide(request_id=event.request_id, verdict="run", source=event.source))
        else:
            why = answer if isinstance(answer, str) else ""
            session.decide(Decide(request_id=event.request_id, verdict="skip", reason=why))

    async def _answer(self, session: Session, event: InputRequested) -> None:
        line: str | None = None
        if self._answer_input is not None:
            try:
                line = await _call(self._answer_input, event.prompt)
                if not (line is None or isinstance(line, str)):
                    raise TypeError(f"answer_input returned {type(line).__name__}: a line is text")
            except Exception as error:
                # Boundary: as above.
                self.failure = error
                session.interrupt(turn=True)
                return
        if line is None and not event.asked_by:
            session.interrupt()
        else:  # a tool can continue without
            await session.answer(event.request_id, line)


def runner_name(block: Block) -> str:
    """The language of code, the name of the tool of a call."""
    match block:
        case CodeBlock():
            return block.language
        case CallBlock():
            return block.tool
        case _:
            return ""


async def _call(callback: Callable[[ArgumentT], AnswerT | Awaitable[AnswerT]], argument: ArgumentT) -> AnswerT:
    """Call a function of the program. RuntimeError for what would end more than this: the session's loop, or the task
    that asks."""
    try:
        if inspect.iscoroutinefunction(callback):
            found: AnswerT = await callback(argument)
            return found
        answer = await call_in_thread(lambda: callback(argument), "callback")
        return await cast(Awaitable[AnswerT], answer) if inspect.isawaitable(answer) else cast(AnswerT, answer)
    except (SystemExit, KeyboardInterrupt, asyncio.CancelledError) as error:
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
            raise  # the run is over
        raise RuntimeError(f"The callback raised {type(error).__name__}: {error}") from error
