"""The user's choices for a session, which may change at any time: the model, who decides, what it may cost."""

from collections.abc import Callable, Coroutine
from typing import Any

from oi_tui.app.engine.agent.budget import Budget
from oi_tui.app.engine.agent.decisions import Decisions
from oi_tui.app.engine.core.chat_model import Model
from oi_tui.app.engine.core.events import Emit, NoticeAdded, SettingsChanged
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.values import ApprovalMode
from oi_tui.app.engine.core.verbs import AddRule, SetApproval, SetBudget, SetComplete

INSISTS = "The model continues until it says that the task is done or impossible, or that it needs input."
INSISTS_NOT = "An answer without code ends the turn."


OpenModel = Callable[[], Coroutine[Any, Any, Model]]
"""OiTuiError if it cannot be had."""


class SessionChoices:
    """Each change emits one `SettingsChanged`, and applies from the next step, decision or request on."""

    def __init__(
        self, model: Model | None, decisions: Decisions, budget: Budget, emit: Emit, *, complete: bool = False
    ) -> None:
        self.model = model
        """None until one is open."""
        self._decisions = decisions
        self._budget = budget
        self._emit = emit
        self._model_name = model.name if model is not None else ""
        self._api_base = ""
        self.complete = complete
        """Whether the loop insists until the model says that it has come to an end."""
        self.aside: OpenModel | None = None
        """Opens the model for requests beside the conversation; None where that is the model itself."""
        self._allowed: dict[str, int] = {}
        """By model: the tokens that its server accepts, as it said when it refused more."""

    @property
    def window(self) -> int | None:
        """Tokens that the model takes, None if unknown."""
        if self.model is None:
            return None
        found = [window for window in (self.model.context_window, self._allowed.get(self.model.name)) if window]
        return min(found, default=None)

    def learn_window(self, name: str, tokens: int) -> None:
        """The server of this model refused more than so many."""
        self._allowed[name] = min(tokens, self._allowed.get(name, tokens))
        self._tell()

    def follow(self, verb: SetApproval | SetComplete | AddRule) -> None:
        """Apply a choice of the person; SettingsError for an invalid rule."""
        match verb:
            case SetApproval():
                self.set_approval(verb.mode)
            case SetComplete():
                self.set_complete(verb.on)
            case AddRule():
                self._decisions.add_rule(verb.verdict, verb.rule)
                title = f"For as long as this session is open: {verb.verdict} {verb.rule}"
                self._emit(NoticeAdded(block_id=new_id(), level="info", title=title))

    def set_approval(self, mode: ApprovalMode) -> None:
        """Who decides from the next decision on."""
        self._decisions.mode = mode
        self._tell()

    def end_planning(self) -> bool:
        """Return to the mode before plan mode; False if the settings ask for plan mode."""
        ended = self._decisions.end_planning()
        self._tell()
        return ended

    def set_budget(self, verb: SetBudget) -> None:
        """Other limits from the next request on."""
        self._budget.change(verb.max_cost, verb.max_tokens)
        self._tell()

    def set_complete(self, on: bool) -> None:
        """Applies from the next answer without code."""
        self.complete = on
        self._tell()
        self._emit(NoticeAdded(block_id=new_id(), level="info", title=INSISTS if on else INSISTS_NOT))

    def expect_model(self, name: str, api_base: str) -> None:
        """Another model, on this server if one was named, is being opened: until it is, the one before stays."""
        self._model_name, self._api_base = name, api_base
        self._tell()

    def use_model(self, model: Model) -> None:
        """Another model from the next step on."""
        self.model, self._model_name = model, model.name
        self._tell()

    def _tell(self) -> None:
        self._emit(
            SettingsChanged(
                model=self._model_name,
                approval=self._decisions.mode,
                context_window=self.window,
                api_base=self._api_base,
                max_cost=self._budget.cost,
                max_tokens=self._budget.tokens,
                complete=self.complete,
            )
        )
