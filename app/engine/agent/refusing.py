"""What is refused without a question, and what that is to the turn."""

from typing import NamedTuple

import msgspec

from oi_tui.app.engine.agent.decision_events import decision_event
from oi_tui.app.engine.agent.guard import CROWDED
from oi_tui.app.engine.agent.halt import TurnStopped
from oi_tui.app.engine.agent.open_question import NoAnswer
from oi_tui.app.engine.core.blocks import ActionBlock
from oi_tui.app.engine.core.events import DecisionMade
from oi_tui.app.engine.core.outcomes import NOBODY, StopReason
from oi_tui.app.engine.core.values import ApprovalMode
from oi_tui.app.engine.policy.decision import PolicyDecision

PLANNING = "plan mode is on: nothing runs but tools that only read, until the user accepts the plan"


class Settled(NamedTuple):
    """The outcome of a proposal."""

    made: DecisionMade
    stop: TurnStopped | None = None
    """How it ends the turn, if it does."""
    ruling: PolicyDecision | None = None
    """The policy's decision about the source that would run, None without one."""

    def of_edited(self) -> "Settled":
        """The same for an edited proposal: a run of it is recorded as an edit."""
        if self.made.verdict != "run":
            return self
        return self._replace(made=msgspec.structs.replace(self.made, verdict="edit"))


def refuse_all(block: ActionBlock) -> Settled:
    """Refused without a question, and the turn with it."""
    refusal = decision_event(block, "stop", "mode", reason="nothing may be run in this session")
    return Settled(refusal, TurnStopped("refused", "Nothing is run in the approval mode “never”."))


def deny(block: ActionBlock, ruling: PolicyDecision, mode: ApprovalMode) -> Settled:
    """Refused without a question. The model gets the reason and continues, unless no code can ever run here."""
    if ruling.by == "the mode “plan”" and mode != "plan":
        refusal = decision_event(block, "stop", "mode", reason="nothing may be run in this session")
        return Settled(refusal, TurnStopped("refused", "No code is run in the mode “plan”."))
    reason = PLANNING if ruling.by == "the mode “plan”" else f"denied by {ruling.by}"
    return Settled(decision_event(block, "skip", "mode" if ruling.ground == "mode" else "rule", reason=reason))


def refuse_unanswered(block: ActionBlock, answer: NoAnswer) -> Settled:
    """Asked about in vain."""
    return Settled(decision_event(block, "skip", "rule", reason=answer.why, request_id=answer.request_id))


def refuse_unasked(block: ActionBlock, ruling: PolicyDecision, objection: str) -> Settled:
    """Refuse because nobody can decide. If a rule or the source itself is the reason, the model gets it and
    continues."""
    if not objection and ruling.ground != "mode":
        why = f"{NOBODY}, which is needed because of {ruling.by}"
        return Settled(decision_event(block, "skip", "rule", reason=why))
    why = objection or NOBODY
    reason: StopReason = "step_cap" if objection == CROWDED else "repeated" if objection else "refused"
    return Settled(decision_event(block, "stop", "rule", reason=why), TurnStopped(reason, f"Not run: {why}."))
