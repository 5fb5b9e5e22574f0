"""The approval mode of a session, and what it comes to for one action while a plan is made."""

from oi_tui.app.engine.core.values import ApprovalMode
from oi_tui.app.engine.policy.decision import PolicyRequest
from oi_tui.app.engine.policy.risks import NETWORK


class ApprovalState:
    """The mode that the user chose, and the one that holds when a plan is accepted."""

    def __init__(self, mode: ApprovalMode) -> None:
        self._mode = mode
        self.after_planning: ApprovalMode = "ask" if mode == "plan" else mode
        """The mode after plan mode; never less strict than the person's choice."""

    @property
    def mode(self) -> ApprovalMode:
        """The mode that was set last."""
        return self._mode

    @mode.setter
    def mode(self, mode: ApprovalMode) -> None:
        if mode != "plan":
            self.after_planning = mode
        self._mode = mode

    def copy(self) -> "ApprovalState":
        """The state for another session."""
        other = ApprovalState(self.after_planning)
        other.mode = self._mode
        return other

    def mode_for(self, request: PolicyRequest) -> ApprovalMode:
        """In plan mode, what only reads is decided about as before it; but nothing reaches the network unasked."""
        if self._mode != "plan" or not request.reads_only:
            return self._mode
        reaches = request.reading is None or any(risk.what == NETWORK for risk in request.reading.risks)
        return "ask" if reaches and self.after_planning == "auto" else self.after_planning
