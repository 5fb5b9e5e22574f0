"""When a widget draws: not more often than the eye sees, and not while the terminal is behind."""

import asyncio
from collections.abc import Callable

from textual.widget import Widget

FRAME = 1 / 30
"""Seconds between two frames, at least."""

AT_ONCE = 4
"""Frames that may follow each other at once after a rest, so that a quick answer is seen quickly. They count:
later frames wait until the average is within the limit again."""

IDLE = 0.005
"""Seconds between two portions of work that nobody waits for."""


def call_after(host: Widget, seconds: float, work: Callable[[], object]) -> asyncio.TimerHandle:
    """Have the widget call `work` later, unless it is gone by then.

    Textual's `set_timer` never fires if the machine is busy for longer than the timer's delay just when it starts: on a
    busy machine about one in ten thousand is lost, and its caller hangs.
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
        self.waiting = False
        """Whether a frame is due."""
        self._due = 0.0
        """When the next frame would come if all were drawn as often as the eye sees."""

    def want(self) -> None:
        """Draw soon: at once after a rest, or else when as much time has passed as the frames before were given."""
        if self.waiting or not self._host.is_attached:
            return
        self.waiting = True
        wait = self._due - (AT_ONCE - 1) * FRAME - self._clock()
        if wait > 0:
            call_after(self._host, wait, self.draw)
        else:
            self._host.call_next(self.draw)

    def draw(self) -> None:
        """Draw now, or after what the terminal was given before."""
        self.waiting = self._is_behind
        if self.waiting:
            call_after(self._host, FRAME / 4, self.draw)
            return
        now = self._clock()
        self._due = min(max(self._due, now), now + (AT_ONCE - 1) * FRAME) + FRAME
        if self._draw():
            self.want()
        self._paint()

    def _paint(self) -> None:
        """Let the screen paint the drawn rows and everything else that is due, unless it has a layout to do first.

        Left to Textual, the widget notifies the screen, which wakes a timer, which paints: three rounds of the loop,
        for a sixth of the cost of a frame.
        """
        host, screen = self._host, self._host.screen
        if host._repaint_required and host.display and screen in screen._compositor and not screen._layout_required:
            host._repaint_required = False
            screen._dirty_widgets.add(host)
            screen._on_timer_update()

    def idle(self, work: Callable[[], bool]) -> None:
        """While the program is idle, call this until it returns False; then draw."""
        if work():
            call_after(self._host, IDLE, lambda: self.idle(work))
        else:
            self.want()

    @property
    def _is_behind(self) -> bool:
        """Whether earlier frames still wait for the terminal: on a slow line the next one is drawn after them. A driver
        that does not know is never behind."""
        return bool(getattr(self._host.app._driver, "is_behind", False))
