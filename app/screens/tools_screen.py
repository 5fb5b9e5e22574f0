"""The tools that the model may call: who brought each, what it may do, what it takes; switched off and on by key."""

from pathlib import Path
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.content import Content

from oi_tui.app.engine.core.tool_replies import ToolRecord, ToolsFound
from oi_tui.app.engine.core.tool_verbs import SwitchTool
from oi_tui.app.engine.text.words import one_line, quantity
from oi_tui.app.frontend.bridge import Bridge
from oi_tui.app.screens.open_screen import is_open
from oi_tui.app.screens.records_screen import RecordsScreen
from oi_tui.app.screens.viewer import TextContent, ViewerScreen
from oi_tui.themes.palette import Palette
from oi_tui.widgets.keyrow import Hint, KeyRow, key_labels
from oi_tui.widgets.lettering import Options, Words, lettering


class ToolsScreen(RecordsScreen[ToolRecord]):
    """A list, and below it all about the one that is highlighted."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Hint("o", "switch", "Off or on, until the session ends", id="tools.switch", label="off / on"),
        Hint("enter,s", "schema", "What it takes, as a JSON schema", id="tools.schema", label="schema"),
        Hint("escape,q", "dismiss(None)", "Back", id="tools.back", label="back"),
    ]

    def __init__(self, found: ToolsFound, bridge: Bridge, palette: Palette, folder: Path) -> None:
        super().__init__()
        self._found = found
        self._bridge, self._palette, self._folder = bridge, palette, folder

    def compose(self) -> ComposeResult:
        """The list, what is known of one, and the keys."""
        yield Words("", id="tools-title", classes="records-title")
        yield Options(id="tools-list", compact=True)
        yield Words("", id="tools-about", classes="records-about")
        yield KeyRow(id="tools-keys")

    def on_mount(self) -> None:
        self.take(self._found)
        self.query_one(Options).focus()
        self.query_one(KeyRow).labels = key_labels(self)

    def take(self, found: ToolsFound) -> None:
        """How things are now; the highlight stays where it is."""
        off = sum(one.off for one in found.tools)
        self.query_one("#tools-title", Words).update(f"Tools · {len(found.tools)}{f' · {off} off' if off else ''}")
        self.list_records(found.tools, map(_line, found.tools))

    def choose_record(self) -> None:
        """Show what it takes."""
        self.action_schema()

    def action_switch(self) -> None:
        """The model is not offered it, or is again; the answer shows which."""
        if (one := self.record) is not None:
            self._bridge.send(SwitchTool(name=one.name, on=one.off))

    def action_schema(self) -> None:
        """In a window of its own: it can be long."""
        if (one := self.record) is not None:
            self.app.push_screen(ViewerScreen(TextContent(one.name, one.schema, ".json"), self._palette, self._folder))

    def show_record(self) -> None:
        one = self.record
        about = self.query_one("#tools-about", Words)
        if one is None:
            about.update("The model has no tool but code. The guide says how to add some: oi-tui help tools.")
            return
        limit = f" · at most {quantity(round(one.time_limit), 'second')}" if one.time_limit is not None else ""
        state = "switched off: the model is not offered it" if one.off else "on"
        facts = f"{one.origin or 'part of oi-tui'} · {', '.join(one.effects)}{limit} · {state}"
        about.update(lettering((one_line(facts), "$accent"), f"\n{one.description[:LONGEST]}"))


LONGEST = 1_000
"""Characters of a description that are shown below the list."""


def show_tools(app: App[object], found: ToolsFound, bridge: Bridge, palette: Palette, folder: Path) -> None:
    """Open the list, or bring the one that is open up to date."""
    if isinstance(app.screen, ToolsScreen) and is_open(app.screen):
        app.screen.take(found)
    elif not any(isinstance(screen, ToolsScreen) for screen in app.screen_stack):
        app.push_screen(ToolsScreen(found, bridge, palette, folder))


def _line(one: ToolRecord) -> Content:
    style = "$dim" if one.off else ""
    mark = "off " if one.off else "    "
    return lettering((mark, "$warning"), (one_line(one.name), style), (f"  {one_line(one.description)}", "$dim"))
