"""Speaks the Jupyter protocol with one kernel, wherever that runs and whatever carries the messages."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import Any, NamedTuple, Protocol, Self

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.core.widget_controls import ControlValue, WidgetControl
from oi_tui.app.engine.kernels.base import InterruptMeans, RunRequest, RunResult
from oi_tui.app.engine.kernels.known_runs import FindOrphan, KnownRuns
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.liveness import LivenessWatch
from oi_tui.app.engine.kernels.message_desk import (
    NONSENSE_LIMIT,
    TOO_LARGE,
    Channel,
    KernelChannels,
    MessageContent,
    ReplyFuture,
    ask,
    send,
)
from oi_tui.app.engine.kernels.output_stream import OutputStream
from oi_tui.app.engine.kernels.preparation import PRELOAD, at_start, for_inspection, in_a_foreign_kernel
from oi_tui.app.engine.kernels.processes import cancel_tasks
from oi_tui.app.engine.kernels.worker import OnEnd

CONTROL_PATIENCE = 3.0
"""Seconds that a kernel which lived before has to answer; not each does while it works."""

WITHOUT_HELPER = (
    "The kernel {name} is not IPython's own: there is no list of its variables and no mark at the line that runs, "
    "and tables look as it makes them."
)

LAST_WORDS = 0.1
"""Seconds in which messages of a process that ended may still arrive."""

POLITE_END = 0.7
"""Seconds that an idle kernel has to end by itself, so that `atexit` handlers run."""


class KernelProcess(Protocol):
    """The process of a kernel, as far as we can see and control it from here."""

    @property
    def has_ended(self) -> bool:
        """Whether the process has exited."""
        ...

    @property
    def cause(self) -> str:
        """How it ended, in words: the end of a sentence."""
        ...

    @property
    def is_stopped(self) -> bool:
        """Whether a signal stopped it; another continues it."""
        ...

    def last_lines(self) -> str:
        """The end of what it wrote; "" if that cannot be known."""
        ...

    def interrupt(self, *, with_children: bool, wake: Callable[[], None]) -> None:
        """Interrupt it alone, or its subprocesses as well; then `wake` it, once the interrupt is there."""
        ...

    def note_session(self) -> None:
        """Note its session: if it exits by itself, what it started is ended too."""
        ...

    def kill(self) -> None:
        """End it by force; `wait` tells when it is gone."""
        ...

    async def wait(self) -> object:
        """Wait for its end."""
        ...


class Return(NamedTuple):
    """The known state of a kernel that ran before we connected."""

    is_python: bool
    find_orphan: FindOrphan
    check: Callable[[], None]
    """Called when the kernel has answered: KernelError if it is not the one that it was."""
    foreign: bool = False
    """Somebody else started it, and may be using it."""


class Opened(NamedTuple):
    """A process that was started, and the channels to it."""

    process: KernelProcess
    channels: KernelChannels
    ends: AsyncExitStack
    """Ends both, and removes everything made for them."""
    asked_to_end: bool = True
    """Whether it is asked to end before it is ended, so that `atexit` handlers run."""
    returns: Return | None = None
    """None for a kernel that was started now."""


class KernelOrigin(NamedTuple):
    """Where a kernel comes from."""

    name: str
    place: str
    """Where it runs, as shown to the user."""
    rungs: tuple[InterruptMeans, ...]
    """The means against a run, the mildest first."""
    open: Callable[[], Awaitable[Opened]]
    """Starts it; KernelError if that cannot be."""
    elsewhere: bool = False
    """On a server, or started by a provisioner, which may have started it anywhere."""


class JupyterWorker:
    """One kernel process and the channels to it."""

    def __init__(self, launch: Launch, origin: KernelOrigin, opened: Opened, on_end: OnEnd) -> None:
        self.rungs = origin.rungs
        self._launch = launch
        self._name = origin.name
        self._elsewhere = origin.elsewhere
        self._process, self._channels, self._ends, self._asked_to_end, self.returns = opened
        self._on_end = on_end
        self._run: OutputStream | None = None
        self.runs = KnownRuns(self._kill, find_view=launch.widget_views)
        if self.returns is not None:
            self.runs = KnownRuns(self._kill, self.returns.find_orphan, launch.widget_views)
        self._run_watch: asyncio.Task[None] | None = None
        self._doomed = ""
        """How it ended, if we ended it because it was beyond help."""
        self._has_control = False
        """Whether it answers on the control channel, which not every kernel does."""
        self.has_helper = False
        """Whether it has our part: it is IPython's own kernel, which that is written for."""
        self.remark = ""
        """What the person has to know of it, once, as a sentence."""
        self._looked_into = False
        """Whether it has our part that answers what is asked about its variables."""
        self.source = ""
        """What it was given last."""
        nonsense = f"sent {NONSENSE_LIMIT:,} messages that make no sense, and was ended"
        self._desk = self._channels.desk
        self._desk.deliver, self._desk.on_useless = self._deliver, lambda: self._kill(nonsense)
        self._channels.listen()
        self._watcher = asyncio.create_task(self._watch())

    @classmethod
    async def open(cls, launch: Launch, origin: KernelOrigin, on_end: OnEnd) -> Self:
        """Start the process, wait until it answers and its output arrives, and prepare it; KernelError if it fails."""
        timeout = launch.settings.start_timeout
        worker: Self | None = None
        async with AsyncExitStack() as unless_ready:
            try:
                # What is opened elsewhere has bounds of its own: a hub may start a machine first.
                opened = await origin.open() if origin.elsewhere else None
                async with asyncio.timeout(timeout):
                    worker = cls(launch, origin, opened or await origin.open(), on_end)
                    unless_ready.push_async_callback(worker.close, politely=False)
                    await worker._prepare()
            except TimeoutError as error:
                raise KernelError(
                    f"The kernel “{origin.name}” did not answer within {timeout:g} seconds.",
                    hint="Set kernel.start_timeout higher if this machine is slow.",
                    details=worker._process.last_lines() if worker is not None else "",
                ) from error
            unless_ready.pop_all()
        return worker

    def begin(self, request: RunRequest) -> OutputStream:
        """Send the source as it is."""
        self.source = request.source
        request_id, post = self._channels.prepare(
            "shell",
            "execute_request",
            {
                "code": request.source,
                "silent": False,
                "store_history": True,
                "user_expressions": {},
                "allow_stdin": True,
                "stop_on_error": False,
            },
            request.block_id,
        )
        output = self.runs.add(request_id, request)
        post()
        return self._watch_run(output)

    def operate(self, request: RunRequest, control: WidgetControl, value: ControlValue) -> OutputStream:
        """Set a widget, or press it: what hangs on it runs. KernelError if it cannot have the value."""
        messages = self.runs.widgets.operate(control, value)
        prepared = [
            self._channels.prepare("shell", "comm_msg", {"comm_id": name, "data": data}, request.block_id)
            for name, data in messages
        ]
        output = self.runs.add_messages([request_id for request_id, _ in prepared], request)
        for _, post in prepared:
            post()
        return self._watch_run(output)

    def follow(self, request: RunRequest) -> OutputStream:
        """The run of this block, current or just over, begun by a program that is gone."""
        return self._watch_run(self.runs.follow(request))

    def _watch_run(self, output: OutputStream) -> OutputStream:
        self._run = output
        if self._run_watch is not None:
            self._run_watch.cancel()
        watch = LivenessWatch(output, self, self._launch.patience, self._kill, elsewhere=self._elsewhere)
        self._run_watch = asyncio.create_task(watch.watch())
        return output

    def inspect(self, kind: str, content: dict[str, Any]) -> ReplyFuture | None:
        """Ask about the variables, now; None if it cannot be asked."""
        if not self.has_helper or self._process.has_ended:
            return None
        if not self._looked_into:
            self._looked_into = True
            send(self._channels, "shell", "oi_tui_part", {"source": for_inspection()})
        return ask(self._channels, kind, content)

    def answer(self, text: str) -> None:
        """Reply to an `input_request`."""
        send(self._channels, "stdin", "input_reply", {"value": text})

    def press(self, means: InterruptMeans) -> None:
        """One rung of the interrupt ladder."""
        if self._process.has_ended:
            return
        if means == "request":
            send(self._channels, "control", "interrupt_request", {})
            return
        # A kernel that awaits notices the signal only when something wakes its loop.
        wake = partial(send, self._channels, "shell", "kernel_info_request", {})
        self._process.interrupt(with_children=means == "second_signal", wake=wake)

    async def beats(self, within: float) -> bool:
        return await self._channels.beats(within)

    def ask_control(self) -> ReplyFuture | None:
        return ask(self._channels, "kernel_info_request", {}, "control") if self._has_control else None

    @property
    def is_stopped(self) -> bool:
        return self._process.is_stopped

    async def close(self, *, politely: bool) -> None:
        """End the process, its children, the channels and the folder."""
        # From here on the end of the process is our doing.
        await cancel_tasks(*(task for task in (self._watcher, self._run_watch) if task is not None))
        if politely and self._asked_to_end and not self._process.has_ended:
            await self._ask_to_end()
        await self._ends.aclose()
        self.runs.mute()

    # -- starting and ending ---------------------------------------------------------------------------

    async def _prepare(self) -> None:
        if self.returns is not None:
            await self._come_back(self.returns)
            return
        info = await self._handshake()
        self._try_control()
        self.has_helper = info.get("implementation") == "ipython"
        if not self.has_helper:
            self.remark = WITHOUT_HELPER.format(name=self._name)
        else:
            for cell in (at_start(), *self._launch.cells_at_start):
                await self._execute_silently(cell)
            if self._launch.preload():
                await self._execute_silently(PRELOAD)

    async def _come_back(self, known: Return) -> None:
        """It may be busy: nothing is waited for that comes after what it works on. What the server kept for us comes
        before the answer."""
        self.has_helper = known.is_python
        answer = ask(self._channels, "kernel_info_request", {}, "control")
        answer.add_done_callback(self._note_control)
        await asyncio.wait([answer], timeout=CONTROL_PATIENCE)
        known.check()
        if known.foreign and known.is_python:
            ask(self._channels, "execute_request", _silent_request(in_a_foreign_kernel()))

    async def _handshake(self) -> dict[str, Any]:
        heard = self._desk.heard
        info = await self._request("kernel_info_request", {})
        await self._desk.can_ask.wait()
        while not heard.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(0.1):
                    await heard.wait()
            info = await self._request("kernel_info_request", {})
        return info

    def _try_control(self) -> None:
        """Find out, some time, whether the control channel answers."""

        ask(self._channels, "kernel_info_request", {}, "control").add_done_callback(self._note_control)

    def _note_control(self, answer: ReplyFuture) -> None:
        self._has_control = not answer.cancelled() and answer.result() is not None

    async def _ask_to_end(self) -> None:
        self._process.note_session()
        send(self._channels, "control", "shutdown_request", {"restart": False})
        with suppress(TimeoutError):
            async with asyncio.timeout(POLITE_END):
                await self._process.wait()

    def _ended_error(self) -> KernelError:
        return KernelError(
            f"The kernel “{self._name}” could not be started: it {self._process.cause}.",
            hint="The details show the last lines that it wrote.",
            details=self._process.last_lines(),
        )

    # -- messages --------------------------------------------------------------------------------------

    async def _execute_silently(self, source: str) -> None:
        """Run something of ours that leaves no trace in history, counters or output."""
        await self._request("execute_request", _silent_request(source))

    async def _request(self, kind: str, content: dict[str, Any]) -> dict[str, Any]:
        """Ask on the shell channel and wait for the content of the reply; KernelError if the process ends instead."""
        if self._process.has_ended:
            raise self._ended_error()
        reply = await ask(self._channels, kind, content)
        if reply is None:
            raise self._ended_error()
        return reply

    def _deliver(self, channel: Channel, kind: str, parent: str, content: dict[str, Any]) -> None:
        run = self.runs.find(parent)
        if run is None:
            return
        match channel:
            case _ if kind == TOO_LARGE:
                run.on_too_large(content["bytes"], is_reply=channel == "shell")
            case "iopub":
                run.on_iopub(kind, content)
            case "shell" if kind == "execute_reply":
                run.on_reply(content)
            case "stdin":
                run.on_stdin(kind, content)

    # -- the process -----------------------------------------------------------------------------------

    def _kill(self, how: str) -> None:
        """End a process that is beyond help; the words continue "the kernel ..."."""
        if not self._process.has_ended:
            self._doomed = self._doomed or how
            self._process.kill()

    async def _watch(self) -> None:
        await self._process.wait()
        how = self._doomed or self._process.cause
        await asyncio.sleep(LAST_WORDS)
        self._desk.give_up_answers()
        if self._run is None or self._run.over.is_set():
            self._on_end(how)
            return
        self._run.finish(RunResult(status="died", detail=f"The kernel {how}; its state is lost."))
        self._on_end("")


def _silent_request(source: str) -> MessageContent:
    return {"code": source, "silent": True, "store_history": False, "allow_stdin": False, "stop_on_error": False}
