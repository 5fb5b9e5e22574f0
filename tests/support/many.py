"""A front end that follows several sessions of one engine at once."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

from oi_tui.app.engine.core.chat_model import Model
from oi_tui.app.engine.core.events import AnyEvent
from oi_tui.app.engine.core.protocol import Batch, Failed, Reply, SessionGone
from oi_tui.app.engine.core.values import SessionReply
from oi_tui.app.engine.core.verbs import Leave, Open
from oi_tui.app.engine.testing import FakeModel, FakeModels
from oi_tui.app.engine.transcript.transcript import Transcript
from oi_tui.app.frontend.client import EngineClient
from support.kinds import Kind, of


class ManyFront:
    """What belongs to each session is kept for itself, by its id."""

    def __init__(self, client: EngineClient) -> None:
        self.client = client
        self.send = client.send
        self.transcripts: dict[str, Transcript] = {}
        self.events: dict[str, list[AnyEvent]] = {}
        self.failures: list[Failed] = []
        self.gone: list[str] = []
        """Sessions that were left and have ended."""
        self._news = asyncio.Event()
        self.reading = asyncio.create_task(self._read())
        self.reading.add_done_callback(lambda _: self._news.set())

    async def _read(self) -> None:
        """Take replies, until cancelled."""
        async for reply in self.client.replies():
            self._take(reply)
            self._news.set()

    def _take(self, reply: Reply) -> None:
        match reply:
            case Batch():
                assert reply.session_id
                if reply.replay and not reply.further:
                    self.transcripts.pop(reply.session_id, None)
                transcript = self.transcripts.setdefault(reply.session_id, Transcript())
                for event in reply.events:
                    transcript.apply(event)
                if not reply.replay:
                    self.events.setdefault(reply.session_id, []).extend(reply.events)
            case Failed():
                self.failures.append(reply)
            case SessionGone():
                self.gone.append(reply.session_id)
            case SessionReply():
                assert reply.session_id in self.transcripts
            case _:
                pass

    async def until(self, holds: Callable[[], object]) -> None:
        """Until this is so."""
        async with asyncio.timeout(30):
            while not holds():
                if self.reading.done():
                    self.reading.result()
                self._news.clear()
                await self._news.wait()

    async def open(self, session_id: str | None = None) -> str:
        """Another session, beside those that are open; its id."""
        before = set(self.events)
        self.events.pop(session_id or "", None)
        await self.send(Open(session_id=session_id, beside=True))
        await self.until(lambda: self.events.keys() - (before - {session_id}))
        return next(reversed(self.events))

    async def leave(self, session_id: str) -> None:
        """Leave it and wait for its end."""
        await self.send(Leave(session_id=session_id))
        await self.until(lambda: session_id in self.gone)

    async def until_event(self, session_id: str, kind: type[Kind], count: int = 1) -> Kind:
        """Wait for this many events of this kind in the session; returns the last one."""
        await self.until(lambda: len(self.of(session_id, kind)) >= count)
        return self.of(session_id, kind)[count - 1]

    def of(self, session_id: str, kind: type[Kind]) -> list[Kind]:
        """Its events of this kind."""
        return of(kind, self.events[session_id])


@asynccontextmanager
async def many(client: EngineClient) -> AsyncIterator[ManyFront]:
    """Reads what the engine says in the background."""
    front = ManyFront(client)
    try:
        yield front
    finally:
        front.reading.cancel()
        await asyncio.wait([front.reading])


class OwnModels(FakeModels):
    """Each session that opens a model has the next of these for itself."""

    def __init__(self, *models: FakeModel) -> None:
        super().__init__(models[0])
        self._each: Iterator[FakeModel] = iter(models)

    async def open(self, name: str, *where: str | None, **elsewhere: object) -> Model:
        self.opened.append((name, None, None))
        return next(self._each)
