"""What carries messages to a server and back, as the SDK wants it: pipes, HTTP, and the guard between."""

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import httpx2
import mcp_types as types
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from oi_tui.app.engine.core.offline import require_here
from oi_tui.app.engine.mcp.entries import ServerEntry, is_metadata_host
from oi_tui.app.engine.mcp.piped_server import LONGEST_LINE, LineTooLong, NotText, PipedServer
from oi_tui.app.engine.mcp.wire_guard import FloodError, WireGuard

ENDS_WITH_FAULT = "its connection is closed"

WANTS_LOGIN = "it wants a login"

Streams = tuple[Any, Any]
"""What to read from and what to write to, as the SDK has them."""

Direction = Callable[[], Coroutine[Any, Any, None]]
"""Copies messages one way, until its end."""


def http_streams(entry: ServerEntry, auth: Any, on_end: Callable[[str], None]) -> AbstractAsyncContextManager[Streams]:
    """The streams of a server behind an address; redirects to another host are not followed."""
    require_here(entry.url)
    return _http_streams(entry, auth, on_end if auth is None else lambda why: None)


@asynccontextmanager
async def _http_streams(entry: ServerEntry, auth: Any, on_refused: Callable[[str], None]) -> AsyncIterator[Streams]:
    timeout = httpx2.Timeout(30.0, read=300.0)
    async with (
        httpx2.AsyncClient(
            headers=dict(entry.headers), timeout=timeout, auth=auth, transport=_BoundedTransport(on_refused)
        ) as client,
        streamable_http_client(entry.url, http_client=client, max_sse_event_size=LONGEST_LINE) as streams,
    ):
        yield streams


class _BoundedTransport(httpx2.AsyncHTTPTransport):
    """Reaches no address of a cloud's own, and reads no answer without an end."""

    def __init__(self, on_refused: Callable[[str], None]) -> None:
        super().__init__()
        self._on_refused = on_refused

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if is_metadata_host(request.url.host):
            raise httpx2.ConnectError("a link-local address is not asked")
        response = await super().handle_async_request(request)
        if response.status_code == httpx2.codes.UNAUTHORIZED:
            self._on_refused(WANTS_LOGIN)
        if "text/event-stream" not in response.headers.get("content-type", ""):
            response.stream = _BoundedStream(response.stream)
        return response


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        count = 0
        async for chunk in self._stream:
            count += len(chunk)
            if count > LONGEST_LINE:
                raise httpx2.ReadError(f"an answer of more than {LONGEST_LINE:,} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


@asynccontextmanager
async def piped_streams(server: PipedServer, guard: WireGuard, on_end: Callable[[str], None]) -> AsyncIterator[Streams]:
    """The streams of a running program."""
    heard, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, said = anyio.create_memory_object_stream[SessionMessage](0)

    async def hear() -> None:
        async with heard:
            try:
                async for line in server.lines():
                    message = _message(line, guard)
                    if message is not None:
                        await heard.send(SessionMessage(message))
            except LineTooLong:
                on_end(f"it sent a message of more than {LONGEST_LINE:,} bytes")
            except FloodError:
                on_end("it floods us with what is no message")
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return
            else:
                on_end(f"it {await server.cause_of_end()}")

    async def say() -> None:
        async with said:
            async for sent in said:
                text = sent.message.model_dump_json(by_alias=True, exclude_none=True)
                try:
                    await server.say(text)
                except OSError:
                    return

    async with read, write, _run_both(hear, say):
        yield read, write


@asynccontextmanager
async def _run_both(hear: Direction, say: Direction) -> AsyncIterator[None]:
    """Runs the two directions of a connection until the block ends."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hear)
        tasks.start_soon(say)
        yield
        tasks.cancel_scope.cancel()


def _message(line: str | NotText, guard: WireGuard) -> Any:
    if isinstance(line, NotText):
        guard.note_nonsense("it writes what is no text where its messages belong")
        return None
    if not line.strip():
        return None
    try:
        return types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except (ValidationError, RecursionError):
        guard.note_nonsense("it writes what is no message where its messages belong")
        return None


@asynccontextmanager
async def guarded_streams(raw: Streams, guard: WireGuard, on_end: Callable[[str], None]) -> AsyncIterator[Streams]:
    """The same streams, with the guard in between."""
    heard, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, said = anyio.create_memory_object_stream[SessionMessage](0)
    raw_read, raw_write = raw

    async def hear() -> None:
        async with heard:
            try:
                async for message in raw_read:
                    if isinstance(message, Exception) or _passes(message.message, guard):
                        await heard.send(message)
            except FloodError:
                on_end("it floods us with messages")
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                pass
            on_end(ENDS_WITH_FAULT)

    async def say() -> None:
        async with said, raw_write:
            async for message in said:
                sent = message.message
                params = getattr(sent, "params", None) or {}
                kind = _kind(sent)
                guard.note_sent(kind, getattr(sent, "id", None), getattr(sent, "method", ""), params.get("requestId"))
                try:
                    await raw_write.send(message)
                except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                    return

    async with read, write, _run_both(hear, say):
        yield read, write


def _kind(message: Any) -> Any:
    match message:
        case types.JSONRPCRequest():
            return "request"
        case types.JSONRPCNotification():
            return "notification"
        case _:
            return "answer"


def _passes(message: Any, guard: WireGuard) -> bool:
    return guard.may_pass(_kind(message), getattr(message, "id", None), getattr(message, "method", ""))
