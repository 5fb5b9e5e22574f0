"""The scroll bar beside rows, in the hand of the mouse."""

from textual import events
from textual.widget import Widget

SCROLL_BAR = 1
"""Cells at the right edge. Drawn with the rows: a scroll bar of its own costs as much as the text."""


class ScrollBar:
    """The right edge of one widget."""

    def __init__(self, host: Widget) -> None:
        self._host = host

    def pull(self, event: events.MouseEvent) -> float | None:
        """Which share of all rows shall be above now; None where the bar was not pulled. Takes all mouse events."""
        host = self._host
        match event:
            case events.MouseDown() if event.x >= host.size.width - SCROLL_BAR:
                event.stop()
                host.capture_mouse()
            case events.MouseMove() if host.app.mouse_captured is host:
                pass
            case events.MouseUp() if host.app.mouse_captured is host:
                host.release_mouse()
                return None
            case _:
                return None
        return event.y / max(1, host.size.height - 1)
