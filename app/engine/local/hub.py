"""The first source: the publisher's file on the model hub, by HTTPS, resumed after a lost connection."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.http_session import REDIRECTS, open_http, tell_failure
from oi_tui.app.engine.core.protocol import FetchProgressed
from oi_tui.app.engine.local.catalogue import LocalModel
from oi_tui.app.engine.local.sources import Progress, SourceFailed
from oi_tui.app.engine.local.weights import bytes_in

if TYPE_CHECKING:
    from aiohttp import ClientResponse

HOPS = 5
"""Redirects that are followed: publishers keep their files elsewhere. What is wrong with the bytes, their hash says."""
REPORT = 1 << 20
"""Bytes between two reports."""


class Hub:
    """Downloads `LocalModel.hub_url`, through the proxies that the environment names."""

    name = "hub"

    def __init__(self, *, connect_timeout: float = 3.0, read_timeout: float = 30.0) -> None:
        self._connect_timeout = connect_timeout
        self._read_timeout = read_timeout

    def room(self, model: LocalModel, folder: Path) -> int:
        """Bytes of the file that are missing."""
        return max(0, model.size - bytes_in(_partial(folder)))

    async def bring(self, model: LocalModel, folder: Path, progress: Progress) -> Path:
        """The file; resumes after each lost connection, as long as each one brings something."""
        from aiohttp import ClientError  # deferred: heavy

        if model.hub_url is None:
            raise SourceFailed("the publisher's file is not listed")
        partial = _partial(folder)
        while (had := bytes_in(partial)) < model.size:
            # Identity: the bytes are counted and hashed as they are.
            headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={had}-"} if had else {})
            try:
                async with self._get(model.hub_url, headers) as response:
                    await _pull(response, model, partial, progress)
            except SettingsError as error:
                raise SourceFailed(error.title) from error
            except (ClientError, TimeoutError, ConnectionError) as error:
                if bytes_in(partial) <= had:
                    raise SourceFailed(tell_failure(error)) from error
                continue
            if bytes_in(partial) <= had:
                raise SourceFailed("the server sent nothing")
        return partial

    @asynccontextmanager
    async def _get(self, url: str, headers: dict[str, str]) -> AsyncGenerator["ClientResponse", None]:
        """The response after all redirects."""
        from aiohttp import ClientResponseError, ClientTimeout  # deferred: heavy

        connect, read = self._connect_timeout, self._read_timeout
        timeout = ClientTimeout(total=None, connect=connect, sock_connect=connect, sock_read=read)
        for _ in range(HOPS + 1):
            async with await open_http(url) as session:
                try:
                    response = await session.get(url, headers=headers, timeout=timeout, auto_decompress=False)
                except ClientResponseError as error:
                    location = error.headers.get("Location", "") if error.headers else ""
                    if error.status not in REDIRECTS or not location:
                        raise
                    url = _next_address(url, location)
                    continue
                async with response:
                    yield response
                    return
        raise SourceFailed("the server sends us from one address to the next without end")


def _next_address(url: str, location: str) -> str:
    there = urljoin(url, location)
    if urlsplit(url).scheme == "https" != urlsplit(there).scheme:
        raise SourceFailed("the server sends us to an address without encryption")
    return there


def _partial(folder: Path) -> Path:
    return folder / "file"


async def _pull(response: "ClientResponse", model: LocalModel, partial: Path, progress: Progress) -> None:
    """The missing bytes, as far as this answer has them; ends with the connection."""
    had = bytes_in(partial)
    match response.status:
        case 206 if response.headers.get("Content-Range", "").startswith(f"bytes {had}-"):
            pass
        case 200:  # no ranges here: from the beginning
            had = 0
        case 416:
            partial.unlink(missing_ok=True)
            raise SourceFailed("the server has a file of another size")
        case status:
            raise SourceFailed(f"the server answered {status}")
    with partial.open("ab" if had else "wb") as file:
        told = had
        # Chunks as they come: ones of a fixed size would be lost, half full, when the connection breaks.
        async for chunk in response.content.iter_any():
            had += len(chunk)
            if had > model.size:
                break
            file.write(chunk)
            if had - told >= REPORT or had == model.size:
                told = had
                progress(FetchProgressed(model_id=model.id, done_bytes=had, total_bytes=model.size))
    if had > model.size:
        partial.unlink()
        raise SourceFailed("the server has a file of another size")
