"""The pictures of one widget: drawn in a worker, kept for a while, sent to the terminal where it wants them sent.

Kitty's pictures are sent once, before the first row that shows them is painted; from then on they are text.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from random import randrange
from typing import Literal, TypeVar

from textual.widget import Widget

from oi_tui.widgets.timeline.drawing import DrawnPicture, Order, draw
from oi_tui.widgets.timeline.graphics import Graphics
from oi_tui.widgets.timeline.graphics_kitty import deletion, numbers
from oi_tui.widgets.timeline.overlay import Overlay, write
from oi_tui.widgets.timeline.pixels import Unreadable

MOST_PICTURES = 32
"""Cached pictures; more than fit on a screen."""

_MOST_WAITING = 16
"""Pictures that wait to be drawn; who scrolls past a hundred sees the last ones first."""

DrawResult = TypeVar("DrawResult")


class Gallery:
    """Draws and keeps pictures for one widget; `changed` is called when one is ready.

    Two that live at the same time take different realms of numbers.
    """

    def __init__(
        self, host: Widget, graphics: Graphics, changed: Callable[[], object], *, realm: Literal[0, 1] = 0
    ) -> None:
        self._host = host
        self._changed = changed
        # Another program, suspended in the same window, may have pictures there too.
        self._numbers = numbers(realm, randrange(100))
        self._drawn: OrderedDict[Order, tuple[int, DrawnPicture | None]] = OrderedDict()
        self._waiting: OrderedDict[Order, Future[DrawnPicture]] = OrderedDict()
        self._worker: ThreadPoolExecutor | None = None
        self.graphics = graphics
        self.overlay = self._make_overlay()
        """The overlay that must know painted rows, if there are sixels over them."""

    def look(self, order: Order) -> DrawnPicture | None:
        """The picture if it is drawn; else it will be soon. Raises Unreadable."""
        if order in self._drawn:
            self._drawn.move_to_end(order)
            _, drawn = self._drawn[order]
            if drawn is None:
                raise Unreadable
            return drawn
        if order in self._waiting:
            self._waiting.move_to_end(order)
            return None
        number = next(self._numbers)
        self._waiting[order] = self._work(
            partial(draw, order, self.graphics, number), lambda done: self._take(order, number, done)
        )
        while len(self._waiting) > _MOST_WAITING:
            self._waiting.popitem(last=False)[1].cancel()
        return None

    def forget(self) -> None:
        """Draw the visible pictures again: the terminal has lost or cannot use the sent ones."""
        for order in list(self._drawn):
            self._drop(order)
        for future in self._waiting.values():
            future.cancel()
        self._waiting.clear()

    def use(self, graphics: Graphics) -> None:
        """The terminal turned out to know another way, or its cells have another size."""
        self.forget()
        self.graphics = graphics
        if self.overlay is not None:
            self.overlay.stop()
        self.overlay = self._make_overlay()

    def close(self) -> None:
        """The widget goes: free the terminal's memory, end the worker."""
        self.forget()
        if self.overlay is not None:
            self.overlay.stop()
        if self._worker is not None:
            self._worker.shutdown(wait=False, cancel_futures=True)
            self._worker = None

    def _make_overlay(self) -> Overlay | None:
        return Overlay(self._host, self.graphics, self._work) if self.graphics.protocol == "sixel" else None

    def _take(self, order: Order, number: int, done: Future[DrawnPicture]) -> None:
        if self._waiting.get(order) is not done:
            return  # forgotten meanwhile
        del self._waiting[order]
        try:
            drawn: DrawnPicture | None = done.result()
        except Unreadable:
            drawn = None
        else:
            assert drawn is not None
            write(self._host.app, drawn.sending)
            drawn.sending = ""
        self._drawn[order] = number, drawn
        while len(self._drawn) > MOST_PICTURES:
            self._drop(next(iter(self._drawn)))
        self._changed()

    def _drop(self, order: Order) -> None:
        number, drawn = self._drawn.pop(order)
        if drawn is not None and self.graphics.protocol == "kitty":
            write(self._host.app, deletion(number))

    def _work(self, task: Callable[[], DrawResult], done: Callable[[Future[DrawResult]], None]) -> Future[DrawResult]:
        """Do it in the one thread, then call `done` here, unless it was cancelled."""
        if self._worker is None:
            self._worker = ThreadPoolExecutor(1, thread_name_prefix="pictures")
        loop, here = asyncio.get_running_loop(), copy_context()  # without it nobody knows whose app this is

        def back(future: Future[DrawResult]) -> None:
            if not future.cancelled() and not loop.is_closed():
                loop.call_soon_threadsafe(self._call_unless_closed, done, future, context=here)

        future = self._worker.submit(task)
        future.add_done_callback(back)
        return future

    def _call_unless_closed(self, done: Callable[[Future[DrawResult]], None], future: Future[DrawResult]) -> None:
        if self._worker is not None:
            done(future)
