"""A server on the loopback that answers as Ollama does, from a script: a card of its model, and lines of an answer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec

from support.openai_server import read_request, write_json

Json = dict[str, Any]


class OllamaServer:
    """What it was asked for, and where it listens."""

    def __init__(self, card: Json | None, lines: list[Json | bytes], status: int) -> None:
        self.url = ""
        self.asked: list[tuple[str, Json]] = []
        """Path and body of each request."""
        self.headers: list[dict[str, str]] = []
        self._card = card
        self._lines = lines
        self._status = status

    @property
    def chats(self) -> list[Json]:
        """Bodies of the requests for an answer."""
        return [body for path, body in self.asked if path == "/api/chat"]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            _, path, headers, body = await read_request(reader)
            self.asked.append((path, body))
            self.headers.append(headers)
            if path == "/api/show" and self._card is not None:
                write_json(writer, 200, self._card)
            elif path != "/api/chat":
                write_json(writer, 404, {"error": "there is no such model"})
            elif self._status != 200:
                write_json(writer, self._status, {"error": f"model '{body['model']}' not found"})
            else:
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nConnection: close\r\n\r\n")
                for line in self._lines:
                    writer.write((line if isinstance(line, bytes) else msgspec.json.encode(line)) + b"\n")
            await writer.drain()
        writer.close()


def spoken(text: str = "", **message: Any) -> Json:
    """A line of an answer that says this."""
    return {"model": "m", "message": {"role": "assistant", "content": text, **message}, "done": False}


def ended(reason: str = "stop", **counts: int) -> Json:
    """The last line of an answer."""
    return {**spoken(), "done": True, "done_reason": reason, **counts}


@asynccontextmanager
async def ollama_server(
    *lines: Json | bytes, card: Json | None = None, status: int = 200
) -> AsyncIterator[OllamaServer]:
    """Answers each request for an answer with these lines, or this status. No `card`: it does not know the model."""
    served = OllamaServer(card, list(lines), status)
    server = await asyncio.start_server(served.serve, "127.0.0.1", 0)
    served.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield served
    finally:
        server.close()
