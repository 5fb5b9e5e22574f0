"""A row of keys with what they do: read, and clicked on."""

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from textual._context import NoActiveAppError
from textual.binding import Binding
from textual.content import Content
from textual.dom import DOMNode
from textual.events import Click
from textual.geometry import Size
from textual.keys import key_to_character
from textual.reactive import reactive
from textual.widget import Widget

from oi_tui.widgets.lettering import lettering
from oi_tui.widgets.text_box import UNBOUND

_GAP = 3


class KeyLabel(NamedTuple):
    """One key: what to press, what it does, and the same in a word for narrow terminals."""

    key: str
    label: str
    short: str
    enabled: bool = True
    owner: Widget | None = None
    action: str = ""
    """What a click does, as an action of `owner`; where there is none, the key is pressed and not clicked."""
    hint: "Hint | None" = None
    """What it was made of, and is made of again when keys change; a `key` of "" is not shown."""


@dataclass(frozen=True)
class Hint(Binding):
    """A binding in a row of keys, with its description unless the help needs more words."""

    label: str = ""
    """What the row says instead."""
    short: str = ""
    """The same in a word, for narrow terminals."""


NO_KEYS: Mapping[str, str] = {}


def keymap_of(node: DOMNode) -> Mapping[str, str]:
    """The keys that the person chose, by the id of a binding; those that are not in it are as declared."""
    try:
        keymap: Mapping[str, str] = getattr(node.app, "keymap", NO_KEYS)
    except NoActiveAppError:
        return NO_KEYS
    return keymap


def keys_of(binding: Binding, keymap: Mapping[str, str]) -> str:
    """The keys of a binding, with commas between them; "" if the person unbound it."""
    chosen = keymap.get(binding.id or "", binding.key)
    return "" if chosen == UNBOUND else chosen


_SHOWN = {"escape": "esc", "pagedown": "pgdn", "up": "↑", "down": "↓", "question_mark": "?", "f1": "F1"}
_SHOWN |= {"underscore": "_", "slash": "/", "plus": "+", "minus": "-", "backslash": "\\"}

_BACK = Hint("escape", "screen.step_back", "Back", id="interrupt", label="back")
"""The command of this id, as widgets show it that are a part of the main screen."""


def key_labels(
    owner: Widget, *keys: str, words: Mapping[str, tuple[str, str]] | None = None, off: Container[str] = ()
) -> tuple[KeyLabel, ...]:
    """Labels of the hints among the bindings of `owner`: of these `keys`, or of all.

    `words` replace some of the labels, in a long and a short form; keys that are `off` are dimmed. For example
    `key_labels(self, words={"y": ("replace it", "replace")})`. All go by the keys as they are declared; what is shown
    are the person's own.
    """
    labels: dict[str, KeyLabel] = {}
    keymap = keymap_of(owner)
    for hint in owner.BINDINGS:
        if isinstance(hint, Hint):
            key = hint.key_display or _SHOWN.get(hint.key.split(",")[0], hint.key.split(",")[0])
            label = hint.label or hint.description
            label, short = (words or {}).get(key, (label, hint.short or label))
            labels[key] = KeyLabel(shown_key(hint, keymap), label, short, key not in off, owner, hint.action, hint)
    return tuple(labels[key] for key in keys or labels)


def shown_key(binding: Binding, keymap: Mapping[str, str]) -> str:
    """The first key of a binding as a row shows it; "" without one."""
    if binding.id not in keymap and binding.key_display:
        return binding.key_display.split(", ")[0]
    chosen = keys_of(binding, keymap).split(",")[0]
    return " ".join(map(_spell_key, chosen.split()))


def _spell_key(key: str) -> str:
    modifiers, plus, base = key.rpartition("+")
    character = key_to_character(base)
    if character is None or not character.isprintable() or character.isspace():
        character = base
    return f"{modifiers}{plus}{_SHOWN.get(base, character)}"


def key_in_use(place: DOMNode, name: str, owner: type[DOMNode] | None = None) -> str:
    """The first key of the binding with this id, as a row shows it; "" without one. It is a binding of `owner`, else of
    `place` or what that is in; KeyError if none of them has it."""
    owners = [owner] if owner is not None else [type(node) for node in place.ancestors_with_self]
    for base in (base for one in owners for base in one.__mro__):
        for item in vars(base).get("BINDINGS", ()):
            if isinstance(item, Binding) and item.id == name:
                return shown_key(item, keymap_of(place))
    raise KeyError(name)


def key_hint(place: DOMNode, *parts: tuple[str, str], owner: type[DOMNode] | None = None) -> str:
    """`ctrl+p commands · F1 help`, of ids and what their keys do; what is unbound is not in it."""
    keyed = ((key_in_use(place, name, owner), words) for name, words in parts)
    return " · ".join(f"{key} {words}" for key, words in keyed if key)


def joint_label(owner: Widget, label: str, *names: str) -> KeyLabel:
    """One label for the keys of these ids: `↑↓ select`."""
    shown, before = "", ""
    for key in filter(None, (key_in_use(owner, name) for name in names)):
        shown += key if len(key) == len(before) == 1 else f" {key}"
        before = key
    return KeyLabel(shown.lstrip(), label, label)


def stop_key(place: DOMNode) -> str:
    """The key that interrupts, and leads one step back, where it is not known that the main screen is around."""
    return shown_key(_BACK, keymap_of(place))


def back_label(owner: Widget, label: str = "back") -> KeyLabel:
    """The way out of a part of the main screen."""
    return KeyLabel(stop_key(owner), label, label, owner=owner, action=_BACK.action, hint=_BACK)


class KeyRow(Widget, can_focus=False):
    """Key labels, wrapped between labels and never inside one."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"keyrow--key", "keyrow--label", "keyrow--off"}

    DEFAULT_CSS = """
    KeyRow {
        height: auto;
        padding: 0 1;
        & > .keyrow--key { color: $accent; text-style: bold; }
        & > .keyrow--label { color: $foreground; }
        & > .keyrow--off { color: $text-disabled; }
    }
    """

    labels: reactive[tuple[KeyLabel, ...]] = reactive((), layout=True)

    waiting: reactive[str] = reactive("", layout=True)
    """The beginning of a sequence of keys."""

    def renew(self) -> None:
        """Show the keys that are bound now."""
        keymap = keymap_of(self)
        self.labels = tuple(
            label._replace(key=shown_key(label.hint, keymap)) if label.hint is not None else label
            for label in self.labels
        )

    def rows(self, width: int) -> list[list[tuple[KeyLabel, str]]]:
        """Labels with their wording, row by row; short words where that spares a row."""
        waiting = (KeyLabel(self.waiting, "", ""),) if self.waiting else ()
        shown = [label for label in (*waiting, *self.labels) if label.key]
        long_rows = _lay_out([(label, label.label) for label in shown], width)
        if len(long_rows) == 1:
            return long_rows
        return _lay_out([(label, label.short) for label in shown], width)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """One row for each line of labels."""
        return len(self.rows(width))

    def render(self) -> Content:
        """The labels, keys in the accent, what is off dimmed."""
        key, label, off = (self.get_visual_style(f"keyrow--{name}", partial=True) for name in ("key", "label", "off"))
        lines: list[Content] = []
        for row in self.rows(self.content_size.width):
            parts: list[Content] = []
            for item, wording in row:
                styles = (key, label) if item.enabled else (off, off)
                parts.append(lettering((item.key, styles[0]), " ", (wording, styles[1])))
            lines.append(Content(" " * _GAP).join(parts))
        return Content("\n").join(lines)

    async def on_click(self, event: Click) -> None:
        """A click on a label is that key."""
        event.stop()
        offset = event.get_content_offset(self)
        rows = self.rows(self.content_size.width)
        if offset is None or offset.y >= len(rows):
            return
        left = 0
        for item, wording in rows[offset.y]:
            right = left + len(item.key) + 1 + len(wording)
            if left <= offset.x < right:
                if item.owner is not None:
                    await item.owner.run_action(item.action)
                return
            left = right + _GAP


def _lay_out(items: list[tuple[KeyLabel, str]], width: int) -> list[list[tuple[KeyLabel, str]]]:
    rows: list[list[tuple[KeyLabel, str]]] = [[]]
    used = 0
    for item, wording in items:
        size = len(item.key) + 1 + len(wording)
        if rows[-1] and used + _GAP + size > width:
            rows.append([])
            used = 0
        used += size + (_GAP if rows[-1] else 0)
        rows[-1].append((item, wording))
    return rows
