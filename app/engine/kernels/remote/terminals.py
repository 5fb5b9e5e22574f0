"""The terminals of a server, by REST, and the errors if it has none."""

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import quote

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.remote.address import SSH
from oi_tui.app.engine.kernels.remote.server import JupyterServer, KernelGone, KernelRefused
from oi_tui.app.engine.kernels.remote.servers import KnownServer
from oi_tui.app.engine.kernels.remote.site import open_site

if TYPE_CHECKING:
    from aiohttp import ClientWebSocketResponse

PATH = "/api/terminals"

MESSAGE_LIMIT = 32_000_000
"""Bytes of one message that is taken in: a server sends at once what it remembers of a terminal, some 4 MB."""

LONGEST_NAME = 200
"""Characters of a terminal's name."""

ASKED = 5.0
"""Seconds that a server has to say whether it has terminals, before the first question to a model."""


class Terminals:
    """The terminals of a server, by REST."""

    def __init__(self, site: JupyterServer) -> None:
        self._site = site

    async def obstacle(self) -> str:
        """Why none can be had there, as the end of a sentence; "" if that is not so."""
        try:
            found = await self._site.ask("GET", PATH)
        except KernelGone:
            return "it has no terminals"
        except KernelRefused:
            return "it allows no terminals with this token"
        return "" if isinstance(found, list) else "it has no terminals"

    async def start(self) -> str:
        """Start one; its name. KernelError if it cannot be."""
        try:
            answer = await self._site.ask("POST", PATH, {})
        except KernelRefused as error:
            raise no_shell(self._site.host, await self.obstacle() or "it starts no terminal") from error
        match answer:
            case {"name": str(name)} if 0 < len(name) < LONGEST_NAME:
                return name
        raise self._site.strange()

    async def find(self, name: str) -> bool:
        """Whether it is there."""
        try:
            await self._site.ask("GET", f"{PATH}/{quote(name, safe='')}")
        except KernelGone:
            return False
        return True

    async def remove(self, name: str) -> None:
        """End it; nothing if it is gone."""
        with suppress(KernelGone):
            await self._site.ask("DELETE", f"{PATH}/{quote(name, safe='')}")

    async def connect(self, name: str) -> "ClientWebSocketResponse":
        """What goes in and out of it, as JSON arrays. The server begins with what it remembers."""
        return await self._site.open_socket(f"/terminals/websocket/{quote(name, safe='')}", [], MESSAGE_LIMIT)


def no_shell(host: str, why: str) -> KernelError:
    """Shell code cannot run on this server."""
    return KernelError(
        f"No shell can run on {host}: {why}.",
        hint='Python can run commands there (subprocess). With kernel.shell = "here", shell code runs on this machine.',
    )


async def find_obstacle(launch: Launch, server: KnownServer) -> str:
    """Why no shell can run on this server, as the end of a sentence; "" if one can, or if the server does not say. It
    is not started for that."""
    if server.url.startswith(SSH):
        return ""  # to answer, it would have to start
    try:
        async with asyncio.timeout(ASKED), open_site(server, launch, starts=False) as site:
            return await Terminals(site).obstacle()
    except (KernelError, TimeoutError):
        return ""  # a user who starts something there sees the error


def tell_where(host: str, *, shell_there: bool, no_shell: bool) -> str:
    """For the model: on which machine code runs, and whose files it sees."""
    there = f"{host}, another machine than the user's: the user's files are not there, and its files are not here."
    if not shell_there:
        return f"Python runs on {there} Shell code runs on the user's own machine, and sees other files than Python."
    if no_shell:
        return f"Python runs on {there} No shell can run there; use subprocess in Python instead."
    return f"Python and the shell both run on {there} They see the same files."
