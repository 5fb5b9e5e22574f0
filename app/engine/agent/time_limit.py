"""How long a run may take; the time in which it waits for the person does not count."""

import asyncio
from collections.abc import Callable


class TimeLimit:
    """Calls back once, after so many seconds of the run itself."""

    def __init__(self, seconds: float, reach: Callable[[], None]) -> None:
        """0 seconds are no limit."""
        self._seconds, self._reach = seconds, reach
        self._left, self._over = 0.0, True
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """All of it, from now on."""
        self.end()
        self._left, self._over = self._seconds, False
        self.resume()

    def pause(self) -> None:
        """Keep what is left: somebody waits for the person."""
        if self._timer is not None:
            self._left = max(0.0, self._timer.when() - asyncio.get_running_loop().time())
            self._timer.cancel()
            self._timer = None

    def resume(self) -> None:
        """Continue with the time that remains."""
        if self._seconds and self._timer is None and not self._over:
            self._timer = asyncio.get_running_loop().call_later(self._left, self._end)

    def end(self) -> None:
        """It is not reached any more."""
        self.pause()
        self._over = True

    def _end(self) -> None:
        self._timer = None
        self._reach()
