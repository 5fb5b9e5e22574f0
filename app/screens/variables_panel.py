"""The panel of variables on the chat screen: opened and closed by one key, and asked for only while it is open."""

from textual import on

from oi_tui.app.engine.core.kernel_looks import FrameSeen, Peek, VariableSeen, VariablesFound, WidgetsFound
from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.frontend.bridge import Bridge
from oi_tui.app.screens.bottom import Bottom
from oi_tui.app.screens.timeline_pane import TimelinePane
from oi_tui.widgets.inspector import Inspector
from oi_tui.widgets.timeline.table_data import TABLE_MIME_TYPE, table_of


class VariablesPanel(Inspector):
    """Closed at first. The kernel is looked into only while it is open."""

    def __init__(self, bridge: Bridge, pane: TimelinePane, *, id: str | None = None) -> None:
        """A table opens as those of `pane` do."""
        super().__init__(id=id)
        self._bridge = bridge
        self._pane = pane
        self._opening = ""
        """Name of the table to open, if it is one."""
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

    @on(Inspector.CloseRequested)
    def close(self) -> None:
        """Put it away, back to what one did before."""
        self.display = False
        self._bridge.inspect(False)
        self.screen.query_one(Bottom).focus_shown()

    def on_inspector_peek_requested(self, event: Inspector.PeekRequested) -> None:
        event.stop()
        self._opening = event.name if event.anew else ""
        self._bridge.send(Peek(name=event.name))

    def show_detail(self, seen: VariableSeen) -> None:
        """A frame opens in the table viewer when the person asked for it; the few lines stay for later."""
        super().show_detail(seen)
        wanted, self._opening = seen.name == self._opening and self.screen.is_current, ""
        if wanted and (table := table_of(RichOutput(data={TABLE_MIME_TYPE: seen.table}))) is not None:
            self._pane.show_table(f"{seen.name} · variable", table, seen.language)

    def take(self, found: VariablesFound | VariableSeen | FrameSeen | WidgetsFound) -> None:
        """Handle a reply about a kernel's variables."""
        match found:
            case VariablesFound():
                self.show(found)
            case VariableSeen():
                self.show_detail(found)
            case FrameSeen() | WidgetsFound():
                self._pane.take(found)
