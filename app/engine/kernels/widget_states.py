"""The states of widgets, as a kernel tells them: cleaned, and bounded for each widget and for all of them."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from oi_tui.app.engine.core.encoding import expressible
from oi_tui.app.engine.kernels.json_cleaner import clean_json

MOST_WIDGETS = 5_000
"""Widgets whose states are kept: the newest of them."""

LONGEST_NAME = 200
"""Characters of the name of a widget, or of a part of its state."""

MOST_OF_PART, MOST_OF_WIDGET, MOST_OF_ALL = 100_000, 300_000, 30_000_000
"""Bytes of JSON that are kept of a part of a state, of a whole state, and of all; a part that is longer is left out."""


class WidgetStates(Mapping[str, Mapping[str, Any]]):
    """States by the id of their widget, in the order of their last change."""

    def __init__(self) -> None:
        self._states: dict[str, dict[str, Any]] = {}
        self._sizes: dict[str, dict[str, int]] = {}
        """Of each part."""
        self._size_of: dict[str, int] = {}
        """Of each widget."""
        self._size = 0

    def __getitem__(self, name: str) -> Mapping[str, Any]:
        return self._states[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._states)

    def __len__(self) -> int:
        return len(self._states)

    def open(self, name: str, parts: Mapping[str, Any]) -> bool:
        """Open a widget, or replace it; returns whether it is kept."""
        if len(name) > LONGEST_NAME or name != expressible(name):
            return False
        self.close(name)
        self._states[name], self._sizes[name], self._size_of[name] = {}, {}, 0
        self.update(name, parts)
        return True

    def update(self, name: str, parts: Mapping[str, Any]) -> None:
        """Change parts of a known widget's state."""
        state = self._states[name] = self._states.pop(name)
        sizes = self._sizes[name]
        for key, told in parts.items():
            if len(key) > LONGEST_NAME:
                continue
            value = clean_json(told)
            size = len(key) + len(msgspec.json.encode(value))
            more = size - sizes.get(key, 0)
            if size > MOST_OF_PART or self._size_of[name] + more > MOST_OF_WIDGET:
                continue
            state[expressible(key)], sizes[key] = value, size
            self._size_of[name] += more
            self._size += more
        while self._size > MOST_OF_ALL or len(self._states) > MOST_WIDGETS:
            self.close(next(iter(self._states)))

    def close(self, name: str) -> None:
        """Remove a closed widget."""
        if self._states.pop(name, None) is not None:
            del self._sizes[name]
            self._size -= self._size_of.pop(name)
