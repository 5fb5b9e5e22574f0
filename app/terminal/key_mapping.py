"""The person's keys in the bindings of each widget, made once and not with every key.

Textual applies its keymap to a copy of all bindings on the way, twice for each key: with a hundred ids, that took 15 ms
of each letter. So the bindings are made when a widget gets its first key.
"""

from collections.abc import Mapping
from dataclasses import replace
from weakref import WeakKeyDictionary

from textual.binding import Binding, BindingsMap
from textual.dom import DOMNode


def rebound(declared: BindingsMap, keymap: Mapping[str, str]) -> BindingsMap:
    """The bindings with these keys, by id; changed ones come before others with the same key."""
    new: dict[str, list[Binding]] = {}
    kept: dict[str, list[Binding]] = {}
    done: set[str] = set()
    for key, bindings in declared.key_to_bindings.items():
        for binding in bindings:
            chosen = keymap.get(binding.id or "")
            if chosen is None:
                kept.setdefault(key, []).append(binding)
            elif binding.id and binding.id not in done:
                done.add(binding.id)
                for one in chosen.split(","):
                    new.setdefault(one, []).append(replace(binding, key=one, key_display=None))
    for key, bindings in kept.items():
        new.setdefault(key, []).extend(bindings)
    return BindingsMap.from_keys(new)


class KeyMapping:
    """Knows what was declared, so that other keys can follow."""

    def __init__(self) -> None:
        self._keymap: Mapping[str, str] = {}
        self._number = 0
        """Of the keymap."""
        self._declared: WeakKeyDictionary[DOMNode, tuple[BindingsMap, int]] = WeakKeyDictionary()
        """The bindings of a widget as they were, and the number of the keymap that it has."""

    def use(self, keymap: Mapping[str, str]) -> None:
        """Applies from the next key on."""
        self._keymap, self._number = keymap, self._number + 1

    def declare(self, node: DOMNode, binding: Binding) -> None:
        """One more, of this widget alone."""
        declared = self._declared[node][0] if node in self._declared else node._bindings
        if all(one.id != binding.id for _, one in declared):
            keys = declared.key_to_bindings
            keys[binding.key] = [*keys.get(binding.key, ()), binding]  # a list of its own: the other is the class's

    def apply(self, place: DOMNode) -> None:
        """Bind the keys of what is between this widget and the app."""
        for node in place.ancestors_with_self:
            declared, number = self._declared.get(node, (node._bindings, 0))
            if number != self._number:
                node._bindings = rebound(declared, self._keymap)
                self._declared[node] = (declared, self._number)
