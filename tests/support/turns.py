"""Turns of a session without an engine around it, bounded in time."""

import asyncio
from collections.abc import Awaitable, Callable

from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.events import AnyEvent, TurnEnded
from support.kinds import narrow
from support.recording_observer import RecordingObserver


def end_of(events: list[AnyEvent]) -> TurnEnded:
    """The last event, which is the end of a turn."""
    return narrow(events[-1], TurnEnded)


async def play(
    session: Session,
    work: Awaitable[object],
    react: Callable[[AnyEvent], object] = lambda _event: None,
    *,
    limit: float = 10.0,
) -> list[AnyEvent]:
    """All events of the session while this work runs, within this many seconds."""
    observer = RecordingObserver(react)
    before = session.emitter.observers
    session.emitter.observers = (*before, observer)
    try:
        async with asyncio.timeout(limit):
            await work
    finally:
        session.emitter.observers = before
    return observer.events
