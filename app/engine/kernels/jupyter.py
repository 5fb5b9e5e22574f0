"""A Jupyter kernel as a `Kernel`: the only module that knows jupyter_client and zmq.

Both are imported when the first kernel is started: they cost 0.14 s. Messages go over sockets in a private folder.
"""

import asyncio
import os
import secrets
from collections.abc import Awaitable
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import Any, NamedTuple, Self

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.core.values import Language
from oi_tui.app.engine.files.paths import socket_dir
from oi_tui.app.engine.kernels.base import InterruptMeans, RunRequest, RunResult
from oi_tui.app.engine.kernels.channels import NONSENSE_LIMIT, TOO_LARGE, Channel, Channels, ReplyFuture
from oi_tui.app.engine.kernels.inspection import Listing, VariableDetail, names_in, read_detail, read_listing
from oi_tui.app.engine.kernels.jupyter_run import JupyterRun
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.liveness import LivenessWatch
from oi_tui.app.engine.kernels.output_stream import OutputStream
from oi_tui.app.engine.kernels.preparation import PRELOAD, at_start, for_inspection
from oi_tui.app.engine.kernels.processes import LoggedProcess, cancel_tasks
from oi_tui.app.engine.kernels.socket_folder import socket_folder
from oi_tui.app.engine.kernels.spec import KernelSpec, python_spec
from oi_tui.app.engine.kernels.worker import OnEnd, WorkerKernel
from oi_tui.app.engine.sandbox.environments import kernel_environment
from oi_tui.app.engine.sandbox.ladder import require_rung
from oi_tui.app.engine.sandbox.profile import Profile
from oi_tui.app.engine.sandbox.sandbox_launch import SandboxLaunch

KEPT_RUNS = 50
"""Runs of which late output is taken; what belongs to older ones is dropped."""

CONNECTION = "connection.json"
"""The file in the folder of the sockets that tells a kernel where they are to be."""

LAST_WORDS = 0.1
"""Seconds in which messages of a process that ended may still arrive."""

KNOCKING = 10
"""Milliseconds between two attempts to connect: with zmq's usual 100 to 200, a kernel that is ready waits for us."""

POLITE_END = 0.7
"""Seconds that an idle kernel has to end by itself, so that `atexit` handlers run."""


def installed_kernelspecs() -> dict[str, str]:
    """Name of every installed kernelspec and the language it says it runs."""
    from jupyter_client.kernelspec import KernelSpecManager  # deferred: heavy

    found = KernelSpecManager().get_all_specs()
    return {name: str(entry["spec"].get("language", "")) for name, entry in found.items()}


def kernelspec(name: str) -> KernelSpec:
    """The installed kernelspec; KernelError that names the ones there are if it does not exist."""
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel  # deferred: heavy

    try:
        spec = KernelSpecManager().get_kernel_spec(name)
    except NoSuchKernel as error:
        there = ", ".join(sorted(installed_kernelspecs())) or "none"
        raise KernelError(
            f"There is no kernel “{name}”.",
            hint=f"Installed kernels: {there}. `jupyter kernelspec list` shows where they are.",
        ) from error
    argv = tuple(part.replace("{resource_dir}", spec.resource_dir) for part in spec.argv)
    return KernelSpec(name=name, argv=argv, env=dict(spec.env), signals=spec.interrupt_mode != "message")


class JupyterKernel(WorkerKernel):
    """Runs source in a Jupyter kernel of its own."""

    def __init__(self, launch: Launch, *, language: Language = "python", spec: KernelSpec | None = None) -> None:
        """Without a `spec` it is the Python of the launch."""
        if spec is None:
            spec, place = python_spec(launch.python), launch.python.describe(launch.cwd)
        else:
            place = f"kernel {spec.name}"
        super().__init__(language, launch, partial(JupyterWorker.open, launch, spec), place)

    def variables(self, known: tuple[str, ...], *, again: bool) -> Awaitable[Listing | None]:
        first = names_in(self._worker.source) if isinstance(self._worker, JupyterWorker) else []
        return read_listing(self._ask("oi_tui_variables", {"first": first, "known": known, "again": again}))

    def peek(self, name: str) -> Awaitable[VariableDetail | None]:
        return read_detail(self._ask("oi_tui_peek", {"name": name}))

    def _ask(self, kind: str, question: dict[str, Any]) -> ReplyFuture | None:
        """Never while something runs."""
        if self.state == "idle" and isinstance(self._worker, JupyterWorker):
            return self._worker.inspect(kind, question)
        return None


class Opened(NamedTuple):
    """A process that was started, and the channels to it."""

    process: LoggedProcess
    channels: Channels
    ends: AsyncExitStack
    """Ends both, and clears their folder away."""


async def open_process(launch: Launch, spec: KernelSpec) -> Opened:
    """Start a kernel whose sockets nobody else may enter; KernelError if the program or the folder is not there."""
    import zmq.asyncio  # deferred: heavy
    from jupyter_client import AsyncKernelClient, write_connection_file  # deferred: heavy
    from zmq.constants import Event  # deferred: heavy

    async with AsyncExitStack() as stack:
        process: LoggedProcess | None = None
        enclosed: SandboxLaunch | None = None
        if launch.enclosure is not None:
            enclosed = await _prepare_sandbox(launch, launch.enclosure, spec)
            stack.push_async_callback(enclosed.close)
            process = await LoggedProcess.start_enclosed(enclosed, launch.cwd)
            stack.push_async_callback(process.close)
            ours, theirs = enclosed.folder, enclosed.folder_inside
        else:
            ours = theirs = stack.enter_context(socket_folder())
        # Sockets in a folder that only we may enter: on a port of this machine every user could knock.
        file, info = write_connection_file(
            str(ours / CONNECTION),
            transport="ipc",
            ip=str(theirs / "s"),
            key=secrets.token_hex(32).encode(),
            **{f"{name}_port": number for number, name in enumerate(("shell", "iopub", "stdin", "hb", "control"), 1)},
        )
        context = zmq.asyncio.Context()
        context.rcvhwm = 0  # we read all the time; beyond a limit zmq would drop messages, the end of a run among them
        context.reconnect_ivl = KNOCKING
        client = AsyncKernelClient(context=context)
        client.load_connection_info(info | {"ip": str(ours / "s")})
        channels = Channels(client)
        stack.push_async_callback(channels.close)
        channels.connect(Event.HANDSHAKE_SUCCEEDED)
        if enclosed is not None:
            enclosed.release()
        if process is None:
            own = spec.env | {"IPYTHONDIR": str(ours / "ipython")}
            own["JPY_PARENT_PID"] = str(os.getpid())  # the kernel ends when we do, however we end
            own = kernel_environment(launch.variables) | own
            process = await LoggedProcess.start(_argv(spec, file), own, launch.cwd)
        stack.push_async_callback(process.close)  # before the channels are
        return Opened(process, channels, stack.pop_all())


async def _prepare_sandbox(launch: Launch, profile: Profile, spec: KernelSpec) -> SandboxLaunch:
    return await SandboxLaunch.open(
        await require_rung(profile),
        profile,
        lambda folder, _: _argv(spec, str(folder / CONNECTION)),
        launch.variables,
        name_folder=socket_dir,
        extra=lambda scratch: spec.env | {"IPYTHONDIR": str(scratch / ".ipython")},
        on_refusal=launch.on_refusal,
    )


def _argv(spec: KernelSpec, file: str) -> list[str]:
    return [part.replace("{connection_file}", file) for part in spec.argv]


class JupyterWorker:
    """One kernel process and the channels to it."""

    def __init__(self, launch: Launch, spec: KernelSpec, opened: Opened, on_end: OnEnd) -> None:
        self._launch = launch
        self._spec = spec
        self._process, self._channels, self._ends = opened
        self._on_end = on_end
        self._run: OutputStream | None = None
        self._runs: dict[str, JupyterRun] = {}
        """By the id of the request: the one that goes on, and earlier ones that may still put something out."""
        self._run_watch: asyncio.Task[None] | None = None
        self._doomed = ""
        """How it ended, if we ended it because it was beyond help."""
        self._has_control = False
        """Whether it answers on the control channel, which not every kernel does."""
        self._is_python = False
        self._looked_into = False
        """Whether it has our part that answers what is asked about its variables."""
        self.source = ""
        """What it was given last."""
        nonsense = f"sent {NONSENSE_LIMIT:,} messages that make no sense, and was ended"
        self._channels.listen(self._deliver, lambda: self._kill(nonsense))
        self._watcher = asyncio.create_task(self._watch())

    @classmethod
    async def open(cls, launch: Launch, spec: KernelSpec, on_end: OnEnd) -> Self:
        """Start the process, wait until it answers and its output arrives, and prepare it; KernelError if it fails."""
        timeout = launch.settings.start_timeout
        worker: Self | None = None
        async with AsyncExitStack() as unless_ready:
            try:
                async with asyncio.timeout(timeout):
                    worker = cls(launch, spec, await open_process(launch, spec), on_end)
                    unless_ready.push_async_callback(worker.close, politely=False)
                    await worker._prepare()
            except TimeoutError as error:
                raise KernelError(
                    f"The kernel “{spec.name}” did not answer within {timeout:g} seconds.",
                    hint="Set kernel.start_timeout higher if this machine is slow.",
                    details=worker._process.last_lines() if worker is not None else "",
                ) from error
            unless_ready.pop_all()
        return worker

    @property
    def rungs(self) -> tuple[InterruptMeans, ...]:
        """SIGINT would end a kernel that wants to be asked."""
        return ("signal", "second_signal", "request") if self._spec.signals else ("request",)

    def begin(self, request: RunRequest) -> OutputStream:
        """Send the source as it is."""
        self.source = request.source
        request_id, send = self._channels.prepare(
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
        )
        self._runs[request_id] = run = JupyterRun(request, doom=self._kill)
        self._run = output = run.output
        if len(self._runs) > KEPT_RUNS:
            del self._runs[next(iter(self._runs))]
        send()
        if self._run_watch is not None:
            self._run_watch.cancel()
        self._run_watch = asyncio.create_task(LivenessWatch(output, self, self._launch.patience, self._kill).watch())
        return output

    def inspect(self, kind: str, content: dict[str, Any]) -> ReplyFuture | None:
        """Ask about the variables, now; None if it cannot be asked."""
        if not self._is_python or self._process.has_ended:
            return None
        if not self._looked_into:
            self._looked_into = True
            self._channels.send("shell", "oi_tui_part", {"source": for_inspection()})
        return self._channels.ask(kind, content)

    def answer(self, text: str) -> None:
        """Reply to an `input_request`."""
        self._channels.send("stdin", "input_reply", {"value": text})

    def press(self, means: InterruptMeans) -> None:
        """One rung of the interrupt ladder."""
        if self._process.has_ended:
            return
        if means == "request":
            self._channels.send("control", "interrupt_request", {})
            return
        self._process.interrupt(with_children=means == "second_signal")
        # A kernel that awaits notices the signal only when something wakes its loop.
        self._channels.send("shell", "kernel_info_request", {})

    async def beats(self, within: float) -> bool:
        return await self._channels.beats(within)

    def ask_control(self) -> ReplyFuture | None:
        return self._channels.ask("kernel_info_request", {}, "control") if self._has_control else None

    @property
    def is_stopped(self) -> bool:
        return self._process.is_stopped

    async def close(self, *, politely: bool) -> None:
        """End the process, its children, the channels and the folder."""
        # From here on the end of the process is our doing.
        await cancel_tasks(*(task for task in (self._watcher, self._run_watch) if task is not None))
        if politely and not self._process.has_ended:
            await self._ask_to_end()
        await self._ends.aclose()
        for run in self._runs.values():
            run.output.mute()

    # -- starting and ending ---------------------------------------------------------------------------

    async def _prepare(self) -> None:
        info = await self._handshake()
        self._try_control()
        self._is_python = info.get("language_info", {}).get("name") == "python"
        if self._is_python:
            await self._execute_silently(at_start())
            if self._launch.preload():
                await self._execute_silently(PRELOAD)

    async def _handshake(self) -> dict[str, Any]:
        heard = self._channels.heard
        info = await self._request("kernel_info_request", {})
        await self._channels.can_ask.wait()
        while not heard.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(0.1):
                    await heard.wait()
            info = await self._request("kernel_info_request", {})
        return info

    def _try_control(self) -> None:
        """Find out, some time, whether the control channel answers."""

        def note_reply(answer: ReplyFuture) -> None:
            self._has_control = not answer.cancelled() and answer.result() is not None

        self._channels.ask("kernel_info_request", {}, "control").add_done_callback(note_reply)

    async def _ask_to_end(self) -> None:
        self._process.note_session()
        self._channels.send("control", "shutdown_request", {"restart": False})
        with suppress(TimeoutError):
            async with asyncio.timeout(POLITE_END):
                await self._process.wait()

    def _ended_error(self) -> KernelError:
        return KernelError(
            f"The kernel “{self._spec.name}” could not be started: it {self._process.cause}.",
            hint="The details show the last lines that it wrote.",
            details=self._process.last_lines(),
        )

    # -- messages --------------------------------------------------------------------------------------

    async def _execute_silently(self, source: str) -> None:
        """Run something of ours that leaves no trace in history, counters or output."""
        content = {"code": source, "silent": True, "store_history": False, "allow_stdin": False, "stop_on_error": False}
        await self._request("execute_request", content)

    async def _request(self, kind: str, content: dict[str, Any]) -> dict[str, Any]:
        """Ask on the shell channel and wait for the content of the reply; KernelError if the process ends instead."""
        if self._process.has_ended:
            raise self._ended_error()
        reply = await self._channels.ask(kind, content)
        if reply is None:
            raise self._ended_error()
        return reply

    def _deliver(self, channel: Channel, kind: str, parent: str, content: dict[str, Any]) -> None:
        run = self._runs.get(parent)
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
        self._channels.give_up_answers()
        if self._run is None or self._run.over.is_set():
            self._on_end(how)
            return
        self._run.finish(RunResult(status="died", detail=f"The kernel {how}; its state is lost."))
        self._on_end("")
