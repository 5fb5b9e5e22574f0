"""What one session costs, as part of all sessions: its requests and turns go into the ledger, totals come out of it."""

import logging
import time
from datetime import datetime

from oi_tui.app.engine.agent.budget import dollars
from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.chat_model import Model
from oi_tui.app.engine.core.errors import StoreError
from oi_tui.app.engine.core.events import AnyEvent, StepStarted, TurnEnded, TurnStarted
from oi_tui.app.engine.core.model_request import RequestRecord, TurnRecord
from oi_tui.app.engine.core.protocol import Configure
from oi_tui.app.engine.log.ledger import Ledger
from oi_tui.app.engine.log.metered_model import MeteredModel
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

    def meter(self, model: Model) -> MeteredModel:
        """The same model; each of its requests is counted. One that another session left to this one is counted here
        from now on."""
        if isinstance(model, MeteredModel):
            return model.for_session(self._id)
        blank = RequestRecord(at=0.0, session_id=self._id, folder=self._setup.cwd, profile=self._setup.profile)
        return MeteredModel(model, self._note, blank)

    def follow(self, event: AnyEvent) -> None:
        """Count a turn when it ends."""
        match event:
            case TurnStarted() | StepStarted() if self._begun is None:
                self._begun = time.monotonic()
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
        if self._ledger is None:
            return
        try:
            self._ledger.note(record)
        except StoreError as error:  # an answer is not lost because its price cannot be kept
            _log.warning("a request was not counted: %s", error)
