"""When a widget draws: not more often than the eye sees, and not while the terminal is behind."""

import asyncio
from collections.abc import Callable

from textual.widget import Widget

FRAME = 1 / 30
"""Seconds between two frames, at least."""

IDLE = 0.005
"""Seconds between two portions of work that nobody waits for."""


def call_after(host: Widget, seconds: float, work: Callable[[], object]) -> asyncio.TimerHandle:
    """Have the widget call `work` later, unless it is gone by then.

    Textual's `set_timer` never fires when the machine does something else for longer than the timer is to run, at the
    moment in which it is started: on a busy machine one of some ten thousand is lost, and whoever waits for it.
    """

    def call() -> None:
        if host.is_attached:
            host.call_next(work)

    return asyncio.get_running_loop().call_later(seconds, call)


class Frames:
    """The frames of one widget. `draw` returns whether there is more to be drawn at once."""

    def __init__(self, host: Widget, draw: Callable[[], bool], clock: Callable[[], float]) -> None:
        self._host = host
        self._draw = draw
        self._clock = clock
        self._timer: asyncio.TimerHandle | None = None
        self._last = 0.0

    @property
    def waiting(self) -> bool:
        """Whether a frame is to come."""
        return self._timer is not None

    def want(self) -> None:
        """Draw soon: as soon as the last frame is old enough."""
        if self._timer is None and self._host.is_attached:
            wait = max(0.001, FRAME - (self._clock() - self._last))
            self._timer = call_after(self._host, wait, self.draw)

    def draw(self) -> None:
        """Draw now, or after what the terminal was given before."""
        self._timer = None
        self._last = self._clock()
        if self._is_writing or self._draw():
            self.want()

    def idle(self, work: Callable[[], bool]) -> None:
        """While nothing else is to be done, call this until it returns False; then draw."""
        if work():
            call_after(self._host, IDLE, lambda: self.idle(work))
        else:
            self.want()

    @property
    def _is_writing(self) -> bool:
        """Whether earlier frames still wait for the terminal: on a slow line the next one is drawn after them.

        Textual writes in a thread and says nothing of its queue; a driver that has none is never behind.
        """
        queue = getattr(getattr(self._host.app._driver, "_writer_thread", None), "_queue", None)
        return queue is not None and queue.qsize() > 0
