"""What one session costs, as part of all sessions: its requests and turns go into the ledger, totals come out of it."""

import logging
import time
from datetime import datetime

from oi_tui.app.engine.agent.budget import BudgetNotice, dollars
from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.chat_model import Model
from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.errors import ModelError, StoreError
from oi_tui.app.engine.core.events import AnyEvent, StepStarted, TurnEnded, TurnStarted
from oi_tui.app.engine.core.model_request import RequestRecord, TurnRecord, provider_prefix
from oi_tui.app.engine.log.ledger import Ledger
from oi_tui.app.engine.log.metered_model import MeteredModel
from oi_tui.app.engine.session.fallback_model import FallbackModel
from oi_tui.app.engine.session.limits import LimitState, SpendingLimits
from oi_tui.app.engine.text.usage_table import usage_table

_log = logging.getLogger(__name__)


class Accounting:
    """Counts for one session. Without a ledger, models are only timed and logged."""

    def __init__(self, session: Session, setup: Configure, ledger: Ledger | None, session_id: str) -> None:
        self._session = session
        self._setup = setup
        self._ledger = ledger
        self._id = session_id
        self._begun: float | None = None
        """When the turn began; None between turns."""
        self._spent_before = 0.0
        """US dollars of the session before the turn."""
        self._uncounted: list[RequestRecord | TurnRecord] = []
        """What the ledger could not take yet, the oldest first."""
        self.limits = SpendingLimits(setup.settings.budget, ledger, profile=setup.profile)
        session.budget.wider = self

    def meter(self, model: Model) -> MeteredModel:
        """The same model; each of its requests is counted. One that another session left to this one is counted here
        from now on."""
        if isinstance(model, FallbackModel):
            model = model.first
        if isinstance(model, MeteredModel):
            return model.for_session(self._id)
        blank = RequestRecord(at=0.0, session_id=self._id, folder=self._setup.cwd, profile=self._setup.profile)
        return MeteredModel(model, self._note, blank, require=self._require, wait=self._wait)

    def follow(self, event: AnyEvent) -> None:
        """Count a turn when it ends."""
        match event:
            case TurnStarted() | StepStarted() if self._begun is None:
                self._begun = time.monotonic()
                self._spent_before = self._session.transcript.usage.priced
            case TurnEnded(reason="paused"):
                self._begun = None  # the person continues it: until then it is neither done nor failed
            case TurnEnded() if self._begun is not None:
                seconds, self._begun = time.monotonic() - self._begun, None
                self._note(
                    TurnRecord(
                        at=time.time(),
                        session_id=self._id,
                        folder=self._setup.cwd,
                        profile=self._setup.profile,
                        model=self._session.transcript.model,
                        ending=event.reason,
                        seconds=seconds,
                    )
                )
            case _:
                pass

    # -- limits over all sessions ---------------------------------------------------------------------

    @property
    def counts_money(self) -> bool:
        """Whether a limit of money is set, which an answer of unknown price could break."""
        return bool(self._states()) and self.limits.stops

    def obstacle(self) -> BudgetNotice | None:
        """Why no further request may be sent, None while there is room."""
        return self._obstacle(*self._state())

    def _obstacle(self, provider: str, turn_cost: float) -> BudgetNotice | None:
        try:
            if self._uncounted and self.counts_money:
                self._count()
            return self.limits.obstacle(provider, turn_cost)
        except StoreError as error:
            return BudgetNotice("error", error.title, error.hint)

    def _require(self, model: Model) -> None:
        """ModelError if a budget does not allow a request to exactly this model: one that continues for another, or
        writes summaries, has its own price and provider."""
        provider, (_, turn_cost) = provider_prefix(model.name), self._state()
        unpriced = self._session.budget.check_price(model.name, known=model.tells_price)
        if obstacle := unpriced or self._obstacle(provider, turn_cost):
            raise ModelError("budget", obstacle.title, hint=obstacle.hint)

    def notices(self) -> list[BudgetNotice]:
        """Notices about the limits after an answer, each once."""
        try:
            return list(self.limits.notices(*self._state()))
        except StoreError:
            return []  # reported before the next request

    def cheaper_model(self) -> str:
        """The model to continue with because a limit is reached, "" if there is no reason to."""
        cheaper = self.limits.cheaper_model
        if not cheaper or cheaper == self._session.transcript.model:
            return ""
        reached = [state for state in self._states() if state.is_over]
        if reached:
            title = f"{reached[0].name} is spent: {reached[0].share}."
            self._session.notice("warning", f"{title[0].upper()}{title[1:]}", f"Continuing with {cheaper}.")
        return cheaper if reached else ""

    def _wait(self) -> float:
        try:
            return self.limits.wait()
        except StoreError as error:  # it protects nobody's money
            _log.warning("requests are not held back: %s", error)
            return 0.0

    def _states(self) -> list[LimitState]:
        try:
            return self.limits.states(*self._state())
        except StoreError:
            return []

    def _state(self) -> tuple[str, float]:
        """The provider in use, and US dollars of the turn so far."""
        transcript = self._session.transcript
        return provider_prefix(transcript.model), max(0.0, transcript.usage.priced - self._spent_before)

    def tell_usage(self) -> None:
        """Say what was spent in this session, today and this month, and on which models. StoreError if nobody knows."""
        spent = self._session.transcript.usage
        said = [f"{'about ' if spent.estimated else ''}{dollars(spent.priced)} in this session"]
        details = ""
        if self._ledger is not None:
            today = datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
            month = today.replace(day=1).timestamp()
            said.append(f"{dollars(self._ledger.spending(today.timestamp()).cost)} today")
            said.append(f"{dollars(self._ledger.spending(month).cost)} this month")
            details = "\n".join(usage_table(self._ledger.rows("model", month), "model"))
        self._session.notice("info", f"Spent: {', '.join(said)}.", "More: oi-tui usage --by day", details)

    def _note(self, record: RequestRecord | TurnRecord) -> None:
        self._uncounted.append(record)
        try:
            self._count()
        except StoreError as error:  # an answer is not lost because its price cannot be kept
            _log.warning("a request is not counted yet: %s", error)

    def _count(self) -> None:
        """Write what is not in the ledger yet; StoreError if that fails: then nobody knows what was spent."""
        while self._uncounted:
            if self._ledger is not None:
                self._ledger.note(self._uncounted[0])
            del self._uncounted[0]
