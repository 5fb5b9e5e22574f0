"""A server that is a program of this machine: in a sandbox of its own, spoken to over its pipes line by line."""

import asyncio
import os
import re
import shutil
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from pathlib import Path

from oi_tui.app.engine.core.errors import KernelError, OiTuiError
from oi_tui.app.engine.files.paths import own_dirs, servers_dir, socket_dir
from oi_tui.app.engine.kernels.processes import END_TIMEOUT, ProcessSession, cancel_tasks, cause_of_end, wait_within
from oi_tui.app.engine.mcp.entries import ServerEntry
from oi_tui.app.engine.sandbox.environments import kernel_environment
from oi_tui.app.engine.sandbox.hosts import OnRefusal
from oi_tui.app.engine.sandbox.ladder import require_rung
from oi_tui.app.engine.sandbox.places import program_places
from oi_tui.app.engine.sandbox.profile import Limits, Network, Profile, RungChoice
from oi_tui.app.engine.sandbox.sandbox_launch import SandboxLaunch

LONGEST_LINE = 10_000_000
"""Bytes of one message."""

LOG_TAIL = 20_000
"""Bytes that are kept of what it writes beside its messages."""

_LIMITS = Limits(processes=300, open_files=1024, scratch=300_000_000, file_size=1_000_000_000)


_INTERPRETER = re.compile(r"(python|pypy|ruby|perl|lua|php|R|node|deno|bun|tclsh|sh|bash|zsh|Rscript)[\d.t]*")
"""Names of programs that need what is installed beside them."""

_SHEBANG = re.compile(rb"""#!\s*(?:/\S*/env\s+(?:-S\s+)?|/bin/sh\n'{3}exec'\s+"?)?(?P<program>[^\s"]+)""")
"""Of a script; where the path of its interpreter is long, it is the shell that starts it."""


class LineTooLong(Exception):
    """A message without an end."""


class NotText(Exception):
    """A line that is no UTF-8."""


def server_profile(entry: ServerEntry, folder: Path, rung: RungChoice = "auto") -> Profile:
    """The sandbox of the program: its folder, read-only unless the entry says otherwise, and no network."""
    place = Path(os.path.expanduser(entry.cwd)).resolve() if entry.cwd else folder.resolve()
    hosts = entry.network if isinstance(entry.network, tuple) else ()
    beside = (folder.resolve(),) if place != folder.resolve() else ()
    network: Network = "hosts" if hosts else "full" if entry.network == "full" else "none"
    return Profile(
        mode="workspace-write" if entry.write else "read-only",
        workspace=place,
        home=Path.home().resolve(),
        readable=(*beside, *_interpreter_places(entry.command)),
        hidden=tuple(folder for folder in own_dirs() if folder != servers_dir()),
        network=network,
        hosts=hosts,
        limits=_LIMITS,
        rung=rung,
    )


def _interpreter_places(command: str) -> tuple[Path, ...]:
    """What a script needs besides itself: its interpreter, which may be in the home folder, and the node packages
    around it."""
    found = Path(os.path.realpath(shutil.which(command) or "/"))
    try:
        with found.open("rb") as file:
            head = file.read(2_000)
    except OSError:
        return ()  # reported when it starts
    match = _SHEBANG.match(head)
    packages = tuple(folder for folder in found.parents if folder.name == "node_modules")[-1:]
    if match is None:
        return packages
    program = os.fsdecode(match["program"])
    places = program_places(program)
    if not _INTERPRETER.fullmatch(os.path.basename(program)):
        # The author of the script chose the name: files beside other programs of the person are not meant.
        places = tuple(place for place in places if not place.is_dir())
    return (*places, *packages)


class PipedServer:
    """One process, started and ended once."""

    def __init__(
        self,
        entry: ServerEntry,
        folder: Path,
        environ: Mapping[str, str],
        profile: Profile | None,
        on_refusal: OnRefusal,
    ) -> None:
        """Without a `profile` it runs without a sandbox, with the person's full permissions."""
        self._entry = entry
        self._folder = folder
        self._environ = environ
        self._profile = profile
        self._on_refusal = on_refusal
        self._launch: SandboxLaunch | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._session: ProcessSession | None = None
        self._reader: asyncio.Task[None] | None = None
        self._log = b""

    @property
    def log(self) -> str:
        """The end of what it wrote beside its messages."""
        return self._log.decode(errors="replace")

    async def start(self) -> None:
        """KernelError if it cannot be started, or there is no sandbox for it."""
        argv = (self._entry.command, *self._entry.args)
        pipe = asyncio.subprocess.PIPE
        try:
            if self._profile is not None:
                self._launch = await SandboxLaunch.open(
                    await require_rung(self._profile),
                    self._profile,
                    lambda _, __: argv,
                    self._environ,
                    name_folder=socket_dir,
                    extra=lambda _: self._entry.env,
                    on_refusal=self._on_refusal,
                )
                self._process = await self._launch.start(
                    cwd=self._profile.workspace, stdin=pipe, stdout=pipe, stderr=pipe, limit=LONGEST_LINE
                )
            else:
                self._process = await asyncio.create_subprocess_exec(
                    *argv,
                    cwd=self._entry.cwd or self._folder,
                    env=kernel_environment(self._environ) | self._entry.env,
                    stdin=pipe,
                    stdout=pipe,
                    stderr=pipe,
                    limit=LONGEST_LINE,
                    start_new_session=True,
                )
            self._session = ProcessSession(self._process.pid)
            self._reader = asyncio.create_task(self._read_log())
            if self._launch is not None:
                await self._launch.prove()
                self._launch.release()
        except OSError as error:
            await self.close()
            raise KernelError(f"It could not be started: {error.strerror or error}.") from error
        except OiTuiError as error:
            await self.close()
            error.details = f"{error.details}\n{self.log}".strip()
            raise

    async def lines(self) -> AsyncIterator[str | NotText]:
        """Its output, line by line; LineTooLong if one has no end."""
        assert self._process is not None
        assert self._process.stdout is not None
        while True:
            try:
                line = await self._process.stdout.readuntil(b"\n")
            except asyncio.IncompleteReadError:
                return  # its end: a last line without an end is none
            except asyncio.LimitOverrunError as error:
                raise LineTooLong from error
            try:
                yield line.decode()
            except UnicodeDecodeError:
                yield NotText()

    async def say(self, line: str) -> None:
        """Send one message; waits where the server does not read. BrokenPipeError if it is gone."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")
        await self._process.stdin.drain()

    async def cause_of_end(self) -> str:
        """How it ended, as the end of a sentence, where it did."""
        assert self._process is not None
        with suppress(TimeoutError):
            async with asyncio.timeout(END_TIMEOUT):
                return cause_of_end(await self._process.wait())
        return "closed its output"

    async def close(self) -> None:
        """End it, with all that it started. Idempotent."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
        if self._launch is not None:
            await self._launch.close()
        if self._process is not None and self._session is not None:
            if self._process.returncode is None:
                with suppress(ProcessLookupError):
                    self._process.send_signal(signal.SIGTERM)
            self._session.end()
            await wait_within(END_TIMEOUT, self._process.wait())
        if self._reader is not None:
            await cancel_tasks(self._reader)

    async def _read_log(self) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        while chunk := await self._process.stderr.read(65_536):
            self._log = (self._log + chunk)[-LOG_TAIL:]
