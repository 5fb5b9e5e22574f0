"""All keys and commands, made from where they are defined: for the guide, on the screen and in its pages."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from textual.binding import Binding, BindingType
from textual.dom import DOMNode
from textual.screen import Screen

from oi_tui.app.commands.registry import COMMANDS, Command, own_keys
from oi_tui.app.screens.viewer import ViewerScreen
from oi_tui.widgets.approval import ApprovalPanel
from oi_tui.widgets.composer import PromptArea
from oi_tui.widgets.editor import SourceEditor
from oi_tui.widgets.inspector import Inspector
from oi_tui.widgets.keyrow import NO_KEYS, keymap_of, keys_of
from oi_tui.widgets.sessions.panel import Panel
from oi_tui.widgets.sessions.session_rows import SessionRows
from oi_tui.widgets.timeline.view import Timeline
from oi_tui.widgets.trouble import TroubleRow
from oi_tui.widgets.viewer.pane import TextPane
from oi_tui.widgets.viewer.picture_view import PictureView


class HelpRow(NamedTuple):
    """One line of the help."""

    keys: str
    slash: str
    help: str
    shell: str = ""
    """The subcommand of `oi-tui` that is about the same."""


class HelpSection(NamedTuple):
    """Rows that work in the same place."""

    title: str
    rows: tuple[HelpRow, ...]


KEY_PLACES: tuple[tuple[str, tuple[type[DOMNode], ...], tuple[HelpRow, ...]], ...] = (
    (
        "The prompt",
        (PromptArea,),
        (
            HelpRow("", "!COMMAND", "Run a shell command yourself"),
            HelpRow("", "%CODE", "Run Python yourself; %python works too"),
            HelpRow("", "@PATH", "Give a file with the prompt"),
        ),
    ),
    ("When code wants to run", (ApprovalPanel,), ()),
    ("Editing that code", (SourceEditor,), ()),
    ("After an error", (TroubleRow,), ()),
    ("The timeline", (Timeline,), (HelpRow("ctrl+c", "", "Copy what was selected with the mouse"),)),
    ("The variables", (Inspector,), ()),
    ("The sessions", (Panel, SessionRows), ()),
    ("A block on the whole screen", (ViewerScreen, TextPane), ()),
    ("A picture on the whole screen", (PictureView,), ()),
)
"""Title, the widgets whose keys work there, and rows without a binding."""

_TASKS: tuple[tuple[str, type[DOMNode] | None, str], ...] = (
    ("Send the prompt", PromptArea, "submit"),
    ("New line", PromptArea, "newline"),
    ("Stop the cell; twice, the turn", None, "interrupt"),
    ("Run the code that waits", ApprovalPanel, "decide('run')"),
    ("Edit it first", ApprovalPanel, "enter('editing')"),
    ("Refuse it and say why", ApprovalPanel, "enter('reason')"),
    ("To the timeline and back", None, "focus"),
    ("Copy the block", Timeline, "ask('copy')"),
    ("View the block on the whole screen", Timeline, "ask('view')"),
    ("Search the timeline", Timeline, "find"),
    ("Choose a model", None, "model"),
    ("Past sessions", None, "sessions"),
    ("Past prompts", None, "recall"),
    ("Variables", None, "variables"),
    ("All commands", None, "palette"),
    ("Quit", None, "quit"),
)
"""What everybody does, in order; the action of a widget's binding, or (without a widget) the id of a command."""


def help_sections() -> tuple[HelpSection, ...]:
    """All keys and commands, by where they work."""
    everywhere = tuple(
        HelpRow(_spell_keys(row.key), f"/{row.slash} {row.argument}".strip() if row.slash else "", row.help, row.shell)
        for row in COMMANDS
    )
    return (
        HelpSection("Everywhere", everywhere),
        *(
            HelpSection(title, tuple(row for owner in owners for row in _rows(_bindings(owner))) + more)
            for title, owners, more in KEY_PLACES
        ),
    )


def own_commands(rows: Iterable[Command]) -> tuple[HelpSection, ...]:
    """The commands that others added, with whose they are."""
    own = tuple(
        HelpRow("", f"/{row.slash} {row.argument}".strip(), f"{row.origin}: {row.help}") for row in rows if row.origin
    )
    return (HelpSection("Your commands", own),) if own else ()


def usual_tasks(keymap: Mapping[str, str] = NO_KEYS) -> HelpSection:
    """What everybody does, with its keys; KeyError if a binding or command of it is gone."""
    return HelpSection("Usual tasks", tuple(_task_row(*task, keymap) for task in _TASKS))


def keys_of_place(screen: Screen[Any]) -> tuple[HelpSection, ...]:
    """The keys that work where the focus is, from the inside out; those that work everywhere are not among them."""
    here = screen.focused or screen
    found: dict[str, tuple[HelpRow, ...]] = {}
    for node in here.ancestors_with_self:
        if node is screen.app:
            break
        for owner in type(node).__mro__:
            place = next(((title, more) for title, owners, more in KEY_PLACES if owner in owners), None)
            rows = _rows(_bindings(owner), keymap_of(screen)) if _is_ours(owner) else ()
            if rows and owner.__name__ != "ChatScreen":
                title, more = place or ("Keys here", ())
                found[title] = found.get(title, ()) + rows + more
    return tuple(HelpSection(title, tuple(dict.fromkeys(rows))) for title, rows in found.items())


def _task_row(text: str, owner: type[DOMNode] | None, name: str, keymap: Mapping[str, str]) -> HelpRow:
    if owner is None:
        row = {row.id: row for row in COMMANDS}[name]
        keys = own_keys(row, keymap)
        return HelpRow(_spell_keys(keys), f"/{row.slash}" if row.slash and not keys else "", text)
    return HelpRow(dict(_spellings(owner, keymap))[name], "", text)


def _spellings(owner: type[DOMNode], keymap: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for item in _bindings(owner):
        if isinstance(item, Binding):
            yield item.action, _spelling(item, keymap)


def _spelling(item: Binding, keymap: Mapping[str, str]) -> str:
    declared = item.key_display if item.id not in keymap else None
    return declared or _spell_keys(keys_of(item, keymap))


def _is_ours(owner: type) -> bool:
    return owner.__module__.startswith("oi_tui.")


def _bindings(owner: type) -> list[BindingType]:
    """Those of this class itself."""
    return list(vars(owner).get("BINDINGS", ()))


def _rows(items: list[BindingType], keymap: Mapping[str, str] = NO_KEYS) -> tuple[HelpRow, ...]:
    return tuple(
        HelpRow(_spelling(item, keymap), "", item.description)
        for item in items
        if isinstance(item, Binding) and item.description and keys_of(item, keymap)
    )


def _spell_keys(keys: str) -> str:
    return ", ".join(keys.split(","))
