"""Scripted servers of tools and the sessions' side of them, as the tests use both."""

import asyncio
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.mcp.agreements import Agreements
from oi_tui.app.engine.mcp.entries import NamedServer, ServerEntry
from oi_tui.app.engine.mcp.server import McpServer
from oi_tui.app.engine.mcp.servers import McpServers, Member
from oi_tui.app.engine.tools.toolbox import Toolbox

SCRIPT = Path(__file__).with_name("mcp_server.py")


class Said:
    """What a call is given to speak with; questions are answered from a list."""

    block_id = "b"

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.questions: list[tuple[str, tuple[str, ...]]] = []
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.shown: list[RichOutput] = []
        self.reports: list[tuple[float, float | None, str]] = []

    def print(self, text: str) -> None:
        raise AssertionError(text)

    def show(self, output: RichOutput) -> None:
        self.shown.append(output)

    def report(self, done: float, total: float | None = None, message: str = "") -> None:
        self.reports.append((done, total, message))

    async def call(self, name: str, arguments: dict[str, Any]) -> str:
        self.calls.append((name, arguments))
        return "the model's answer"

    async def ask(
        self, question: str, choices: Sequence[str] = (), *, several: bool = False, password: bool = False
    ) -> str | None:
        assert not password
        self.questions.append((question, tuple(choices)))
        return self.answers.pop(0) if self.answers else None


class Stage:
    """Servers of one folder, with a session that has joined them."""

    def __init__(self, folder: Path, *named: NamedServer, environ: dict[str, str] | None = None, **more: Any) -> None:
        self.agreements = Agreements(folder.parent / "agreements.json")
        self.notices: list[tuple[str, str, str, str]] = []
        self.toolbox = Toolbox()
        self.secrets: list[tuple[str, str]] = []
        self.named = named
        for one in named:
            self.agreements.agree_to_start(one)
        self.servers = McpServers(
            lambda: self.named,
            self.agreements,
            folder=folder,
            environ=environ or {"PATH": "/usr/bin:/bin"},
            learn_secret=lambda name, value: self.secrets.append((name, value)),
            **more,
        )
        self.states: list[str] = []
        self._moved = asyncio.Event()
        self.member = Member(self.toolbox, self._note, self._look)

    def _note(self, *told: str) -> None:
        self.notices.append((told[0], told[1], told[2], told[3]))
        self._moved.set()

    def _look(self) -> None:
        self.states += [server.state for server in self.servers.all.values()]
        self._moved.set()

    async def until(self, holds: Callable[[], object]) -> None:
        """Wait until this is so, after each notice and each change of a server."""
        while not holds():
            self._moved.clear()
            await self._moved.wait()

    @property
    def warnings(self) -> list[str]:
        return [title for level, title, *_ in self.notices if level != "info"]

    @property
    def only(self) -> McpServer:
        (server,) = self.servers.all.values()
        return server

    async def call(self, name: str, said: Said | None = None, /, **arguments: Any) -> str:
        result = await self.toolbox.get(name).tool.run(arguments or {"text": "hi"}, said or Said())
        assert isinstance(result, str)
        return result


@asynccontextmanager
async def joined(folder: Path, *named: NamedServer, **more: Any) -> AsyncIterator[Stage]:
    """A session whose servers are ready, or known not to be; all of them are ended behind it."""
    stage = Stage(folder, *named, **more)
    stage.servers.join(stage.member)
    try:
        await stage.servers.settle()
        yield stage
    finally:
        await stage.servers.close()


def scripted(folder: Path, behaviour: str, *arguments: str, name: str = "x", **entry: Any) -> NamedServer:
    """A server that behaves so; without a sandbox, where it is not about that, for the sake of time."""
    script = folder / SCRIPT.name
    shutil.copyfile(SCRIPT, script)
    about: dict[str, Any] = {"sandbox": False, "timeout": 5.0} | entry
    args = (str(script), behaviour, str(folder / f"{name}.count"), *arguments)
    return NamedServer(name=name, entry=ServerEntry(command=sys.executable, args=args, **about))
