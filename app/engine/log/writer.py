"""The events of one session on their way to the disk: what is complete at once, text that streams in pieces."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterable
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
from oi_tui.app.engine.log.store import StoreBusy
from oi_tui.app.engine.transcript.coalesce import coalesce, is_delta

DELTA_INTERVAL = 0.25
"""Seconds after which text that still streams is written too."""

SYNC_INTERVAL = 0.1
"""Seconds after which what was written is brought to the disk, if nothing waits for that."""

GATHERED = 1 / 60
"""Seconds between two writes at least: what happens at once is committed at once."""

ATTEMPTS = 3
"""Failures in a row after which a session is no longer written down. That the file is locked is none: it passes."""

PATIENCE = 0.25
"""Seconds that an attempt waits for a file that is locked: nothing else happens in the engine meanwhile."""

HELD = 50_000_000
"""Bytes of events that wait at most for a file that is locked."""

PAUSE, LONGEST_PAUSE = 0.5, 5.0
"""Seconds after a failure before it is tried again; twice as long after each that follows."""

LAST_ATTEMPTS, LAST_PAUSE = 4, 0.75
"""The same when there is an end to wait for: about three seconds in all."""

_log = logging.getLogger(__name__)


class EventStore(Protocol):
    """Where the events go."""

    def append(self, session_id: str, events: Iterable[AnyEvent], *, patience: float, sync: bool) -> None:
        """Append events, all or none; StoreError if that fails, StoreBusy after this many seconds. Without `sync` they
        are on the disk only after `sync`."""
        ...

    def sync(self) -> None:
        """Wait, in a thread, until they are there; StoreError if that fails."""
        ...


class LogWriter:
    """Appends the events of one session. What cannot be written waits, and is tried again.

    What is written outlives this program at once. The disk is waited for in a thread, a moment later.

    Of the ends that a long output has while it runs, the first and the last are written.
    """

    def __init__(
        self,
        store: EventStore,
        session_id: str,
        gave_up: Callable[[StoreError], None],
        *,
        held: int = HELD,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`gave_up` is called once if the store fails permanently; from then on nothing is written. `held`: how many
        bytes of events may wait for a locked file."""
        self._store = store
        self._session_id = session_id
        self._gave_up = gave_up
        self._held = held
        self._clock = clock
        self._pending: list[AnyEvent] = []
        self._complete = False
        """Whether something waits that is no piece of a text that streams."""
        self._since = 0.0
        self._failures = 0
        self._pause, self._again = 0.0, 0.0
        """How long it is waited after the last failure, and until when."""
        self._over = False
        self._written = self._synced = 0
        """How often something was written, and how many of these are on the disk for certain."""
        self._behind_since = 0.0
        """When the first of the others was written."""
        self._syncing: tuple[int, asyncio.Future[None]] | None = None
        """How many will be when this is done."""
        self._syncs_each = False
        """Whether each write waits for the disk: to wait for it later has failed."""
        self._wake = asyncio.Event()
        self._tails: dict[tuple[str, str], OutputTailMoved | None] = {}
        """By block and stream of what runs: its newest end, None if that is written or about to be."""

    @property
    def waiting(self) -> bool:
        """Whether something has not been written yet."""
        return bool(self._pending)

    @property
    def unwritten(self) -> list[AnyEvent] | None:
        """What the store does not have yet, the newest ends of what runs among it; None if nothing is written any
        more."""
        if self._over:
            return None
        return [*self._pending, *(tail for tail in self._tails.values() if tail is not None)]

    def append(self, event: AnyEvent) -> None:
        """Have this written soon."""
        if self._over:
            return
        if not self._pending:
            self._since = self._clock()
        match event:
            case OutputTailMoved(block_id=block_id, name=name) if (block_id, name) in self._tails:
                self._tails[block_id, name] = event
                return
            case OutputTailMoved(block_id=block_id, name=name):
                self._tails[block_id, name] = None
            case ExecutionFinished(block_id=block_id):
                self._pending += self._last_tails(block_id)
            case OutputsCleared(block_id=block_id):
                self._last_tails(block_id)
            case ConversationCleared():
                self._tails.clear()
            case _:
                pass
        self._pending.append(event)
        self._complete = self._complete or not is_delta(event)
        self._wake.set()

    async def keep(self) -> None:
        """Write what is due, until cancelled."""
        while True:
            with contextlib.suppress(TimeoutError):
                is_behind = self._synced != self._written
                async with asyncio.timeout(DELTA_INTERVAL if self._pending else SYNC_INTERVAL if is_behind else None):
                    await self._wake.wait()
            self.write_due()
            self._wake.clear()
            if self._clock() - self._behind_since >= SYNC_INTERVAL:
                await self.sync()
            await asyncio.sleep(GATHERED)

    def write_due(self) -> None:
        """Write if something that waits is complete, or text has waited long enough, unless it has just failed."""
        now = self._clock()
        if now >= self._again and (self._complete or (self._pending and now - self._since >= DELTA_INTERVAL)):
            self.write()

    def write(self) -> StoreError | None:
        """Write what waits, also text that still streams. What went wrong; it is tried again in time."""
        if self._over or not self._pending:
            return None
        self._pending = coalesce(self._pending)
        try:
            self._store.append(self._session_id, self._pending, patience=PATIENCE, sync=self._syncs_each)
        except StoreError as error:
            self._pause = min(self._pause * 2, LONGEST_PAUSE) or PAUSE
            self._again = self._clock() + self._pause
            _log.warning("the session is not written down yet: %s", error)
            if self._fails_for_good(error):
                self._over, self._pending = True, []
                title = f"Nothing more of this session is written down. {error.title}"
                self._gave_up(StoreError(title, hint=error.hint, details=error.details))
            return error
        self._pending, self._complete = [], False
        self._failures, self._pause, self._again = 0, 0.0, 0.0
        if self._synced == self._written:
            self._behind_since = self._clock()
        self._written += 1
        if self._syncs_each:
            self._synced = self._written
        self._wake.set()
        return None

    async def sync(self) -> None:
        """Return when everything that was written is on the disk. If that fails, it is logged, and from now on each
        write waits for the disk and fails if it does."""
        self.begin_sync()
        if self._synced != self._written and self._syncing is not None:
            await asyncio.wait([self._syncing[1]])

    def begin_sync(self) -> None:
        """Have a thread begin with that, unless one is at it."""
        written = self._written
        if self._synced == written or (self._syncing is not None and self._syncing[0] == written):
            return
        syncing = asyncio.get_running_loop().run_in_executor(None, self._store.sync)
        syncing.add_done_callback(lambda done: self._note_sync(written, done.exception()))
        self._syncing = written, syncing

    def _note_sync(self, written: int, error: BaseException | None) -> None:
        if error is not None:
            _log.error("%s", error)
            self._syncs_each = True
        self._synced = max(self._synced, written)

    async def finish(self) -> StoreError | None:
        """Write everything, with some patience: nothing comes any more. What to tell if that cannot be."""
        for key in tuple(self._tails):
            self._pending += self._last_tails(key[0])
        error = self.write()
        for _ in range(LAST_ATTEMPTS - 1):
            if error is None or self._over:
                break
            await asyncio.sleep(LAST_PAUSE)
            error = self.write()
        self._over, self._pending = True, []
        await self.sync()
        if error is None:
            return None
        last = StoreError(f"The end of this session is not written down. {error.title}", details=error.details)
        _log.error("%s", last)
        return last

    def _fails_for_good(self, error: StoreError) -> bool:
        """Whether it is not to be tried again: it failed so often in a row, or too much waits for a locked file."""
        if isinstance(error, StoreBusy):
            return sum(len(as_json(event)) for event in self._pending) > self._held
        self._failures += 1
        return self._failures >= ATTEMPTS

    def _last_tails(self, block_id: str) -> list[AnyEvent]:
        """The ends of this block's streams that have not been written."""
        tails = [self._tails.pop(key) for key in tuple(self._tails) if key[0] == block_id]
        return [tail for tail in tails if tail is not None]
