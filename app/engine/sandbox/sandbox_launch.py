"""The way into a sandbox: what to start instead of a command, and the proof that the sandbox works.

launch = await SandboxLaunch.open(rung, profile, lambda folder: argv, environ, name_folder=...)
process = await launch.start(cwd=..., stdin=...)
await launch.prove()      # KernelError if a promise is broken
launch.folder             # files for the command, or its sockets; then
launch.release()          # the command begins
pid = launch.leader       # of the command itself, seen from outside
...
await launch.close()      # at any moment: ends everything that was started
"""

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import psutil

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.sandbox import keeper, mounts, places, seccomp, selftest
from oi_tui.app.engine.sandbox.environments import enclosed_environment
from oi_tui.app.engine.sandbox.hosts import OnRefusal, Refusal
from oi_tui.app.engine.sandbox.mounts import Mount, MountKind
from oi_tui.app.engine.sandbox.profile import Profile
from oi_tui.app.engine.sandbox.proxy import Proxy
from oi_tui.app.engine.sandbox.rungs import Rung

PATIENCE = 2.0
"""Seconds in which everything must be gone after the sandbox is closed."""

KEEPER = Path(keeper.__file__)

MEETING = Path("/run/oi-tui")
"""The folder of the sockets in a sandbox with files of its own: in memory, not on this machine's disks."""

MEETING_SIZE = 4_000_000
"""Bytes of it."""

DOOR = "proxy"
"""The socket in the folder of sockets through which the network is asked for."""

NO_FALLBACK = "No code ran. To run without a sandbox: --sandbox danger-full-access, or /sandbox on the screen."

Command = Callable[[Path, Path], Sequence[str]]
"""The command, by the folder of its sockets and one for scratch files, as it sees them."""


class SandboxLaunch:
    """Made by `open`; owns the processes, the proxy and the folders of its sandbox."""

    def __init__(self, rung: Rung, profile: Profile, on_refusal: OnRefusal | None = None) -> None:
        self._rung = rung
        self._profile = profile
        self._on_refusal = on_refusal or _ignore_refusal
        self._argv: list[str] = []
        self._env: dict[str, str] = {}
        self._ours: list[int] = []
        """Descriptors that are ours until the process has its own."""
        self._passed: list[int] = []
        self._line: socket.socket | None = None
        """To the first process inside, which ends when this end is closed."""
        self._info = -1
        """The pipe for its pid."""
        self._first = 0
        self._leader: psutil.Process | None = None
        self._first_handle = -1
        """That process, which no other one can be taken for."""
        self._folder = -1
        """The folder of sockets, where it is in the sandbox only."""
        self._host_folder: Path | None = None
        self._probe: selftest.Probe | None = None
        self._proxy: Proxy | None = None
        self._starting: asyncio.Task[asyncio.subprocess.Process] | None = None
        self._keeper: subprocess.Popen[bytes] | None = None
        self._closing: asyncio.Task[None] | None = None

    @property
    def folder(self) -> Path:
        """The folder of sockets, as we see it; after the proof."""
        return self._host_folder if self._host_folder is not None else Path(f"/proc/self/fd/{self._folder}")

    @property
    def folder_inside(self) -> Path:
        """The same, as the command sees it."""
        return self._host_folder if self._host_folder is not None else MEETING

    @property
    def leader(self) -> int:
        """The process of the command, after the proof."""
        assert self._leader is not None
        return self._leader.pid

    @classmethod
    async def open(
        cls,
        rung: Rung,
        profile: Profile,
        command: Command,
        environ: Mapping[str, str],
        *,
        name_folder: Callable[[], Path],
        shared: bool = True,
        extra: Callable[[Path], Mapping[str, str]] | None = None,
        on_refusal: OnRefusal | None = None,
    ) -> Self:
        """Get everything ready. KernelError if there can be no such sandbox here.

        We share a `folder` with the command, which is gone with the sandbox. If it is `shared`, code may change it:
        once code runs we must not write there, for there may be links, but sockets in it serve both sides. Otherwise
        code can only read it, and we may write. `name_folder` gives names for new folders, where needed. `extra` gets
        the folder for temporary files and returns environment variables to pass on. `on_refusal` is called for each
        refused network request.
        """
        mounts.check(profile)
        if not seccomp.is_supported():
            raise KernelError("There is no sandbox for this processor.", hint=NO_FALLBACK)
        launch = cls(rung, profile, on_refusal)
        try:
            await launch._prepare(command, environ, name_folder, shared, extra or (lambda _: {}))
        except OSError as error:
            await launch.close()
            raise KernelError(f"The sandbox could not be prepared: {error}.", hint=NO_FALLBACK) from error
        except BaseException:
            await launch.close()
            raise
        return launch

    async def start(self, **options: Any) -> asyncio.subprocess.Process:
        """Start the process whose end is that of the sandbox. If this is cancelled, `close` still ends it."""
        starting = asyncio.create_subprocess_exec(
            *self._argv, env=self._env, pass_fds=tuple(self._passed), start_new_session=True, **options
        )
        self._starting = asyncio.ensure_future(starting)
        return await asyncio.shield(self._starting)

    async def prove(self) -> None:
        """Wait for the proof; KernelError without it, or where it fails: the command has not run then."""
        self._let_go()
        report = selftest.Report.parse(await self._hear_report())
        self._close_probe()
        if report is None:
            raise KernelError("The sandbox could not be set up.", hint=f"The details say why. {NO_FALLBACK}")
        if not report.holds:
            raise KernelError(
                "The sandbox does not keep what it promises.",
                hint=f"The details say which promise is broken. {NO_FALLBACK}",
                details="\n".join(report.broken) or "Not every promise was checked.",
            )
        await self._meet_first()
        self._leader = self._find_leader()
        if self._profile.network == "hosts":
            self._proxy = await Proxy(self._profile.hosts, self._on_refusal).open(self.folder / DOOR)

    def _find_leader(self) -> psutil.Process:
        with suppress(psutil.Error):
            for child in psutil.Process(self._first).children():
                return child
        raise KernelError("The sandbox ended right after its start.")

    def release(self) -> None:
        """Let the command begin."""
        assert self._line is not None
        with suppress(BrokenPipeError):  # it ended, and the waiter learns that
            self._line.send(b"\n")

    async def close(self) -> None:
        """End what runs and give everything back; idempotent, and done to the end though it be cancelled."""
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        self._let_go()
        self._close_probe()
        if self._line is not None:
            self._line.close()
        await self._end_processes()
        for descriptor in (self._info, self._first_handle, self._folder):
            if descriptor >= 0:
                os.close(descriptor)
        if self._proxy is not None:
            await self._proxy.close()
        if self._keeper is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    await _wait_for(self._keeper)

    async def _end_processes(self) -> None:
        if self._starting is None:
            return
        try:
            process = await self._starting
        except OSError:
            return  # it was never started
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await self._meet_first()
        if self._rung.has_namespaces and self._first_handle >= 0:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._first_handle, signal.SIGKILL)
        # Without a process space of its own it has to end the others itself, which it does as the line is closed.
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await process.wait()
        if process.returncode is None or self._first_handle < 0:
            _kill_all(process.pid)  # who started it was killed between two of its steps
            await process.wait()
        if not self._rung.has_namespaces and self._leader is not None and self._leader.is_running():
            _kill_all(self._leader.pid)  # whose end was not seen to, if the first process was killed

    # -- getting ready -------------------------------------------------------------------------------------

    async def _prepare(
        self,
        command: Command,
        environ: Mapping[str, str],
        name_folder: Callable[[], Path],
        shared: bool,
        extra: Callable[[Path], Mapping[str, str]],
    ) -> None:
        profile, rung = self._profile, self._rung
        if shared and rung.has_namespaces:
            private = Mount(MEETING, MountKind.SCRATCH, MEETING_SIZE)
        else:
            self._host_folder = name_folder()
            private = Mount(self._host_folder, MountKind.WRITABLE if shared else MountKind.READABLE)
        scratch = None if rung.has_namespaces else name_folder()
        held = self._keep([folder for folder in (self._host_folder, scratch) if folder is not None])
        home = scratch or profile.home
        temporary = scratch or Path("/tmp")
        argv = command(private.path, temporary)
        if shutil.which(argv[0], path=environ.get("PATH", os.defpath)) is None:
            raise KernelError(f"{argv[0]} could not be started: there is no such program.")
        plan = mounts.plan(profile, private, places.program_places(argv[0]))
        proxy, offline = profile.network == "hosts", profile.network == "none"
        usual = enclosed_environment(environ, profile.environment, home, temporary, proxy=proxy, offline=offline)
        self._env = usual | dict(extra(temporary))
        self._probe = selftest.Probe()
        self._line, theirs = socket.socketpair()
        self._line.setblocking(False)
        self._info, info = os.pipe()
        # Who writes there must not be killed for want of a reader, as it would be after our end: bubblewrap's child
        # would wait for it for ever. So it has the other end as well.
        spare = self._pass(os.dup(self._info))
        promised = selftest.encode_promises(
            profile,
            plan,
            self._env,
            rung=rung,
            landlock=rung.landlock(profile, plan, scratch=scratch, pipes=private.path),
            bait=self._probe,
            proxy=str(private.path / DOOR) if profile.network == "hosts" else "",
            shared=str(MEETING) if private.path == MEETING else "",
        )
        told, line = self._readable(promised), self._pass(theirs.detach())
        start = rung.argv(profile, plan, self._readable, self._pass(info), scratch=scratch, pipes=private.path)
        self._argv = [*start, str(told), str(line), str(held), str(spare), *argv]

    def _keep(self, folders: Sequence[Path]) -> int:
        """Make folders; returns the descriptor that keeps them while it is open, -1 if there are none."""
        if not folders:
            return -1
        theirs, ours = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        held = self._pass(ours.fileno())
        with theirs:
            # First of all: a process killed after this leaves nothing behind.
            self._keeper = subprocess.Popen(
                [sys.executable, "-I", "-S", str(KEEPER), *map(str, folders)],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
                cwd="/",
                start_new_session=True,  # it has to live on when everything else is killed
            )
        locks: list[int] = []
        try:
            for folder in folders:
                locks.append(keeper.make_folder(str(folder)))
            socket.send_fds(ours, [b"locks"], locks)
        finally:
            ours.detach()
            for lock in locks:
                os.close(lock)
        return held

    def _readable(self, data: bytes) -> int:
        """A descriptor from which this can be read."""
        descriptor = os.memfd_create("oi-tui")
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(data)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return self._pass(descriptor)

    def _pass(self, descriptor: int) -> int:
        self._ours.append(descriptor)
        self._passed.append(descriptor)
        return descriptor

    def _let_go(self) -> None:
        for descriptor in self._ours:
            os.close(descriptor)
        self._ours.clear()

    def _close_probe(self) -> None:
        if self._probe is not None:
            self._probe.close()
            self._probe = None

    # -- what is heard from inside -------------------------------------------------------------------------

    async def _hear_report(self) -> bytes:
        """The report of the first program, without the line end; less if it ended before that."""
        line = self._line
        assert line is not None
        await _readable(line.fileno())
        with suppress(ConnectionResetError):
            heard, descriptors, _, _ = socket.recv_fds(line, 1, 1)
            if descriptors:
                self._folder = descriptors[0]
            loop = asyncio.get_running_loop()
            while not heard.endswith(b"\n") and (more := await loop.sock_recv(line, 65_536)):
                heard += more
            return heard
        return b""

    async def _meet_first(self) -> None:
        """Learn who the first process is, unless it is known."""
        heard = b""
        while self._first == 0 and self._info >= 0:
            await _readable(self._info)
            more = os.read(self._info, 65_536)
            heard += more
            with suppress(ValueError):
                self._first = int(json.loads(heard)["child-pid"])
            if not more:
                return
        if self._first_handle < 0:
            with suppress(ProcessLookupError):
                self._first_handle = os.pidfd_open(self._first)


def _kill_all(leader: int) -> None:
    """Kill who is in the session of this process, and had no time yet to begin one of its own, and who descends from
    it."""
    doomed = {pid for pid in psutil.pids() if _session(pid) == leader}
    if leader in doomed:
        with suppress(psutil.Error):
            doomed |= {child.pid for child in psutil.Process(leader).children(recursive=True)}
    for pid in doomed:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return -1


async def _wait_for(process: subprocess.Popen[bytes]) -> None:
    handle = os.pidfd_open(process.pid)
    try:
        await _readable(handle)
    finally:
        os.close(handle)
    process.wait()


async def _readable(descriptor: int) -> None:
    """Wait until something can be read from it, or its other end is gone."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()

    def wake() -> None:
        if not ready.done():
            ready.set_result(None)

    loop.add_reader(descriptor, wake)
    try:
        await ready
    finally:
        loop.remove_reader(descriptor)


def _ignore_refusal(refusal: Refusal) -> None:
    """There is nobody to tell."""
