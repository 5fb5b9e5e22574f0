"""What a session says, remembered by who looks on."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from oi_tui.app.engine.core.events import AnyEvent, Event

Happened = TypeVar("Happened", bound=Event)


class RecordingObserver:
    """An observer that remembers every event, and has `react` (which may reach into the session) called with it."""

    def __init__(self, react: Callable[[AnyEvent], object] = lambda _event: None) -> None:
        self.events: list[AnyEvent] = []
        self._react = react
        self._news = asyncio.Event()

    def __call__(self, event: AnyEvent) -> None:
        self.events.append(event)
        self._news.set()
        self._react(event)

    def of(self, kind: type[Happened]) -> list[Happened]:
        """The events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]

    async def until(self, wanted: Callable[[AnyEvent], bool]) -> AnyEvent:
        """The first event that is wanted; waits for it if it has not come."""
        seen = 0
        while True:
            for event in self.events[seen:]:
                if wanted(event):
                    return event
            seen = len(self.events)
            self._news.clear()
            await self._news.wait()
