"""The way out of the engine: events to the store and, a frame's worth at a time, to the front end.

The two do not wait for each other: a front end that does not read (it may be suspended, or the person in an
editor) holds up nothing that has to be written down.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from itertools import groupby

from oi_tui.app.engine.core.errors import StoreError
from oi_tui.app.engine.core.events import AnyEvent, Event, OutputAdded, OutputUpdated
from oi_tui.app.engine.core.outputs import RichOutput, StreamOutput
from oi_tui.app.engine.core.protocol import Batch, Reply, failure_reply
from oi_tui.app.engine.log.store import DELTA_INTERVAL, Recorder
from oi_tui.app.engine.transcript.coalesce import coalesce, is_delta

FRAME = 1 / 60
"""Seconds between two batches while text streams; what is not streaming text is sent at once."""

CROWD = 2000
"""Items waiting for a slow front end after which neighbouring deltas are merged."""

BATCH_WEIGHT = 16_000_000
"""Characters of output in one batch, about; a line on the wire stays far below what front ends read."""

REPLAYED = 8_000
"""Events in one batch of a replay: the front end folds them while the next ones are made ready."""

PAUSE, LONGEST_PAUSE = 0.5, 5.0
"""Seconds after a failure before it is tried again to write; twice as long after each that follows."""

LAST_ATTEMPTS, LAST_PAUSE = 4, 0.75
"""The same when there is an end to wait for: about three seconds in all."""

TELLING = 1.0
"""Seconds that a front end has to be told that the end of a session is not written down."""

_log = logging.getLogger(__name__)

Send = Callable[[Reply], Awaitable[None]]


class Outbox:
    """Keeps events and replies in order."""

    def __init__(self, send: Send, failed: Callable[[StoreError], None]) -> None:
        """`failure_reply` is told once if the store fails for good; from then on nothing is written."""
        self._send = send
        self._failed = failed
        self._recorder: Recorder | None = None
        self._pause, self._again = 0.0, 0.0
        """How long it was waited after the last failure, and until when."""
        self._items: list[AnyEvent | Reply] = []
        self._unwritten: list[AnyEvent] = []
        self._wake = asyncio.Event()
        self._write_wake = asyncio.Event()
        self._urgent = asyncio.Event()
        """Something is waiting that is not a piece of streaming text."""

    def record(self, recorder: Recorder) -> None:
        """Write down every event from now on."""
        self._recorder = recorder

    def put(self, item: AnyEvent | Reply) -> None:
        """Send this after everything that was put before."""
        if len(self._items) >= CROWD and len(self._items) % CROWD == 0:
            self._items = _merge(self._items)
        self._items.append(item)
        self._wake.set()
        if isinstance(item, Event) and self._recorder is not None:
            self._unwritten.append(item)
            self._write_wake.set()
        if not (isinstance(item, Event) and is_delta(item)):
            self._urgent.set()

    async def pump(self) -> None:
        """Send until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            self._urgent.clear()
            items, self._items = self._items, []
            for item in _batch(items):
                await self._send(item)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(FRAME):
                    await self._urgent.wait()

    async def keep(self) -> None:
        """Write down until cancelled."""
        while True:
            waiting = self._recorder is not None and self._recorder.waiting
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(DELTA_INTERVAL if waiting else None):
                    await self._write_wake.wait()
            self._write()
            await asyncio.sleep(FRAME)

    def write(self) -> StoreError | None:
        """Write down what has come so far, also text that still streams; what went wrong is tried again in time."""
        return self._write(Recorder.flush)

    async def finish(self) -> None:
        """Write down everything, with some patience; what cannot be is logged and told."""
        error = self._write(Recorder.close)
        for _ in range(LAST_ATTEMPTS - 1):
            if error is None or self._recorder is None:
                break
            await asyncio.sleep(LAST_PAUSE)
            error = self._write(Recorder.close)
        if error is None:
            return
        self._recorder = None
        last = StoreError(f"The end of this session is not written down. {error.title}", details=error.details)
        _log.error("%s", last)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(TELLING):
                await self._send(failure_reply(last))

    def _write(self, how: Callable[[Recorder], None] | None = None) -> StoreError | None:
        """Write what is due, or (in the way that is given) at once. What went wrong; it is tried again in time."""
        self._write_wake.clear()
        events, self._unwritten = self._unwritten, []
        recorder, now = self._recorder, time.monotonic()
        if recorder is None:
            return None
        recorder.take(events, now)
        if how is None and (now < self._again or not recorder.due(now)):
            return None
        try:
            (how or Recorder.flush)(recorder)
        except StoreError as error:
            self._pause = min(self._pause * 2, LONGEST_PAUSE) or PAUSE
            self._again = time.monotonic() + self._pause
            _log.warning("the session is not written down yet: %s", error)
            if recorder.gave_up:
                self._give_up(error)
            return error
        self._pause, self._again = 0.0, 0.0
        return None

    def _give_up(self, error: StoreError) -> None:
        self._recorder = None
        title = f"Nothing more of this session is written down. {error.title}"
        self._failed(StoreError(title, hint=error.hint, details=error.details))


def _batch(items: Iterable[AnyEvent | Reply]) -> Iterator[Reply]:
    """Replies as they are, and the events between them in as few batches as their weight allows."""
    for are_events, group in groupby(items, key=lambda item: isinstance(item, Event)):
        if not are_events:
            yield from (item for item in group if not isinstance(item, Event))
            continue
        yield from batches(coalesce(item for item in group if isinstance(item, Event)))


def batches(events: Iterable[AnyEvent]) -> Iterator[Batch]:
    """The events in batches that are not too heavy."""
    for part in _parts(events, None):
        yield Batch(events=part)


def replay_batches(events: Iterable[AnyEvent]) -> Iterator[Batch]:
    """A stored session in batches that are neither too heavy nor too long; an empty one is a batch, too."""
    parts = _parts(events, REPLAYED)
    part, further = next(parts, ()), False
    for following in parts:
        yield Batch(events=part, replay=True, further=further, more=True)
        part, further = following, True
    yield Batch(events=part, replay=True, further=further)


def _parts(events: Iterable[AnyEvent], most: int | None) -> Iterator[tuple[AnyEvent, ...]]:
    part: list[AnyEvent] = []
    weight = 0
    for event in events:
        weight += _weight(event)
        if part and (weight > BATCH_WEIGHT or len(part) == most):
            yield tuple(part)
            part, weight = [], _weight(event)
        part.append(event)
    if part:
        yield tuple(part)


def _weight(event: AnyEvent) -> int:
    match event:
        case OutputAdded(output=RichOutput(data=data)) | OutputUpdated(output=RichOutput(data=data)):
            return sum(len(content) for content in data.values() if isinstance(content, str))
        case OutputAdded(output=StreamOutput(text=text)):
            return len(text)
        case _:
            return 0


def _merge(items: list[AnyEvent | Reply]) -> list[AnyEvent | Reply]:
    """The same with neighbouring deltas merged."""
    merged: list[AnyEvent | Reply] = []
    for are_events, group in groupby(items, key=lambda item: isinstance(item, Event)):
        run = list(group)
        merged.extend(coalesce(item for item in run if isinstance(item, Event)) if are_events else run)
    return merged
