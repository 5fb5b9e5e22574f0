"""A stored session shown to a screen as if an engine spoke: only to look at it while another oi-tui has it open."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

from oi_tui.app.engine.core.events import AnyEvent, NoticeAdded, SessionOpened
from oi_tui.app.engine.core.protocol import REPLAYED, Batch, Reply
from oi_tui.app.engine.core.tool_verbs import CallTool
from oi_tui.app.engine.core.verbs import AnyVerb, Open, Run, Submit
from oi_tui.app.engine.transcript.event_log import fold_events
from oi_tui.app.engine.transcript.from_blocks import events_of_blocks

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
                self._replay()
                self._tell()
            case Submit() | Run() | CallTool():
                self._tell()
            case _:
                pass

    async def replies(self) -> AsyncGenerator[Reply, None]:
        while (reply := await self._replies.get()) is not None:
            yield reply

    async def close(self) -> None:
        self._replies.put_nowait(None)

    def _replay(self) -> None:
        """All that is written; what runs there at this moment has run until here."""
        transcript = fold_events(self._events)
        transcript.close("record")
        opened = [event for event in self._events if isinstance(event, SessionOpened)][-1:]
        events = (*opened, *events_of_blocks(transcript.blocks, transcript.usage))
        for first in range(0, len(events), REPLAYED):
            part, more = events[first : first + REPLAYED], first + REPLAYED < len(events)
            batch = Batch(session_id=self._session_id, events=part, replay=True, further=first > 0, more=more)
            self._replies.put_nowait(batch)

    def _tell(self) -> None:
        self._notices += 1
        notice = NoticeAdded(block_id=f"look-{self._notices}", level="info", title=READ_ONLY)
        self._replies.put_nowait(Batch(events=(notice,)))
