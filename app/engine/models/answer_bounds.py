"""What a server may send to us, whatever it says: how much of it, and where it may send us on to.

httpx is passed in, as it takes a tenth of a second to import.
"""

import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

import msgspec

from oi_tui.app.engine.core.http_session import REDIRECTS
from oi_tui.app.engine.core.offline import HINT, is_offline, is_this_machine
from oi_tui.app.engine.models.event_stream import EventStream, LineStream
from oi_tui.app.engine.models.failures import BoundBroken, RefusedStatus, ReportedError
from oi_tui.app.engine.models.wire import decode_json, error_body, error_in

if TYPE_CHECKING:
    import httpx

ERROR_BODY = 64_000
"""Bytes of the body of an error that anybody looks at."""

EVENT = 1_000_000
"""Bytes of one event of a stream, and of one line."""

EVENT_LINES = 1_000
"""Lines of one event."""

ANSWER = 100_000_000
"""Bytes of a whole answer."""

PIECE = 65_536
"""Bytes that are unpacked at a time."""

PACKED = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}
"""What we can unpack within bounds."""
UNPACKED = (b"content-encoding", b"content-length")
"""Headers that no longer apply to the decompressed content."""


class SentRequest(msgspec.Struct, kw_only=True):
    """A request to a model that LiteLLM sends for us, and what it does not report about the answer."""

    timeouts: Mapping[str, float | None]
    """As httpx names them; LiteLLM leaves them out for some providers."""
    gemini_ended: bool | None = None
    """Whether Gemini gave a reason for the end; LiteLLM makes one up. None where another wire is spoken."""


asking: ContextVar[SentRequest | None] = ContextVar("asking", default=None)
"""None where what is sent is no request to a model: a download may be larger, and come from elsewhere."""

SendRequest = Callable[[Any, "httpx.Request"], Awaitable["httpx.Response"]]


def hold_to_bounds(send: SendRequest, library: Any) -> SendRequest:
    """The `handle_async_request` of a transport, held to these bounds while `asking`; BoundBroken where a server goes
    beyond them, RefusedStatus where it answers with an error, in its own words. `library` is httpx."""
    make_body = type("BoundedBody", (_BoundedStream, library.AsyncByteStream), {})

    async def send_bounded(transport: Any, request: "httpx.Request") -> "httpx.Response":
        if is_offline() and not is_this_machine(request.url.host):
            raise BoundBroken("is not on this machine, and oi-tui is offline", hint=HINT)
        if (sent := asking.get()) is None:
            return await send(transport, request)
        request.headers["Accept-Encoding"] = "identity"
        request.extensions = {**request.extensions, "timeout": dict(sent.timeouts)}
        response = await send(transport, request)
        try:
            if response.status_code in REDIRECTS and (location := response.headers.get("location")) is not None:
                require_same_origin(str(request.url), location)
            bounds = BodyBounds(
                packing=response.headers.get("content-encoding", ""), is_error=response.status_code >= 400
            )
            has_events = response.headers.get("content-type", "").startswith("text/event-stream")
            events = EventStream(apart=False) if has_events else LineStream()
            body = make_body(response.stream, bounds, sent, events)
            if response.status_code >= 400:
                said = error_body(b"".join([piece async for piece in body]))
                raise RefusedStatus(response.status_code, said, response.headers.get("retry-after", ""))
            headers = [(name, value) for name, value in response.headers.raw if name.lower() not in UNPACKED]
            bounded: httpx.Response = library.Response(
                response.status_code,
                headers=headers,
                stream=body,
                request=request,
                extensions=response.extensions,
            )
            return bounded
        except BaseException:
            await response.aclose()
            raise

    return send_bounded


class _BoundedStream:
    """The body of one response, unpacked and within its bounds. Its events are read along: LiteLLM skips what it
    cannot read, and loses some of what servers report."""

    def __init__(
        self, body: "httpx.AsyncByteStream", bounds: "BodyBounds", sent: SentRequest, events: EventStream
    ) -> None:
        self._body = body
        self._bounds = bounds
        self._sent = sent
        self._events = events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for packed in self._body:
            for piece in self._bounds.unpack(packed):
                if not self._bounds.is_error:
                    for data in self._events.feed(piece):
                        try:
                            self._read_along(data)
                        except Exception:
                            yield piece[: max(0, piece.find(data.partition(b"\n")[0]))]  # what came before it is kept
                            raise
                    require_bounded(self._events)
                yield piece
            if self._bounds.is_full:
                return

    def _read_along(self, data: bytes) -> None:
        """ReportedError for an event that is an error, UnreadableAnswer for one that is broken."""
        if isinstance(self._events, LineStream) or not data.lstrip().startswith(b"{"):
            return
        event = decode_json(data, dict[str, Any])
        candidates = event.get("candidates")
        if isinstance(candidates, list) or "promptFeedback" in event or "usageMetadata" in event:
            given = any(isinstance(one, dict) and one.get("finishReason") for one in candidates or ())
            self._sent.gemini_ended = self._sent.gemini_ended or given or "promptFeedback" in event
        if event.get("error") or event.get("type") == "error":
            raise ReportedError(error_in(event))
        response = event.get("response")
        if event.get("type") == "response.failed" and isinstance(response, dict):
            raise ReportedError(error_in(response))

    async def aclose(self) -> None:
        await self._body.aclose()


def require_same_origin(url: str, location: str) -> None:
    """The conversation goes to the server that the person chose, and to no other: BoundBroken if that is elsewhere."""
    try:
        there = urljoin(url, location)
        elsewhere = _origin(there) != _origin(url)
    except ValueError as error:
        raise BoundBroken("sends requests on to an address that is none") from error
    if elsewhere:
        where = "{}://{}:{}".format(*_origin(there))
        hint = "Nothing was sent there. If your model is there, give that address with /model or --api-base."
        raise BoundBroken(f"sends requests on to another one, {where}: that was refused", hint=hint)


def _origin(url: str) -> tuple[str, str, int]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or {"https": 443, "http": 80}.get(parts.scheme, 0)


class BodyBounds:
    """Unpacks the body of one response: cut if it is an error, else BoundBroken beyond what it may be."""

    def __init__(self, *, packing: str, is_error: bool) -> None:
        """`packing` is what the head says of the content's encoding."""
        packing = packing.strip().lower()
        if packing not in ("identity", "", *PACKED):
            raise BoundBroken(f"packed its answer in a way that was not asked for ({packing[:20]})")
        self._unpacker = zlib.decompressobj(PACKED[packing]) if packing in PACKED else None
        self.is_error = is_error
        self.is_full = False
        """Nothing more is wanted of this error."""
        self._size = 0

    def unpack(self, packed: bytes) -> Iterator[bytes]:
        """The unpacked bytes; BoundBroken if they are too many."""
        for piece in self._inflate(packed):
            self._size += len(piece)
            if self.is_error and self._size >= ERROR_BODY:
                self.is_full = True
                yield piece[: len(piece) - (self._size - ERROR_BODY)]
                return
            if self._size > ANSWER:
                raise BoundBroken(f"sent more than {ANSWER // 1_000_000} MB as one answer")
            yield piece

    def _inflate(self, packed: bytes) -> Iterator[bytes]:
        if self._unpacker is None:
            yield packed
            return
        while packed:
            try:
                yield self._unpacker.decompress(packed, PIECE)
            except zlib.error as error:
                raise BoundBroken("sent something that cannot be unpacked") from error
            packed = self._unpacker.unconsumed_tail


def require_bounded(events: EventStream) -> None:
    """BoundBroken if the event that is not over is more than one may be."""
    if events.size > EVENT:
        raise BoundBroken(f"sent more than {EVENT // 1_000_000} MB without an end")
    if events.size > ERROR_BODY and events.may_be_error:
        raise BoundBroken("ended the answer with an error of huge size")  # LiteLLM would search it for seconds
    if events.lines > EVENT_LINES:
        raise BoundBroken(f"sent more than {EVENT_LINES:,} lines without an end")
