"""All servers of an engine: started in the background when a session opens, and shared by its sessions."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.core.values import Level
from oi_tui.app.engine.files.credentials import CredentialStore
from oi_tui.app.engine.mcp.agreements import Agreements
from oi_tui.app.engine.mcp.entries import NamedServer
from oi_tui.app.engine.mcp.notices import TellNotice
from oi_tui.app.engine.mcp.server import GREETING, PAUSES, McpServer, ServerSeat
from oi_tui.app.engine.sandbox.profile import RungChoice
from oi_tui.app.engine.tools.toolbox import Toolbox

PATIENCE = 10.0
"""Seconds that a turn waits for servers that start, at most."""

MISSING = "MCP servers need a package that is not installed."
MISSING_HINT = "pip install 'oi-tui[mcp]' (pipx inject oi-tui mcp; uv tool install 'oi-tui[mcp]') brings it."


class Member(msgspec.Struct, eq=False):
    """A session that uses them."""

    toolbox: Toolbox
    tell: TellNotice
    on_change: Callable[[], None] = lambda: None
    """Called when anything of a server has changed."""


class McpServers:
    """The servers that the files name; nothing is read or started before the first session joins."""

    def __init__(
        self,
        find: Callable[[], tuple[NamedServer, ...]],
        agreements: Agreements,
        *,
        folder: Path,
        environ: Mapping[str, str],
        rung: RungChoice = "auto",
        learn_secret: Callable[[str, str], None] = lambda name, value: None,
        find_auth: Callable[[NamedServer], Any] = lambda server: None,
        pauses: Sequence[float] = PAUSES,
        greeting: float = GREETING,
    ) -> None:
        """`find` reads the files; SettingsError where one is wrong."""
        self.all: dict[str, McpServer] = {}
        """By name."""
        self._find = find
        self._seat = ServerSeat(
            folder=folder,
            environ=environ,
            agreements=agreements,
            tell=self._tell,
            rung=rung,
            learn_secret=learn_secret,
            find_auth=find_auth,
            pauses=pauses,
            greeting=greeting,
        )
        self._members: list[Member] = []
        self._starting: asyncio.Task[None] | None = None

    def join(self, member: Member) -> None:
        """Connect a session that opens: it gets the present offers and later changes."""
        self._members.append(member)
        for server in self.all.values():
            member.toolbox.replace(server.origin, server.tools)
        if self._starting is None:
            self._starting = asyncio.create_task(self._start())

    def leave(self, member: Member) -> None:
        """Disconnect a session that ends; the servers keep running for the others."""
        if member in self._members:
            self._members.remove(member)

    async def settle(self, seconds: float | None = None) -> None:
        """Wait until each is ready or known not to be, for a while at most."""
        try:
            async with asyncio.timeout(PATIENCE if seconds is None else seconds):
                if self._starting is not None:
                    await asyncio.shield(self._starting)
                await asyncio.gather(*(server.settle() for server in self.all.values()))
        except TimeoutError:
            return  # its tools come as soon as they are there

    async def close(self) -> None:
        """End all of them."""
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        await asyncio.gather(*(server.end() for server in self.all.values()))

    async def look_again(self) -> None:
        """Read the files again: start new servers, end those that were removed or changed."""
        named = {one.name: one for one in await asyncio.to_thread(self._find)}
        for name, server in list(self.all.items()):
            if named.get(name) != server.named:
                await server.end()
                del self.all[name]
        for name, one in named.items():
            if name not in self.all:
                self._add(one)

    async def restart(self, name: str) -> None:
        """End it and start it again."""
        server = self.all[name]
        await server.end()
        server.begin()

    async def _start(self) -> None:
        try:
            named = await asyncio.to_thread(self._find)
        except OiTuiError as error:
            self._tell("warning", f"No MCP server is started. {error.title}", error.hint, error.details)
            return
        if not named:
            return
        if not await asyncio.to_thread(_load_sdk):
            self._tell("warning", MISSING, MISSING_HINT, "")
            return
        for one in named:
            self._add(one)

    def _add(self, named: NamedServer) -> None:
        server = self.all[named.name] = McpServer(named, self._seat, self._on_tools)
        server.begin()

    def _on_tools(self, server: McpServer) -> None:
        for member in self._members:
            member.toolbox.replace(server.origin, server.tools)
            member.on_change()

    def _tell(self, level: Level, title: str, hint: str, details: str) -> None:
        for member in self._members:
            member.tell(level, title, hint, details)


def find_login(store: CredentialStore, server: NamedServer, learn: Callable[[str, str], None]) -> Any:
    """Signs requests to a server; None if nobody logged in there."""
    from oi_tui.app.engine.mcp.logins import kept_login  # deferred: it is of the SDK

    return kept_login(store, server.entry.url, learn)


def _load_sdk() -> bool:
    """Whether the SDK is here; loaded in a thread, for it takes a second."""
    try:
        from oi_tui.app.engine.mcp.sdk_session import open_connection  # deferred: what it is about
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("oi_tui"):
            raise
        return False
    return open_connection is not None
