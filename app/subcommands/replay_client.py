"""A recording played to a screen as if an engine spoke: nothing is asked of a model, nothing runs."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import datetime

from oi_tui.app.engine.core.events import NoticeAdded
from oi_tui.app.engine.core.protocol import Batch, Reply
from oi_tui.app.engine.core.tool_verbs import CallTool
from oi_tui.app.engine.core.verbs import AnyVerb, Open, Run, Submit
from oi_tui.app.engine.log.recording.form import Recording

LONGEST_PAUSE = 3.0
"""Seconds without anything new, whatever they were then."""


class ReplayClient:
    """Behind the same interface as an engine."""

    def __init__(self, recording: Recording, *, speed: float | None = 1.0) -> None:
        """`speed` is how many times faster than then; None is all at once."""
        self._recording = recording
        self._speed = speed
        self._asides: asyncio.Queue[Reply | None] = asyncio.Queue()
        self._closed = asyncio.Event()
        self._opened = asyncio.Event()
        self._notices = 0

    async def send(self, verb: AnyVerb) -> None:
        """Whatever would ask or run something is answered with what this is."""
        match verb:
            case Open():
                self._opened.set()
            case Submit() | Run() | CallTool():
                self._asides.put_nowait(self._notice("This is a recording: no model is asked, no code runs."))
            case _:
                pass

    async def replies(self) -> AsyncGenerator[Reply, None]:
        """The recorded replies, at their times, then new ones."""
        await self._opened.wait()
        before = 0.0
        for at, told in self._recording.batches():
            await self._pause(at - before)
            before = at
            if self._closed.is_set():
                return
            yield Batch(events=told.events, replay=told.replay, further=told.further, more=told.more)
        made = datetime.fromtimestamp(self._recording.header.created).astimezone()
        yield self._notice(f"The recording of {made:%Y-%m-%d %H:%M} ends here.")
        while (aside := await self._asides.get()) is not None:
            yield aside

    async def close(self) -> None:
        self._closed.set()
        self._asides.put_nowait(None)

    async def _pause(self, seconds: float) -> None:
        if self._speed is None or seconds <= 0:
            return
        try:
            async with asyncio.timeout(min(seconds, LONGEST_PAUSE) / self._speed):
                await self._closed.wait()
        except TimeoutError:
            return

    def _notice(self, title: str) -> Batch:
        self._notices += 1
        return Batch(events=(NoticeAdded(block_id=f"replay-{self._notices}", level="info", title=title),))
