"""All keys and commands, made from where they are defined: for the guide, on the screen and in its pages."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from textual.binding import Binding, BindingType
from textual.dom import DOMNode
from textual.screen import Screen

from oi_tui.app.commands.registry import COMMANDS, Command, own_keys
from oi_tui.app.screens.key_places import KEY_PLACES, HelpRow
from oi_tui.widgets.approval import ApprovalPanel
from oi_tui.widgets.composer import PromptArea
from oi_tui.widgets.keyrow import NO_KEYS, keymap_of, keys_of
from oi_tui.widgets.timeline.view import Timeline


class HelpSection(NamedTuple):
    """Rows that work in the same place."""

    title: str
    rows: tuple[HelpRow, ...]


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
            HelpSection(
                place.title,
                tuple(dict.fromkeys(row for owner in place.owners for row in _rows(_bindings(owner)))) + place.more,
            )
            for place in KEY_PLACES
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
            place = next((place for place in KEY_PLACES if owner in place.owners), None)
            rows = _rows(_bindings(owner), keymap_of(screen)) if _is_ours(owner) else ()
            if rows and owner.__name__ != "ChatScreen":
                title, more = (place.title, place.more) if place is not None else ("Keys here", ())
                found[title] = found.get(title, ()) + rows + more
    return tuple(HelpSection(title, tuple(dict.fromkeys(rows))) for title, rows in found.items())


def keys_page(screen: Screen[Any], commands: Iterable[Command] = ()) -> str:
    """Markdown: the keys of the place, in its current state, the `commands` that others added, what everybody does."""
    sections = (*keys_of_place(screen), *own_commands(commands), usual_tasks(keymap_of(screen)))
    return "\n".join(["# Keys here\n", *map(_table, sections), "`tab` goes to the other topics.\n"])


def _table(section: HelpSection) -> str:
    lines = [f"| {section.title} | |", "|---|---|"]
    for keys, slash, text, _ in section.rows:
        names = ", ".join(f"`{name}`" for name in (*keys.split(", "), slash) if name)
        lines.append(f"| {names.replace('|', chr(92) + '|')} | {text.replace('|', chr(92) + '|')} |")
    return "\n".join(lines) + "\n"


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
    """The bindings that this class itself declares."""
    return list(vars(owner).get("BINDINGS", ()))


def _rows(items: list[BindingType], keymap: Mapping[str, str] = NO_KEYS) -> tuple[HelpRow, ...]:
    return tuple(
        HelpRow(_spelling(item, keymap), "", item.description)
        for item in items
        if isinstance(item, Binding) and item.description and keys_of(item, keymap)
    )


def _spell_keys(keys: str) -> str:
    return ", ".join(keys.split(","))
