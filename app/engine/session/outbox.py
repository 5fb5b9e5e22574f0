"""The way out of the engine to the front end, a frame's worth at a time.

A front end that does not read (it may be suspended, or the person in an editor) holds up nothing else.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Iterator
from itertools import groupby

import msgspec

from oi_tui.app.engine.core.events import AnyEvent, Event, OutputAdded, OutputUpdated, ThoughtsSealed
from oi_tui.app.engine.core.outputs import RichOutput, StreamOutput
from oi_tui.app.engine.core.protocol import FRAME, REPLAYED, Batch, Reply
from oi_tui.app.engine.core.values import SessionReply
from oi_tui.app.engine.transcript.coalesce import coalesce, is_delta

CROWD = 2000
"""Items waiting for a slow front end after which neighbouring deltas are merged."""

BATCH_WEIGHT = 16_000_000
"""Characters of output in one batch, about; a line on the wire stays far below what front ends read."""

TELLING = 1.0
"""Seconds a front end has to receive the end of a session, and the news that it is not saved."""

Send = Callable[[Reply], Awaitable[None]]


def address_replies(send: Send, session_id: str) -> Send:
    """The same; replies that belong to a session say that it is this one."""

    async def send_addressed(reply: Reply) -> None:
        if isinstance(reply, SessionReply):
            reply = msgspec.structs.replace(reply, session_id=session_id)
        await send(reply)

    return send_addressed


class Outbox:
    """Keeps events and replies in order."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._items: list[AnyEvent | Reply] = []
        self._wake = asyncio.Event()
        self._urgent = asyncio.Event()
        """Something is waiting that is not a piece of streaming text."""
        self._beginnings = 0

    def put(self, item: AnyEvent | Reply) -> None:
        """Send this after everything that was put before."""
        if len(self._items) >= CROWD and len(self._items) % CROWD == 0:
            self._items = _merge(self._items)
        self._items.append(item)
        self._wake.set()
        if not (isinstance(item, Event) and is_delta(item)):
            self._urgent.set()

    def drop_index(self, replies: Iterable[Reply]) -> None:
        """Send these next, and nothing that is waiting: who reads from now on has heard nothing yet."""
        self._beginnings += 1
        self._items = []
        for reply in replies:
            self.put(reply)

    async def flush(self) -> None:
        """Send all that is waiting."""
        items, self._items = self._items, []
        beginning = self._beginnings
        for item in _batch(items):
            if beginning != self._beginnings:
                return
            await self._send(item)

    async def pump(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            self._urgent.clear()
            await self.flush()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(FRAME):
                    await self._urgent.wait()


def _batch(items: Iterable[AnyEvent | Reply]) -> Iterator[Reply]:
    """Replies as they are, and the events between them in as few batches as their weight allows."""
    for are_events, group in groupby(items, key=lambda item: isinstance(item, Event)):
        if not are_events:
            yield from (item for item in group if not isinstance(item, Event))
            continue
        yield from batches(coalesce((item for item in group if isinstance(item, Event)), every_line=True))


def batches(events: Iterable[AnyEvent], most: int | None = None) -> Iterator[Batch]:
    """The events in batches that are not too heavy, and not longer than `most`."""
    for part in _parts(events, most):
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
        case ThoughtsSealed(thoughts=thoughts):
            return len(thoughts.data)
        case _:
            return 0


def _merge(items: list[AnyEvent | Reply]) -> list[AnyEvent | Reply]:
    """The same with neighbouring deltas merged."""
    merged: list[AnyEvent | Reply] = []
    for are_events, group in groupby(items, key=lambda item: isinstance(item, Event)):
        run = list(group)
        merged.extend(coalesce(item for item in run if isinstance(item, Event)) if are_events else run)
    return merged
