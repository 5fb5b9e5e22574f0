"""What apps of tests do without: callbacks to widgets that have nothing to do, and frames that nobody looks at.

Textual's pilot sends a callback to each of some eighty widgets whenever a test waits, and looks up how many arguments
it takes each time: that was a third of what a test of a screen costs.
"""

import asyncio
from typing import Any

from textual.app import App
from textual.events import Callback
from textual.message_pump import MessagePump
from textual.pilot import Pilot, WaitForScreenTimeout
from textual.screen import Screen

_draw = Screen._compositor_refresh


def _is_idle(pump: MessagePump) -> bool:
    """Whether it waits for a message, and none is there."""
    queue: Any = pump._message_queue
    return not queue.values and bool(queue.ready_event._waiters)


async def _wait_for_screen(self: Pilot[object], timeout: float = 30.0) -> bool:
    """As Textual's: until the screen and its widgets have done what was in their queues."""
    app = self.app
    if not app._screen_stack:
        return False
    over = asyncio.Event()
    left = 0

    def note_one() -> None:
        nonlocal left
        left -= 1
        if not left:
            over.set()

    note_one._param_count = 0  # type: ignore[attr-defined]  # else Textual reads its signature for each widget
    for pump in (app, *app.screen.walk_children(with_self=True)):
        if not _is_idle(pump) and pump.post_message(Callback(callback=note_one)):
            left += 1
    if not left:
        await asyncio.sleep(0)
        return True
    waits = [asyncio.create_task(event.wait()) for event in (over, app._exception_event)]
    done, pending = await asyncio.wait(waits, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    if not done:
        raise WaitForScreenTimeout("Widgets did not get to the end of their messages.")
    return not left


def _draw_if_seen(self: Screen[object]) -> None:
    if not getattr(self.app, "is_unseen", False) or self is not self.app.screen:
        _draw(self)
        return
    self._dirty_widgets.clear()
    self._compositor._dirty_regions.clear()
    self.app._update_mouse_over(self)


def leave_unseen(app: App[None]) -> None:
    """Of this app only those frames are drawn that the test looks at."""
    vars(app)["is_unseen"] = True


def draw_end(app: App[None]) -> None:
    """Draw the screen that a test ends with, unless the app was left: that it can be drawn is part of every test."""
    if not app._exit:
        app.screen._compositor.render_update(full=True, screen_stack=app._background_screens)


def shorten_waits() -> None:
    """From now on, in this process."""
    Pilot._wait_for_screen = _wait_for_screen  # type: ignore[method-assign,assignment]  # there is no other way in
    Screen._compositor_refresh = _draw_if_seen  # type: ignore[method-assign,assignment]  # nor here
