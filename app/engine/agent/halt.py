"""How a turn ends: by an exception with a reason, or because the user cancels whatever it waits for."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from oi_tui.app.engine.core.outcomes import StopReason

HaltItem = TypeVar("HaltItem")

INTERRUPTED = "Interrupted by you."


class TurnStopped(Exception):
    """The turn ends here, for this reason; `detail` says why in plain words."""

    def __init__(self, reason: StopReason, detail: str = "") -> None:
        super().__init__(reason, detail)
        self.reason: StopReason = reason
        self.detail = detail


class Halt:
    """Whether the person wants the turn to end, and what is being waited for in it."""

    def __init__(self) -> None:
        self._asked = False
        self._waiting: set[asyncio.Task[Any]] = set()

    def is_asked(self) -> bool:
        """Whether the turn should end."""
        return self._asked

    def check(self) -> None:
        """TurnStopped if the turn should end."""
        if self._asked:
            raise TurnStopped("interrupted", INTERRUPTED)

    @property
    def waits(self) -> bool:
        """Whether something is being waited for."""
        return bool(self._waiting)

    def ask(self) -> None:
        """Request the end of the turn; `break_off` cancels the waiting too."""
        self._asked = True

    def break_off(self) -> None:
        """Stop waiting: the event will not arrive."""
        for waiting in self._waiting:
            waiting.cancel()

    def clear(self) -> None:
        self._asked = False

    async def result(self, work: Callable[[], Coroutine[Any, Any, HaltItem]]) -> HaltItem | None:
        """The result of the work; None if the turn is ended first."""
        if self._asked:
            return None
        waiting = asyncio.create_task(work())
        self._waiting.add(waiting)
        try:
            return await waiting
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self.is_asked() and task is not None and not task.cancelling():
                return None  # break_off() cancelled the work, nobody cancelled us
            raise
        finally:
            self._waiting.discard(waiting)
