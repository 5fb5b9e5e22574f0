"""A language model on a server that speaks OpenAI's chat language, asked without LiteLLM.

All that has arrived of a stream is read at once and passed on as one delta; while it streams fast, the socket is left
alone for a frame, so that an event costs its parsing and not a turn of the event loop.
"""

import asyncio
import math
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from oi_tui.app.engine.core.chat_model import AnswerUsage, ChatRequest, Delta, SealDelta, TextDelta, ThoughtDelta
from oi_tui.app.engine.core.protocol import FRAME
from oi_tui.app.engine.core.settings import ModelSection
from oi_tui.app.engine.models import openai_wire
from oi_tui.app.engine.models.answer_bounds import BodyBounds, require_bounded
from oi_tui.app.engine.models.connections import Connections
from oi_tui.app.engine.models.event_stream import BLANK, EventStream, open_stream
from oi_tui.app.engine.models.facts import Facts
from oi_tui.app.engine.models.failures import RefusedStatus, ReportedError, UnreadableAnswer, bad_reply, cut_off_error
from oi_tui.app.engine.models.lean_facts import look_up_lean
from oi_tui.app.engine.models.messages import JsonObject
from oi_tui.app.engine.models.prices import TokenCounts
from oi_tui.app.engine.models.providers import LeanChoice
from oi_tui.app.engine.models.sealed_thoughts import ThoughtPieces, owner_name, seal, thoughts_by_call
from oi_tui.app.engine.models.served_model import CONNECT_TIMEOUT, Attempt, ServedModel
from oi_tui.app.engine.models.wire import AnswerPiece, CallPiece, error_body, estimate_counts

if TYPE_CHECKING:
    from aiohttp import ClientResponse

LAST_WORDS = 2.0
"""Seconds that are waited for the usage when the answer itself has ended, by an event that says nothing else."""
PLENTY = 16_384
"""Bytes at once that are worth a turn of the event loop."""

Response: TypeAlias = "AbstractAsyncContextManager[ClientResponse]"
ReadEvent = Callable[[bytes], AnswerPiece]
SealAll = Callable[[str, ThoughtPieces], Iterable[SealDelta]]
"""Is given the thoughts of an answer with calls, in words and in the provider's pieces."""


class LeanModel(ServedModel):
    """One model that providers.py has a row for, or any name on an OpenAI-compatible server."""

    def __init__(
        self,
        choice: LeanChoice,
        connections: Connections,
        section: ModelSection,
        *,
        api_key: str | None = None,
        environ: Mapping[str, str],
        title: str = "",
        free: bool = False,
        backoff: float = 0.5,
    ) -> None:
        super().__init__(section, api_key=api_key, environ=environ, title=title, free=free, backoff=backoff)
        self._choice = choice
        self._connections = connections
        self._base = ""

    def _look_up(self) -> Facts:
        facts, self._base = look_up_lean(
            self._choice, self._section, api_key=self._api_key, environ=self._environ, free=self._free
        )
        return facts

    def _begin(self, facts: Facts, request: ChatRequest) -> Attempt:
        owner = owner_name(self._choice.provider.name, self._choice.model, self._base)
        thoughts = thoughts_by_call(request.messages, owner)
        body = openai_wire.chat_body(self._choice, facts, self._section, request, thoughts)
        seal_all = partial(self._seal, owner)
        return LeanAttempt(facts, self._post(facts, openai_wire.PATH, body), request, openai_wire.read_event, seal_all)

    def _post(self, facts: Facts, path: str, body: JsonObject) -> "Response":
        timeout = facts.asked.timeout
        sent = msgspec.json.encode(body)
        connect = min(CONNECT_TIMEOUT, timeout)
        return self._connections.post(
            self._base, path, sent, facts.api_key, connect=connect, silence=timeout, further=facts.headers
        )

    def _seal(self, owner: str, words: str, pieces: ThoughtPieces) -> Iterator[SealDelta]:
        """The reasoning that is sent back with the calls of an answer."""
        return seal(owner, words if self._choice.provider.wants_reasoning else pieces.whole())


class LeanAttempt(Attempt):
    """One attempt, over HTTP: events, or lines of JSON, each parsed separately."""

    def __init__(
        self, facts: Facts, response: "Response", request: ChatRequest, read: ReadEvent, seal_all: SealAll
    ) -> None:
        super().__init__(facts)
        self._read_event = read
        self._response = response
        self._request = request
        self._seal_all = seal_all
        self._finish = ""
        """The reason for the end, once the server gave one."""
        self._is_ended = False
        """Whether nothing of the answer came behind it."""
        self._went_on = False
        """Whether anything ever did: then the next one may be as wrong."""
        self._counts: TokenCounts | None = None
        self._over = False
        """Whether the server said that nothing more comes."""
        self._thoughts: list[str] = []
        self._details = ThoughtPieces()

    async def deltas(self) -> AsyncGenerator[Delta, None]:
        """Ask once; ModelError, or an exception of failures.py or aiohttp, where that fails."""
        self._await_content()
        async with AsyncExitStack() as stack:
            response = await self._in_time(stack.enter_async_context(self._response))
            packing = response.headers.get("Content-Encoding", "")
            bounds = BodyBounds(packing=packing, is_error=response.status >= 400)
            if response.status != 200:
                said = b"".join([piece async for piece in self._body(response, bounds)])
                retry_after = response.headers.get("Retry-After", "")
                raise RefusedStatus(response.status, error_body(said), retry_after)
            async with aclosing(self._events(response, bounds)) as events:
                async for data in events:
                    for delta in self._read(data):
                        yield delta
                    if self._over:
                        break
        asked = self._facts.asked
        if not (self._is_ended or (self._finish and self._over)):
            raise cut_off_error(asked) if self.started else bad_reply(asked)
        if (usage := self._told_usage()) is not None:
            yield usage
        if self._calls.some:
            for sealed in self._seal_all("".join(self._thoughts), self._details):
                yield sealed
        yield self._end(self._finish)

    async def _events(self, response: "ClientResponse", bounds: BodyBounds) -> AsyncGenerator[Iterable[bytes], None]:
        """The data of events, as many at a time as have arrived."""
        async with aclosing(self._body(response, bounds)) as body:
            stream: EventStream | None = None
            async for piece in body:
                if stream is None:
                    if not (piece := piece.lstrip(BLANK)):
                        continue
                    stream = open_stream(response.content_type, piece)
                yield stream.feed(piece)
                require_bounded(stream)
            if stream is not None:
                yield stream.finish()

    async def _body(self, response: "ClientResponse", bounds: BodyBounds) -> AsyncGenerator[bytes, None]:
        """The body, unpacked, as much at a time as has arrived. BoundBroken beyond what it may be."""
        loop = asyncio.get_running_loop()
        before = -math.inf
        while packed := await self._next(response):
            for piece in bounds.unpack(packed):
                yield piece
            if bounds.is_full:
                return
            if loop.time() - before < FRAME and len(packed) < PLENTY:
                await _nap(response)
            before = loop.time()

    async def _next(self, response: "ClientResponse") -> bytes:
        """The bytes that have arrived, at least one; b"" at the end."""
        try:
            return await self._in_time(response.content.readany())
        except Exception:
            # The boundary to aiohttp: an answer that is whole is not spoilt by how the connection ends.
            if self._is_ended and not self._went_on:
                return b""
            raise

    def _read(self, events: Iterable[bytes]) -> Iterator[Delta]:
        """The deltas of these events, neighbouring text as one delta; text before an error comes before it."""
        text: list[str] = []
        thoughts: list[str] = []
        for data in events:
            try:
                piece = self._read_event(data)
                if piece.error is not None:
                    raise ReportedError(piece.error)
            except (UnreadableAnswer, ReportedError):
                yield from _join(text, thoughts)
                raise
            self._note(piece)
            if piece.reasoning:
                if text:
                    yield from _join(text, thoughts)
                thoughts.append(piece.reasoning)
            if piece.text:
                text.append(piece.text)
            if piece.calls:
                yield from _join(text, thoughts)
                yield from (self._call(call) for call in piece.calls)
            if piece.last:
                self._over = True
                break
        yield from _join(text, thoughts)

    def _note(self, piece: AnswerPiece) -> None:
        """Note what is needed at the end."""
        self._counts = piece.counts or self._counts
        has_content = bool(piece.text or piece.reasoning or piece.details or piece.calls)
        if has_content:
            self.started = True
            self._went_on = self._went_on or bool(self._finish)
            self._is_ended = False
            self._await_content()
            self._written += len(piece.text.encode()) + len(piece.reasoning.encode())
        if piece.reasoning:
            self._thoughts.append(piece.reasoning)
        self._details.add(piece.details)
        if piece.finish:
            self._finish = piece.finish
            self._is_ended = True
        if piece.finish and self.started and not (has_content or self._went_on):
            self._deadline = min(asyncio.get_running_loop().time() + LAST_WORDS, self._end_of_time)

    def _call(self, call: CallPiece) -> Delta:
        self._written += len(call.arguments.encode())
        return self._calls.read(call.index, call.call_id, call.name, call.arguments)

    def _told_usage(self) -> AnswerUsage | None:
        """The server's counts, else an estimate."""
        if self._counts is not None:
            return self._usage(self._counts)
        return self._usage(estimate_counts(self._request, self._written), estimated=True)


def _join(text: list[str], thoughts: list[str]) -> Iterator[Delta]:
    """The collected texts, thoughts before prose, as one delta each; empties the lists."""
    if thoughts:
        yield ThoughtDelta(text="".join(thoughts))
        thoughts.clear()
    if text:
        yield TextDelta(text="".join(text))
        text.clear()


async def _nap(response: "ClientResponse") -> None:
    """Leave the socket alone for a frame, so that what comes meanwhile is read at once."""
    protocol = response.connection.protocol if response.connection is not None else None
    if protocol is None:
        return  # all of it is here
    protocol.pause_reading()
    try:
        await asyncio.sleep(FRAME)
    finally:
        protocol.resume_reading()
