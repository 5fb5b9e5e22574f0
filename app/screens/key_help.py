"""All keys and commands, made from where they are defined: for the help and for the guide."""

from typing import NamedTuple

from textual.binding import Binding, BindingType

from oi_tui.app.commands.registry import COMMANDS
from oi_tui.app.screens.viewer import ViewerScreen
from oi_tui.widgets.approval import ApprovalPanel
from oi_tui.widgets.composer import PromptArea
from oi_tui.widgets.editor import SourceEditor
from oi_tui.widgets.inspector import Inspector
from oi_tui.widgets.sessions.panel import Panel
from oi_tui.widgets.sessions.session_rows import SessionRows
from oi_tui.widgets.timeline.view import Timeline
from oi_tui.widgets.viewer.pane import TextPane
from oi_tui.widgets.viewer.picture_view import PictureView


class HelpRow(NamedTuple):
    """One line of the help."""

    keys: str
    slash: str
    help: str


class HelpSection(NamedTuple):
    """Rows that work in the same place."""

    title: str
    rows: tuple[HelpRow, ...]


def help_sections() -> tuple[HelpSection, ...]:
    """All keys and commands, by where they work."""
    everywhere = tuple(
        HelpRow(_spell_keys(row.key), f"/{row.slash} {row.argument}".strip() if row.slash else "", row.help)
        for row in COMMANDS
    )
    return (
        HelpSection("Everywhere", everywhere),
        HelpSection(
            "The prompt",
            (
                *_rows(PromptArea.BINDINGS),
                HelpRow("", "!COMMAND", "Run a shell command yourself"),
                HelpRow("", "%CODE", "Run Python yourself; %python works too"),
                HelpRow("", "@PATH", "Give a file with the prompt"),
            ),
        ),
        HelpSection("When code wants to run", _rows(ApprovalPanel.BINDINGS)),
        HelpSection("Editing that code", _rows(SourceEditor.BINDINGS)),
        HelpSection(
            "The timeline", (*_rows(Timeline.BINDINGS), HelpRow("ctrl+c", "", "Copy what was selected with the mouse"))
        ),
        HelpSection("The variables", _rows(Inspector.BINDINGS)),
        HelpSection("The sessions", _rows([*Panel.BINDINGS, *SessionRows.BINDINGS])),
        HelpSection("A block on the whole screen", _rows([*ViewerScreen.BINDINGS, *TextPane.BINDINGS])),
        HelpSection("A picture on the whole screen", _rows(PictureView.BINDINGS)),
    )


def _rows(items: list[BindingType]) -> tuple[HelpRow, ...]:
    return tuple(
        HelpRow(item.key_display or _spell_keys(item.key), "", item.description)
        for item in items
        if isinstance(item, Binding) and item.description
    )


def _spell_keys(keys: str) -> str:
    return ", ".join(keys.split(","))
