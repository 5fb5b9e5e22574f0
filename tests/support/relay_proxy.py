"""A real HTTP proxy on the loopback: absolute addresses and CONNECT, with a password if wanted."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit


class RelayProxy:
    """What it was asked for, and where it listens."""

    def __init__(self) -> None:
        self.port = 0
        self.heads: list[str] = []
        """Heads of requests, as they came."""

    @property
    def url(self) -> str:
        """Its address, without a password."""
        return f"http://127.0.0.1:{self.port}"


@asynccontextmanager
async def relay_proxy(port: int, *, password: str = "") -> AsyncIterator[RelayProxy]:
    """A proxy that connects every host to this port of the loopback. The name for the password is `ada`."""
    served = RelayProxy()
    wanted = f"Basic {base64.b64encode(f'ada:{password}'.encode()).decode()}"
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            served.heads.append(head)
            if password and f"proxy-authorization: {wanted}".lower() not in head.lower():
                writer.write(b"HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                await writer.drain()
                return
            there, back = await asyncio.open_connection("127.0.0.1", port)
            method, target, rest = head.split(" ", 2)
            if method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Go on\r\n\r\n")
            else:
                parts = urlsplit(target)
                back.write(f"{method} {parts.path or '/'}{'?' * bool(parts.query)}{parts.query} {rest}".encode())
            try:
                async with asyncio.TaskGroup() as both:
                    both.create_task(_pump(reader, back))
                    both.create_task(_pump(there, writer))
            finally:
                back.close()
        except (ConnectionError, asyncio.IncompleteReadError, BaseExceptionGroup):
            pass  # one side has gone
        finally:
            writer.close()
            tasks.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    served.port = server.sockets[0].getsockname()[1]
    try:
        yield served
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
