"""Processes of kernels: their output is kept for error messages, their subprocesses end with them, and their end is
reported in plain words."""

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import psutil

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.sandbox.sandbox_launch import SandboxLaunch

LOG_TAIL = 32_000
"""Bytes that are kept of what a process writes."""

SWEEPS = 50
"""A process can start another one while it is being ended, and takes a moment to be gone: so often it is looked."""

SWEEP_PAUSE = 0.005
"""Seconds between two looks; short enough to be waited for in an event loop."""


MEMORY_KILLS = Path("/proc/vmstat")
"""Where Linux counts the processes that it killed because memory ran out, whichever control group they were in."""

END_TIMEOUT = 2.0
"""Seconds in which a killed process must be gone; one that hangs in the system itself may take for ever."""


class OomCheck:
    """Made when a process starts; knows when it ended whether memory ran out meanwhile."""

    def __init__(self, path: Path = MEMORY_KILLS) -> None:
        self._path = path
        self._before = self._count()

    @property
    def has_run_out(self) -> bool | None:
        """None if the system does not report it."""
        now = self._count()
        return None if now is None or self._before is None else now > self._before

    def _count(self) -> int | None:
        try:
            lines = self._path.read_text(encoding="ascii").splitlines()
        except (OSError, ValueError):
            return None
        numbers = [line.partition(" ")[2] for line in lines if line.startswith("oom_kill ")]
        return int(numbers[0]) if numbers and numbers[0].isdecimal() else None


class ProcessSession:
    """All that a process which leads a session started. It is ended once: at the latest right after its leader,
    for when all of it is gone another session may get the same number."""

    def __init__(self, leader: int) -> None:
        self._leader = leader
        self._ended = False
        self._noted: set[psutil.Process] = set()

    def note(self) -> None:
        """Remember the present children: one in a session of its own cannot be found once its parent is gone."""
        for pid in _members(self._leader):
            with suppress(psutil.NoSuchProcess):
                self._noted.add(psutil.Process(pid))

    def end(self) -> None:
        """Kill what is still there."""
        if not self._ended:
            self._ended = True
            end_session(self._leader, self._noted)


class LoggedProcess:
    """A process in a session of its own, whose stdout and stderr never reach the terminal."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._leader = process.pid
        """Who gets signals: in a sandbox it is not the process that we started."""
        self._launch: SandboxLaunch | None = None
        self._session = ProcessSession(process.pid)
        self._memory = OomCheck()
        self._log = b""
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, argv: list[str], env: dict[str, str], cwd: Path, pass_fds: tuple[int, ...] = ()) -> Self:
        """Start it; KernelError if there is no such program or folder."""
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                env=env,
                cwd=cwd,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
                pass_fds=pass_fds,
            )
        except OSError as error:
            missing = argv[0] if cwd.is_dir() else cwd
            raise KernelError(
                f"The kernel could not be started: {missing}: {error.strerror}.",
                hint="Check that the folder and the program are there.",
            ) from error
        return cls(process)

    @classmethod
    async def start_enclosed(cls, launch: SandboxLaunch, cwd: Path) -> Self:
        """Start it in a sandbox, which is closed with it; KernelError if the sandbox does not hold. The command waits
        for its release."""
        made: Self | None = None
        try:
            process = await launch.start(
                cwd=cwd,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            made = cls(process)
            made._launch = launch
            await launch.prove()
            made._leader = launch.leader
        except OSError as error:
            await launch.close()
            raise KernelError(f"The kernel could not be started: {error.strerror}.") from error
        except BaseException as error:
            await (launch.close() if made is None else made.close())
            if isinstance(error, KernelError) and made is not None:
                error.details = f"{error.details}\n{made.last_lines()}".strip()
            raise
        return made

    @property
    def returncode(self) -> int | None:
        """Exit code or negative signal, None while it runs."""
        return self._process.returncode

    @property
    def has_ended(self) -> bool:
        """Whether the process has exited."""
        return self._process.returncode is not None

    @property
    def cause(self) -> str:
        """How it ended, in words."""
        return cause_of_end(self._process.returncode or 0, self._memory.has_run_out)

    @property
    def is_stopped(self) -> bool:
        """Whether a signal stopped it; another continues it."""
        return _status(self._leader) in (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP)

    def last_lines(self) -> str:
        """The end of what it wrote."""
        return "\n".join(self._log.decode(errors="replace").splitlines()[-20:])

    def interrupt(self, *, with_children: bool, wake: Callable[[], None]) -> None:
        """SIGINT to it alone, or to its subprocesses as well; a stopped one is continued, or it would not notice."""
        with suppress(ProcessLookupError):
            if self.is_stopped:
                os.killpg(self._leader, signal.SIGCONT)
            if with_children:
                os.killpg(self._leader, signal.SIGINT)
            elif self._process.returncode is None:
                os.kill(self._leader, signal.SIGINT)
        wake()

    def note_session(self) -> None:
        """Note its session: if it exits by itself, what it started is ended too."""
        self._session.note()

    def kill(self) -> None:
        """End it by force; `wait` tells when it is gone."""
        with suppress(ProcessLookupError):
            self._process.kill()

    async def wait(self) -> int:
        """Wait for its end, which is that of all that it started; the return code."""
        returncode = await self._process.wait()
        self._session.end()
        return returncode

    async def close(self) -> None:
        """End it and its whole session."""
        if self._launch is not None:
            await self._launch.close()
        self._session.end()
        await wait_within(END_TIMEOUT, self._process.wait())
        await cancel_tasks(self._reader)

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while chunk := await self._process.stdout.read(65_536):
            self._log = (self._log + chunk)[-LOG_TAIL:]


async def wait_within(seconds: float, waiting: Awaitable[object]) -> None:
    """Wait, at most this long."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await waiting


async def cancel_tasks(*tasks: asyncio.Task[Any]) -> None:
    """Cancel our own tasks and wait until they are gone."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def end_session(leader: int, noted: Iterable[psutil.Process] = ()) -> None:
    """Kill the session leader, its descendants and whatever else belongs to its session, and those that were `noted`
    of it before, with their descendants; they are gone afterwards."""
    for sweep in range(SWEEPS):
        if sweep:
            time.sleep(SWEEP_PAUSE)
        # A number may be another process's by now, which psutil knows by when it began.
        members = _members(leader).union(*(_family(process.pid) for process in noted if process.is_running()))
        if not members:
            return
        for pid in members:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def _members(leader: int) -> set[int]:
    # A child that called setsid() is in another session, but still a descendant.
    return set[int]().union(*(_family(pid) for pid in psutil.pids() if _session_of(pid) == leader))


def _family(pid: int) -> set[int]:
    """A process and its descendants, as far as they run."""
    found = {pid}
    with suppress(psutil.Error):
        found.update(child.pid for child in psutil.Process(pid).children(recursive=True))
    return {pid for pid in found if _runs(pid)} - {os.getpid()}


def _session_of(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return -1


def _runs(pid: int) -> bool:
    return _status(pid) not in (psutil.STATUS_ZOMBIE, "")


def _status(pid: int) -> str:
    """In psutil's words; "" if it is gone."""
    try:
        return str(psutil.Process(pid).status())
    except psutil.Error:
        return ""


_NAMED = frozenset(signal.Signals)
"""Real-time signals but the first and the last are valid, and have no name."""


def cause_of_end(returncode: int, memory_ran_out: bool | None = None) -> str:
    """How a process ended, as the end of a sentence: "it ..."."""
    # A negative code is a signal; shells and containers say the same with 128 + signal.
    number = -returncode if returncode < 0 else returncode - 128
    match number:
        case signal.SIGKILL if memory_ran_out:
            return "was killed (signal 9) by the system, because it was out of memory"
        case signal.SIGKILL if memory_ran_out is None:
            return "was killed (signal 9), most often a sign of being out of memory"
        case signal.SIGKILL:
            return "was killed (signal 9)"
        case signal.SIGSEGV | signal.SIGBUS:
            return f"crashed with an invalid memory access (signal {number})"
        case signal.SIGABRT:
            return f"aborted (signal {number})"
        case _ if number in _NAMED:
            return f"was ended by signal {number} ({signal.Signals(number).name})"
        case _ if returncode < 0:
            return f"was ended by signal {number}"
        case _:
            return f"ended with exit code {returncode}"
