"""One page, fetched: through checked addresses only, within bounds of size, time and redirects.

A redirect to another host is returned and not followed: the model asks again, and rules and the person see each host.
"""

import asyncio
import zlib
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.http_session import REDIRECTS, open_http, tell_failure
from oi_tui.app.engine.text.words import one_line, size_in_words
from oi_tui.app.engine.web.page_address import PageAddress, WrongAddress, read_address
from oi_tui.app.engine.web.reach import HostRefused, WebReach, pinned_resolver

if TYPE_CHECKING:
    from aiohttp import ClientResponse

MOST_REDIRECTS = 5

_HEADERS = {
    "User-Agent": "oi-tui (a terminal program; fetches pages that its user asks for)",
    "Accept": "text/html,application/xhtml+xml,text/markdown,text/plain,application/json,application/pdf,*/*;q=0.5",
    "Accept-Encoding": "gzip, deflate",
}
_PIECE = 65_536
"""Bytes that are unpacked at once, at most."""


class NotFetched(Exception):
    """A page that did not come, and why, as a sentence."""


class DownloadLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What one page may take."""

    size: int = 5_000_000
    """Bytes, unpacked."""
    seconds: float = 30.0
    """For all of it, redirects included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """A page, or as much of it as may come, with what the server says of it."""

    address: PageAddress
    """Of the page itself, behind all redirects."""
    kind: str
    """Its media type, in lower case, without parameters; "" if the server sent none."""
    charset: str = ""
    """The charset that the server sent."""
    body: bytes = field(repr=False)
    is_whole: bool = True
    """False if there was more than the limit."""


async def fetch_page(
    address: PageAddress, reach: WebReach, limits: DownloadLimits, environ: Mapping[str, str]
) -> Download | PageAddress:
    """The page, or the address that it moved to, if that is on another host; NotFetched if that fails."""
    try:
        async with asyncio.timeout(limits.seconds):
            for _ in range(MOST_REDIRECTS + 1):
                found = await _ask(address, reach, limits, environ)
                if isinstance(found, Download) or not address.is_same_host(found):
                    return found
                address = found
    except TimeoutError as error:
        why = f"{address.host_words} did not send it within {limits.seconds:g} seconds."
        raise NotFetched(why) from error
    raise NotFetched(f"{address.host_words} sends us from page to page, more than {MOST_REDIRECTS} times.")


async def _ask(
    address: PageAddress, reach: WebReach, limits: DownloadLimits, environ: Mapping[str, str]
) -> Download | PageAddress:
    """One request: the page, or where it is instead."""
    try:
        found = await reach.addresses(address.authority)
        session = await open_http(address.text, None, environ, resolver=pinned_resolver(found), unpack=False)
    except HostRefused as error:
        raise NotFetched(f"{address.host_words} {error}.") from error
    except SettingsError as error:
        raise NotFetched(" ".join(filter(None, (error.title, error.hint)))) from error
    from aiohttp import ClientError, ClientResponseError  # deferred: heavy

    try:
        async with session, session.get(address.text, headers=_HEADERS) as answer:
            if answer.status != 200:
                why = one_line(answer.reason or "")[:100]
                raise NotFetched(f"{address.host_words} answered {answer.status}{f' ({why})' if why else ''}.")
            return await _read(answer, address, limits.size)
    except ClientResponseError as error:
        if error.status in REDIRECTS and error.headers is not None:
            return _next_address(address, error.headers.get("Location", ""))
        raise NotFetched(f"{address.host_words} sent no proper answer: {one_line(error.message)[:200]}.") from error
    except (ClientError, OSError) as error:
        raise NotFetched(f"{address.host_words} cannot be reached: {one_line(tell_failure(error))[:200]}.") from error


def _next_address(address: PageAddress, target: str) -> PageAddress:
    """NotFetched for a redirect that leads nowhere."""
    try:
        return read_address(target, address.text)
    except WrongAddress as error:
        raise NotFetched(f"{address.host_words} sends us elsewhere, which is not followed. {error}") from error


async def _read(answer: "ClientResponse", address: PageAddress, most: int) -> Download:
    body = bytearray()
    async with aclosing(_unpack(answer, address)) as pieces:
        async for piece in pieces:
            body += piece
            if len(body) > most:
                break
    kind, charset = answer.content_type if "Content-Type" in answer.headers else "", answer.charset or ""
    whole = len(body) <= most
    return Download(address=address, kind=kind.lower(), charset=charset[:40], body=bytes(body[:most]), is_whole=whole)


async def _unpack(answer: "ClientResponse", address: PageAddress) -> AsyncGenerator[bytes, None]:
    """The body in pieces that are never much larger than `_PIECE`, however small they were packed."""
    coding = answer.headers.get("Content-Encoding", "").strip().lower()
    if coding in ("", "identity"):
        async for piece in answer.content.iter_chunked(_PIECE):
            yield piece
        return
    if coding not in ("gzip", "x-gzip", "deflate"):
        raise NotFetched(
            f"{address.host_words} sent it packed in a way that was not asked for: {one_line(coding)[:40]}."
        )
    unpack, begun = zlib.decompressobj(zlib.MAX_WBITS | 32), False  # gzip and zlib, as its head says
    try:
        async for packed in answer.content.iter_chunked(_PIECE):
            if not begun and coding == "deflate" and packed[0] & 0x0F != 8:
                unpack = zlib.decompressobj(-zlib.MAX_WBITS)  # without a head, as some servers understand it
            begun, rest = True, packed
            while rest and not unpack.eof:
                yield unpack.decompress(rest, _PIECE)
                rest = unpack.unconsumed_tail
            if unpack.eof:
                return
    except zlib.error as error:
        raise NotFetched(f"{address.host_words} sent it packed, and damaged.") from error
    raise (
        NotFetched(f"{address.host_words} sent only a part of it.")
        if begun
        else NotFetched(f"{address.host_words} sent nothing.")
    )


def describe_size(download: Download) -> str:
    """How much came, in words."""
    return f"{'' if download.is_whole else 'more than '}{size_in_words(len(download.body))}"
