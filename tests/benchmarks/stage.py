"""A stage for one widget: a real app that paints in full, into a terminal that counts bytes and drops them.

Textual's own headless mode leaves out the painting, which is half of what a frame costs.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from textual import events
from textual.app import App, ComposeResult
from textual.driver import Driver
from textual.geometry import Size
from textual.screen import Screen
from textual.widget import Widget

from oi_tui.app.engine.core.events import AnyEvent
from oi_tui.app.engine.transcript.transcript import Transcript
from oi_tui.themes.loader import load_palette, textual_theme
from oi_tui.widgets.timeline.view import Timeline

SIZE = Size(120, 40)
QUIET = 0.12
"""Seconds without a frame after which what was asked for has been drawn."""

TICK = 0.004
"""Seconds between two looks at how late the loop is."""


class Sink(Driver):
    """A terminal of `SIZE` that takes everything at once and shows nothing."""

    bytes_written = 0

    def write(self, data: str) -> None:
        """Count."""
        self.bytes_written += len(data.encode())

    def start_application_mode(self) -> None:
        """Say how large the terminal is."""
        self.send_message(events.Resize(SIZE, SIZE))

    def disable_input(self) -> None:
        """There is no input."""

    def stop_application_mode(self) -> None:
        """There is nothing to restore."""


class Stage(App[None]):
    """One widget, and a note of every frame."""

    def __init__(self, widget: Widget) -> None:
        super().__init__(driver_class=Sink)
        theme = textual_theme(load_palette())  # our widgets' sheets speak of its colours
        self.register_theme(theme)
        self.theme = theme.name
        self.widget = widget
        self.frames: list[float] = []
        """Seconds that each write of a frame took, painting included."""
        self.last_frame = 0.0
        """When it was written (`time.perf_counter`)."""
        self._painted = asyncio.Event()

    def compose(self) -> ComposeResult:
        yield self.widget

    def _display(self, screen: Screen[Any], renderable: Any) -> None:
        begun = time.perf_counter()
        super()._display(screen, renderable)
        self.last_frame = time.perf_counter()
        self.frames.append(self.last_frame - begun)
        self._painted.set()

    @property
    def bytes_written(self) -> int:
        """Bytes for the terminal so far."""
        assert isinstance(self._driver, Sink)
        return self._driver.bytes_written

    async def drawn(self, limit: float = 60.0) -> None:
        """Wait for a frame, and until no other follows."""
        async with asyncio.timeout(limit):
            await self._painted.wait()
            count = -1
            while count != len(self.frames):
                count = len(self.frames)
                await asyncio.sleep(QUIET)
        self._painted.clear()

    def resize(self, columns: int) -> None:
        """Give the terminal another width."""
        size = Size(columns, SIZE.height)
        self.post_message(events.Resize(size, size))


@asynccontextmanager
async def staged(widget: Widget) -> AsyncIterator[Stage]:
    """The widget on a stage, drawn once."""
    stage = Stage(widget)
    async with stage.run_test(headless=False, size=(SIZE.width, SIZE.height)):
        await stage.drawn()
        yield stage


class Fold:
    """Events through the fold to the timeline, a batch at a time: what the bridge does."""

    def __init__(self, timeline: Timeline) -> None:
        self.transcript = Transcript()
        self._timeline = timeline

    def apply(self, batch: Iterable[AnyEvent]) -> None:
        """One batch."""
        changed: dict[int, None] = {}
        for event in batch:
            changed.update(dict.fromkeys(self.transcript.apply(event)))
        for index in changed:
            self._timeline.put(index, self.transcript.blocks[index])


@asynccontextmanager
async def watched() -> AsyncIterator[list[float]]:
    """How many seconds late the loop came back to a timer, each time: what a key would have waited."""
    late: list[float] = []

    async def watch() -> None:
        while True:
            due = time.perf_counter() + TICK
            await asyncio.sleep(TICK)
            late.append(time.perf_counter() - due)

    task = asyncio.create_task(watch())
    try:
        yield late
    finally:
        task.cancel()
        await asyncio.wait([task])
