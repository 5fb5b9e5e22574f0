"""Who decides about proposed code: a rule, the approval mode, an earlier "always", or the person.

Nothing here runs anything. `settle` gives the events of one decision; what they mean for the turn stands in
`end` afterwards.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence

import msgspec

from oi_tui.app.engine.agent.guard import RepeatGuard
from oi_tui.app.engine.core.blocks import Block, CodeBlock, UserBlock
from oi_tui.app.engine.core.encoding import text_digest
from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.core.events import (
    AnyEvent,
    Decider,
    DecisionMade,
    DecisionRequested,
    StopReason,
    TurnEnded,
    Verdict,
)
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.values import ApprovalMode, Confinement, Language
from oi_tui.app.engine.core.verbs import Decide
from oi_tui.app.engine.kernels.base import KernelSource
from oi_tui.app.engine.policy.decide import Policy, PolicyDecision, PolicyRequest, decide
from oi_tui.app.engine.policy.rule_text import parse_short
from oi_tui.app.engine.policy.rules import Effect as RuleVerdict
from oi_tui.app.engine.policy.taint import Taint, is_foreign


class Decisions:
    """The decisions of one session."""

    def __init__(
        self,
        mode: ApprovalMode,
        kernels: KernelSource,
        *,
        can_ask: bool,
        policy: Policy | None = None,
        past: Sequence[Block] = (),
    ) -> None:
        """`past` is what the session held when it was opened."""
        self.mode = mode
        self.policy = policy if policy is not None else Policy()
        self._kernels = kernels
        self.end: TurnEnded | None = None
        """Set when a decision ends the turn; the session clears it at the begin of each."""
        self._can_ask = can_ask
        self._granted: set[tuple[Language, str, int]] = set()
        """Language, digest of the source, generation of the kernel: a fresh kernel is another one."""
        self._waiting: tuple[DecisionRequested, asyncio.Future[Decide]] | None = None
        self._changed: set[tuple[Language, int]] = set()
        """Shells in which something ran that gives later words another meaning, by generation."""
        self._taint = Taint()
        self._past = tuple(past)
        """What has not been looked through for it yet."""

    def answer(self, verb: Decide) -> bool:
        """The person's answer; False if that request is not waiting (any more), or "run" is said of another source."""
        if self._waiting is None:
            return False
        request, future = self._waiting
        if verb.request_id != request.request_id or future.done():
            return False
        if verb.verdict == "run" and verb.source not in (None, request.source):
            return False
        future.set_result(verb)
        return True

    def withdraw(self) -> None:
        """Refuse what is waiting, because the turn is being stopped."""
        if self._waiting is not None:
            self.answer(Decide(request_id=self._waiting[0].request_id, verdict="stop"))

    def forget(self) -> None:
        """No grant holds any longer, and nothing that was read is remembered."""
        self._granted.clear()
        self._taint, self._past = Taint(), ()

    def fork(self) -> "Decisions":
        """Those of another session in the same kernels: what is known of these stays, grants do not."""
        other = Decisions(self.mode, self._kernels, can_ask=self._can_ask, policy=self.policy, past=self._past)
        other._changed = set(self._changed)
        other._taint = self._taint
        return other

    def add_rule(self, verdict: RuleVerdict, text: str) -> None:
        """One more rule, as long as the session is open; SettingsError if it is none."""
        rules = parse_short((text,), verdict, "this session")
        self.policy = msgspec.structs.replace(self.policy, rules=(*self.policy.rules, *rules))

    def confinement(self, language: Language) -> Confinement:
        """What holds back the kernel that would run this language now; where there is none, nothing is promised."""
        try:
            return self._kernels.get(language).confinement
        except KernelError:
            return Confinement()

    def note_run(self, language: Language, source: str, generation: int) -> None:
        """Take note of what is about to run: what it reads, and in a shell, what it may redefine."""
        found = decide(PolicyRequest(language, source), self.policy)
        self._taint = self._taint.and_of(found.taint)
        if found.lasting:
            self._changed.add((language, generation))

    def note_files(self, files: Sequence[str]) -> None:
        """The person gave the model these files."""
        if any(is_foreign(file, self.policy.base) for file in files):
            self._taint = self._taint.and_of(Taint(foreign=True))

    def denial_reason(self, block: CodeBlock, generation: int) -> str:
        """Why this is not run again among others, "" if nothing is against it. That it was chosen answers what the mode
        would ask, not what a rule asks or what the source itself gives reason to ask."""
        if self.mode == "never":
            return "denied by the approval mode “never”"
        ruling = self._ruling(block.language, block.source, generation)
        if ruling.verdict == "deny":
            return f"denied by {ruling.by}"
        if ruling.verdict == "ask" and ruling.ground != "mode":
            return f"asked about because of {ruling.by}: run it again by itself with r"
        return ""

    async def settle(
        self, block: CodeBlock, guard: RepeatGuard, next_generation: Callable[[], int]
    ) -> AsyncGenerator[AnyEvent, None]:
        """`DecisionMade`, with `DecisionRequested` before it where the person has to be asked.

        `next_generation` tells of the kernel that would run it now: a yes that was meant for another one is asked for
        again. Of the rules, the mode, the repeat guard and an earlier
        "always", the strictest counts; "always" answers what the mode would ask, not what a rule asks.
        """
        objection, generation = guard.objection(block.language, block.source), next_generation()
        ruling = self._ruling(block.language, block.source, generation)
        granted = (block.language, text_digest(block.source), generation) in self._granted
        if self.mode == "never":
            yield self._never(block)
        elif ruling.verdict == "deny":
            yield self._deny(block, ruling)
        elif not objection and ruling.verdict == "allow":
            reason = f"allowed by {ruling.by}" if ruling.ground == "rule" else ""
            yield decision_event(block, "run", "rule" if ruling.ground == "rule" else "mode", reason=reason)
        elif not objection and granted and ruling.ground == "mode":
            yield decision_event(block, "run", "grant")
        elif not self._can_ask:
            yield self._refuse_unasked(block, ruling, objection)
        else:
            why = objection or self._why(ruling)
            while True:
                request, future = _request(block, why, ruling.labels), asyncio.get_running_loop().create_future()
                self._waiting = (request, future)
                try:
                    yield request
                    verb = await future
                finally:
                    self._waiting = None
                if verb.verdict in ("skip", "stop") or generation == next_generation():
                    break
                generation, why = next_generation(), "its kernel ended while you were asked, and the variables are gone"
            yield self._apply_decision(block, verb, guard, generation)

    def _ruling(self, language: Language, source: str, generation: int) -> PolicyDecision:
        confinement, changed = self.confinement(language), (language, generation) in self._changed
        request = PolicyRequest(language, source, changed, self._taint_so_far(confinement), confinement)
        return decide(request, self.policy, self.mode)

    def _taint_so_far(self, confinement: Confinement) -> Taint:
        """The past is looked through when it is needed: only where there is a way out."""
        if self._past and not confinement.offline:
            past, self._past = self._past, ()
            for block in past:
                match block:
                    case UserBlock():
                        self.note_files(block.files)
                    case CodeBlock() if block.duration is not None:
                        found = decide(PolicyRequest(block.language, block.source), self.policy)
                        self._taint = self._taint.and_of(found.taint)
                    case _:
                        pass
        return self._taint

    def _why(self, ruling: PolicyDecision) -> str:
        """What the person is told; nothing where it is the session's own mode that asks."""
        return "" if self.mode == "ask" and ruling.ground == "mode" else f"asked because of {ruling.by}"

    def _never(self, block: CodeBlock) -> AnyEvent:
        """Refused without a question, and the turn with it."""
        self._stop("refused", "Nothing is run in the approval mode “never”.")
        return decision_event(block, "stop", "mode", reason="nothing may be run in this session")

    def _deny(self, block: CodeBlock, ruling: PolicyDecision) -> AnyEvent:
        """Refused without a question. The model is told by what, and goes on."""
        if ruling.by == "the mode “plan”":
            self._stop("refused", "Nothing is run in the mode “plan”.")
            return decision_event(block, "stop", "mode", reason="nothing may be run in this session")
        return decision_event(
            block, "skip", "mode" if ruling.ground == "mode" else "rule", reason=f"denied by {ruling.by}"
        )

    def _refuse_unasked(self, block: CodeBlock, ruling: PolicyDecision, objection: str) -> AnyEvent:
        """Nobody can be asked. What a rule or the source itself stands against is told to the model, which goes on."""
        if not objection and ruling.ground != "mode":
            return decision_event(
                block, "skip", "rule", reason=f"there is nobody to approve it, which is needed because of {ruling.by}"
            )
        why = objection or "there is nobody to approve it"
        self._stop("repeated" if objection else "refused", f"Not run: {why}.")
        return decision_event(block, "stop", "rule", reason=why)

    def _apply_decision(self, block: CodeBlock, verb: Decide, guard: RepeatGuard, generation: int) -> AnyEvent:
        """What comes of an answer: mode and rules hold as they are now, and for edited code too."""
        match verb.verdict:
            case "run" | "always" | "edit":
                source = block.source if verb.source is None else verb.source
                ruling = self._ruling(block.language, source, generation)
                if self.mode == "never":
                    return self._never(block)
                if ruling.verdict == "deny":
                    return self._deny(block, ruling)
                if verb.verdict == "always":
                    self._granted.add((block.language, text_digest(source), generation))
                guard.allow()
                return decision_event(block, verb.verdict, "person", source=source, request_id=verb.request_id)
            case "skip":
                if not verb.reason:
                    self._stop("refused", "You refused the code.")
                return decision_event(block, "skip", "person", reason=verb.reason, request_id=verb.request_id)
            case "stop":
                self._stop("stopped", "Stopped by you.")
                return decision_event(block, "stop", "person", reason=verb.reason, request_id=verb.request_id)

    def _stop(self, reason: StopReason, detail: str) -> None:
        self.end = TurnEnded(reason=reason, detail=detail)


def decision_event(
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


def _request(block: CodeBlock, why: str, labels: tuple[str, ...]) -> DecisionRequested:
    return DecisionRequested(
        request_id=new_id(),
        block_id=block.id,
        language=block.language,
        source=block.source,
        sha256=text_digest(block.source),
        why=why,
        labels=labels,
    )
