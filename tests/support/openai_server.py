"""A real HTTP server on the loopback that answers like an OpenAI-compatible one, from a script.

It exists so that tests, benchmarks and screenshots meet the true client, the true parser of the stream
and true faults, without a network. Only the standard library; one request a connection.

    with OpenAIServer() as server:
        server.script("Hello.", Turn(status=429, retry_after="1"), Turn(text="A long answer", cut_after=2))
        ...                         # point the client at server.url, model "scripted"
        server.requests[0]["messages"]

From another process: `python tests/support/openai_server.py --script FILE --port 0 --port-file P`, where FILE
is a JSON list of turns (strings, or objects with the fields of `Turn`).
"""

import argparse
import asyncio
import json
import re
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, Self
from weakref import WeakSet

Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Call:
    """One native tool call of a turn."""

    arguments: str
    """JSON text, sent in fragments of the turn's `chunk` characters."""
    name: str = "execute"
    id: str = ""
    """Empty: `call_0`, `call_1`, ..."""


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One scripted answer, or a fault."""

    text: str = ""
    reasoning: str = ""
    """Sent first, as `reasoning_content`."""
    signature: str = ""
    """What the provider wants back with the calls, on a wire that has such a thing (wires_server.py)."""
    details: tuple[Json, ...] = ()
    """OpenRouter's pieces of reasoning, each in an event of its own; the last one comes behind the calls."""
    chunk: int = 4
    """Characters in one event."""
    pace: float = 0.0
    """Events a second; 0 is as fast as the client reads."""
    calls: tuple[Call, ...] = ()
    interleaved: bool = False
    """Fragments of all calls by turns, instead of one call after the other."""
    usage: bool = True
    """Whether usage is reported, to a client that asks for it: 4 characters are a token."""
    usage_details: Json = field(default_factory=dict)
    """Put over the usage object (reasoning tokens, cached tokens, nonsense)."""
    finish_reason: str = ""
    """Empty: `tool_calls` where there are calls, else `stop`; `none` sends no finish at all."""
    match: str = ""
    """Regular expression: this turn answers every request whose last message has it, and no other."""

    status: int = 200
    """Anything else answers with this status, `error` and `retry_after`."""
    error: str | Json = "scripted error"
    """Message of the error, or the whole of the body's `error` object."""
    retry_after: str = ""
    cut_after: int | None = None
    """Close the connection after this many events."""
    cut: Literal["reset", "close", "end"] = "reset"
    """How: the connection is reset, is closed in the middle of the body, or the body just ends."""
    garbage_after: int | None = None
    """Send an event that is not JSON after this many events, then continue."""
    error_after: int | None = None
    """Report `error` inside the stream after this many events, and end."""
    hold: bool = False
    """Send nothing, not even the status, until `OpenAIServer.release()`."""
    pause_after: int | None = None
    """Stop sending after this many events until `OpenAIServer.release()`."""


@dataclass(frozen=True, kw_only=True)
class Wire:
    """How one kind of server is asked for an answer, and how it gives one."""

    path: str
    """Regular expression of the whole path."""
    events: Callable[[Turn, Json], Iterator[bytes]]
    """All pieces of an answer, the first of them without content."""
    whole: Callable[[Turn, Json], Json] | None = None
    """The answer to a request that does not stream; None where the path says that it streams."""
    failure: Callable[[Turn], Json]
    """Body of an answer with an error status."""
    error_event: Callable[[Turn], bytes]
    """An error inside the stream."""
    garbage: bytes
    """A piece that cannot be read."""
    kind: str = "text/event-stream"


@dataclass
class Exchange:
    """A request for an answer, and how it went; what tests assert on."""

    body: Json
    headers: dict[str, str]
    wire: "Wire"
    events: int = 0
    """Sent so far."""
    outcome: Literal["", "whole", "fault", "left"] = ""
    """`left`: the client hung up first."""
    over: threading.Event = field(default_factory=threading.Event)


class OpenAIServer:
    """The server in a thread of its own; a context manager."""

    def __init__(self, *, port: int = 0, models: Sequence[str] = ("scripted",), further: Sequence[Wire] = ()) -> None:
        """`further` are wires that it speaks beside OpenAI's chat."""
        self._wires = (CHAT, *further)
        self.models = tuple(models)
        self.owner = "llamacpp"
        """Whom it names as the owner of its models: this one costs nothing, a gateway names others."""
        self.exchanges: list[Exchange] = []
        self.arrived = threading.Semaphore(0)
        """Released once for every request for an answer."""
        self._port = port
        self._ordered: list[Turn] = [Turn(text="Hello.")]
        self._matched: list[Turn] = []
        self._lock = threading.Lock()
        self._started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self.serve(self._started.set)), daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._released = asyncio.Event()
        self._stopping = asyncio.Event()

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._port

    @property
    def url(self) -> str:
        """Base URL of the API."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def requests(self) -> list[Json]:
        """Bodies of all requests for an answer, in order of arrival."""
        return [exchange.body for exchange in self.exchanges]

    def script(self, *turns: Turn | str | Mapping[str, Any]) -> None:
        """Answer with these from now on, in order; the last is repeated. Those with `match` are used as they match."""
        read = [as_turn(turn) for turn in turns]
        with self._lock:
            self._matched = [turn for turn in read if turn.match]
            self._ordered = [turn for turn in read if not turn.match]
        self._in_loop(self._released.clear)

    def release(self) -> None:
        """Let turns that hold or pause continue."""
        self._in_loop(self._released.set)

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._started.wait(10):
            raise RuntimeError("the scripted server did not start")
        return self

    def __exit__(self, *exc: object) -> None:
        self._in_loop(self._stopping.set)
        self._thread.join(10)

    def _in_loop(self, call: Callable[[], None]) -> None:
        """Events of asyncio may be touched in their own thread only."""
        if self._loop is None:
            call()
        else:
            self._loop.call_soon_threadsafe(call)

    async def serve(self, listening: Callable[[], object]) -> None:
        """Serve until stopped; calls `listening` once the port is known."""
        self._loop = asyncio.get_running_loop()
        connections: set[asyncio.Task[None]] = set()
        writers: WeakSet[asyncio.StreamWriter] = WeakSet()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if self._stopping.is_set():
                writer.close()
                return
            writers.add(writer)
            task = asyncio.ensure_future(self._connection(reader, writer))
            connections.add(task)
            task.add_done_callback(connections.discard)

        server = await asyncio.start_server(connected, "127.0.0.1", self._port, limit=1 << 20)
        self._port = server.sockets[0].getsockname()[1]
        listening()
        try:
            await self._stopping.wait()
        finally:
            server.close()
            for task in connections:
                task.cancel()
            await asyncio.gather(*connections, return_exceptions=True)
            for writer in writers:  # a task that was cancelled before it began has closed nothing
                writer.transport.abort()
            await asyncio.sleep(0)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            method, path, headers, body = await read_request(reader)
            wire = next((wire for wire in self._wires if re.fullmatch(wire.path, path)), None)
            if method == "POST" and wire is not None:
                await self._exchange(Exchange(body, headers, wire), reader, writer)
            elif (method, path) == ("GET", "/v1/models"):
                cards = [{"id": name, "object": "model", "created": 0, "owned_by": self.owner} for name in self.models]
                write_json(writer, 200, {"object": "list", "data": cards})
            elif (method, path) == ("GET", "/api/tags"):
                write_json(writer, 200, {"models": [{"name": name, "size": 1} for name in self.models]})
            else:
                write_json(writer, 404, {"error": {"message": f"no route {method} {path}"}})
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, ValueError):
            pass  # the client left, or does not speak HTTP
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _exchange(self, exchange: Exchange, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer, watching for the client to hang up."""
        turn = self._next_turn(exchange)
        answer = asyncio.ensure_future(self._answer(turn, exchange, writer))
        hung_up = asyncio.ensure_future(reader.read())
        try:
            await asyncio.wait((answer, hung_up), return_when=asyncio.FIRST_COMPLETED)
            if answer.done() and answer.exception() is None:
                exchange.outcome = "whole" if answer.result() else "fault"
            else:
                exchange.outcome = "left"
        finally:
            for task in (answer, hung_up):
                task.cancel()
            await asyncio.gather(answer, hung_up, return_exceptions=True)
            exchange.over.set()

    def _next_turn(self, exchange: Exchange) -> Turn:
        messages = exchange.body.get("messages") or [{}]
        last = json.dumps(messages[-1].get("content") or "", ensure_ascii=False)
        with self._lock:
            self.exchanges.append(exchange)
            self.arrived.release()
            for turn in self._matched:
                if re.search(turn.match, last):
                    return turn
            if not self._ordered:
                return Turn(status=500, error="nothing is scripted for this request")
            return self._ordered.pop(0) if len(self._ordered) > 1 else self._ordered[0]

    async def _answer(self, turn: Turn, exchange: Exchange, writer: asyncio.StreamWriter) -> bool:
        """Send the turn; False if it ended in the scripted fault."""
        if turn.hold:
            await self._released.wait()
        wire = exchange.wire
        if turn.status != 200:
            write_json(writer, turn.status, wire.failure(turn), retry_after=turn.retry_after)
            await writer.drain()
            return False
        if wire.whole is not None and not exchange.body.get("stream"):
            write_json(writer, 200, wire.whole(turn, exchange.body))
            await writer.drain()
            return True
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nTransfer-Encoding: chunked\r\n" % wire.kind.encode())
        writer.write(b"Connection: close\r\n\r\n")
        async for data in self._paced(turn, exchange):
            writer.write(b"%x\r\n%b\r\n" % (len(data), data))
            await writer.drain()
            exchange.events += 1
        if turn.cut_after is None or turn.cut == "end":
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        elif turn.cut == "reset":
            writer.transport.abort()
        return turn.cut_after is turn.garbage_after is turn.error_after is None

    async def _paced(self, turn: Turn, exchange: Exchange) -> AsyncIterator[bytes]:
        """The events of a turn at its pace, with its faults."""
        loop = asyncio.get_running_loop()
        start = loop.time()
        wire = exchange.wire
        for number, data in enumerate(wire.events(turn, exchange.body)):
            if number == turn.cut_after:
                return
            if number == turn.error_after:
                yield wire.error_event(turn)
                return
            if number == turn.garbage_after:
                yield wire.garbage
            if number == turn.pause_after:
                await self._released.wait()
            if turn.pace:
                await asyncio.sleep(start + number / turn.pace - loop.time())
            yield data


def as_turn(turn: Turn | str | Mapping[str, Any]) -> Turn:
    """A turn from what a script may hold; TypeError names a field that there is not."""
    if isinstance(turn, Turn):
        return turn
    if isinstance(turn, str):
        return Turn(text=turn)
    values = dict(turn)
    if unknown := values.keys() - {field.name for field in fields(Turn)}:
        raise TypeError(f"a turn has no {', '.join(sorted(unknown))}")
    calls = (call if isinstance(call, Call) else Call(**call) for call in values.pop("calls", ()))
    return Turn(calls=tuple(calls), **values)


def events(turn: Turn, body: Mapping[str, Any]) -> Iterator[bytes]:
    """The server-sent events of a whole answer, the first of them the role, the last `[DONE]`."""
    head = {"id": "chatcmpl-0", "object": "chat.completion.chunk", "created": 0, "model": body.get("model", "")}

    def event(delta: Json, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return b"data: %b\n\n" % json.dumps({**head, "choices": [choice]}).encode()

    yield event({"role": "assistant", "content": ""})
    for piece in pieces(turn.reasoning, turn.chunk):
        yield event({"reasoning_content": piece})
    for detail in turn.details[:-1]:
        yield event({"content": "", "reasoning": detail.get("text"), "reasoning_details": [detail]})
    for piece in pieces(turn.text, turn.chunk):
        yield event({"content": piece})
    for fragment in call_fragments(turn):
        yield event({"tool_calls": [fragment]})
    if turn.details:
        yield event({"content": "", "reasoning_details": list(turn.details[-1:])})
    if turn.finish_reason != "none":
        yield event({}, finish_reason(turn))
    if turn.usage and (body.get("stream_options") or {}).get("include_usage"):
        yield b"data: %b\n\n" % json.dumps({**head, "choices": [], "usage": usage(turn, body)}).encode()
    yield b"data: [DONE]\n\n"


def call_fragments(turn: Turn) -> Iterator[Json]:
    """The calls in fragments: the first of each has the id and the name and no arguments."""
    streams: list[list[Json]] = []
    for index, call in enumerate(turn.calls):
        first: Json = {
            "id": call.id or f"call_{index}",
            "type": "function",
            "function": {"name": call.name, "arguments": ""},
        }
        rest = ({"function": {"arguments": piece}} for piece in pieces(call.arguments, turn.chunk))
        streams.append([{"index": index, **fragment} for fragment in (first, *rest)])
    if not turn.interleaved:
        yield from (fragment for stream in streams for fragment in stream)
        return
    for position in range(max(map(len, streams), default=0)):
        yield from (stream[position] for stream in streams if position < len(stream))


def whole_answer(turn: Turn, body: Mapping[str, Any]) -> Json:
    """The answer to a request that does not stream."""
    message: Json = {"role": "assistant", "content": turn.text or None}
    if turn.calls:
        message["tool_calls"] = [
            {
                "id": call.id or f"call_{i}",
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for i, call in enumerate(turn.calls)
        ]
    choice = {"index": 0, "message": message, "finish_reason": finish_reason(turn)}
    head = {"id": "chatcmpl-0", "object": "chat.completion", "created": 0, "model": body.get("model", "")}
    return {**head, "choices": [choice], "usage": usage(turn, body)}


def error_object(turn: Turn) -> Json:
    """What the body of a failure says."""
    return turn.error if isinstance(turn.error, dict) else {"message": turn.error, "type": "scripted"}


CHAT = Wire(
    path="/v1/chat/completions",
    events=events,
    whole=whole_answer,
    failure=lambda turn: {"error": error_object(turn)},
    error_event=lambda turn: b"data: %b\n\n" % json.dumps({"error": error_object(turn)}).encode(),
    garbage=b'data: {"choices": [{"delta": {"content": oops\n\n',
)
"""OpenAI's chat language."""


def finish_reason(turn: Turn) -> str:
    """Why the answer ends."""
    return turn.finish_reason or ("tool_calls" if turn.calls else "stop")


def usage(turn: Turn, body: Mapping[str, Any]) -> Json:
    """Token counts as the server reports them."""
    read = max(1, len(json.dumps(body.get("messages", ""))) // 4)
    written = max(1, (len(turn.text) + len(turn.reasoning) + sum(len(call.arguments) for call in turn.calls)) // 4)
    counts = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    return {**counts, **turn.usage_details}


def pieces(text: str, size: int) -> Iterator[str]:
    """The text, `size` characters at a time."""
    return (text[start : start + size] for start in range(0, len(text), size))


async def read_request(reader: asyncio.StreamReader) -> tuple[str, str, dict[str, str], Json]:
    """Method, path, headers (names in lower case) and the JSON body."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return method, path.partition("?")[0].rstrip("/"), headers, json.loads(body) if body else {}


def write_json(writer: asyncio.StreamWriter, status: int, body: Json, *, retry_after: str = "") -> None:
    """A whole JSON response."""
    data = json.dumps(body).encode()
    head = f"HTTP/1.1 {status} Scripted\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n"
    if retry_after:
        head += f"Retry-After: {retry_after}\r\n"
    writer.write(head.encode() + b"Connection: close\r\n\r\n" + data)


def announce(server: OpenAIServer, port_file: Path | None) -> None:
    """Say where the server listens; the port file appears whole or not at all."""
    print(server.url, flush=True)
    if port_file is not None:
        draft = port_file.with_name(port_file.name + ".new")
        draft.write_text(str(server.port), encoding="utf-8")
        draft.replace(port_file)


def main() -> None:
    """Serve a script from a file."""
    parser = argparse.ArgumentParser(description="A scripted OpenAI-compatible server on the loopback.")
    parser.add_argument("--script", type=Path, help="JSON list of turns")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--port-file", type=Path, help="where to write the port once it listens")
    options = parser.parse_args()
    server = OpenAIServer(port=options.port)
    if options.script is not None:
        server.script(*json.loads(options.script.read_text(encoding="utf-8")))
    with suppress(KeyboardInterrupt):
        asyncio.run(server.serve(lambda: announce(server, options.port_file)))


if __name__ == "__main__":
    main()
