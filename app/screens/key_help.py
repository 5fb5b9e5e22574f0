"""All keys and commands, made from where they are defined: for the help and for the README."""

from typing import NamedTuple

from textual.binding import Binding, BindingType

from oi_tui.app.commands.registry import COMMANDS
from oi_tui.app.screens.viewer import ViewerScreen
from oi_tui.widgets.approval import ApprovalPanel
from oi_tui.widgets.composer import PromptArea
from oi_tui.widgets.editor import SourceEditor
from oi_tui.widgets.inspector import Inspector
from oi_tui.widgets.sessions.panel import Panel
from oi_tui.widgets.sessions.rows import SessionRows
from oi_tui.widgets.timeline.picture_view import PictureView
from oi_tui.widgets.timeline.view import Timeline
from oi_tui.widgets.viewer.pane import TextPane


class Row(NamedTuple):
    """One line of the help."""

    keys: str
    slash: str
    help: str


class Section(NamedTuple):
    """Rows that work in the same place."""

    title: str
    rows: tuple[Row, ...]


def sections() -> tuple[Section, ...]:
    """All keys and commands, by where they work."""
    everywhere = tuple(
        Row(_spelled(row.key), f"/{row.slash} {row.argument}".strip() if row.slash else "", row.help)
        for row in COMMANDS
    )
    return (
        Section("Everywhere", everywhere),
        Section(
            "The prompt",
            (
                *_rows(PromptArea.BINDINGS),
                Row("", "!COMMAND", "Run a shell command yourself"),
                Row("", "%CODE", "Run Python yourself; %python works too"),
                Row("", "@PATH", "Give a file with the prompt"),
            ),
        ),
        Section("When code wants to run", _rows(ApprovalPanel.BINDINGS)),
        Section("Editing that code", _rows(SourceEditor.BINDINGS)),
        Section(
            "The timeline", (*_rows(Timeline.BINDINGS), Row("ctrl+c", "", "Copy what was selected with the mouse"))
        ),
        Section("The variables", _rows(Inspector.BINDINGS)),
        Section("The sessions", _rows([*Panel.BINDINGS, *SessionRows.BINDINGS])),
        Section("A block on the whole screen", _rows([*ViewerScreen.BINDINGS, *TextPane.BINDINGS])),
        Section("A picture on the whole screen", _rows(PictureView.BINDINGS)),
    )


def markdown_table() -> str:
    """The sections as Markdown, for the README."""
    lines: list[str] = []
    for section in sections():
        lines += [f"**{section.title}**", "", "| key | command | what it does |", "|---|---|---|"]
        lines += [f"| {_code(row.keys)} | {_code(row.slash)} | {row.help} |" for row in section.rows]
        lines.append("")
    return "\n".join(lines)


def _code(text: str) -> str:
    escaped = text.replace("|", "\\|")
    return f"`{escaped}`" if text else ""


def _rows(items: list[BindingType]) -> tuple[Row, ...]:
    return tuple(
        Row(item.key_display or _spelled(item.key), "", item.description)
        for item in items
        if isinstance(item, Binding) and item.description
    )


def _spelled(keys: str) -> str:
    return ", ".join(keys.split(","))
