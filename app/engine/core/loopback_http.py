"""A short GET to a server on this machine, without an HTTP library: to find out what runs there must not cost the tenth
of a second that importing one takes.

It says None to whatever is not plain (TLS, chunks, packed bodies, names and passwords): the caller then asks with
`http_session`, which can do all of that.
"""

import asyncio
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from oi_tui.app.engine.core.offline import is_this_machine

_NOT_PLAIN = ("transfer-encoding", "content-encoding")


class PlainAnswer(NamedTuple):
    """What a server answered."""

    status: int
    body: bytes


async def get_from_here(address: str, headers: Mapping[str, str], *, limit: int) -> PlainAnswer | None:
    """The answer of a server on this machine; None if it is elsewhere, or if this takes a real client.

    At most `limit` bytes are read; the caller bounds the time. ConnectionRefusedError if nothing listens there.
    """
    request = _request(address, headers)
    if request is None:
        return None
    parts, said = request
    try:
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port or 80)
    except ConnectionRefusedError:
        raise
    except OSError:
        return None
    try:
        writer.write(said)
        return await _read(reader, limit)
    except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return None
    finally:
        writer.close()


def _request(address: str, headers: Mapping[str, str]) -> tuple[SplitResult, bytes] | None:
    try:
        parts = urlsplit(address)
        is_plain = parts.scheme == "http" and "@" not in parts.netloc and is_this_machine(parts.hostname or "")
        # Of version 1.0, so that no body comes in chunks.
        lines = [
            f"GET {parts.path or '/'}{'?' if parts.query else ''}{parts.query} HTTP/1.0",
            f"Host: {parts.netloc}",
            "Accept: */*",
            "User-Agent: oi-tui",
            *(f"{name}: {value}" for name, value in headers.items()),
        ]
        parts.port  # noqa: B018 - raises
    except ValueError:
        return None
    if (
        not (is_plain and all(line.isascii() and line.isprintable() for line in lines))
        or " " in parts.path + parts.query
    ):
        return None
    return parts, "\r\n".join([*lines, "", ""]).encode("ascii")


async def _read(reader: asyncio.StreamReader, limit: int) -> PlainAnswer | None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *rest = head.split("\r\n")
    version, _, status = first.partition(" ")
    fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)}
    if not version.startswith("HTTP/1.") or any(name in fields for name in _NOT_PLAIN):
        return None
    length = int(fields["content-length"]) if "content-length" in fields else None
    if length is not None:
        body = await reader.readexactly(length) if 0 <= length <= limit else None
    else:
        body = await reader.read(limit + 1)
        while body and len(body) <= limit and (more := await reader.read(limit + 1 - len(body))):
            body += more
    if body is None or len(body) > limit:
        return None
    return PlainAnswer(int(status[:3]), body)
