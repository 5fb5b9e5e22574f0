"""Another assistant as `oi-tui mcp serve` has it: the official SDK's client, over real pipes."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.sandbox.rungs import LADDER
from oi_tui.app.engine.transcript.event_log import fold_events
from oi_tui.app.frontend.attaching import AttachedClient, LiveSession, live_sessions
from support.enclosure import why_no_rung
from support.front import Front
from support.terminal import clean_env

if TYPE_CHECKING:  # a second of import for each of the test processes, of which one needs it
    from mcp import ClientSession

PROGRAM = Path(sys.executable).with_name("oi-tui")


SECRET = "tv6Kd0aQ-ls82hN4wXz"


class ServedPlace:
    """The folders of one program."""

    def __init__(self, root: Path) -> None:
        self.home, self.folder, self.log = root / "home", root / "work", root / "stderr"
        self.folder.mkdir(parents=True)
        self.environ = clean_env(self.home, TRACKER_API_KEY=SECRET)
        if any(not why_no_rung(rung.name) for rung in LADDER):
            del self.environ["OI_TUI_SANDBOX"]  # as the person has it

    def sessions(self) -> list[Any]:
        with closing(Store(self.home / "data/oi-tui/sessions.db")) as store:
            return [(record, fold_events(store.load(record.id)).blocks) for record in store.sessions()]


@dataclass
class Answered:
    """What a call came to."""

    text: str
    failed: bool
    pictures: list[tuple[str, str]] = field(default_factory=list)
    """Type and base64."""
    progress: list[str] = field(default_factory=list)


class Assistant:
    """One client and the program that serves it; every wait is bounded."""

    def __init__(self, session: "ClientSession", greeting: Any) -> None:
        self.session, self.greeting = session, greeting

    async def call(self, name: str, /, **arguments: Any) -> Answered:
        told: list[str] = []

        async def note(progress: float, total: float | None, message: str | None) -> None:
            told.append(message or "")

        async with asyncio.timeout(60):
            result = await self.session.call_tool(name, arguments, progress_callback=note)
        return Answered(
            text="\n".join(part.text for part in result.content if part.type == "text"),
            failed=bool(result.is_error),
            pictures=[(part.mime_type, part.data) for part in result.content if part.type == "image"],
            progress=told,
        )


@asynccontextmanager
async def assistant(environ: dict[str, str], folder: Path, *flags: str, log: Path) -> AsyncIterator[Assistant]:
    """A connected one; what the program prints beside the protocol goes to a file. At the end its input is closed."""
    from mcp import ClientSession, StdioServerParameters  # late, as above
    from mcp.client.stdio import stdio_client
    from mcp_types import Implementation

    server = StdioServerParameters(command=str(PROGRAM), args=["mcp", "serve", *flags], env=environ, cwd=folder)
    who = Implementation(name="other-assistant", version="2.1")
    with log.open("w") as errors:
        async with stdio_client(server, errors) as streams, ClientSession(*streams, client_info=who) as session:
            async with asyncio.timeout(60):
                greeting = await session.initialize()
            yield Assistant(session, greeting)


class StandingAssistant:
    """The same, to be used by several tests: its tasks begin and end in one task of their own."""

    def __init__(self, environ: dict[str, str], folder: Path, *flags: str, log: Path) -> None:
        self._opening = assistant(environ, folder, *flags, log=log)
        self._there: asyncio.Future[Assistant] = asyncio.get_running_loop().create_future()
        self._over = asyncio.Event()
        self._task = asyncio.create_task(self._live())

    async def _live(self) -> None:
        try:
            async with self._opening as one:
                self._there.set_result(one)
                await self._over.wait()
        except BaseException as error:
            if not self._there.done():
                self._there.set_exception(error)
            raise

    async def begin(self) -> Assistant:
        return await self._there

    async def end(self) -> None:
        self._over.set()
        await self._task


async def only_session() -> LiveSession:
    """The one that can be attached to, as soon as there is one."""
    async with asyncio.timeout(30):
        while True:
            if found := await asyncio.to_thread(live_sessions):
                (live,) = found
                return live
            await asyncio.sleep(0.05)


@asynccontextmanager
async def attached_front(live: LiveSession) -> AsyncIterator[Front]:
    """A front end that shows it, and leaves with `Close`, as a screen does that is quit."""
    client = await AttachedClient.attach(live, take_over=False, outlives=False)
    try:
        front = Front(client)
        yield front
    finally:
        await client.close()


def processes_in(folder: Path) -> list[int]:
    """Those that have this folder in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if os.fsencode(folder) in line:
                found.append(int(entry.name))
    return found


class RawProgram:
    """The program, spoken to in lines."""

    def __init__(self, place: ServedPlace, *flags: str) -> None:
        self.errors = place.log.open("w")
        self.process = subprocess.Popen(
            [str(PROGRAM), "mcp", "serve", *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env=place.environ,
            cwd=place.folder,
        )

    def say(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def ask(self, number: int, method: str, **params: Any) -> None:
        self.say(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode())

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        found = json.loads(self.process.stdout.readline())
        assert isinstance(found, dict)
        return found

    def until(self, number: int) -> dict[str, Any]:
        """Up to the answer to this."""
        while (found := self.hear()).get("id") != number:
            pass
        return found

    def greet(self) -> None:
        info = {"name": "raw", "version": "1"}
        self.ask(0, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=info)
        assert self.until(0)["result"]["serverInfo"]["name"] == "oi-tui"
        self.say(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')

    def end(self) -> int:
        """Close its input; the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(timeout=30)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(timeout=30)
        for pipe in (self.process.stdin, self.process.stdout, self.errors):
            if pipe is not None:
                pipe.close()
