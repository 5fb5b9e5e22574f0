"""Who decides about proposed code: the approval mode, an earlier "always", or the person.

Nothing here runs anything. `settle` gives the events of one decision; what they mean for the turn stands in
`end` afterwards.
"""

import asyncio
import hashlib
from collections.abc import AsyncGenerator

from oi_tui.app.engine.blocks import CodeBlock
from oi_tui.app.engine.events import (
    AnyEvent,
    Decider,
    DecisionMade,
    DecisionRequested,
    StopReason,
    TurnEnded,
    Verdict,
)
from oi_tui.app.engine.ids import new_id
from oi_tui.app.engine.loop.guard import RepeatGuard
from oi_tui.app.engine.values import ApprovalMode, Language
from oi_tui.app.engine.verbs import Decide


class Decisions:
    """The decisions of one session."""

    def __init__(self, mode: ApprovalMode, *, can_ask: bool) -> None:
        self.mode = mode
        self.end: TurnEnded | None = None
        """Set when a decision ends the turn; the session clears it at the begin of each."""
        self._can_ask = can_ask
        self._granted: set[tuple[Language, str, int]] = set()
        """Language, digest of the source, generation of the kernel: a fresh kernel is another one."""
        self._waiting: tuple[str, asyncio.Future[Decide]] | None = None

    def answer(self, verb: Decide) -> bool:
        """The person's answer; False if that request is not waiting (any more)."""
        if self._waiting is None:
            return False
        request_id, future = self._waiting
        if verb.request_id != request_id or future.done():
            return False
        future.set_result(verb)
        return True

    def withdraw(self) -> None:
        """Refuse what is waiting, because the turn is being stopped."""
        if self._waiting is not None:
            self.answer(Decide(request_id=self._waiting[0], verdict="stop"))

    def forget(self) -> None:
        """No grant holds any longer."""
        self._granted.clear()

    async def settle(self, block: CodeBlock, guard: RepeatGuard, generation: int) -> AsyncGenerator[AnyEvent, None]:
        """`DecisionMade`, with `DecisionRequested` before it where the person has to be asked.

        `generation` is that of the kernel that would run it.
        """
        objection = guard.objection(block.language, block.source)
        if self.mode == "never":
            self._stop("refused", "Nothing is run in the approval mode “never”.")
            yield made(block, "stop", "mode", reason="nothing may be run in this session")
        elif not objection and self.mode == "auto":
            yield made(block, "run", "mode")
        elif not objection and (block.language, _digest(block.source), generation) in self._granted:
            yield made(block, "run", "grant")
        elif not self._can_ask:
            why = objection or "there is nobody to approve it"
            self._stop("repeated" if objection else "refused", f"Not run: {why}.")
            yield made(block, "stop", "rule", reason=why)
        else:
            future: asyncio.Future[Decide] = asyncio.get_running_loop().create_future()
            request = _request(block, objection)
            self._waiting = (request.request_id, future)
            try:
                yield request
                verb = await future
            finally:
                self._waiting = None
            yield self._decided(block, verb, guard, generation)

    def _decided(self, block: CodeBlock, verb: Decide, guard: RepeatGuard, generation: int) -> AnyEvent:
        match verb.verdict:
            case "run" | "always" | "edit":
                source = block.source if verb.source is None else verb.source
                if verb.verdict == "always":
                    self._granted.add((block.language, _digest(source), generation))
                guard.allow()
                return made(block, verb.verdict, "person", source=source, request_id=verb.request_id)
            case "skip":
                if not verb.reason:
                    self._stop("refused", "You refused the code.")
                return made(block, "skip", "person", reason=verb.reason, request_id=verb.request_id)
            case "stop":
                self._stop("stopped", "Stopped by you.")
                return made(block, "stop", "person", reason=verb.reason, request_id=verb.request_id)

    def _stop(self, reason: StopReason, detail: str) -> None:
        self.end = TurnEnded(reason=reason, detail=detail)


def made(
    block: CodeBlock,
    verdict: Verdict,
    decider: Decider,
    *,
    source: str | None = None,
    reason: str = "",
    request_id: str | None = None,
) -> DecisionMade:
    """The event of a decision about this block, whose source is what runs unless another is given."""
    return DecisionMade(
        block_id=block.id,
        verdict=verdict,
        decider=decider,
        source=block.source if source is None else source,
        reason=reason,
        request_id=request_id,
    )


def _request(block: CodeBlock, why: str) -> DecisionRequested:
    return DecisionRequested(
        request_id=new_id(),
        block_id=block.id,
        language=block.language,
        source=block.source,
        sha256=_digest(block.source),
        why=why,
    )


def _digest(source: str) -> str:
    return hashlib.sha256(source.encode(errors="surrogatepass")).hexdigest()
