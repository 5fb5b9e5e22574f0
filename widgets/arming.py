"""When a question may be answered: not by keys that were meant for something else.

A question that appears under somebody's fingers would be answered by the next letter of a sentence. It is armed
only when it has been on the screen for a moment and the keyboard has been quiet for a moment. Time comes in as
a function, so that nothing here has to be waited for in a test.
"""

from collections.abc import Callable

Clock = Callable[[], float]
"""Seconds, monotonic."""


class Arming:
    """Armed once the question has been up for `delay` seconds and no key was pressed for `pause` seconds."""

    def __init__(self, clock: Clock, *, delay: float = 0.5, pause: float = 1.0) -> None:
        self._clock = clock
        self._delay = delay
        self._pause = pause
        self._shown = 0.0
        self._last_key = float("-inf")
        self._armed = False

    def show(self) -> None:
        """The question appeared, or came back to the eye: it has to be armed anew."""
        self._armed = False
        self._shown = self._clock()

    def touch(self) -> None:
        """A key was pressed, for whatever it was meant; a question that was armed before it stays so."""
        self._armed = self.armed
        self._last_key = self._clock()

    def hand_out(self) -> None:
        """A key that came a moment ago is obeyed only now: that moment was no pause."""
        self._last_key = self._clock()

    @property
    def armed(self) -> bool:
        """Whether keys count now; once armed it stays so until shown again."""
        if not self._armed:
            now = self._clock()
            self._armed = now - self._shown >= self._delay and now - self._last_key >= self._pause
        return self._armed
