"""A shell as a `Kernel`: one persistent bash on a pseudo-terminal of its own.

Bash is told by one named pipe what to run and says by another how that ended. What the run writes goes through two
more that only this run has, so stdout and stderr stay apart, and what a background job writes later is never
taken for output of a later run. The stdin of a run is empty. What is left for the terminal is conversation:
text without a line end, followed by silence, is a question (`sudo`, `ssh`), and an answer reaches nobody else.
"""

import asyncio
import os
import shlex
import signal
import sys
import termios
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any, Self

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.environments.environment import PythonEnvironment
from oi_tui.app.engine.files.paths import socket_dir
from oi_tui.app.engine.kernels.base import InterruptMeans, RunRequest, RunResult
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.output_stream import OutputStream
from oi_tui.app.engine.kernels.pipe import Pipe, named_output, named_pipe
from oi_tui.app.engine.kernels.processes import (
    END_TIMEOUT,
    OomCheck,
    ProcessSession,
    cancel_tasks,
    cause_of_end,
    wait_within,
)
from oi_tui.app.engine.kernels.socket_folder import socket_folder
from oi_tui.app.engine.kernels.terminal_questions import TerminalQuestions
from oi_tui.app.engine.kernels.worker import OnEnd, WorkerKernel
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

BASH = ("bash", "--noprofile", "--noediting", "--rcfile")

RC = """\
set +o history +H -b
unset HISTFILE
PS1= PS2= __oi_run=0
__oi_end() {{ builtin echo "$__oi_run $1" >{ends}; }}
PROMPT_COMMAND='__oi_end $?'
{activate}
"""
"""Told to every new shell. The prompt reports the end of a run once more, because bash forgets the rest of a line
that was interrupted."""

RUN = "__oi_run={number} PROMPT_COMMAND='__oi_end $?'; . {file} </dev/null >{out} 2>{err}; __oi_end $?\n"

STEADY = 0.02
"""Seconds between two looks at the foreground job, before a ^C is typed."""

MAX_LOOKS = 10
"""A loop over short commands is never steady: after so many looks a ^C is typed all the same."""

LONGEST_END = 100
"""Characters of what bash writes when a run is over; others may write there, too, without a line end for instance."""

LONGEST_COMPLAINT = 4_000
"""Characters that are kept of what a shell says that does not start."""

LOCAL_MODES = 3
"""Index of the local modes in what `termios.tcgetattr` returns."""


class ShellKernel(WorkerKernel):
    """Runs shell source; `cd`, variables and functions last."""

    def __init__(self, launch: Launch) -> None:
        super().__init__("shell", launch, partial(ShellWorker.open, launch))


class ShellWorker:
    """One bash process, its terminal and the pipes to it."""

    def __init__(self, launch: Launch, on_end: OnEnd) -> None:
        self._launch = launch
        self._on_end = on_end
        self._enclosed: SandboxLaunch | None = None
        self._group = 0
        """The process group of bash itself."""
        self._complaint = ""
        """What was written on the terminal before the shell was ready."""
        self._folder_end = ExitStack()
        self._directory = Path()
        self._process: asyncio.subprocess.Process | None = None
        self._session: ProcessSession | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._terminal = -1
        self._modes: list[Any] = []
        """Terminal attributes as they are when a run begins."""
        self._commands = -1
        """Where bash reads what to run."""
        self._ends: Pipe | None = None
        """Where bash writes the number and the status of a run that is over."""
        self._screen: Pipe | None = None
        """What appears on the terminal."""
        self._abandoned: list[Pipe] = []
        """Outputs of earlier runs whose jobs still write."""
        self._heard = ""
        self._ready = asyncio.Event()
        self._run: OutputStream | None = None
        self._outputs: tuple[Pipe, ...] = ()
        """Of the run that goes on."""
        self._number = 0
        self._conversation: TerminalQuestions | None = None

    @property
    def rungs(self) -> tuple[InterruptMeans, ...]:
        """^C on the terminal, then the end of the foreground job."""
        return ("signal", "kill")

    @classmethod
    async def open(cls, launch: Launch, on_end: OnEnd) -> Self:
        """Start bash and wait for its first prompt; KernelError if it fails."""
        worker = cls(launch, on_end)
        try:
            await worker._start()
        except BaseException:
            await worker.close(politely=False)
            raise
        return worker

    async def _start(self) -> None:
        timeout = self._launch.settings.start_timeout
        try:
            async with asyncio.timeout(timeout):
                self._directory = await self._make_folder()
                await self._start_process()
                await self._ready.wait()
        except TimeoutError as error:
            raise KernelError(
                f"The shell did not answer within {timeout:g} seconds.",
                hint="Set kernel.start_timeout higher if this machine is slow.",
            ) from error
        self._group = self._foreground()
        if self._process is None or self._process.returncode is not None:
            raise KernelError("The shell ended as soon as it was started.", hint="Does `bash -i` work here?")

    def begin(self, request: RunRequest) -> OutputStream:
        """Have bash read the source from a file, byte for byte."""
        self._run = run = OutputStream(request)
        self._number += 1
        file, out, err = (self._directory / f"{self._number}{suffix}" for suffix in ("", ".out", ".err"))
        file.write_text(request.source, encoding="utf-8", errors="surrogateescape", newline="")
        talk = self._conversation = TerminalQuestions(run, self._echoes)
        self._outputs = (
            named_output(out, lambda text: talk.output("stdout", text)),
            named_output(err, lambda text: talk.output("stderr", text)),
        )
        # Flushes as well: an answer that came too late is not for this run.
        termios.tcsetattr(self._terminal, termios.TCSAFLUSH, self._modes)
        paths = {name: shlex.quote(str(path)) for name, path in (("file", file), ("out", out), ("err", err))}
        os.write(self._commands, RUN.format(number=self._number, **paths).encode())
        return run

    def answer(self, text: str) -> None:
        line = text.replace("\n", " ")
        if self._conversation is not None:
            self._conversation.note_answer(line)
        self._write(f"{line}\n")

    def press(self, means: InterruptMeans) -> None:
        """One rung of the interrupt ladder."""
        if means == "signal":
            self._press_ctrl_c(self._run)
        else:
            self._kill_foreground()

    async def close(self, *, politely: bool) -> None:
        """End bash and all its jobs, running in the background or not."""
        if self._watcher is not None:
            await cancel_tasks(self._watcher)
        if self._enclosed is not None:
            await self._enclosed.close()
        if self._process is not None and self._session is not None:
            self._session.end()
            await wait_within(END_TIMEOUT, self._process.wait())
        if self._conversation is not None:
            self._conversation.end()
        for pipe in (self._ends, self._screen, *self._outputs, *self._abandoned):
            if pipe is not None:
                pipe.close()
        if self._commands >= 0:
            os.close(self._commands)
            self._commands = -1
        self._folder_end.close()

    # -- the process -----------------------------------------------------------------------------------

    async def _make_folder(self) -> Path:
        """With all that is needed to start in it; the sandbox's own, if there is one."""
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

    async def _start_process(self) -> None:
        launch, directory = self._launch, self._directory
        ends = directory / "ends"
        (directory / "rc").write_text(RC.format(ends=shlex.quote(str(ends)), activate=_activation(launch.python)))
        self._ends = Pipe(named_pipe(ends), self._on_end_of_run)
        self._commands = named_pipe(directory / "commands")
        self._terminal, inner = os.openpty()
        commands = os.open(directory / "commands", os.O_RDONLY)
        try:
            termios.tcsetwinsize(inner, (24, 80))
            self._modes = termios.tcgetattr(inner)
            self._modes[LOCAL_MODES] &= ~termios.ECHOCTL  # a typed ^C is not to be shown
            termios.tcsetattr(inner, termios.TCSANOW, self._modes)
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
        self._watcher = asyncio.create_task(self._watch(self._process, self._session))
        if self._enclosed is not None:
            await self._prove(self._enclosed)

    async def _prove(self, enclosed: SandboxLaunch) -> None:
        try:
            await enclosed.prove()
        except KernelError as error:
            if self._screen is not None:
                self._screen.drain()
            error.details = f"{error.details}\n{self._complaint}".strip()
            raise
        enclosed.release()

    async def _watch(self, process: asyncio.subprocess.Process, session: ProcessSession) -> None:
        memory = OomCheck()
        returncode = await process.wait()
        session.end()
        self._ready.set()
        how = cause_of_end(returncode, memory.has_run_out)
        if self._run is None:
            self._on_end(how)
            return
        detail = f"The shell {how}; the next run starts a fresh one."
        # Where there is a sandbox, it ends as shells do: a signal is told as 128 and its number.
        if returncode < 0 or (self._enclosed is not None and returncode - 128 in signal.valid_signals()):
            self._end_run(RunResult(status="died", detail=detail))
        else:
            self._end_run(RunResult(status="error" if returncode else "ok", exit_code=returncode, detail=detail))
        self._on_end("")

    def _write(self, text: str) -> None:
        if self._screen is None or not self._screen.open:
            return
        # The terminal does not block: a foreground program that never reads what it is told must not stop us.
        with suppress(OSError):
            os.write(self._terminal, text.encode("utf-8", "surrogateescape"))

    def _press_ctrl_c(self, run: OutputStream | None, before: int = 0, looks: int = 0, met: int = -1) -> None:
        """Type ^C once the foreground is steady, and again if another job (not `met`) comes up instead of the end.

        Bash, and a job that it is just starting, may lose one that comes in between.
        """
        if run is None or run is not self._run:
            return
        now = self._foreground()
        steady = (now == before and looks > 1) or looks > MAX_LOOKS
        if steady and now != met:
            self._write("\x03")
            looks, met = 0, now
        asyncio.get_running_loop().call_later(STEADY, self._press_ctrl_c, run, now, looks + 1, met)

    def _kill_foreground(self) -> None:
        group = self._foreground()
        if group in (0, self._group):
            return
        with suppress(OSError):
            os.killpg(group, signal.SIGKILL)

    def _foreground(self) -> int:
        """The process group that the terminal belongs to, 0 if there is none."""
        if self._screen is None or not self._screen.open:
            return 0
        with suppress(OSError):
            return os.tcgetpgrp(self._terminal)
        return 0

    def _echoes(self) -> bool:
        if self._screen is None or not self._screen.open:
            return True  # the shell is gone
        return bool(termios.tcgetattr(self._terminal)[LOCAL_MODES] & termios.ECHO)

    # -- what bash says ----------------------------------------------------------------------------------

    def _on_end_of_run(self, text: str) -> None:
        *lines, self._heard = (self._heard[-LONGEST_END:] + text).split("\n")
        for line in lines:
            match line.split():
                case [number, status] if number.isdecimal() and status.isdecimal():
                    self._ready.set()
                    if int(number) == self._number and self._run is not None:
                        if self._run.interrupting:
                            self._kill_foreground()  # a job that was just being started survives what ended the run
                        self._end_run(_result(int(status), interrupted=self._run.interrupting))

    def _end_run(self, result: RunResult) -> None:
        run, self._run = self._run, None
        assert run is not None
        for pipe in self._outputs:
            pipe.drain()
            pipe.abandon()
        self._abandoned = [pipe for pipe in (*self._abandoned, *self._outputs) if pipe.open]
        self._outputs = ()
        if self._screen is not None:
            self._screen.drain()
        if self._conversation is not None:
            self._conversation.end()
            self._conversation = None
        for suffix in ("", ".out", ".err"):
            (self._directory / f"{self._number}{suffix}").unlink(missing_ok=True)
        run.finish(result)

    def _on_terminal(self, text: str) -> None:
        if self._conversation is not None:
            self._conversation.terminal(text)
        elif not self._ready.is_set():
            self._complaint = (self._complaint + text)[-LONGEST_COMPLAINT:]


def _activation(environment: PythonEnvironment) -> str:
    """What activates it, beyond its variables: the scripts that packages of conda bring along."""
    if environment.kind != "conda":
        return ""
    scripts = shlex.quote(str(environment.prefix / "etc" / "conda" / "activate.d"))
    return f'for __oi_run in {scripts}/*.sh; do [ -r "$__oi_run" ] && . "$__oi_run"; done; __oi_run=0'


def _argv(folder: Path) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", TAKE_TERMINAL, *BASH, str(folder / "rc"), "-i"]


def _result(status: int, *, interrupted: bool) -> RunResult:
    if status == 0:
        return RunResult(status="ok", exit_code=0)
    return RunResult(status="interrupted" if interrupted else "error", exit_code=status)
