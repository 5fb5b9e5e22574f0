"""A shell as a `Kernel`: one persistent bash on a pseudo-terminal of its own, here or on another machine.

`shell_seat.py` has the protocol between bash and us. The terminal carries only conversation: text without a line end,
followed by silence, is a question (`sudo`, `ssh`), and an answer reaches nobody else.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Literal, Self

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.kernels.base import InterruptMeans, RunRequest, RunResult
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.local_shell import LocalSeat
from oi_tui.app.engine.kernels.output_stream import OutputStream
from oi_tui.app.engine.kernels.shell_seat import ShellEars, ShellSeat
from oi_tui.app.engine.kernels.terminal_questions import TerminalQuestions
from oi_tui.app.engine.kernels.worker import OnEnd, WorkerKernel

LONGEST_END = 100
"""Characters of what bash writes when a run is over; others may write there, too, without a line end for instance."""


class ShellKernel(WorkerKernel):
    """Runs shell source; `cd`, variables and functions last."""

    def __init__(
        self,
        launch: Launch,
        take_seat: Callable[[], ShellSeat] | None = None,
        place: str = "",
        *,
        elsewhere: bool = False,
    ) -> None:
        """`take_seat` says where bash is; without it, here."""
        seat = take_seat or partial(LocalSeat, launch)
        super().__init__(
            "shell", launch, lambda on_end: ShellWorker.open(seat(), launch, on_end), place, elsewhere=elsewhere
        )


class ShellWorker:
    """One bash, and the run that it is at."""

    def __init__(self, seat: ShellSeat, on_end: OnEnd) -> None:
        self._seat = seat
        self._on_end = on_end
        self._heard = ""
        self._ready = asyncio.Event()
        self._gone = False
        self._run: OutputStream | None = None
        self._number = 0
        self._conversation: TerminalQuestions | None = None

    @property
    def rungs(self) -> tuple[InterruptMeans, ...]:
        """^C on the terminal, then the end of the foreground job."""
        return ("signal", "kill")

    @classmethod
    async def open(cls, seat: ShellSeat, launch: Launch, on_end: OnEnd) -> Self:
        """Start bash and wait for its first prompt; KernelError if it fails."""
        worker = cls(seat, on_end)
        try:
            await worker._start(launch.settings.start_timeout)
        except BaseException:
            await worker.close(politely=False)
            raise
        return worker

    async def _start(self, timeout: float) -> None:
        ears = ShellEars(self._on_output, self._on_terminal, self._on_ends, self._on_exit)
        await self._seat.arrive()
        try:
            async with asyncio.timeout(timeout):
                await self._seat.start(ears)
                await self._ready.wait()
        except TimeoutError as error:
            raise KernelError(
                f"The shell did not answer within {timeout:g} seconds.",
                hint="Set kernel.start_timeout higher if this machine is slow.",
                details=self._seat.complaint,
            ) from error
        if self._gone:
            raise KernelError("The shell ended right after its start.", hint="Does `bash -i` work here?")

    def begin(self, request: RunRequest) -> OutputStream:
        """Have bash read the source from a file, byte for byte."""
        self._run = run = OutputStream(request)
        self._number += 1
        self._conversation = TerminalQuestions(run, self._seat.echoes)
        self._seat.begin(self._number, request.source)
        return run

    def answer(self, text: str) -> None:
        line = text.replace("\n", " ")
        if self._conversation is not None:
            self._conversation.note_answer(line)
        self._seat.type(f"{line}\n")

    def press(self, means: InterruptMeans) -> None:
        """One rung of the interrupt ladder."""
        if means == "signal":
            self._seat.press_ctrl_c()
        else:
            self._seat.kill_foreground()

    async def close(self, *, politely: bool) -> None:
        """End bash and all its jobs, running in the background or not."""
        await self._seat.close()
        if self._conversation is not None:
            self._conversation.end()

    # -- what bash says ----------------------------------------------------------------------------------

    def _on_output(self, number: int, name: Literal["stdout", "stderr"], text: str) -> None:
        if number == self._number and self._conversation is not None:
            self._conversation.output(name, text)

    def _on_terminal(self, text: str) -> None:
        if self._conversation is not None:
            self._conversation.terminal(text)

    def _on_ends(self, text: str) -> None:
        *lines, self._heard = (self._heard[-LONGEST_END:] + text).split("\n")
        for line in lines:
            match line.split():
                case [number, status] if _is_number(number) and _is_number(status):
                    self._ready.set()
                    if int(number) == self._number and self._run is not None:
                        if self._run.interrupting:
                            self._seat.kill_foreground()  # a job that was just being started survives the end
                        self._end_run(_result(int(status), interrupted=self._run.interrupting))

    def _on_exit(self, code: int | None, how: str) -> None:
        self._gone = True
        self._ready.set()
        if self._run is None:
            self._on_end(how)
            return
        detail = f"The shell {how}; the next run starts a fresh one."
        if code is None:
            self._end_run(RunResult(status="died", detail=detail))
        else:
            self._end_run(RunResult(status="error" if code else "ok", exit_code=code, detail=detail))
        self._on_end("")

    def _end_run(self, result: RunResult) -> None:
        assert self._run is not None
        self._seat.drain()
        self._seat.finish()
        run, self._run = self._run, None
        if self._conversation is not None:
            self._conversation.end()
            self._conversation = None
        run.finish(result)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 10


def _result(status: int, *, interrupted: bool) -> RunResult:
    if status == 0:
        return RunResult(status="ok", exit_code=0)
    return RunResult(status="interrupted" if interrupted else "error", exit_code=status)
