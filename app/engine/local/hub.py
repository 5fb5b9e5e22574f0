"""The first source: the publisher's file on the model hub, by HTTPS, gone on with where it broke off."""

from pathlib import Path
from typing import TYPE_CHECKING

from oi_tui.app.engine.core.protocol import FetchProgressed
from oi_tui.app.engine.local.catalogue import LocalModel
from oi_tui.app.engine.local.sources import Progress, SourceFailed
from oi_tui.app.engine.local.weights import bytes_in

if TYPE_CHECKING:
    import httpx

REPORT = 1 << 20
"""Bytes between two reports."""


class Hub:
    """Downloads `LocalModel.hub_url`, through the proxies that the environment names."""

    name = "hub"

    def __init__(self, *, connect_timeout: float = 3.0, read_timeout: float = 30.0) -> None:
        self._connect_timeout = connect_timeout
        self._read_timeout = read_timeout

    def room(self, model: LocalModel, folder: Path) -> int:
        """What is missing of the file."""
        return max(0, model.size - bytes_in(_partial(folder)))

    async def bring(self, model: LocalModel, folder: Path, progress: Progress) -> Path:
        """The file; asks again from where a connection broke off, as long as each one brings something."""
        import httpx  # 0.1 s: only when something is to be fetched

        if model.hub_url is None:
            raise SourceFailed("the publisher's file is not listed")
        partial = _partial(folder)
        timeout = httpx.Timeout(self._read_timeout, connect=self._connect_timeout)
        try:
            client = httpx.AsyncClient(timeout=timeout, follow_redirects=True)
        except (ImportError, ValueError, httpx.InvalidURL) as error:
            raise SourceFailed(f"the proxy that the environment names cannot be used ({error})") from error
        async with client:
            while (had := bytes_in(partial)) < model.size:
                try:
                    await _pull(client, model.hub_url, model, partial, progress)
                except httpx.HTTPError as error:
                    reason = str(error) or type(error).__name__
                    if bytes_in(partial) <= had:
                        raise SourceFailed(reason) from error
                    continue
                if bytes_in(partial) <= had:
                    raise SourceFailed("the server sent nothing")
        return partial


def _partial(folder: Path) -> Path:
    return folder / "file"


async def _pull(client: "httpx.AsyncClient", url: str, model: LocalModel, partial: Path, progress: Progress) -> None:
    """One request for what is missing; ends with the connection."""
    had = bytes_in(partial)
    # Identity: the bytes are counted and hashed as they are.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={had}-"} if had else {})
    async with client.stream("GET", url, headers=headers) as response:
        match response.status_code:
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
            async for chunk in response.aiter_raw():
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
