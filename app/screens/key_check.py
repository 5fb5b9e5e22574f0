"""The person's own keys (`[keys]` of the settings): which can be bound, and what is wrong with the others.

A decision is never made by a key that also sends, types or moves, nor by a sequence: no Enter, no Space, no Tab.
"""

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from typing import NamedTuple

from textual.keys import Keys, _character_to_key, key_to_character

from oi_tui.app.screens.bound_keys import BoundKeys, KeyConflict, keys_in
from oi_tui.app.screens.key_places import CHAT, EVERYWHERE, declared_keys
from oi_tui.widgets.text_box import UNBOUND

_DECISIONS = ("approval.", "again.", "rebuild.", "folder.")
_FIXED = {
    **dict.fromkeys((f"approval.scope_{number}" for number in (1, 2, 3)), "its key is the number of the choice"),
    "composer.send": "enter always sends",
}
"""What keeps its keys, and why."""
_MODIFIERS = frozenset({"ctrl", "alt", "shift", "super", "hyper", "meta"})
_NEVER_DECIDE = frozenset({"enter", "space", "tab", "backspace", "delete", "ctrl+m", "ctrl+j", "ctrl+i", "ctrl+h"})
_NEVER_FIRST = _NEVER_DECIDE | {"escape"}
_NEVER_PERMIT = frozenset({
    *("up", "down", "left", "right", "pageup", "pagedown", "home", "end", "insert", "backtab"),
    *("escape", "return", "newline", "ctrl+at", "ctrl+left_square_bracket"),
})  # fmt: skip
"""Keys that move or lead out, and other names of those that never decide, as terminals send them."""
_PERMISSIONS = frozenset({
    *("approval.run", "approval.edit", "approval.always", "approval.install"),
    *("again.run", "again.edit", "rebuild.run", "folder.trust", "folder.open"),
})  # fmt: skip
"""Decisions by which something may run."""
"""Keys that no sequence begins with: they work at once."""

MACRO = "macro."
"""What the id of a macro begins with."""

MOST_OF_SEQUENCE = 4
"""Keys of a sequence."""


class CheckedKeys(NamedTuple):
    """The keys that can be bound, and the faults of the others."""

    keymap: dict[str, str]
    """By the id of a binding, in Textual's names, with commas between them; `none` unbinds."""
    faults: tuple[str, ...]
    """One line each, for the person; what is named there keeps its other keys."""


def check_keys(wished: Mapping[str, str], base: Mapping[str, str] | None = None) -> CheckedKeys:
    """Judge each by itself, then against all others; what has a fault does not count for the next one. `base` are keys
    of a set: they apply where nothing else is wished for."""
    under = base or {}
    declared = list(declared_keys())
    keymap: dict[str, str] = {}
    faults: list[str] = []
    for name, keys in wished.items():
        spelled, fault = judge_keys(name, keys, declared)
        if fault:
            faults.append(f"{name}: {fault}")
        else:
            keymap[name] = spelled
    before = _with_keys(declared, under)
    while clashes := dict(_clashes(before, _with_keys(before, keymap))):
        faults += [f"{name}: {clash}" for name, clash in clashes.items()]
        keymap = {name: keys for name, keys in keymap.items() if name not in clashes}
    return CheckedKeys({**under, **keymap}, tuple(faults))


def judge_keys(name: str, keys: str, declared: Iterable[BoundKeys]) -> tuple[str, str]:
    """The keys as Textual spells them, and what is wrong with them by themselves."""
    own = [one for one in declared if one.id == name]
    if not own and name.startswith(MACRO):
        macro = name.removeprefix(MACRO)
        return "", f"there is no macro {macro} yet: /macro record {macro} makes one, and then the key plays it"
    if not own:
        close = get_close_matches(name, {one.id for one in declared if one.id}, n=1)
        return "", f"there is no such command{f', did you mean {close[0]}?' if close else ''}"
    if name in _FIXED:
        return "", _FIXED[name]
    spelled: list[str] = []
    for one in [] if keys.strip().lower() in (UNBOUND, "") else keys.split(","):
        parts = [spell_key(part) for part in one.split() or [one.strip()]]
        if "" in parts:
            return "", f"there is no key {one.split()[parts.index('')] if one.split() else one.strip()!r}"
        if fault := _fault(name, parts, own):
            return "", fault
        key = " ".join(parts)
        if key not in spelled and (pair := _overlap([key], spelled)):
            return "", f"{pair[0]} clashes with {pair[1]}"
        spelled.append(key)
    if _is_way_out(name) and any("escape" in one.keys for one in own):
        spelled.append("escape")  # the key for help
    return ",".join(dict.fromkeys(spelled)) or UNBOUND, ""


def _fault(name: str, parts: list[str], own: list[BoundKeys]) -> str:
    """Why these keys, one or a sequence, cannot do this; "" if they can."""
    first, key = parts[0], " ".join(parts)
    if any(key in one.keys for one in own):
        return ""
    if name.startswith(_DECISIONS):
        if len(parts) > 1:
            return "a sequence of keys cannot answer a question about code"
        if key in _NEVER_DECIDE or key.rpartition("+")[2] in _NEVER_DECIDE:
            return f"{key} cannot answer a question about code"
        if name in _PERMISSIONS and (key in _NEVER_PERMIT or key.rpartition("+")[2] in _NEVER_PERMIT):
            return f"{key} moves or leads out: it cannot let code run"
    if len(parts) > 1 and first in _NEVER_FIRST:
        return f"no sequence can begin with {first}: it works at once"
    if len(parts) > MOST_OF_SEQUENCE:
        return f"a sequence has at most {MOST_OF_SEQUENCE} keys"
    if not all(one.takes_letters for one in own) and key_to_character(first) is not None:
        return f"{first} is typed into the text: use ctrl, alt or a function key"
    return ""


def _is_way_out(name: str) -> bool:
    return name.endswith((".back", ".close", ".cancel"))


def spell_key(key: str) -> str:
    """Textual's name of a key; "" if there is no such key."""
    *modifiers, base = key.split("+") if key != "+" and not key.endswith("++") else [*key[:-1].split("+"), "+"]
    modifiers = [one.lower() for one in modifiers if one]
    if not _MODIFIERS.issuperset(modifiers) or not base:
        return ""
    if len(base) == 1:
        base = _character_to_key(base)
        base = base.lower() if modifiers and modifiers != ["shift"] else base
    elif base.lower() not in _names():
        return ""
    else:
        base = base.lower()
    return "+".join([*sorted(modifiers), base])


@cache
def _names() -> frozenset[str]:
    """All names of keys that are longer than a character."""
    return frozenset(
        {one.value for one in Keys} | {_character_to_key(character) for character in map(chr, range(32, 127))}
    )


def _with_keys(bound: list[BoundKeys], keymap: Mapping[str, str]) -> list[BoundKeys]:
    return [one._replace(keys=keys_in(keymap[one.id])) if one.id in keymap else one for one in bound]


def find_conflicts(name: str, keys: str, keymap: Mapping[str, str]) -> tuple[KeyConflict, ...]:
    """What has one of these keys already, where `keymap` applies."""
    before = _with_keys(list(declared_keys()), keymap)
    return tuple(_conflicts(before, _with_keys(before, {name: keys})))


def _clashes(bound: list[BoundKeys], now: list[BoundKeys]) -> Iterator[tuple[str, str]]:
    for one in _conflicts(bound, now):
        yield one.id, str(one)


def _conflicts(bound: list[BoundKeys], now: list[BoundKeys]) -> Iterator[KeyConflict]:
    """New keys that another binding of the same place has, or one that works everywhere; also those that are the
    beginning of another's sequence, or begin with another's key."""
    for one, before in zip(now, bound, strict=True):
        new = one.keys - before.keys
        for other in now if new else ():
            if _both_work(one, other) and (pair := _overlap(new, other.keys)):
                yield KeyConflict(one.id, *pair, other)


def _both_work(one: BoundKeys, other: BoundKeys) -> bool:
    """Whether one of them would keep the other from its keys. Of the ways out, the innermost comes first."""
    ways = [item for item in (one, other) if item.id == "interrupt" or _is_way_out(item.id)]
    if one.id == other.id or (len(ways) == 2 and one.place != other.place):
        return False
    places = {one.place, other.place}
    return len(places) == 1 or EVERYWHERE in places or (CHAT in places and one.in_chat and other.in_chat)


def _overlap(new: Iterable[str], taken: Iterable[str]) -> tuple[str, str] | None:
    """A key of each, the same or one the beginning of the other."""
    both = [(a, b) for a in new for b in taken if a == b or a.startswith(f"{b} ") or b.startswith(f"{a} ")]
    return min(both, default=None)


def ids_to_bind() -> dict[str, str]:
    """What can be bound: id to what it does."""
    return {one.id: one.help for one in declared_keys() if one.id and one.id not in _FIXED}
