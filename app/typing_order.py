"""Keys in the order in which they were typed, however fast they come.

Textual hands a key to the widget that has the focus at that moment, and carries it on from there up to the app, whose
bindings answer last. When several keys arrive in one piece (a slow line, a script), the next one would be handed out
before an action of the last has moved the focus or opened a line to type into. So it waits until the last one has been
all the way up, and what its action set off has been all the way up as well.
"""

import time
from collections import deque
from typing import Any

from textual.app import App
from textual.dom import DOMNode
from textual.events import Event, Key, Paste
from textual.widgets import Input, TextArea

RECENT = 0.25
"""Seconds after which a key has done what it does."""

PATIENCE = 0.5
"""Seconds after which the next one no longer waits: something on the way was closed, and nobody would say so."""


class TypingOrder(App[None]):
    """An app that hands out what is typed one after the other."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._waiting: deque[Key | Paste] = deque()
        self._last_place: DOMNode | None = None
        """Who got the last one, if it can have set something off; letters in a text do not."""
        self._handed_out = 0.0
        self._turn = 0

    def note_typing(self, event: Key | Paste) -> None:
        """This one is handed out now."""

    async def on_event(self, event: Event) -> None:
        """Every key passes here first, whatever screen or widget it is for."""
        if not isinstance(event, Key | Paste) or event.is_forwarded:
            await super().on_event(event)
        elif self._waiting or self._is_under_way():
            self._waiting.append(event)
            if len(self._waiting) == 1:
                self._wait()
        else:
            await self._hand_out(event)

    def _is_under_way(self) -> bool:
        return self._last_place is not None and time.monotonic() - self._handed_out < RECENT

    async def _hand_out(self, event: Key | Paste) -> None:
        place = self.focused or self.screen
        letter = isinstance(place, TextArea | Input) and (isinstance(event, Paste) or event.is_printable)
        self.note_typing(event)
        await super().on_event(event)
        self._handed_out, self._last_place = time.monotonic(), None if letter else place

    def _wait(self) -> None:
        """Go up behind the last key, twice; then the next one."""
        self._turn += 1
        self.set_timer(PATIENCE, lambda turn=self._turn: self._go_on(turn))
        self._climb(self._last_place, self._turn, 2)

    def _climb(self, place: DOMNode | None, turn: int, rounds: int) -> None:
        """Have `place` come back here when it has done what it has to do now, and go on above it."""
        if place is not None and place.call_later(self._climb, place.parent, turn, rounds):
            return
        if rounds > 1:
            self._climb(self._last_place, turn, rounds - 1)
        else:
            self.call_later(self._go_on, turn)

    async def _go_on(self, turn: int) -> None:
        if turn != self._turn:
            return  # it went on already
        self._turn += 1
        while self._waiting:
            await self._hand_out(self._waiting.popleft())
            if self._waiting and self._is_under_way():
                self._wait()
                return
