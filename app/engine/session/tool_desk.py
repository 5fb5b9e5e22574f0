"""The tools of one open session: created when it opens, listed on request."""

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import assert_never

from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.agent.written_look import NO_KEEPER, RunKeeper
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.events import PlanChanged
from oi_tui.app.engine.core.plan import bounded_steps
from oi_tui.app.engine.core.protocol import Reply
from oi_tui.app.engine.core.tool_replies import ToolRecord, ToolsFound
from oi_tui.app.engine.core.tool_verbs import (
    ChangePlan,
    ChangeServer,
    CompleteOffer,
    FindOffers,
    FindServers,
    FindTools,
    ReadChanges,
    ReadToolFiles,
    SetPlanMode,
    SkillVerb,
    SwitchTool,
    ToolVerb,
    UndoChanges,
)
from oi_tui.app.engine.kernels.base import KernelSource
from oi_tui.app.engine.session.own_tools import skills_of_folder
from oi_tui.app.engine.session.server_desk import ServerDesk
from oi_tui.app.engine.session.services import Services
from oi_tui.app.engine.session.skill_desk import SkillDesk
from oi_tui.app.engine.session.undo_desk import UndoDesk
from oi_tui.app.engine.tools.file_calls import FileCalls
from oi_tui.app.engine.tools.plan import ACCEPT
from oi_tui.app.engine.tools.ties import ToolTies
from oi_tui.app.engine.tools.tool import Tool
from oi_tui.app.engine.tools.tool_file import ToolFile
from oi_tui.app.engine.tools.toolbox import Toolbox

LONGEST = 20_000
"""Characters of a description, and of a schema, that are listed."""


class ToolDesk:
    """Holds the session's toolbox, and follows verbs about tools."""

    def __init__(
        self,
        services: Services,
        session: Callable[[], Session],
        session_id: Callable[[], str],
        kernels: KernelSource,
        tell: Callable[[Reply], None],
    ) -> None:
        """The session is there when the first call runs, not yet when its tools are made."""
        self._tell, self._session = tell, session
        ties = ToolTies(
            session_id=session_id,
            blocks=lambda: session().transcript.blocks,
            emit=lambda event: session().emit(event),
            kernels=kernels,
            policy=lambda: session().decisions.policy,
            plan=lambda: session().transcript.plan,
            planning=lambda: session().decisions.is_planning,
            end_planning=lambda: session().choices.end_planning(),
        )
        self._changes = None if services.keep_changes is None else services.keep_changes(ties)
        self._undo = UndoDesk(services, session, session_id, tell, self._catch_up)
        self.keeper: RunKeeper = NO_KEEPER if self._changes is None else self._changes
        """Keeps files before code and others' tools run."""
        self._ties, self._make_tools = ties, services.make_tools
        self._find_files, self._calls = services.find_tool_files, FileCalls(kernels)
        self._of_files: list[Tool] = []
        """The tools of files."""
        # Of two with one name the first counts: no file has the name of a tool of ours, or of a plugin's.
        self.toolbox = Toolbox((*self._make_all(), *services.tools), spill_dir=services.spill_dir)
        self._take_files(tuple(self._find_files()))
        self.skills = SkillDesk(session, kernels, tell, self._renew, skills_of_folder(services.setup))
        self._servers = ServerDesk(services.mcp, self.toolbox, ties.emit, tell)
        self.end, self.add_resources = self._servers.end, self._servers.add_resources
        self._recovery: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """The session is open: say which tools could not be had, and find what a killed engine left."""
        for tool in self.toolbox.left_out:
            title = f"Another tool is named {tool.name}: the one of {tool.origin or 'oi-tui'} is left out."
            self._session().notice("warning", title, "/tools lists those that there are.")
        self._servers.begin()
        if self._changes is not None:
            self._recovery = asyncio.create_task(self._changes.recover())

    async def settle(self) -> None:
        """Wait until the tools are there, for a while at most; files are kept meanwhile, before any code runs."""
        if self._changes is not None:
            self._changes.prepare()
        await self._servers.settle()
        await self._look_at_files()

    async def _look_at_files(self) -> None:
        """What the person enabled or disabled meanwhile counts from now on, and so does a change of a file."""
        before = {tool.name: tool.origin for tool in self._of_files}
        self._take_files(await asyncio.to_thread(lambda: tuple(self._find_files())))
        now = {tool.name: tool.origin for tool in self._of_files}
        for title, names in (
            ("The model may call now, of {}: {}.", now.items() - before.items()),
            ("The model can no longer call, of {}: {}.", before.items() - now.items()),
        ):
            for origin in sorted({origin for _, origin in names}):
                called = ", ".join(sorted(name for name, its in names if its == origin))
                self._session().notice("info", title.format(origin, called))

    def _take_files(self, files: tuple[ToolFile, ...]) -> None:
        if (tools := self._calls.take(files)) is None:
            return
        for origin in {tool.origin for tool in self._of_files}:
            self.toolbox.replace(origin, ())
        self.toolbox.add(tools)
        self._of_files = [tool for tool in tools if tool not in self.toolbox.left_out]

    def _make_all(self) -> Iterator[Tool]:
        return (tool for make in self._make_tools for tool in make(self._ties))

    def _renew(self) -> None:
        """Tools for what was not there when the session was opened."""
        there = {tool.name for tool in self.toolbox}
        self.toolbox.add(tool for tool in self._make_all() if tool.name not in there)

    async def _catch_up(self) -> None:
        if self._changes is not None:
            await self._changes.catch_up()

    def _tell_tools(self) -> None:
        off = self.toolbox.off
        self._tell(ToolsFound(tools=tuple(_record(tool, off=tool.name in off) for tool in self.toolbox)))

    async def follow(self, verb: ToolVerb) -> None:
        """Do what the person wants."""
        match verb:
            case SkillVerb():
                await self.skills.follow(verb)
            case FindTools():
                self._tell_tools()
            case ReadToolFiles():
                await self._look_at_files()
            case SwitchTool():
                self.toolbox.switch(verb.name, on=verb.on)
                self._tell_tools()
            case FindServers() | ChangeServer() | FindOffers() | CompleteOffer():
                self._servers.follow(verb)
            case ReadChanges() | UndoChanges():
                await self._undo.follow(verb)
            case ChangePlan():
                await self._change_plan(verb)
            case SetPlanMode():
                choices = self._session().choices
                choices.set_approval("plan") if verb.on else choices.end_planning()
            case _:
                assert_never(verb)

    async def _change_plan(self, verb: ChangePlan) -> None:
        """The person's plan from the next step on, and perhaps accepted. SettingsError where it was changed meanwhile:
        what is accepted is what was shown."""
        session = self._session()
        if verb.version != session.transcript.plan.version:
            raise SettingsError("The plan changed: your version was not saved.", hint="Change it as it is now.")
        if (steps := bounded_steps(verb.steps)) != session.transcript.plan.steps:
            session.emit(PlanChanged(steps=steps, author="user"))
        if verb.accepts:
            await session.answer(verb.accepts, ACCEPT)


def _record(tool: Tool, *, off: bool) -> ToolRecord:
    return ToolRecord(
        name=tool.name,
        description=tool.description[:LONGEST],
        origin=tool.origin,
        effects=_effects(tool),
        schema=json.dumps(tool.schema, ensure_ascii=False, indent=2)[:LONGEST],
        time_limit=tool.time_limit,
        off=off,
    )


def _effects(tool: Tool) -> tuple[str, ...]:
    """The effects that calls may have, in plain words."""
    capabilities = tool.capabilities
    if tool.place and tool.confinement.sandboxed:
        may = "what code may do in the sandbox" if capabilities.writes else "reads only"
        return (may, *(["uses the network"] if capabilities.network else ()))
    words = {
        "changes files or data": capabilities.writes,
        "may delete": capabilities.writes and capabilities.destroys,
        "uses the network": capabilities.network,
    }
    return tuple(word for word, applies in words.items() if applies) or ("reads only",)
