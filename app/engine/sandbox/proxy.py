"""The only way from a sandbox to the network: a proxy outside of it that knows a list of hosts.

It listens on a UNIX socket that is bound into the sandbox, understands CONNECT and plain HTTP, resolves names itself,
and connects to the address it has checked, so a name cannot resolve elsewhere a moment later. A refused request gets a
403 that says why, and the callback of the opener is called. It does not inspect the traffic.
"""

import asyncio
import ipaddress
import re
import socket
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Self

import psutil

from oi_tui.app.engine.sandbox.hosts import Address, AllowList, Authority, OnRefusal, Refusal, parse_authority

HEAD_LIMIT = 32_768
"""Bytes of the longest request line with headers."""

PATIENCE = 30.0
"""Seconds for a request to be read, a name to be resolved, a connection to be made."""

CONNECTIONS = 128
"""At the same time; more wait."""

PIECE = 65_536
WRITTEN = 100
"""Characters of an invalid host that are passed on."""

_OURS = re.compile(rb"(?:proxy-[a-z-]+|connection|keep-alive|te|upgrade|host)\s*:", re.IGNORECASE)
"""Headers that are between a client and its proxy, or that we write ourselves."""


class Refused(Exception):
    """A request that is answered with a status and a reason."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class Proxy:
    """Serves one sandbox. `open` it before, `close` it after."""

    def __init__(self, rules: Iterable[str], on_refusal: OnRefusal) -> None:
        self._on_refusal = on_refusal
        self._allowed = AllowList(rules, own=own_addresses())
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._room = asyncio.Semaphore(CONNECTIONS)

    async def open(self, path: Path) -> Self:
        """Listen on a new socket at this path."""
        self._server = await asyncio.start_unix_server(self._accept, path, limit=HEAD_LIMIT)
        return self

    async def close(self) -> None:
        """Stop listening and close all connections; idempotent."""
        server, self._server = self._server, None
        if server is not None:
            server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._server is None:
            writer.close()  # closed between the call and the answer
            return
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)

        def end(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            writer.close()  # here, because a task that is cancelled early never comes to its own end

        task.add_done_callback(end)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # One of both ends may go away: the other one sees its end.
        with suppress(OSError, TimeoutError):
            async with self._room:
                await self._answer(reader, writer)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                wanted, greeting, first = await self._request(reader)
                upstream = await self._connect(wanted)
        except Refused as refusal:
            body = f"The sandbox says: {refusal.reason}\n".encode()
            head = f"HTTP/1.1 {refusal.status}\r\nContent-Length: {len(body)}\r\nContent-Type: text/plain\r\n"
            writer.write(f"{head}Connection: close\r\n\r\n".encode() + body)
            await writer.drain()
            return
        up_reader, up_writer = upstream
        try:
            writer.write(greeting)
            up_writer.write(first)
            await asyncio.gather(_carry(reader, up_writer), _carry(up_reader, writer))
        finally:
            up_writer.close()

    async def _request(self, reader: asyncio.StreamReader) -> tuple[Authority, bytes, bytes]:
        """The target, the reply to the client, and the first bytes to the server."""
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            raise Refused("400 Bad Request", "this is no request that a proxy understands.") from error
        line, *headers = head[:-4].split(b"\r\n")
        match line.decode("latin-1").split(" "):
            case ["CONNECT", target, "HTTP/1.0" | "HTTP/1.1"]:
                return self._requested_host(target, None), b"HTTP/1.1 200 Connection established\r\n\r\n", b""
            case [method, target, "HTTP/1.0" | "HTTP/1.1" as version] if re.fullmatch("[A-Z]+", method):
                address, path = _split(target)
                wanted = self._requested_host(address, 80)
                # One request a connection: the next one could be meant for another host.
                kept = [header for header in headers if not _OURS.match(header)]
                own = [f"{method} {path} {version}".encode("latin-1"), f"Host: {address}".encode("latin-1")]
                return wanted, b"", b"\r\n".join([*own, *kept, b"Connection: close", b"", b""])
            case _:
                raise Refused("400 Bad Request", "this is no request that a proxy understands.")

    def _requested_host(self, text: str, port: int | None) -> Authority:
        wanted = parse_authority(text, port)
        if wanted is None:
            self._on_refusal(Refusal(text[:WRITTEN], "no host"))
            raise Refused("400 Bad Request", "this is no host that can be asked for.")
        if not self._allowed.admits(wanted):
            self._on_refusal(Refusal(str(wanted), "not on the list"))
            raise Refused("403 Forbidden", f"{wanted} is not on the list of allowed hosts.")
        return wanted

    async def _connect(self, wanted: Authority) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            found = await asyncio.get_running_loop().getaddrinfo(wanted.host, wanted.port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise Refused("502 Bad Gateway", f"{wanted.host} is not known.") from error
        addresses = [_address(str(entry[4][0])) for entry in found]
        # All of them must be allowed: a name that mixes in a private one is suspicious.
        if not addresses or not all(self._allowed.may_connect(address, wanted.port) for address in addresses):
            self._on_refusal(Refusal(str(wanted), "leads to an address that is not public"))
            raise Refused("403 Forbidden", f"{wanted.host} leads to an address that is not public.")
        for address in addresses:
            with suppress(OSError):
                return await asyncio.open_connection(str(address), wanted.port)
        raise Refused("502 Bad Gateway", f"{wanted} cannot be reached.")


def own_addresses() -> frozenset[Address]:
    """The addresses of this machine's interfaces."""
    families = (socket.AF_INET, socket.AF_INET6)
    found = (entry for entries in psutil.net_if_addrs().values() for entry in entries if entry.family in families)
    return frozenset(_address(entry.address) for entry in found)


def _address(text: str) -> Address:
    return ipaddress.ip_address(text.partition("%")[0])


def _split(target: str) -> tuple[str, str]:
    """Host (perhaps with port) and path of `http://host/path`; anything but plain HTTP is refused."""
    match = re.fullmatch(r"[Hh][Tt][Tt][Pp]://(?P<host>[^/?#\\]+)(?P<path>/[^#]*|\?[^#]*)?", target)
    if match is None:
        raise Refused("400 Bad Request", "only http:// addresses and CONNECT are understood.")
    path = match["path"] or "/"
    return match["host"], path if path.startswith("/") else f"/{path}"


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Hand on what comes until its end, and then the end."""
    while data := await reader.read(PIECE):
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
