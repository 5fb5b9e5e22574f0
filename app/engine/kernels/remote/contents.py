"""Files of a Jupyter server, by its contents API: one is read or written whole, within limits.

Descriptions of files by the server are not trusted, and file names go into the path of a request: none can leave it.
"""

import base64
import binascii
from urllib.parse import quote

from oi_tui.app.engine.core.errors import KernelError, SettingsError
from oi_tui.app.engine.kernels.base import ServerFile
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.remote.server import JupyterServer, KernelGone, KernelRefused
from oi_tui.app.engine.kernels.remote.servers import KnownServer
from oi_tui.app.engine.kernels.remote.site import open_site

PATH = "/api/contents"

FILE_LIMIT = 4_000_000
"""Bytes of a file that is read or written: as much as fits into an answer that we take."""

LONGEST_PATH = 1_000
"""Characters."""


class Contents:
    """The files of one server."""

    def __init__(self, site: JupyterServer, host: str) -> None:
        self._site = site
        self._host = host

    async def read(self, path: str) -> bytes:
        """All of a file; KernelError in plain words if that cannot be."""
        about = await self._look(path)
        if about is None:
            raise KernelError(f"There is no file {path} on {self._host}.", hint="Paths begin where its files begin.")
        match about:
            case {"type": "directory"}:
                raise KernelError(f"{path} is a folder on {self._host}. Name a file.")
            case {"size": int(size)} if size > FILE_LIMIT:
                raise _too_large(path, size)
        match await self._site.ask("GET", f"{_address(path)}?type=file&format=base64&content=1"):
            case {"content": str(text), "format": "base64"}:
                try:
                    data = base64.b64decode(text)
                except (binascii.Error, ValueError):
                    raise self._site.strange() from None
                if len(data) > FILE_LIMIT:
                    raise _too_large(path, len(data))
                return data
        raise self._site.strange()

    async def write(self, path: str, data: bytes) -> None:
        """A new file; KernelError if there is one already, or if it cannot be written."""
        if len(data) > FILE_LIMIT:
            raise _too_large(path, len(data))
        if await self._look(path) is not None:
            raise KernelError(
                f"There is a {path} on {self._host} already.", hint="Nothing was saved. Use another name."
            )
        body = {"type": "file", "format": "base64", "content": base64.b64encode(data).decode()}
        try:
            await self._site.ask("PUT", _address(path), body)
        except KernelError as error:
            raise KernelError(
                f"{path} was not saved on {self._host}.", hint="Is its folder there?", details=error.title
            ) from error

    async def _look(self, path: str) -> object:
        """The server's record of a file, None if there is none."""
        try:
            return await self._site.ask("GET", f"{_address(path)}?content=0")
        except KernelRefused as error:
            if isinstance(error, KernelGone) and await self._has_files():
                return None
            raise KernelError(f"{self._host} gives no access to files.", details=error.title) from error

    async def _has_files(self) -> bool:
        try:
            await self._site.ask("GET", f"{PATH}?content=0")
        except KernelRefused:
            return False
        return True


async def read_remote(launch: Launch, server: KnownServer | None, path: str) -> ServerFile:
    """A file of the server in use; KernelError if there is none or it cannot be read."""
    server = _require(server)
    async with open_site(server, launch) as site:
        return ServerFile(path=path, host=server.host, data=await Contents(site, server.host).read(path))


async def write_remote(launch: Launch, server: KnownServer | None, path: str, data: bytes) -> str:
    """Make a file on the server in use; its host. KernelError if that cannot be."""
    server = _require(server)
    async with open_site(server, launch) as site:
        await Contents(site, server.host).write(path, data)
        return server.host


def _require(server: KnownServer | None) -> KnownServer:
    if server is None:
        raise KernelError("No Jupyter server is in use: nothing is remote.", hint="/kernel NAME changes to one.")
    return server


def _address(path: str) -> str:
    parts = path.strip("/").split("/")
    if len(path) > LONGEST_PATH or not path.isprintable() or not all(parts) or {".", ".."} & set(parts):
        raise SettingsError(f"“{path[:200]}” names no file of a server.", hint="Say remote:FOLDER/FILE, without “..”.")
    return f"{PATH}/{quote('/'.join(parts), safe='/')}"


def _too_large(path: str, size: int) -> KernelError:
    return KernelError(
        f"{path} has {size:,} bytes; files of up to {FILE_LIMIT:,} go to a server and back.",
        hint="Code that runs there can open it.",
    )
