"""One run of one code block: what its kernel says, as events of the session."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing

from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.endings import Ending
from oi_tui.app.engine.core.errors import AuditError, KernelError
from oi_tui.app.engine.core.events import (
    ActiveLineChanged,
    AnyEvent,
    ExecutionFinished,
    ExecutionStarted,
    InputAnswered,
    InputRequested,
    KernelChanged,
    KernelState,
    NoticeAdded,
    OutputAdded,
    OutputDropped,
    OutputKept,
    OutputsCleared,
    OutputTailMoved,
    OutputUpdated,
)
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.values import Level
from oi_tui.app.engine.kernels.base import (
    DisplayUpdated,
    InputWanted,
    InterruptMeans,
    Kernel,
    LineReached,
    OutputArrived,
    OutputCapped,
    OutputCleared,
    OutputFiled,
    RunEvent,
    RunFinished,
    SignsChanged,
    TailMoved,
)

REPLACE = "Esc twice within a second stops the turn and replaces the kernel; its variables are lost then."

BY_WHICH: dict[InterruptMeans | None, str] = {
    "second_signal": "Stopped by the second SIGINT, which its subprocesses got as well: the first was not enough.",
    "request": "Stopped by a request on the control channel: two SIGINTs were not enough.",
    "kill": "Stopped by SIGKILL for the command that ran: Ctrl+C was not enough.",
}
"""What is said of the rungs of the ladder: of the first one nothing, which is what everybody expects."""

RETRY = 0.05
"""Seconds after which an interrupt that met nothing tries again."""


Admit = Callable[[ExecutionStarted, CodeBlock], None]
"""Told of a run before its kernel gets the source; AuditError if it must not begin."""


NEVER_RAN = Ending(stage="unstarted", cause="kernel")


def allow_any_run(started: ExecutionStarted, block: CodeBlock) -> None:
    """Any run may begin: nobody writes down what runs."""


class Execution:
    """Runs a block once. `answer` and `interrupt` reach into it while `events` is being consumed."""

    def __init__(
        self,
        block: CodeBlock,
        kernel: Kernel,
        aside: Callable[[AnyEvent], None],
        admit: Admit,
        *,
        can_ask: bool,
        clock: Callable[[], float],
    ) -> None:
        """`aside` is told what happens beside `events`: what comes after their end, and what cannot wait for them."""
        self.block = block
        self.kernel = kernel
        self.can_ask = can_ask
        self.failure: KernelError | AuditError | None = None
        """Set when nothing could be run at all."""
        self._admit = admit
        self._clock = clock
        self._aside = aside
        self._input: InputRequested | None = None
        self._answered = False
        self._ending: Ending | None = None
        """What ended it that was not the person."""
        self._stopping: asyncio.Task[InterruptMeans] | None = None
        self._over = asyncio.Event()
        self._forced = asyncio.Event()
        """The kernel may be restarted, if nothing else stops the run."""

    async def events(self) -> AsyncGenerator[AnyEvent, None]:
        """From the start of the kernel, if it is cold, to `ExecutionFinished`."""
        if self.kernel.state in ("cold", "dead"):
            yield self._kernel_event("starting")
        begun, started = self._clock(), None
        try:
            await self.kernel.start()
            yield self._kernel_event("busy")
            started = ExecutionStarted(block_id=self.block.id, generation=self.kernel.generation)
            self._admit(started, self.block)
            yield started
            begun = self._clock()
            async with aclosing(self._run()) as events:
                async for event in events:
                    yield event
        except KernelError as error:
            self.failure = error
            yield _notice("error", error.title, hint=error.hint, details=error.details)
            spent = self._clock() - begun
            never = None if started is not None else NEVER_RAN
            yield ExecutionFinished(block_id=self.block.id, status="died", duration=spent, ending=never)
        except AuditError as error:
            self.failure = error
            yield _notice("error", error.title, hint=error.hint, details=error.details)
            yield ExecutionFinished(block_id=self.block.id, status="interrupted", duration=0.0, ending=NEVER_RAN)
        finally:
            self._over.set()
            if self._stopping is not None:
                await asyncio.gather(self._stopping, return_exceptions=True)  # told by the epilogue, if by anybody
        yield self._kernel_event(self.kernel.state)

    async def _run(self) -> AsyncGenerator[AnyEvent, None]:
        begun = self._clock()
        if self._stopping is not None:  # while the kernel was starting
            yield ExecutionFinished(block_id=self.block.id, status="interrupted", duration=0.0)
            return
        async with aclosing(self.kernel.run(self.block.source, afterwards=self._come_late)) as run:
            async for event in run:
                if not isinstance(event, RunFinished):
                    for translated in self._translate(event):
                        yield translated
                    continue
                self._over.set()
                for closed in self._close_input(cancelled=event.status != "ok"):
                    yield closed
                duration = self._clock() - begun
                yield ExecutionFinished(
                    block_id=self.block.id,
                    status=event.status,
                    duration=duration,
                    exit_code=event.exit_code,
                    ending=self._ending if event.status == "interrupted" else None,
                )
                notice = await self._epilogue(event)
                if notice is not None:
                    yield notice
                return

    def _come_late(self, event: RunEvent) -> None:
        """The run is over, and something that it started goes on."""
        for translated in self._translate(event):
            self._aside(translated)

    async def _epilogue(self, event: RunFinished) -> AnyEvent | None:
        """What has to be said about how the run ended, beyond its state."""
        means: InterruptMeans | None = None
        if self._stopping is not None:
            try:
                means = await self._stopping
            except KernelError as error:
                return _notice("error", error.title, hint=error.hint, details=error.details)
        if means == "restart":
            title = f"The {self.kernel.language} kernel ignored the interrupt and was restarted."
            return _notice("warning", title, hint="Its variables are gone.")
        if means in BY_WHICH and event.status == "interrupted":
            return _notice("info", BY_WHICH[means])
        if event.status == "died":
            title = event.detail or f"The {self.kernel.language} kernel ended."
            hint = "Its variables are gone. It starts afresh with the next run; /restart does it now."
            return _notice("error", title, hint=hint)
        return _notice("info", event.detail) if event.detail else None

    def _translate(self, event: RunEvent) -> Iterator[AnyEvent]:
        block_id = self.block.id
        match event:
            case LineReached():
                yield ActiveLineChanged(block_id=block_id, line=event.line)
                return
            case InputWanted():
                yield from self._close_input(cancelled=False)
                yield self._ask(event)
                return
            case SignsChanged():
                yield self._tell_signs(event)
                return
            case _ if self._answered:  # what was printed before the question may come after it, by another channel
                yield from self._close_input(cancelled=False)
            case _:
                pass
        match event:
            case OutputArrived():
                yield OutputAdded(block_id=block_id, output=event.output)
            case DisplayUpdated():
                yield OutputUpdated(block_id=block_id, output=event.output, display_id=event.display_id)
            case OutputCleared():
                yield OutputsCleared(block_id=block_id)
            case OutputCapped():
                yield OutputDropped(block_id=block_id, characters=event.characters)
            case TailMoved():
                yield OutputTailMoved(block_id=block_id, name=event.name, tail=event.tail)
            case OutputFiled():
                yield OutputKept(block_id=block_id, whole=event.whole)
            case _:
                pass

    def _tell_signs(self, event: SignsChanged) -> AnyEvent:
        if event.responds:
            return _notice("info", event.text)
        if not self.can_ask:
            self._give_up()
            return _notice("warning", event.text, hint="There is nobody to ask: it is interrupted.")
        return _notice("warning", event.text, hint=f"Esc interrupts it. {REPLACE}")

    def _ask(self, event: InputWanted) -> AnyEvent:
        if not self.can_ask:
            self._give_up()
            return _notice("warning", "The code asked for input, and there is nobody to answer: it was interrupted.")
        self._answered = False
        self._input = InputRequested(
            request_id=new_id(), block_id=self.block.id, prompt=event.prompt, password=event.password
        )
        return self._input

    def _give_up(self) -> None:
        """Interrupt what cannot go on without a person: the model is not told that one did it."""
        if self._stopping is None:
            self._ending = Ending(stage="running", cause="nobody")
        self.interrupt(force=True)

    def _close_input(self, *, cancelled: bool) -> Iterator[AnyEvent]:
        if self._input is not None:
            yield InputAnswered(request_id=self._input.request_id, block_id=self.block.id, cancelled=cancelled)
            self._input = None

    async def answer(self, request_id: str, text: str) -> bool:
        """Give the line that was asked for; False if this id is not waiting."""
        if self._input is None or self._input.request_id != request_id or self._answered:
            return False
        self._answered = True
        await self.kernel.answer(text)
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
            means = await self.kernel.interrupt(restart=self._forced.is_set())
            match means:
                case "nothing_ran" if not self._over.is_set():
                    await asyncio.sleep(RETRY)
                case "ignored" if not self._over.is_set():
                    self._aside(_notice("warning", "The code goes on: it ignored every interrupt.", hint=REPLACE))
                    await _first(self._forced, self._over)
                case _:
                    return means

    def _kernel_event(self, state: KernelState) -> AnyEvent:
        return KernelChanged(language=self.kernel.language, state=state, generation=self.kernel.generation)


def _notice(level: Level, title: str, *, hint: str = "", details: str = "") -> AnyEvent:
    return NoticeAdded(block_id=new_id(), level=level, title=title, hint=hint, details=details)


async def _first(*events: asyncio.Event) -> None:
    """Wait until one of these is set."""
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
