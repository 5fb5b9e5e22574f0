"""One run of one action, from the start of its kernel to the notices about its end."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from oi_tui.app.engine.agent.kernel_calls import CallDesk, KernelCalls
from oi_tui.app.engine.agent.time_limit import TimeLimit
from oi_tui.app.engine.core.blocks import ActionBlock, CodeBlock
from oi_tui.app.engine.core.endings import Cause, Ending
from oi_tui.app.engine.core.errors import AuditError, KernelError, OiTuiError
from oi_tui.app.engine.core.events import (
    ActiveLineChanged,
    AnyEvent,
    Emit,
    ExecutionFinished,
    ExecutionStarted,
    InputAnswered,
    InputRequested,
    NoticeAdded,
)
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.outcomes import ExecutionStatus, KernelState
from oi_tui.app.engine.core.values import KernelCall, Level
from oi_tui.app.engine.kernels.base import InterruptMeans, Runner, RunResult, kernel_change
from oi_tui.app.engine.tools.tool_runner import ToolRunner

REPLACE = "A second interrupt within a second stops the turn and replaces the kernel; its variables are lost then."
GIVE_UP = "A second interrupt within a second stops the turn without waiting for it."

BY_WHICH: dict[InterruptMeans | None, str] = {
    "second_signal": "Stopped by the second SIGINT, which its subprocesses got as well: the first was not enough.",
    "request": "Stopped by a request on the control channel: two SIGINTs were not enough.",
    "kill": "Stopped by SIGKILL for the command that ran: Ctrl+C was not enough.",
}
"""The words for each step of the ladder: none for the first one, which everybody expects."""

RETRY = 0.05
"""Seconds after which an interrupt that met nothing tries again."""


Seal = Callable[[ExecutionStarted, ActionBlock], Awaitable[None]]
"""Called before a run gets its source; returns once the run is on record, AuditError if it must not begin."""


OUTAGE = 420.0
"""Seconds a run on a server waits for signs of life without a user to ask: longer than reconnecting takes."""

NEVER_RAN = Ending(stage="unstarted", cause="kernel")


async def no_seal(started: ExecutionStarted, block: ActionBlock) -> None:
    """Any run may begin: nobody writes down what runs."""


class Execution:
    """Runs an action once. `answer` and `interrupt` reach into it while `run` is under way."""

    def __init__(
        self,
        block: ActionBlock,
        runner: Runner,
        emit: Emit,
        seal: Seal,
        *,
        can_ask: bool,
        clock: Callable[[], float],
        time_limit: float = 0.0,
        calls: KernelCalls | None = None,
        serves: Callable[[], bool] = lambda: False,
        origin: str = "",
        before: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        """`emit` is given what happens, also what comes after the end of the run. After `time_limit` seconds it is
        stopped, if that is not 0. `calls` performs what the code calls; without it it can call nothing. `serves`
        says whether it waits for what it called; `origin` is as in `ExecutionStarted`. `before` is awaited when the
        kernel is there, and before anything runs in it; it never raises."""
        self.block = block
        self.runner = runner
        self.can_ask = can_ask
        self._seal = seal
        self._clock = clock
        self._origin, self._serves, self._before = origin, serves, before
        self._emit = emit
        self._calls = CallDesk(block, runner, calls, lambda: self.interrupt(force=not can_ask))
        self._input: InputRequested | None = None
        self._answered = False
        self._ending: Ending | None = None
        """What ended it that was not the person."""
        self._stopping: asyncio.Task[InterruptMeans] | None = None
        self._silence: asyncio.TimerHandle | None = None
        """Ends a run on a server that does not respond, where nobody can be asked."""
        self._limit = TimeLimit(time_limit, self._reach_limit)
        self._over = asyncio.Event()
        self._forced = asyncio.Event()
        """The kernel may be restarted, if nothing else stops the run."""

    async def run(self) -> KernelError | AuditError | None:
        """Start the kernel if it is cold, and run until `ExecutionFinished`; returns why nothing could run at all."""
        if self.runner.state in ("cold", "dead"):
            self.tell_kernel("starting")
        begun, is_begun = self._clock(), False
        failure: KernelError | AuditError | None = None
        try:
            await self.runner.start()
            self.tell_kernel("busy")
            held = self.runner.confinement
            started = ExecutionStarted(
                block_id=self.block.id,
                generation=self.runner.generation,
                place=self.runner.place,
                elsewhere=self.runner.elsewhere,
                apart=held.apart,
                apart_hosts=held.apart_hosts,
                reads_only=held.reach is not None and not held.reach.writes,
                offline=held.offline,
                origin=self._origin,
            )
            # The one waits for the disk, the other for a thread.
            before = None if self._before is None else asyncio.ensure_future(self._before())
            try:
                if before is not None:
                    await asyncio.sleep(0)  # it begins
                await self._seal(started, self.block)
            finally:
                if before is not None:
                    await before
            if self.runner.state == "dead":
                raise KernelError(
                    f"The {self.block.runs_in} kernel ended before this began.", hint="The next run starts a new one."
                )
            is_begun = True
            self._emit(started)
            begun = self._clock()
            await self._run()
        except KernelError as error:
            failure = error
            self._report(error)
            never = None if is_begun else NEVER_RAN
            self._finish("died", self._clock() - begun, ending=never)
        except AuditError as error:
            failure = error
            self._report(error)
            self._finish("interrupted", 0.0, ending=NEVER_RAN)
        finally:
            self._over.set()
            if self._stopping is not None:
                await asyncio.gather(self._stopping, return_exceptions=True)  # the epilogue reports an error
        self.tell_kernel(self.runner.state)
        return failure

    async def _run(self) -> None:
        begun = self._clock()
        if self._stopping is not None:  # while the kernel was starting
            self._finish("interrupted", 0.0)
            return
        self._limit.begin()
        try:
            result = await self.runner.run(self.block.source, self.block.id, self._take)
        except BaseException:
            self._calls.cancel()
            raise
        finally:
            self._end_silence()
            self._limit.end()
        self._over.set()
        await self._calls.close()
        self._close_input(cancelled=result.status != "ok")
        ending = self._ending if result.status == "interrupted" else None
        self._finish(result.status, self._clock() - begun, exit_code=result.exit_code, ending=ending)
        await self._tell_end(result)

    async def _tell_end(self, result: RunResult) -> None:
        """The notices about how the run ended, beyond its status."""
        means: InterruptMeans | None = None
        if self._stopping is not None:
            try:
                means = await self._stopping
            except KernelError as error:
                self._report(error)
                return
        if means == "restart":
            self._tell_restart()
        elif means in BY_WHICH and result.status == "interrupted":
            self._notice("info", BY_WHICH[means])
        elif result.status == "died":
            title = result.detail or f"The {self.block.runs_in} kernel ended."
            hint = "Its variables are lost. The next run starts a new one; /restart does so now."
            self._notice("error", title, hint=hint)
        elif result.detail:
            self._notice("info", result.detail)

    def _tell_restart(self) -> None:
        name = self.block.runs_in
        if isinstance(self.block, CodeBlock):
            title, hint = f"The {name} kernel ignored the interrupt and was restarted.", "Its variables are lost."
        else:
            title, hint = f"The {name} ignored the interrupt.", "It may still run; its output is ignored."
        self._notice("warning", title, hint=hint)

    def _take(self, event: AnyEvent) -> None:
        """Pass on what the kernel says of the run, with what can be done about it."""
        match event:
            case InputRequested(call=KernelCall() as call):
                self._close_input(cancelled=False)
                self._calls.take(call)
            case InputRequested():
                self._close_input(cancelled=False)
                if self.can_ask:
                    self._input, self._answered = event, False
                    self._limit.pause()
                    self._emit(event)
                    return
                self._go_without_input()
            case NoticeAdded(level="warning"):
                self._emit(msgspec.structs.replace(event, hint=self._judge_silence()))
            case NoticeAdded() | ActiveLineChanged():
                self._end_silence()
                self._emit(event)
            case _:
                if self._answered:  # output from before the question may arrive after it, by another channel
                    self._close_input(cancelled=False)
                self._emit(event)

    def give_up_input(self) -> None:
        """Give up waiting for input, if it asks for any."""
        if self._input is not None and not self._answered:
            self._close_input(cancelled=True)
            self._go_without_input()

    def _go_without_input(self) -> None:
        """A tool gets None as its answer; code is interrupted, since it cannot continue."""
        if isinstance(self.runner, ToolRunner):
            self.runner.decline()
            return
        self._give_up("nobody")
        self._notice("warning", "The code asked for input, and there is nobody to answer: it was interrupted.")

    def _judge_silence(self) -> str:
        """The kernel does not respond: what can be done, or what is done where nobody can be asked. A kernel on a
        server may still be working, and says itself when it is given up."""
        if self.can_ask:
            return f"You can interrupt it. {REPLACE}"
        if self.runner.elsewhere:
            if self._silence is None:
                self._silence = asyncio.get_running_loop().call_later(OUTAGE, self._give_up, "nobody")
            return f"The run waits for it, for {OUTAGE / 60:.0f} minutes at most."
        self._give_up("nobody")
        return "There is nobody to ask: it is interrupted."

    def _end_silence(self) -> None:
        if self._silence is not None:
            self._silence.cancel()
            self._silence = None

    def _reach_limit(self) -> None:
        """Time is up, unless the run waits for what it called: then it gets as much again."""
        if self._calls.is_busy or self._serves():
            self._limit.begin()
        else:
            self._give_up("limit")

    def _give_up(self, cause: Cause) -> None:
        """Interrupt a run that cannot continue: the model must not think that a person did it. The kernel's state is
        given up only if there is nobody to decide that."""
        if self._stopping is None:
            self._ending = Ending(stage="running", cause=cause)
        self.interrupt(force=not self.can_ask)

    def _close_input(self, *, cancelled: bool) -> None:
        asked, self._input = self._input, None
        if asked is not None:
            self._limit.resume()
            self._emit(InputAnswered(request_id=asked.request_id, block_id=self.block.id, cancelled=cancelled))

    async def answer(self, request_id: str, text: str | None) -> bool:
        """The requested line of input, None for no answer, which is one for a tool only; False if this id is not
        waiting for it."""
        if self._input is None or self._input.request_id != request_id or self._answered:
            return False
        if isinstance(self.runner, ToolRunner):
            self._close_input(cancelled=text is None)
            self.runner.decline() if text is None else await self.runner.answer(text)
            return True
        if text is None:
            return False
        self._answered = True
        self._limit.resume()
        await self.runner.answer(text)
        return True

    def interrupt(self, *, force: bool) -> None:
        """Stop the run; only with `force` at the price of the kernel's state, if it ignores everything else.

        A second call while the first is at work changes nothing but that.
        """
        if force:
            self._forced.set()
        if self._stopping is None:
            self._stopping = asyncio.create_task(self._stop())

    async def _stop(self) -> InterruptMeans:
        """Interrupt until there was something to interrupt: the kernel may be just about to take the run."""
        while True:
            means = await self.runner.interrupt(restart=self._forced.is_set())
            match means:
                case "nothing_ran" if not self._over.is_set():
                    await asyncio.sleep(RETRY)
                case "ignored" if not self._over.is_set():
                    code = isinstance(self.block, CodeBlock)
                    title = f"The {'code' if code else 'call'} still runs: it ignored every interrupt."
                    self._notice("warning", title, hint=REPLACE if code else GIVE_UP)
                    await _first(self._forced, self._over)
                case _:
                    return means

    def tell_kernel(self, state: KernelState) -> None:
        """Say which state its kernel is in; a tool has none worth telling."""
        if isinstance(self.block, CodeBlock) and not self.runner.confinement.apart:
            place = self.runner.place if state == "starting" else ""
            self._emit(kernel_change(self.block.language, self.runner, state, place))

    # -- events of ours ------------------------------------------------------------------------------

    def _finish(
        self, status: ExecutionStatus, duration: float, *, exit_code: int | None = None, ending: Ending | None = None
    ) -> None:
        self._emit(
            ExecutionFinished(
                block_id=self.block.id, status=status, duration=duration, exit_code=exit_code, ending=ending
            )
        )

    def _report(self, error: OiTuiError) -> None:
        self._notice("error", error.title, hint=error.hint, details=error.details)

    def _notice(self, level: Level, title: str, *, hint: str = "", details: str = "") -> None:
        self._emit(NoticeAdded(block_id=new_id(), level=level, title=title, hint=hint, details=details))


async def _first(*events: asyncio.Event) -> None:
    """Wait until one of these is set."""
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
