"""Checks the server of a model soon after it was chosen: the person learns that it is down before the first prompt."""

import asyncio
from collections.abc import Awaitable, Callable

from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.errors import ModelError

PAUSE = 1.0
"""Seconds after the start, in which keys and the first frame come first, and a prompt that was given is sent."""


class ServerCheck:
    """At most one look at a time; none at a model that was asked already, which says it better."""

    def __init__(self, session: Session, *, pause: float = PAUSE) -> None:
        self._session = session
        self._pause = pause
        self.task: asyncio.Task[None] | None = None
        """The running check, to be awaited when the session closes."""

    def begin(self, find_obstacle: Callable[[], Awaitable[ModelError | None]]) -> None:
        """Look soon. `find_obstacle` says why the model cannot be asked, None if it can."""
        if self.task is not None:
            self.task.cancel()
        self.task = asyncio.create_task(self._look(find_obstacle))

    async def _look(self, find_obstacle: Callable[[], Awaitable[ModelError | None]]) -> None:
        asked = self._session.transcript.step
        await asyncio.sleep(self._pause)
        if self._session.transcript.turn_open or self._session.transcript.step != asked:
            return
        obstacle = await find_obstacle()
        if obstacle is not None and not self._session.transcript.turn_open:
            self._session.notice("warning", obstacle.title, obstacle.hint)
