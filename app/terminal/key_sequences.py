"""Sequences of keys (`g g`, `ctrl+x ctrl+s`): those that begin one wait for the next, and none is lost.

A complete sequence is passed on as one key of that name, so that bindings need not know about sequences. Keys that do
not complete one are passed on one by one; so are those after which nothing comes for a second. No sequence begins in a
question about code, and one that began before the focus moved there is dropped.
"""

from collections.abc import Callable, Collection, Iterable
from typing import Generic, Protocol, TypeVar

from textual.app import App
from textual.dom import DOMNode
from textual.events import Key
from textual.widgets import Input, TextArea

from oi_tui.app.terminal.key_mapping import KeyMapping


class NamedKey(Protocol):
    """A key that was pressed."""

    @property
    def key(self) -> str: ...


Pressed = TypeVar("Pressed", bound=NamedKey)


class SequenceState(Generic[Pressed]):
    """The keys of a sequence that is not complete yet. `join` makes one key of several."""

    def __init__(self, join: Callable[[str], Pressed]) -> None:
        self._join = join
        self.pending: list[Pressed] = []

    def press(self, key: Pressed, sequences: Collection[str]) -> list[Pressed]:
        """The keys to pass on, with these sequences bound; none while a sequence may become complete."""
        name = " ".join(one.key for one in (*self.pending, key))
        if name in sequences:
            self.pending = []
            return [self._join(name)]
        if any(one.startswith(f"{name} ") for one in sequences):
            self.pending.append(key)
            return []
        if not self.pending:
            return [key]
        return [*self.release(), *self.press(key, sequences)]

    def release(self) -> list[Pressed]:
        """The keys that waited: there will be no sequence of them."""
        waited, self.pending = self.pending, []
        return waited


def sequences_of(keymap_keys: Iterable[str]) -> frozenset[str]:
    """The sequences among keys as a keymap has them, with commas between them."""
    return frozenset(one for keys in keymap_keys for one in keys.split(",") if " " in one)


class SequenceKeys:
    """The sequences of an app: `show` is called with the keys that wait, "" for none."""

    def __init__(
        self, app: App[None], mapping: KeyMapping, sequences: frozenset[str], show: Callable[[str], object]
    ) -> None:
        self._app = app
        self._mapping = mapping
        self._first = {one.partition(" ")[0] for one in sequences}
        self._show = show
        self._state: SequenceState[Key] = SequenceState(lambda name: Key(name, None))
        self._began_at: DOMNode | None = None

    @property
    def waits(self) -> bool:
        """Whether a sequence has begun."""
        return bool(self._state.pending)

    def press(self, event: Key) -> list[Key]:
        """The keys to pass on now."""
        place: DOMNode = self._app.focused or self._app.screen
        if not self.waits and event.key not in self._first:
            return [event]
        dropped = self.waits and place is not self._began_at
        if dropped:
            self._state.release()
        if not self.waits:
            is_text = isinstance(place, TextArea | Input)
            decides = any(getattr(node, "DECIDES", False) for node in (place, self._app.screen))
            if event.is_printable if is_text else decides:
                self._show("")
                return [event]
        self._began_at = place
        handed = self._state.press(event, self._sequences_here())
        self._show(" ".join(one.key for one in self._state.pending))
        return handed

    def release(self) -> list[Key]:
        """The keys that waited too long, unless the focus is elsewhere by now."""
        waited, stays = self._state.release(), self._began_at is (self._app.focused or self._app.screen)
        self._show("")
        return waited if stays else []

    def _sequences_here(self) -> set[str]:
        self._mapping.apply(self._app.focused or self._app.screen)
        chain = self._app.screen._modal_binding_chain
        return {key for _, bindings in chain for key in bindings.key_to_bindings if " " in key}
