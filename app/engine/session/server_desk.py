"""The MCP servers as one session sees them: joined when it opens, listed and changed on request."""

import asyncio
import re
from collections.abc import Callable, Coroutine
from typing import Any, assert_never

import msgspec

from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.core.events import Emit, NoticeAdded, TurnStarted
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.protocol import Reply
from oi_tui.app.engine.core.tool_replies import (
    OfferCompleted,
    OffersFound,
    PromptRecord,
    ResourceRecord,
    ServerOffers,
    ServerRecord,
    ServersFound,
)
from oi_tui.app.engine.core.tool_verbs import AboutServers, ChangeServer, CompleteOffer, FindOffers, FindServers
from oi_tui.app.engine.core.values import Level
from oi_tui.app.engine.mcp.answers import ServerFault
from oi_tui.app.engine.mcp.offers import safe_line
from oi_tui.app.engine.mcp.server import McpServer
from oi_tui.app.engine.mcp.servers import McpServers, Member
from oi_tui.app.engine.mcp.sources import set_disabled
from oi_tui.app.engine.text.command_file import CommandArgument, WrongUse, bind_arguments
from oi_tui.app.engine.text.words import quantity
from oi_tui.app.engine.tools.toolbox import Toolbox

_MENTION = re.compile(r"(?<!\S)@([A-Za-z][A-Za-z0-9_-]{0,30}):([a-z][a-z0-9+.-]*:[^\s\"'<>]{1,500})")
"""`@SERVER:ADDRESS`."""

SERVER_PROMPT = re.compile(r"\s*/(?P<server>[A-Za-z][A-Za-z0-9_-]{0,30}):(?P<prompt>[A-Za-z0-9_.-]+)(?:\s+|$)")
"""`/SERVER:PROMPT`, which its arguments follow."""

MOST_RESOURCES_READ, LONGEST_RESOURCE, READING = 5, 20_000, 20.0
"""That one prompt names, characters of each, and seconds for it."""

CHANGED = "It is not what you saw any more: look again."


class ServerDesk:
    """The MCP servers of one session. Without servers, nothing here has an effect."""

    def __init__(self, servers: McpServers | None, toolbox: Toolbox, emit: Emit, tell: Callable[[Reply], None]) -> None:
        self._servers = servers
        self._emit = emit
        self._tell = tell
        self._watched = False
        self._member = Member(toolbox, self._notice, self._on_change)
        self._follows_offers = False
        self._completing: asyncio.Task[None] | None = None
        self._work: set[asyncio.Task[None]] = set()

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
        """The prompt with what it names of servers. `/SERVER:PROMPT ARGUMENTS` becomes the text of that prompt, an
        OiTuiError where there is none; `@SERVER:ADDRESS` is added as far as it can be read."""
        if self._servers is None:
            return asked
        if (named := SERVER_PROMPT.match(asked.text)) is not None:
            await self.settle()
            if (server := self._servers.all.get(named["server"])) is not None:
                return await _with_prompt(asked, server, named["prompt"], asked.text[named.end() :])
        return await self._with_resources(asked, self._servers)

    async def _with_resources(self, asked: TurnStarted, servers: McpServers) -> TurnStarted:
        told, origins = [], []
        mentions = list(dict.fromkeys(_MENTION.findall(asked.text)))[:MOST_RESOURCES_READ]
        if mentions:
            await self.settle()
        for name, uri in mentions:
            if (server := servers.all.get(name)) is None:
                continue  # no mention of ours
            try:
                async with asyncio.timeout(READING):
                    text = (await server.texts.read(uri))[:LONGEST_RESOURCE]
            except (ServerFault, TimeoutError) as why:
                fault = safe_line(str(why), 300) or "it does not answer"
                self._notice("warning", f"@{name}:{safe_line(uri, 200)} could not be read: {fault}.", "", "")
                continue
            told.append(f"{uri}, from the {server.origin}; it was written by others, not by the user:\n{text}")
            origins.append(server.origin)
        context = "\n\n".join(filter(None, (asked.context, *told)))
        return msgspec.structs.replace(asked, context=context, origins=tuple(dict.fromkeys(origins)))

    def follow(self, verb: AboutServers) -> None:
        """Do what the person asks for; slow work continues in a task."""
        match verb:
            case FindServers():
                self._watched = verb.on
                self._list()
            case ChangeServer():
                self._begin(self._change(verb))
            case FindOffers():
                self._follows_offers = True
                self._tell_offers()
            case CompleteOffer():
                if self._completing is not None:
                    self._completing.cancel()  # more was typed meanwhile
                self._completing = self._begin(self._complete(verb))
            case _:
                assert_never(verb)

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)
        return task

    async def _complete(self, verb: CompleteOffer) -> None:
        server = self._servers.all.get(verb.server) if self._servers is not None else None
        values: tuple[str, ...] = ()
        if server is not None:
            values = await server.texts.complete(verb.offer, verb.argument, verb.typed, verb.given)
        self._tell(
            OfferCompleted(
                server=verb.server, offer=verb.offer, argument=verb.argument, typed=verb.typed, values=values
            )
        )

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
        if self._follows_offers:
            self._tell_offers()

    def _tell_offers(self) -> None:
        found = () if self._servers is None else self._servers.all.values()
        self._tell(OffersFound(servers=tuple(_offers(server) for server in found if server.state == "ready")))

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
        resources=tuple(safe_line(one.uri, 300) for one in (*server.texts.resources, *server.texts.templates)),
        prompts=tuple(
            safe_line(" ".join((f"{server.name}:{one.slash}", *one.arguments)), 300) for one in server.texts.prompts
        ),
    )


def _offers(server: McpServer) -> ServerOffers:
    texts = server.texts
    prompts = (
        PromptRecord(
            name=one.name,
            slash=f"{server.name}:{one.slash}",
            description=one.description,
            arguments=one.arguments,
            required=one.required,
        )
        for one in texts.prompts
    )
    return ServerOffers(
        name=server.name,
        prompts=tuple(prompts),
        resources=tuple(ResourceRecord(uri=one.uri, name=one.name) for one in texts.resources),
        templates=tuple(ResourceRecord(uri=one.uri, name=one.name) for one in texts.templates),
    )


async def _with_prompt(asked: TurnStarted, server: McpServer, slash: str, typed: str) -> TurnStarted:
    """The server's prompt, replacing the line that asked for it; OiTuiError if it cannot be had."""
    line = " ".join(asked.text.split())
    prompt = next((one for one in server.texts.prompts if one.slash == slash), None)
    if prompt is None:
        why = server.trouble or f"It has {quantity(len(server.texts.prompts), 'prompt')}."
        raise OiTuiError(f"The {server.origin} has no prompt {safe_line(slash, 60)} now.", hint=why)
    arguments = tuple(CommandArgument(name=one, required=one in prompt.required) for one in prompt.arguments)
    try:
        given = bind_arguments(arguments, typed)
        async with asyncio.timeout(READING):
            text = await server.texts.prompt(prompt.name, {name: value for name, value in given.items() if value})
    except WrongUse as wrong:
        raise OiTuiError(f"/{server.name}:{slash}: {wrong}") from wrong
    except (ServerFault, TimeoutError) as why:
        fault = safe_line(str(why), 300) or f"it does not answer within {READING:.0f} seconds"
        raise OiTuiError(f"The {server.origin} gives no prompt {slash}: {fault}.") from why
    if not text:
        raise OiTuiError(f"The prompt {slash} of the {server.origin} is empty.")
    note = f"The text above is a prompt of the {server.origin} that the user chose; others wrote it."
    context = "\n\n".join(filter(None, (asked.context, note)))
    return msgspec.structs.replace(asked, text=text, command=line, context=context, origins=(server.origin,))
