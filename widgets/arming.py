"""When a question accepts answers: not from keys meant for something else.

A question that appears while somebody types would take the next letter of a sentence as an answer. It is armed only
once it has been on the screen for a moment and the keyboard has been quiet for a moment. The time of a key is when it
arrived, not when it was handled; and after a stall we do not know what the user saw and typed meanwhile. The clock is a
parameter, so tests need not wait.
"""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

Clock = Callable[[], float]
"""Seconds, monotonic."""

LOOK_INTERVAL = 0.1
"""Seconds after which a question that is up should be looked at again."""

TYPING_GAP = 0.2
"""Seconds without a look that are too many while the question is being armed: it may not have been on the screen."""

ABSENCE = 0.5
"""Seconds without an update that disarm a question: the program was stalled, and earlier keys arrive now."""


@runtime_checkable
class NotesKeys(Protocol):
    """A screen with a question that sees every key, like the chat."""

    def note_key(self, age: float) -> None:
        """A key was pressed this many seconds ago, wherever it went."""


class Arming:
    """Armed once the question has been up for `delay` seconds and no key was pressed for `pause` seconds."""

    def __init__(self, clock: Clock, *, delay: float = 0.5, pause: float = 1.0) -> None:
        self._clock = clock
        self._delay = delay
        self._pause = pause
        self._looked = clock()
        self._last_key = float("-inf")
        self._armed_from = float("-inf")
        """The moment from which keys count."""

    def show(self) -> None:
        """The question appeared, again or for the first time: arm it again."""
        self._looked = self._clock()
        self._armed_from = max(self._looked + self._delay, self._last_key + self._pause)

    def go_on(self) -> None:
        """The user returned to the question with a key, from an editor: keys count immediately."""
        self._looked, self._armed_from = self._clock(), float("-inf")

    def look(self, *, begun: bool = False) -> None:
        """The question is on the screen; to be called every `LOOK_INTERVAL` seconds, and before a key is obeyed.

        After a late call the question counts as just shown, unless the answer was `begun`: then it has been read.
        """
        before, self._looked = self._looked, self._clock()
        allowed = ABSENCE if before >= self._armed_from else TYPING_GAP
        if self._looked - before > allowed and not begun:
            self.show()

    def touch(self, age: float = 0.0) -> None:
        """A key was pressed this many seconds ago, wherever it went; a question that was armed before it stays
        armed."""
        now = self._clock()
        if now - age < self._armed_from:
            self._armed_from = max(self._armed_from, now + self._pause)
        self._last_key = now

    @property
    def is_typing(self) -> bool:
        """Whether a key came just now."""
        return self._clock() - self._last_key < self._pause

    @property
    def is_armed(self) -> bool:
        """Whether keys count now; once armed it stays so until shown again."""
        return self._clock() >= self._armed_from
