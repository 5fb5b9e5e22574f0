"""A shell on this machine, in its sandbox: bash on a pseudo-terminal of its own, named pipes in a folder of ours."""

import asyncio
import os
import shlex
import signal
import sys
import termios
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.environments.environment import PythonEnvironment
from oi_tui.app.engine.files.paths import socket_dir
from oi_tui.app.engine.kernels.in_terminal_line import (
    LOOK,
    CtrlC,
    foreground_group,
    prepare_terminal,
    shows_input,
)
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.pipe import Pipe, named_output, named_pipe
from oi_tui.app.engine.kernels.processes import (
    END_TIMEOUT,
    OomCheck,
    ProcessSession,
    cancel_tasks,
    cause_of_end,
    wait_within,
)
from oi_tui.app.engine.kernels.shell_seat import BASH, RC, RUN, ShellEars
from oi_tui.app.engine.kernels.socket_folder import socket_folder
from oi_tui.app.engine.sandbox.environments import kernel_environment
from oi_tui.app.engine.sandbox.ladder import require_rung
from oi_tui.app.engine.sandbox.sandbox_launch import SandboxLaunch

TAKE_TERMINAL = """\
import fcntl, os, signal, sys, termios
for number in (signal.SIGPIPE, signal.SIGINT):
    signal.signal(number, signal.SIG_DFL)
fcntl.ioctl(1, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""
"""Makes the pseudo-terminal the controlling one, in the child: `preexec_fn` is not safe beside threads. Python
ignores SIGPIPE, who started us in the background ignores SIGINT, and what runs in the shell must not inherit that."""

LONGEST_COMPLAINT = 4_000
"""Characters that are kept of what a shell says that does not start."""


class LocalSeat:
    """One bash process of this machine, its terminal and the pipes to it."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self._ears: ShellEars | None = None
        self._enclosed: SandboxLaunch | None = None
        self._group = 0
        """The process group of bash itself."""
        self.complaint = ""
        """The terminal's output before the shell was ready."""
        self._folder_end = ExitStack()
        self._directory = Path()
        self._process: asyncio.subprocess.Process | None = None
        self._session: ProcessSession | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._terminal = -1
        self._modes: list[Any] = []
        """Terminal attributes at the start of a run."""
        self._commands = -1
        """Where bash reads what to run."""
        self._ends: Pipe | None = None
        """Where bash writes the number and the status of a run that is over."""
        self._screen: Pipe | None = None
        """What appears on the terminal."""
        self._abandoned: list[Pipe] = []
        """Outputs of earlier runs whose jobs still write."""
        self._outputs: tuple[Pipe, ...] = ()
        """Of the current run."""
        self._number = 0
        self._pressing: asyncio.TimerHandle | None = None

    async def arrive(self) -> None:
        """Nothing to do, since bash runs on this machine."""

    async def start(self, ears: ShellEars) -> None:
        self._ears = ears
        self._directory = await self._make_folder()
        await self._start_process(ears)

    def begin(self, number: int, source: str) -> None:
        assert self._ears is not None
        self._number = number
        file, out, err = (self._directory / f"{number}{suffix}" for suffix in ("", ".out", ".err"))
        file.write_text(source, encoding="utf-8", errors="surrogateescape", newline="")
        self._outputs = (
            named_output(out, partial(self._ears.on_output, number, "stdout")),
            named_output(err, partial(self._ears.on_output, number, "stderr")),
        )
        # Flushes as well: an answer that came too late is not for this run.
        termios.tcsetattr(self._terminal, termios.TCSAFLUSH, self._modes)
        paths = {name: shlex.quote(str(path)) for name, path in (("file", file), ("out", out), ("err", err))}
        os.write(self._commands, RUN.format(number=number, **paths).encode())

    def drain(self) -> None:
        for pipe in (*self._outputs, self._screen):
            if pipe is not None:
                pipe.drain()

    def finish(self) -> None:
        if self._pressing is not None:
            self._pressing.cancel()
            self._pressing = None
        for pipe in self._outputs:
            pipe.abandon()
        self._abandoned = [pipe for pipe in (*self._abandoned, *self._outputs) if pipe.open]
        self._outputs = ()
        for suffix in ("", ".out", ".err"):
            (self._directory / f"{self._number}{suffix}").unlink(missing_ok=True)

    def type(self, text: str) -> None:
        if self._screen is None or not self._screen.open:
            return
        # The terminal does not block: a foreground program that never reads its input must not stop us.
        with suppress(OSError):
            os.write(self._terminal, text.encode("utf-8", "surrogateescape"))

    def press_ctrl_c(self) -> None:
        if self._pressing is not None:
            self._pressing.cancel()
        self._look(CtrlC())

    def kill_foreground(self) -> None:
        group = self._foreground()
        if group in (0, self._group):
            return
        with suppress(OSError):
            os.killpg(group, signal.SIGKILL)

    def echoes(self) -> bool:
        return self._screen is None or not self._screen.open or shows_input(self._terminal)

    async def close(self) -> None:
        if self._pressing is not None:
            self._pressing.cancel()
        if self._watcher is not None:
            await cancel_tasks(self._watcher)
        if self._enclosed is not None:
            await self._enclosed.close()
        if self._process is not None and self._session is not None:
            self._session.end()
            await wait_within(END_TIMEOUT, self._process.wait())
        for pipe in (self._ends, self._screen, *self._outputs, *self._abandoned):
            if pipe is not None:
                pipe.close()
        if self._commands >= 0:
            os.close(self._commands)
            self._commands = -1
        self._folder_end.close()

    # -- the process -----------------------------------------------------------------------------------

    async def _make_folder(self) -> Path:
        """The folder that it starts in, with everything it needs; the sandbox's own, if there is one."""
        launch = self._launch
        if launch.enclosure is None:
            return self._folder_end.enter_context(socket_folder())
        self._enclosed = await SandboxLaunch.open(
            await require_rung(launch.enclosure),
            launch.enclosure,
            lambda folder, _: _argv(folder),
            launch.variables,
            name_folder=socket_dir,
            shared=False,
            extra=lambda _: {"TERM": "dumb"},
            on_refusal=launch.on_refusal,
        )
        return self._enclosed.folder

    async def _start_process(self, ears: ShellEars) -> None:
        launch, directory = self._launch, self._directory
        ends = directory / "ends"
        (directory / "rc").write_text(RC.format(ends=shlex.quote(str(ends)), activate=_activation(launch.python)))
        self._ends = Pipe(named_pipe(ends), self._on_ends)
        self._commands = named_pipe(directory / "commands")
        self._terminal, inner = os.openpty()
        commands = os.open(directory / "commands", os.O_RDONLY)
        try:
            self._modes = prepare_terminal(inner)
            os.set_blocking(self._terminal, False)
            self._screen = Pipe(self._terminal, self._on_terminal)
            stdio: dict[str, Any] = {"cwd": launch.cwd, "stdin": commands, "stdout": inner, "stderr": inner}
            if self._enclosed is not None:
                self._process = await self._enclosed.start(**stdio)
            else:
                stdio |= {"env": kernel_environment(launch.variables) | {"TERM": "dumb"}, "start_new_session": True}
                self._process = await asyncio.create_subprocess_exec(*_argv(directory), **stdio)
        except OSError as error:
            raise KernelError(
                f"The shell could not be started in {launch.cwd}: {error.strerror}.",
                hint="Check that the folder is there.",
            ) from error
        finally:
            os.close(inner)
            os.close(commands)
        self._session = ProcessSession(self._process.pid)
        self._watcher = asyncio.create_task(self._watch(self._process, self._session, ears))
        if self._enclosed is not None:
            await self._prove(self._enclosed)

    async def _prove(self, enclosed: SandboxLaunch) -> None:
        try:
            await enclosed.prove()
        except KernelError as error:
            if self._screen is not None:
                self._screen.drain()
            error.details = f"{error.details}\n{self.complaint}".strip()
            raise
        enclosed.release()

    async def _watch(self, process: asyncio.subprocess.Process, session: ProcessSession, ears: ShellEars) -> None:
        memory = OomCheck()
        returncode = await process.wait()
        session.end()
        # In a sandbox, it ends as shells do: a signal is reported as 128 and its number.
        by_signal = returncode < 0 or (self._enclosed is not None and returncode - 128 in signal.valid_signals())
        ears.on_exit(None if by_signal else returncode, cause_of_end(returncode, memory.has_run_out))

    def _look(self, press: CtrlC) -> None:
        if press.look(self._foreground()):
            self.type("\x03")
        self._pressing = asyncio.get_running_loop().call_later(LOOK, self._look, press)

    def _foreground(self) -> int:
        """The process group that the terminal belongs to, 0 if there is none."""
        if self._screen is None or not self._screen.open:
            return 0
        return foreground_group(self._terminal)

    # -- what bash says ----------------------------------------------------------------------------------

    def _on_ends(self, text: str) -> None:
        assert self._ears is not None
        if not self._group:
            self._group = self._foreground()
        self._ears.on_ends(text)

    def _on_terminal(self, text: str) -> None:
        assert self._ears is not None
        if not self._group:
            self.complaint = (self.complaint + text)[-LONGEST_COMPLAINT:]
        self._ears.on_terminal(text)


def _activation(environment: PythonEnvironment) -> str:
    """The commands that activate an environment, beyond its variables: the scripts of conda packages."""
    if environment.kind != "conda":
        return ""
    scripts = shlex.quote(str(environment.prefix / "etc" / "conda" / "activate.d"))
    return f'for __oi_run in {scripts}/*.sh; do [ -r "$__oi_run" ] && . "$__oi_run"; done; __oi_run=0'


def _argv(folder: Path) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", TAKE_TERMINAL, *BASH, str(folder / "rc"), "-i"]
