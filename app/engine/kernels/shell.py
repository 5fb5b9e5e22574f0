"""A shell as a `Kernel`: one persistent bash on a pseudo-terminal of its own.

Bash reads the line that starts a run from the terminal, as it would from a person. What the run writes goes
through two named pipes that only this run has, so stdout and stderr stay apart, and what a background job
writes later is never taken for output of a later run. Its stdin is empty. What is left on the terminal is
conversation: text without a line end, followed by silence, is a question (`sudo`, `ssh`).
"""

import asyncio
import os
import shutil
import signal
import sys
import termios
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from oi_tui.app.engine.errors import KernelError
from oi_tui.app.engine.events import ExecutionStatus
from oi_tui.app.engine.kernels.base import InterruptMeans, RunFinished
from oi_tui.app.engine.kernels.conversation import Conversation
from oi_tui.app.engine.kernels.environment import kernel_environment
from oi_tui.app.engine.kernels.pipe import Pipe, named_output, named_pipe
from oi_tui.app.engine.kernels.processes import cause_of_end, end_session
from oi_tui.app.engine.kernels.run import Run
from oi_tui.app.engine.kernels.worker import OnEnd, WorkerKernel
from oi_tui.app.engine.paths import socket_dir
from oi_tui.app.engine.settings import KernelSection

TAKE_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execvp(sys.argv[1], sys.argv[1:])"
)
"""Makes the pseudo-terminal the controlling one, in the child: `preexec_fn` is not safe beside threads."""

BASH = ("bash", "--noprofile", "--noediting", "--rcfile")

RC = """\
set +o history +H -b
unset HISTFILE
PS1= PS2=
__oi_begin() {{ local _; PROMPT_COMMAND='__oi_end $?'; builtin echo begin >{says}; read -r _ <{hears}; }}
__oi_end() {{ builtin echo "end $1" >{says}; }}
PROMPT_COMMAND='__oi_end $?'
"""
"""Told to every new shell. It waits after `begin`, so that we know what on the terminal came before the run. The
prompt reports the end of a run that was interrupted, where bash forgets the rest of the line."""

LOCAL_MODES = 3
"""Index of the local modes in what `termios.tcgetattr` returns."""


class ShellKernel(WorkerKernel):
    """Runs shell source; `cd`, variables and functions last."""

    def __init__(
        self,
        settings: KernelSection,
        *,
        cwd: Path,
        spill_dir: Path | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        given = os.environ if environ is None else environ
        super().__init__(
            "shell",
            settings,
            spill_dir,
            lambda on_end: ShellWorker(cwd=cwd, environ=given, timeout=settings.start_timeout, on_end=on_end),
        )


class ShellWorker:
    """One bash process, its terminal and the pipes to it."""

    def __init__(self, *, cwd: Path, environ: Mapping[str, str], timeout: float, on_end: OnEnd) -> None:
        self._cwd = cwd
        self._environ = environ
        self._timeout = timeout
        self._on_end = on_end
        self._directory: Path | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._terminal = -1
        self._modes: list[Any] = []
        """Terminal attributes as they are when a run begins."""
        self._hears = -1
        self._control: Pipe | None = None
        self._screen: Pipe | None = None
        """What appears on the terminal."""
        self._abandoned: list[Pipe] = []
        """Outputs of earlier runs whose jobs still write."""
        self._heard = ""
        self._ready = asyncio.Event()
        self._run: Run | None = None
        self._outputs: tuple[Pipe, ...] = ()
        """Of the run that goes on."""
        self._number = 0
        self._begun = False
        self._conversation: Conversation | None = None

    @property
    def rungs(self) -> tuple[InterruptMeans, ...]:
        """^C on the terminal, then the end of the foreground job."""
        return ("signal", "second_signal")

    async def open(self) -> None:
        """Start bash and wait for its first prompt."""
        self._directory = directory = socket_dir()
        says, hears, rc = directory / "says", directory / "hears", directory / "rc"
        rc.write_text(RC.format(says=says, hears=hears))
        self._control = Pipe(named_pipe(says), self._on_control)
        self._hears = named_pipe(hears)
        try:
            async with asyncio.timeout(self._timeout):
                await self._launch([*BASH, str(rc), "-i"])
                await self._ready.wait()
        except TimeoutError as error:
            raise KernelError(
                f"The shell did not answer within {self._timeout:g} seconds.",
                hint="Set kernel.start_timeout higher if this machine is slow.",
            ) from error
        if self._process is None or self._process.returncode is not None:
            raise KernelError("The shell ended as soon as it was started.", hint="Does `bash -i` work here?")

    def begin(self, source: str, cap: int, spill_dir: Path | None) -> Run:
        """Have bash read the source from a file, byte for byte."""
        assert self._directory is not None
        self._run = run = Run(source, cap, spill_dir)
        self._number += 1
        file, out, err = (self._directory / f"{self._number}{suffix}" for suffix in ("", ".out", ".err"))
        file.write_text(source, encoding="utf-8", errors="surrogateescape", newline="")
        talk = self._conversation = Conversation(run, self._echoes)
        self._outputs = (
            named_output(out, lambda text: talk.output("stdout", text)),
            named_output(err, lambda text: talk.output("stderr", text)),
        )
        self._begun = False
        self._write(f"__oi_begin; . {file} </dev/null >{out} 2>{err}; __oi_end $?\n")
        return run

    def answer(self, text: str) -> None:
        """Type the line."""
        line = text.replace("\n", " ")
        if self._conversation is not None:
            self._conversation.answered(line)
        self._write(f"{line}\n")

    def press(self, means: InterruptMeans) -> None:
        """One rung of the interrupt ladder."""
        if means == "signal":
            self._write("\x03")
            return
        if self._process is None or self._screen is None or not self._screen.open:
            return
        with suppress(OSError):
            group = os.tcgetpgrp(self._terminal)
            if group not in (0, self._process.pid):
                os.killpg(group, signal.SIGKILL)

    async def close(self, *, politely: bool) -> None:
        """End bash and all its jobs, running in the background or not."""
        if self._watcher is not None:
            self._watcher.cancel()
            await asyncio.gather(self._watcher, return_exceptions=True)
        if self._process is not None:
            end_session(self._process.pid)
            await self._process.wait()
        if self._conversation is not None:
            self._conversation.end()
        for pipe in (self._control, self._screen, *self._outputs, *self._abandoned):
            if pipe is not None:
                pipe.close()
        if self._hears >= 0:
            os.close(self._hears)
            self._hears = -1
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)

    # -- the process -----------------------------------------------------------------------------------

    async def _launch(self, command: list[str]) -> None:
        self._terminal, inner = os.openpty()
        try:
            termios.tcsetwinsize(inner, (24, 80))
            self._modes = termios.tcgetattr(inner)
            self._modes[LOCAL_MODES] &= ~termios.ECHOCTL  # a typed ^C is not to be shown
            termios.tcsetattr(inner, termios.TCSANOW, self._modes)
            os.set_blocking(self._terminal, False)
            self._screen = Pipe(self._terminal, self._on_terminal)
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", "-c", TAKE_TERMINAL, *command),
                env=kernel_environment(self._environ) | {"TERM": "dumb"},
                cwd=self._cwd,
                stdin=inner,
                stdout=inner,
                stderr=inner,
                start_new_session=True,
            )
        except OSError as error:
            raise KernelError(
                f"The shell could not be started in {self._cwd}: {error.strerror}.",
                hint="Check that the folder is there.",
            ) from error
        finally:
            os.close(inner)
        self._watcher = asyncio.create_task(self._watch(self._process))

    async def _watch(self, process: asyncio.subprocess.Process) -> None:
        returncode = await process.wait()
        self._ready.set()
        how = cause_of_end(returncode)
        if self._run is None:
            self._on_end(how)
            return
        detail = f"The shell {how}; the next run starts a fresh one."
        if returncode < 0:
            self._end_run(RunFinished(status="died", detail=detail))
        else:
            self._end_run(RunFinished(status="error" if returncode else "ok", exit_code=returncode, detail=detail))
        self._on_end("")

    def _write(self, text: str) -> None:
        if self._screen is None or not self._screen.open:
            return
        # The terminal does not block: a foreground program that never reads what it is told must not stop us.
        with suppress(OSError):
            os.write(self._terminal, text.encode("utf-8", "surrogateescape"))

    def _echoes(self) -> bool:
        if self._screen is None or not self._screen.open:
            return True  # the shell is gone
        return bool(termios.tcgetattr(self._terminal)[LOCAL_MODES] & termios.ECHO)

    # -- what bash says ----------------------------------------------------------------------------------

    def _on_control(self, text: str) -> None:
        *lines, self._heard = (self._heard + text).split("\n")
        for line in lines:
            match line.split():
                case ["begin"] if self._run is not None:
                    self._acknowledge()
                case ["end", status] if status.isdecimal():
                    self._ready.set()
                    self._on_status(int(status))

    def _acknowledge(self) -> None:
        if self._screen is None or not self._screen.open:
            return
        self._screen.drain()  # the echo of our own line, and what was said between the runs
        termios.tcsetattr(self._terminal, termios.TCSANOW, self._modes)
        self._begun = True
        os.write(self._hears, b"\n")

    def _on_status(self, status: int) -> None:
        # The prompt says it once more, so what comes before this run has begun is about the one before.
        if self._run is None or not (self._begun or self._run.interrupting):
            return
        if status == 0:
            self._end_run(RunFinished(status="ok", exit_code=0))
        else:
            stopped: ExecutionStatus = "interrupted" if self._run.interrupting else "error"
            self._end_run(RunFinished(status=stopped, exit_code=status))

    def _end_run(self, finished: RunFinished) -> None:
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
        assert self._directory is not None
        for suffix in ("", ".out", ".err"):
            (self._directory / f"{self._number}{suffix}").unlink(missing_ok=True)
        run.finish(finished)

    def _on_terminal(self, text: str) -> None:
        if self._begun and self._conversation is not None:
            self._conversation.terminal(text)
