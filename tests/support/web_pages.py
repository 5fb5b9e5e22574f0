"""A web server on the loopback whose answers are bytes, by path: proper pages and hostile ones."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

Answer = bytes | Callable[[asyncio.StreamWriter], Awaitable[None]]
"""The whole answer, head and body; or what writes it."""


class WebPages:
    """Where it listens, and what it was asked for."""

    def __init__(self, port: int, host: str) -> None:
        self.port, self.host = port, host
        self.asked: list[str] = []
        """Method and path of each request."""
        self.heads: list[str] = []
        """Whole heads of requests."""

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def authority(self) -> str:
        return f"{self.host}:{self.port}"


def page(body: bytes | str, kind: str = "text/html; charset=utf-8", *head: str, status: str = "200 OK") -> bytes:
    """A proper answer."""
    body = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status}", *([f"Content-Type: {kind}"] if kind else []), f"Content-Length: {len(body)}", *head]
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1") + body


def moved(target: str, status: str = "302 Found") -> bytes:
    """A redirect."""
    return page("", "text/html", f"Location: {target}", status=status)


def endless(first: bytes, then: bytes, *, wait: float = 0.0) -> Answer:
    """Goes on until nobody listens."""

    async def write(writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        while True:
            writer.write(then)
            await writer.drain()
            await asyncio.sleep(wait)

    return write


@asynccontextmanager
async def web_pages(answers: Mapping[str, Answer], host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[WebPages]:
    """Answers by path; without a `?` in it, a path means every query."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            method, target, _ = head.split(" ", 2)
            served.asked.append(f"{method} {target}")
            served.heads.append(head)
            answer = answers.get(target, answers.get(target.partition("?")[0], page("no", status="404 Not Found")))
            if isinstance(answer, bytes):
                writer.write(answer)
                await writer.drain()
            else:
                await answer(writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # who asked has heard enough
        finally:
            writer.close()

    server = await asyncio.start_server(serve, host, port)
    served = WebPages(server.sockets[0].getsockname()[1], host)
    try:
        yield served
    finally:
        server.close()
