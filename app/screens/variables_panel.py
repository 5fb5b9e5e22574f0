"""The panel of variables on the chat screen: opened and closed by one key, and asked for only while it is open."""

from textual import on

from oi_tui.app.engine.core.verbs import Peek
from oi_tui.app.frontend.bridge import Bridge
from oi_tui.app.screens.bottom import Bottom
from oi_tui.widgets.inspector import Inspector


class VariablesPanel(Inspector):
    """Closed at first. The kernel is looked into only while it is open."""

    def __init__(self, bridge: Bridge, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._bridge = bridge
        self.display = False

    def toggle(self) -> None:
        """Open it beside what one is doing; when it is open, go to it; when one is in it, close it."""
        if not self.display:
            self.display = True
            self._bridge.inspect(True)
        elif self.has_focus_within:
            self.close()
        else:
            self.focus_filter()

    @on(Inspector.Closed)
    def close(self) -> None:
        """Put it away, back to what one did before."""
        self.display = False
        self._bridge.inspect(False)
        self.screen.query_one(Bottom).focus_shown()

    def on_inspector_peek_requested(self, event: Inspector.PeekRequested) -> None:
        event.stop()
        self._bridge.send(Peek(name=event.name))
