"""A stored session shown to a screen as if an engine spoke: only to look at it while another oi-tui has it open."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

from oi_tui.app.engine.core.events import AnyEvent, NoticeAdded, TurnEnded
from oi_tui.app.engine.core.protocol import REPLAYED, Batch, Reply
from oi_tui.app.engine.core.verbs import AnyVerb, Open, Run, Submit
from oi_tui.app.engine.transcript.event_log import ends_in_turn

READ_ONLY = "Read-only: another oi-tui has this session open. Nothing is sent or run here."


class PastClient:
    """Behind the same interface as an engine."""

    def __init__(self, session_id: str, events: Sequence[AnyEvent]) -> None:
        self._session_id = session_id
        self._events = events
        self._replies: asyncio.Queue[Reply | None] = asyncio.Queue()
        self._notices = 0

    async def send(self, verb: AnyVerb) -> None:
        """Whatever would ask or run something is answered with what this is."""
        match verb:
            case Open():
                ended = [TurnEnded(reason="engine_lost")] if ends_in_turn(self._events) else []
                events = (*self._events, *ended)
                for first in range(0, len(events) or 1, REPLAYED):
                    part, further = events[first : first + REPLAYED], first > 0
                    more = first + REPLAYED < len(events)
                    self._replies.put_nowait(
                        Batch(session_id=self._session_id, events=part, replay=True, further=further, more=more)
                    )
                self._tell()
            case Submit() | Run():
                self._tell()
            case _:
                pass

    async def replies(self) -> AsyncGenerator[Reply, None]:
        while (reply := await self._replies.get()) is not None:
            yield reply

    async def close(self) -> None:
        self._replies.put_nowait(None)

    def _tell(self) -> None:
        self._notices += 1
        notice = NoticeAdded(block_id=f"look-{self._notices}", level="info", title=READ_ONLY)
        self._replies.put_nowait(Batch(events=(notice,)))
