"""The way out of the engine: events to the store and, a frame's worth at a time, to the front end."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from itertools import groupby

from oi_tui.app.engine.coalesce import coalesce, is_delta
from oi_tui.app.engine.errors import OiTuiError
from oi_tui.app.engine.events import AnyEvent, Event
from oi_tui.app.engine.protocol import Batch, Reply
from oi_tui.app.engine.store import DELTA_INTERVAL, Recorder

FRAME = 1 / 60
"""Seconds between two batches while text streams; what is not streaming text is sent at once."""

Send = Callable[[Reply], Awaitable[None]]


class Outbox:
    """Keeps events and replies in order. A slow front end makes batches larger, and holds nothing else up."""

    def __init__(self, send: Send, failed: Callable[[OiTuiError], None]) -> None:
        """`failed` is told once if the store fails; from then on nothing is written."""
        self._send = send
        self._failed = failed
        self._recorder: Recorder | None = None
        self._items: list[AnyEvent | Reply] = []
        self._wake = asyncio.Event()
        self._urgent = asyncio.Event()
        """Something is waiting that is not a piece of streaming text."""

    def record(self, recorder: Recorder) -> None:
        """Write down every event from now on."""
        self._recorder = recorder

    def put(self, item: AnyEvent | Reply) -> None:
        """Send this after everything that was put before."""
        self._items.append(item)
        self._wake.set()
        if not (isinstance(item, Event) and is_delta(item)):
            self._urgent.set()

    async def pump(self) -> None:
        """Send and write until cancelled."""
        while True:
            waiting = self._recorder is not None and self._recorder.waiting
            try:
                async with asyncio.timeout(DELTA_INTERVAL if waiting else None):
                    await self._wake.wait()
            except TimeoutError:
                self._flush()
                continue
            self._wake.clear()
            self._urgent.clear()
            await self._send_all()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(FRAME):
                    await self._urgent.wait()

    def finish(self) -> None:
        """Write down what was not sent any more; nobody is listening."""
        self._write(coalesce(item for item in self._items if isinstance(item, Event)))
        self._items = []
        self._flush()

    async def _send_all(self) -> None:
        items, self._items = self._items, []
        for are_events, group in groupby(items, key=lambda item: isinstance(item, Event)):
            if are_events:
                await self._send_events(list(group))
                continue
            for item in group:
                if not isinstance(item, Event):
                    await self._send(item)

    async def _send_events(self, items: list[AnyEvent | Reply]) -> None:
        events = coalesce(item for item in items if isinstance(item, Event))
        self._write(events)
        await self._send(Batch(events=tuple(events)))

    def _write(self, events: list[AnyEvent]) -> None:
        if self._recorder is not None:
            self._guarded(lambda recorder: recorder.put(events, time.monotonic()))

    def _flush(self) -> None:
        self._guarded(lambda recorder: recorder.flush())

    def _guarded(self, write: Callable[[Recorder], None]) -> None:
        if self._recorder is None:
            return
        try:
            write(self._recorder)
        except OiTuiError as error:
            self._recorder = None
            self._failed(error)
