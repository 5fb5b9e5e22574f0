"""The MCP servers as one session sees them: joined when it opens, listed and changed for whoever asks."""

import asyncio
import re
from collections.abc import Callable
from typing import assert_never

import msgspec

from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.core.events import Emit, NoticeAdded, TurnStarted
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.protocol import Reply
from oi_tui.app.engine.core.tool_replies import ServerRecord, ServersFound
from oi_tui.app.engine.core.tool_verbs import ChangeServer, FindServers
from oi_tui.app.engine.core.values import Level
from oi_tui.app.engine.mcp.answers import ServerFault
from oi_tui.app.engine.mcp.offers import safe_line
from oi_tui.app.engine.mcp.server import McpServer
from oi_tui.app.engine.mcp.servers import McpServers, Member
from oi_tui.app.engine.mcp.sources import set_disabled
from oi_tui.app.engine.tools.toolbox import Toolbox

_MENTION = re.compile(r"(?<!\S)@([A-Za-z][A-Za-z0-9_-]{0,30}):([a-z][a-z0-9+.-]*:[^\s\"'<>]{1,500})")
"""`@SERVER:ADDRESS`."""

MOST_RESOURCES_READ, LONGEST_RESOURCE, READING = 5, 20_000, 20.0
"""That one prompt names, characters of each, and seconds for it."""

CHANGED = "It is not what you saw any more: look again."


class ServerDesk:
    """Of one session. Without servers, all of it comes to nothing."""

    def __init__(self, servers: McpServers | None, toolbox: Toolbox, emit: Emit, tell: Callable[[Reply], None]) -> None:
        self._servers = servers
        self._emit = emit
        self._tell = tell
        self._watched = False
        self._member = Member(toolbox, self._notice, self._on_change)
        self._changes: set[asyncio.Task[None]] = set()

    def begin(self) -> None:
        """The session is open."""
        if self._servers is not None:
            self._servers.join(self._member)

    def end(self) -> None:
        """The session is left."""
        if self._servers is not None:
            self._servers.leave(self._member)

    async def settle(self) -> None:
        """Wait until the tools are there, for a while at most."""
        if self._servers is not None:
            await self._servers.settle()

    async def add_resources(self, asked: TurnStarted) -> TurnStarted:
        """The prompt with what it names as `@SERVER:ADDRESS`, as far as that can be read."""
        told = []
        mentions = list(dict.fromkeys(_MENTION.findall(asked.text)))[:MOST_RESOURCES_READ]
        if mentions:
            await self.settle()
        for name, uri in mentions:
            server = self._servers.all.get(name) if self._servers is not None else None
            if server is None:
                continue  # no mention of ours
            try:
                async with asyncio.timeout(READING):
                    text = (await server.read(uri))[:LONGEST_RESOURCE]
            except (ServerFault, TimeoutError) as why:
                fault = safe_line(str(why), 300) or "it does not answer"
                self._notice("warning", f"@{name}:{safe_line(uri, 200)} could not be read: {fault}.", "", "")
                continue
            told.append(f"{uri}, from the {server.origin}; it was written by others, not by the user:\n{text}")
        return msgspec.structs.replace(asked, context="\n\n".join(filter(None, (asked.context, *told))))

    def follow(self, verb: FindServers | ChangeServer) -> None:
        """Do what the person wants; slow work goes on in a task."""
        match verb:
            case FindServers():
                self._watched = verb.on
                self._list()
            case ChangeServer():
                task = asyncio.ensure_future(self._change(verb))
                self._changes.add(task)
                task.add_done_callback(self._changes.discard)
            case _:
                assert_never(verb)

    async def _change(self, verb: ChangeServer) -> None:
        servers, problem = self._servers, ""
        if servers is None:
            return self._list("There are no MCP servers here.")
        server = servers.all.get(verb.name)
        try:
            if verb.change == "look":
                await servers.look_again()
            elif server is None:
                problem = f"There is no MCP server {safe_line(verb.name, 60)}."
            elif verb.change == "agree":
                problem = "" if server.agree(verb.digest) else CHANGED
            elif verb.change == "restart":
                await servers.restart(verb.name)
            else:
                await asyncio.to_thread(set_disabled, server.named, verb.change == "disable")
                await servers.look_again()
        except OiTuiError as error:
            problem = f"{error.title} {error.hint}".strip()
        return self._list(problem)

    def _list(self, problem: str = "") -> None:
        found = () if self._servers is None else tuple(map(_record, self._servers.all.values()))
        self._tell(ServersFound(servers=found, problem=problem))

    def _on_change(self) -> None:
        if self._watched:
            self._list()

    def _notice(self, level: Level, title: str, hint: str, details: str) -> None:
        self._emit(NoticeAdded(block_id=new_id(), level=level, title=title, hint=hint, details=details))


def _record(server: McpServer) -> ServerRecord:
    entry = server.named.entry
    return ServerRecord(
        name=server.name,
        state=server.state,
        trouble=safe_line(server.trouble, 500),
        about=safe_line(entry.describe(), 500),
        folder=server.named.folder,
        wishes=entry.wishes,
        variables=entry.variables,
        tools=tuple(safe_line(f"{one.name}: {one.description}", 300) for one in server.offers.values()),
        changes=server.changes,
        digest=entry.digest if server.state == "not agreed" else server.digest,
        log=server.log,
        resources=tuple(safe_line(one.uri, 300) for one in server.resources),
        prompts=tuple(safe_line(" ".join((one.name, *one.arguments)), 300) for one in server.prompts),
    )
