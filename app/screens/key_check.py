"""The person's own keys (`[keys]` of the settings): which can be bound, and what is wrong with the others.

A decision is never made by a key that also sends, types or moves: no Enter, no Space, no Tab.
"""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from textual.app import App
from textual.binding import Binding
from textual.dom import DOMNode
from textual.keys import Keys, _character_to_key, key_to_character

from oi_tui.app.commands.registry import COMMANDS
from oi_tui.app.screens.key_help import KEY_PLACES
from oi_tui.app.screens.run_again import RunAgainScreen
from oi_tui.widgets.keyrow import UNBOUND

_EVERYWHERE = "everywhere"
_DECISIONS = ("approval.", "again.")
_FIXED = {
    **dict.fromkeys((f"approval.scope_{number}" for number in (1, 2, 3)), "its key is the number of the choice"),
    "composer.send": "enter always sends",
}
"""What keeps its keys, and why."""
_MODIFIERS = frozenset({"ctrl", "alt", "shift", "super", "hyper", "meta"})
_NEVER_DECIDE = frozenset({"enter", "space", "tab", "backspace", "delete", "ctrl+m", "ctrl+j", "ctrl+i", "ctrl+h"})


class CheckedKeys(NamedTuple):
    """What of them can be bound."""

    keymap: dict[str, str]
    """By the id of a binding, in Textual's names, with commas between them; `none` unbinds."""
    faults: tuple[str, ...]
    """One line each, for the person; what is named there keeps its declared keys."""


class _Bound(NamedTuple):
    """A binding where it works."""

    id: str
    keys: frozenset[str]
    place: str
    help: str


def check_keys(wished: Mapping[str, str]) -> CheckedKeys:
    """Judge each by itself, then against all others; what has a fault does not count for the next one."""
    bound = list(_all_bindings())
    keymap: dict[str, str] = {}
    faults: list[str] = []
    for name, keys in wished.items():
        own = [one for one in bound if one.id == name]
        spelled, fault = _judge(name, keys, own, bound)
        if fault:
            faults.append(f"{name}: {fault}")
        else:
            keymap[name] = spelled
    while clashes := dict(_clashes(keymap, bound)):
        faults += [f"{name}: {clash}" for name, clash in clashes.items()]
        keymap = {name: keys for name, keys in keymap.items() if name not in clashes}
    return CheckedKeys(keymap, tuple(faults))


def bind_keys(app: App[Any], wished: Mapping[str, str]) -> CheckedKeys:
    """Bind what can be; a command without a key of its own gets its first one."""
    checked = check_keys(wished)
    keyless = {row.id for row in COMMANDS if not row.key}
    app.set_keymap({name: keys for name, keys in checked.keymap.items() if name not in keyless})
    for name in keyless & checked.keymap.keys():
        if (keys := checked.keymap[name]) != UNBOUND:
            app.bind(keys, f"app.palette('{name}', True)", show=False)
    return checked


def _judge(name: str, keys: str, own: list[_Bound], bound: list[_Bound]) -> tuple[str, str]:
    """The keys as Textual spells them, and what is wrong with them."""
    if not own:
        close = get_close_matches(name, {one.id for one in bound if one.id}, n=1)
        return "", f"there is no such command{f', did you mean {close[0]}?' if close else ''}"
    if name in _FIXED:
        return "", _FIXED[name]
    if keys.strip().lower() in (UNBOUND, ""):
        return UNBOUND, ""
    spelled: list[str] = []
    for one in keys.split(","):
        key = _spell(one.strip())
        if not key:
            what = "sequences of keys cannot be bound" if " " in one.strip() else f"there is no key {one.strip()!r}"
            return "", what
        declared = any(key in one.keys for one in own)
        if name.startswith(_DECISIONS):
            if not declared and (key in _NEVER_DECIDE or key.rpartition("+")[2] in _NEVER_DECIDE):
                return "", f"{key} cannot answer a question about code"
        elif not declared and key_to_character(key) is not None:
            return "", f"{key} is typed into the prompt: use ctrl, alt or a function key"
        spelled.append(key)
    return ",".join(dict.fromkeys(spelled)), ""


def _spell(key: str) -> str:
    """Textual's name of a key; "" if there is no such key."""
    *modifiers, base = key.split("+") if key != "+" and not key.endswith("++") else [*key[:-1].split("+"), "+"]
    modifiers = [one.lower() for one in modifiers if one]
    if not _MODIFIERS.issuperset(modifiers) or not base:
        return ""
    if len(base) == 1:
        base = _character_to_key(base)
        base = base.lower() if modifiers and modifiers != ["shift"] else base
    elif key_to_character(base.lower()) is None and base.lower() not in {one.value for one in Keys}:
        return ""
    else:
        base = base.lower()
    return "+".join([*sorted(modifiers), base])


def _clashes(keymap: Mapping[str, str], bound: list[_Bound]) -> Iterator[tuple[str, str]]:
    """Keys that another binding of the same place has, or one that works everywhere."""
    now = [one._replace(keys=_keys(keymap[one.id])) if one.id in keymap else one for one in bound]
    for one, before in zip(now, bound, strict=True):
        new = one.keys - before.keys
        for other in now if new else ():
            near = other.place == one.place or _EVERYWHERE in (other.place, one.place)
            if near and other.id != one.id and (both := new & other.keys):
                what = f"{other.id} ({other.help})" if other.id else f"“{other.help}”"
                yield one.id, f"{min(both)} is the key of {what}, {other.place}"


def ids_to_bind() -> dict[str, str]:
    """What can be bound: id to what it does."""
    return {one.id: one.help for one in _all_bindings() if one.id and one.id not in _FIXED}


def _keys(keys: str) -> frozenset[str]:
    return frozenset() if keys == UNBOUND else frozenset(keys.split(","))


def _all_bindings() -> Iterator[_Bound]:
    """Those of commands and of every place, also what they have from Textual."""
    for row in COMMANDS:
        yield _Bound(row.id, _keys(row.key or UNBOUND), _EVERYWHERE, row.title)
    for title, owners, _ in KEY_PLACES:
        for owner in owners:
            yield from _of_place(title.lower(), owner)
    yield from _of_place("when code is run again", RunAgainScreen)


def _of_place(title: str, owner: type[DOMNode]) -> Iterator[_Bound]:
    seen: set[str] = set()
    for base in owner.__mro__:
        for item in vars(base).get("BINDINGS", ()):
            binding = item if isinstance(item, Binding) else Binding(*item)
            keys = frozenset(key.strip() for key in binding.key.split(",")) - seen
            seen |= keys
            if keys:
                yield _Bound(binding.id or "", keys, title, binding.description or binding.action)
