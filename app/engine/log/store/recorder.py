"""From the loop to the disk: what is complete at once, text that streams every quarter of a second."""

from collections.abc import Iterable
from typing import Protocol

from oi_tui.app.engine.core.encoding import as_json
from oi_tui.app.engine.core.errors import StoreError
from oi_tui.app.engine.core.events import (
    AnyEvent,
    ConversationCleared,
    ExecutionFinished,
    OutputsCleared,
    OutputTailMoved,
)
from oi_tui.app.engine.log.store.database import StoreBusy
from oi_tui.app.engine.transcript.coalesce import coalesce, is_delta


class Log(Protocol):
    """What a recorder writes to."""

    def append(self, session_id: str, events: Iterable[AnyEvent], *, patience: float) -> None:
        """Add events at the end, all or none; StoreError if that fails, StoreBusy after so many seconds."""
        ...


ATTEMPTS = 3
"""Failures in a row after which a session is no longer written down. That the file is locked is none: it passes."""

PATIENCE = 0.25
"""Seconds that an attempt waits for a file that is locked: nothing else happens in the engine meanwhile."""

HELD = 50_000_000
"""Bytes of events that wait at most for a file that is locked."""

DELTA_INTERVAL = 0.25
"""Seconds after which text that still streams is written too."""


class Recorder:
    """Appends the events of one session, text that streams in pieces of up to `DELTA_INTERVAL`.

    Of the ends that a long output has while it runs, the first and the last are written.
    """

    def __init__(self, store: Log, session_id: str, *, held: int = HELD) -> None:
        """`held`: bytes of events that wait at most for a file that is locked."""
        self._store = store
        self._session_id = session_id
        self._held = held
        self._pending: list[AnyEvent] = []
        self._complete = False
        """Whether something waits that is no piece of streaming text."""
        self._since = 0.0
        self._failures = 0
        self._too_much = False
        self._tails: dict[tuple[str, str], OutputTailMoved | None] = {}
        """By block and stream of what runs: its newest end, None if that is written or about to be."""

    def put(self, events: Iterable[AnyEvent], now: float) -> None:
        """Take events; writes at once when that is due."""
        self.take(events, now)
        if self.due(now):
            self.flush()

    def take(self, events: Iterable[AnyEvent], now: float) -> None:
        """Have these wait."""
        if not self._pending:
            self._since = now
        for event in events:
            self._take(event)

    def due(self, now: float) -> bool:
        """Whether something that waits is complete, or text has waited long enough."""
        waited = bool(self._pending) and now - self._since >= DELTA_INTERVAL
        return waited or self._complete

    @property
    def waiting(self) -> bool:
        """Whether something has not been written yet."""
        return bool(self._pending)

    def flush(self) -> None:
        """Write what waits; what could not be written is tried again with what comes next."""
        self._pending = coalesce(self._pending)
        try:
            self._store.append(self._session_id, self._pending, patience=PATIENCE)
        except StoreBusy:
            self._too_much = sum(len(as_json(event)) for event in self._pending) > self._held
            raise
        except StoreError:
            self._failures += 1
            raise
        self._pending, self._complete, self._failures = [], False, 0

    def close(self) -> None:
        """Write everything: nothing comes any more."""
        self._pending += [tail for tail in self._tails.values() if tail is not None]
        self._tails.clear()
        self.flush()

    def _take(self, event: AnyEvent) -> None:
        match event:
            case OutputTailMoved(block_id=block_id, name=name) if (block_id, name) in self._tails:
                self._tails[block_id, name] = event
                return
            case OutputTailMoved(block_id=block_id, name=name):
                self._tails[block_id, name] = None
            case ExecutionFinished(block_id=block_id):
                self._pending += [tail for tail in self._forget(block_id) if tail is not None]
            case OutputsCleared(block_id=block_id):
                self._forget(block_id)
            case ConversationCleared():
                self._tails.clear()
            case _:
                pass
        self._pending.append(event)
        self._complete = self._complete or not is_delta(event)

    def _forget(self, block_id: str) -> list[OutputTailMoved | None]:
        return [self._tails.pop(key) for key in tuple(self._tails) if key[0] == block_id]

    @property
    def gave_up(self) -> bool:
        """Whether it has failed so often in a row, or so much waits, that it is not to be tried again."""
        return self._failures >= ATTEMPTS or self._too_much
