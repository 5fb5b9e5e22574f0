"""How often an event may be sent at once, before it waits for a newer one to replace it."""

from collections.abc import Callable


class EventRate:
    """A burst of events, and then this many a second."""

    def __init__(self, burst: int, per_second: float, clock: Callable[[], float]) -> None:
        self.is_exceeded = False
        """Whether the last event was one too many."""
        self._burst, self._per_second, self._clock = burst, per_second, clock
        self._room = float(burst)
        self._counted = clock()

    def count(self) -> bool:
        """Count one; whether it was one too many."""
        now = self._clock()
        self._room = min(self._burst, self._room + (now - self._counted) * self._per_second)
        self._counted = now
        self.is_exceeded = self._room < 1
        if not self.is_exceeded:
            self._room -= 1
        return self.is_exceeded
