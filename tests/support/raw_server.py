"""A server on the loopback that sends these bytes, whatever they are, to every client."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

HEAD = "HTTP/1.1 {status} Raw\r\nConnection: close\r\nContent-Type: {kind}\r\n"


class RawServer:
    """What it was asked for, and where it listens."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[bytes] = []
        """Heads and bodies, as they came."""


def answer_chunk(content: str) -> bytes:
    """One event of a stream that says this."""
    chunk = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "m"}
    return b"data: %b\n\n" % json.dumps({**chunk, "choices": [{"index": 0, "delta": {"content": content}}]}).encode()


def sends(*pieces: bytes, then: bytes = b"") -> Callable[[], AsyncIterator[bytes]]:
    """These pieces, and the last one without end."""

    async def answer() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece
        while then:
            yield then

    return answer


@asynccontextmanager
async def raw_server(
    answer: Callable[[], AsyncIterator[bytes]], *, status: int = 200, kind: str = "text/event-stream", head: str = ""
) -> AsyncIterator[RawServer]:
    """Answers each request with the pieces of a new `answer`, `head` are more lines of the head of it."""
    served = RawServer()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            asked = await reader.readuntil(b"\r\n\r\n")
            length = next(
                (int(line.split(b":")[1]) for line in asked.lower().split(b"\r\n") if b"content-length" in line), 0
            )
            served.requests.append(asked + await reader.readexactly(length))
            writer.write((HEAD.format(status=status, kind=kind) + head + "\r\n").encode())
            async for piece in answer():
                writer.write(piece)
                await writer.drain()
        except ConnectionError:
            pass  # who asked has heard enough
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    served.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield served
    finally:
        server.close()
