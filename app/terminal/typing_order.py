"""Keys in the order in which they were typed, however fast they come.

Textual hands a key to the widget that has the focus at that moment, and carries it on from there up to the app, whose
bindings answer last. When several keys arrive in one piece (a slow line, a script), the next one would be handed out
before an action of the last has moved the focus or opened a line to type into. So it waits until the last one has been
all the way up, and what its action set off has been all the way up as well. A key that is answered before the
widget gets it waits until what was typed before is in the text. When a key came is when it was read from the terminal,
which a thread does even where there is no time for it here.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from textual.app import App
from textual.dom import DOMNode
from textual.events import AppBlur, AppFocus, DescendantFocus, Event, Key, Paste
from textual.screen import Screen
from textual.widgets import Input, TextArea

if TYPE_CHECKING:
    from oi_tui.app.terminal.key_mapping import KeyMapping


class CombinesKeys(Protocol):
    """Makes one key of several, such as of the sequence `g g`."""

    @property
    def waits(self) -> bool:
        """Whether a key is held back for the next one."""
        ...

    def press(self, event: Key) -> list[Key]:
        """What is handed out after this key."""
        ...

    def release(self) -> list[Key]:
        """What was held back: no other key came."""
        ...


PATIENCE = 0.25
"""Seconds after which it is looked whether the last key still gets on. On a busy machine that takes longer."""

ROUNDS = 100
"""Turns of the loop without a step of the last key after which the next one no longer waits: something on its way was
closed, or waits for something else, and nobody would say so."""

_NUL = "ctrl+@"
"""What most terminals send for Ctrl+Space."""

PATIENCE_FOR_NEXT = 1.0
"""Seconds after which a key that was held back is passed on alone."""


class TypingOrder(App[None]):
    """An app that hands out what is typed one after the other."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._waiting: deque[Key | Paste | AppBlur | AppFocus] = deque()
        self._turn = 0
        """Number of the key that was handed out last."""
        self._under_way = False
        """Whether it may still set something off."""
        self._steps = 0
        """How often the keys so far got on on their way."""
        self._text: TextArea | Input | None = None
        """Where letters were handed to that may not be in the text yet."""
        self._held = 0
        """Number of the last key that might have been held back."""
        self._freed: deque[Key | Paste] = deque()
        """What is handed out next: keys that were held back come before those that wait."""
        self.sequences: CombinesKeys | None = None
        """What makes one key of several, where the person has such keys."""
        self.mapping: KeyMapping | None = None
        """What binds the person's own keys, where there are some."""
        self.catch_key: Callable[[Key], None] | None = None
        """Gets every key instead of the app, while it is set."""
        self.keymap: Mapping[str, str] = {}
        """The keys that differ from the declared ones, by the id of a binding."""
        self._has_place = False
        """Whether there is a widget that keys are for. Those that were typed before wait for it."""

    def note_typing(self, age: float) -> None:
        """Input from this many seconds ago is here, or had to wait, and is handed out now."""

    async def on_event(self, event: Event) -> None:
        """Every key passes here first, whatever screen or widget it is for."""
        if isinstance(event, DescendantFocus) and not self._has_place:
            self._has_place = self._under_way = True
            self.call_later(self._go_on, self._turn)
        if isinstance(event, AppBlur | AppFocus) and self._waiting:
            self._waiting.append(event)  # without the focus, a paste that was made before would be lost
            return
        if not isinstance(event, Key | Paste) or event.is_forwarded:
            await super().on_event(event)
            return
        self.note_typing(_age(event))
        if isinstance(event, Key) and event.key == _NUL:
            event = Key("ctrl+space", None)
        elif isinstance(event, Key) and event.key.startswith("alt+") and event.character is not None:
            event = Key(event.key, None)  # most terminals send Escape and the letter, which a text would take for one
        if isinstance(event, Key) and self.catch_key is not None:
            self.catch_key(event)
        elif not self._has_place:
            self._waiting.append(event)
        elif self._under_way:
            self._waiting.append(event)
            self.set_timer(PATIENCE, partial(_look_on, self, self._turn))
        elif self.sequences is not None:
            self._waiting.append(event)
            await self._go_on(self._turn)
        else:
            await self._hand_out(event)

    async def _hand_out(self, event: Key | Paste) -> None:
        place = self.focused or self.screen
        if self.mapping is not None:
            self.mapping.apply(place)
        if isinstance(place, TextArea | Input) and (isinstance(event, Paste) or event.is_printable):
            self._text = place  # a letter in a text sets nothing off
            await super().on_event(event)
            return
        self._turn += 1
        self._under_way = True
        text, self._text = self._text, None
        if text is not None and _comes_first(self.screen, event):
            self._freed.appendleft(event)
            self.set_timer(PATIENCE, partial(_look_on, self, self._turn))
            self._climb(text, text, self._turn, 1)
            return
        await super().on_event(event)
        self._climb(place, place, self._turn, 2)

    def _climb(self, start: DOMNode, place: DOMNode | None, turn: int, rounds: int) -> None:
        """Go up behind the key: `place` calls back here once it has done its own work."""
        self._steps += 1
        if place is not None and place.call_later(self._climb, start, place.parent, turn, rounds):
            return
        if rounds > 1:
            self._climb(start, start, turn, rounds - 1)
        else:
            self.call_later(self._go_on, turn)

    async def _go_on(self, turn: int, held: int = 0) -> None:
        """The key of this number has done what it does, or takes too long for it: the next ones, if it was the last.
        Or nothing came after the key that was `held` back as this one."""
        if held and self.sequences is not None and held == self._held:
            self._freed.extend(self.sequences.release())
        if self._under_way if held else turn != self._turn:
            return
        self._under_way = False
        while (self._freed or self._waiting) and not self._under_way:
            if self._freed:
                await self._hand_out(self._freed.popleft())
                continue
            event = self._waiting.popleft()
            if isinstance(event, AppBlur | AppFocus):
                await super().on_event(event)
                continue
            self.note_typing(_age(event))
            if self.sequences is None:
                await self._hand_out(event)
            elif isinstance(event, Key):
                self._freed.extend(self.sequences.press(event))
                self._held += 1
                if self.sequences.waits:
                    self.set_timer(PATIENCE_FOR_NEXT, partial(self._go_on, 0, self._held))
            else:
                self._freed.extend((*self.sequences.release(), event))


async def _look_on(order: TypingOrder, turn: int, steps: int = 0, rounds: int = ROUNDS) -> None:
    """This key takes long: the next ones are passed on if it makes no step in this many turns of the loop."""
    if turn != order._turn or not order._under_way:
        return
    if steps != order._steps:
        steps, rounds = order._steps, ROUNDS
    if not rounds:
        await order._go_on(turn)
        return
    await asyncio.sleep(0)
    order.call_later(_look_on, order, turn, steps, rounds - 1)


def _comes_first(screen: Screen[Any], event: Key | Paste) -> bool:
    """Whether a binding answers this key before the widget with the focus gets it."""
    keys = (bindings.key_to_bindings for _, bindings in screen._binding_chain)
    return isinstance(event, Key) and any(one.priority for bound in keys for one in bound.get(event.key, ()))


def _age(event: Event) -> float:
    """Seconds since it was read."""
    return max(0.0, time.monotonic() - event.time)
