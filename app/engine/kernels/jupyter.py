"""A Jupyter kernel as a `Kernel`: the only module that knows jupyter_client and zmq.

Both are imported when the first kernel is started: they cost 0.14 s. Messages go over sockets in a private folder.
"""

import asyncio
import logging
import os
import secrets
import shutil
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from oi_tui.app.engine.errors import KernelError
from oi_tui.app.engine.kernels.base import InterruptMeans, RunFinished
from oi_tui.app.engine.kernels.environment import kernel_environment
from oi_tui.app.engine.kernels.inspection import Listing, Seen, listing, names_in, seen
from oi_tui.app.engine.kernels.jupyter_run import JupyterRun
from oi_tui.app.engine.kernels.preparation import PRELOAD, at_start, for_inspection
from oi_tui.app.engine.kernels.processes import LoggedProcess, cancelled, cause_of_end
from oi_tui.app.engine.kernels.spec import KernelSpec, own_python
from oi_tui.app.engine.kernels.worker import OnEnd, WorkerKernel
from oi_tui.app.engine.paths import socket_dir
from oi_tui.app.engine.sandbox.entrance import Entrance
from oi_tui.app.engine.sandbox.profile import Profile
from oi_tui.app.engine.settings import KernelSection
from oi_tui.app.engine.values import Language

_log = logging.getLogger(__name__)

Channel = Literal["shell", "iopub", "stdin", "control"]

Answer = asyncio.Future[dict[str, Any] | None]
"""Content of a reply; None if the process ended instead."""

FRAME_LIMIT = 80_000_000
"""Bytes of one message; a larger one is dropped before it is parsed."""

LAST_WORDS = 0.1
"""Seconds in which messages of a process that ended may still arrive."""

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

    def __init__(
        self,
        settings: KernelSection,
        *,
        cwd: Path,
        language: Language = "python",
        spec: KernelSpec | None = None,
        spill_dir: Path | None = None,
        preload: bool = False,
        environ: Mapping[str, str] | None = None,
        sandbox: Profile | None = None,
    ) -> None:
        given = os.environ if environ is None else environ
        started = own_python() if spec is None else spec

        def make_worker(on_end: OnEnd) -> JupyterWorker:
            return JupyterWorker(
                started,
                cwd=cwd,
                environ=given,
                sandbox=sandbox,
                timeout=settings.start_timeout,
                preload=preload,
                on_end=on_end,
            )

        super().__init__(language, settings, spill_dir, make_worker)

    def variables(self, known: tuple[str, ...], *, again: bool) -> Awaitable[Listing | None]:
        """See `Inspectable`."""
        first = names_in(self._worker.source) if isinstance(self._worker, JupyterWorker) else []
        return listing(self._ask("oi_tui_variables", {"first": first, "known": known, "again": again}))

    def peek(self, name: str) -> Awaitable[Seen | None]:
        """See `Inspectable`."""
        return seen(self._ask("oi_tui_peek", {"name": name}))

    def _ask(self, kind: str, question: dict[str, Any]) -> Answer | None:
        """Never while something runs."""
        if self._state == "idle" and isinstance(self._worker, JupyterWorker):
            return self._worker.inspect(kind, question)
        return None


class JupyterWorker:
    """One kernel process and the channels to it."""

    def __init__(
        self,
        spec: KernelSpec,
        *,
        cwd: Path,
        environ: Mapping[str, str],
        sandbox: Profile | None,
        timeout: float,
        preload: bool,
        on_end: OnEnd,
    ) -> None:
        self._spec = spec
        self._cwd = cwd
        self._environ = environ
        self._sandbox = sandbox
        self._timeout = timeout
        self._preload = preload
        self._on_end = on_end
        self._directory: Path | None = None
        self._process: LoggedProcess | None = None
        self._client: Any = None
        self._run: JupyterRun | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._pumps: list[asyncio.Task[None]] = []
        self._dropped = 0
        """Messages that were of no use; the first one is logged."""
        self._replies: dict[str, Answer] = {}
        self._heard = asyncio.Event()
        """Something came on iopub, so its subscription works."""
        self._is_python = False
        self._looked_into = False
        """Whether it has our part that answers what is asked about its variables."""
        self.source = ""
        """What it was given last."""

    @property
    def rungs(self) -> tuple[InterruptMeans, ...]:
        """SIGINT would end a kernel that wants to be asked."""
        return ("signal", "second_signal", "request") if self._spec.signals else ("request",)

    async def open(self) -> None:
        """Start the process, wait until it answers and its output arrives, and prepare it."""
        try:
            async with asyncio.timeout(self._timeout):
                await self._launch()
                info = await self._handshake()
                self._is_python = info.get("language_info", {}).get("name") == "python"
                if self._is_python:
                    await self._execute_silently(at_start())
                    if self._preload:
                        await self._execute_silently(PRELOAD)
        except TimeoutError as error:
            raise KernelError(
                f"The kernel “{self._spec.name}” did not answer within {self._timeout:g} seconds.",
                hint="Set kernel.start_timeout higher if this machine is slow.",
                details=self._process.last_lines() if self._process is not None else "",
            ) from error

    def begin(self, source: str, cap: int, spill_dir: Path | None) -> JupyterRun:
        """Send the source as it is."""
        self.source = source
        request_id, send = self._prepare(
            "shell",
            "execute_request",
            {
                "code": source,
                "silent": False,
                "store_history": True,
                "user_expressions": {},
                "allow_stdin": True,
                "stop_on_error": False,
            },
        )
        self._run = JupyterRun(request_id, source, cap, spill_dir)
        send()
        return self._run

    def inspect(self, kind: str, content: dict[str, Any]) -> Answer | None:
        """Ask about the variables, now; None if it cannot be asked."""
        if not self._is_python or self._process is None or self._process.ended:
            return None
        if not self._looked_into:
            self._looked_into = True
            self._prepare("shell", "oi_tui_part", {"source": for_inspection()})[1]()
        return self._ask(kind, content)

    def answer(self, text: str) -> None:
        """Reply to an `input_request`."""
        self._prepare("stdin", "input_reply", {"value": text})[1]()

    def press(self, means: InterruptMeans) -> None:
        """One rung of the interrupt ladder."""
        if self._process is None or self._process.ended:
            return
        if means == "request":
            self._prepare("control", "interrupt_request", {})[1]()
            return
        self._process.interrupt(with_children=means == "second_signal")
        # A kernel that awaits notices the signal only when something wakes its loop.
        self._prepare("shell", "kernel_info_request", {})[1]()

    async def close(self, *, politely: bool) -> None:
        """End the process, its children, the channels and the folder."""
        if self._watcher is not None:
            await cancelled(self._watcher)  # from here on the end of the process is our doing
        if self._process is not None:
            if politely and self._client is not None and not self._process.ended:
                await self._ask_to_end(self._process)
            await self._process.close()
        await cancelled(*self._pumps)
        if self._client is not None:
            self._client.stop_channels()
            self._client.context.destroy(linger=0)
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)

    # -- starting and ending ---------------------------------------------------------------------------

    async def _launch(self) -> None:
        import zmq.asyncio  # deferred: heavy
        from jupyter_client import AsyncKernelClient, write_connection_file  # deferred: heavy

        self._directory = socket_dir()
        # Sockets in a folder that only we may enter: on a port of this machine every user could knock.
        file, info = write_connection_file(
            str(self._directory / "connection.json"),
            transport="ipc",
            ip=str(self._directory / "s"),
            key=secrets.token_hex(32).encode(),
            **{f"{name}_port": number for number, name in enumerate(("shell", "iopub", "stdin", "hb", "control"), 1)},
        )
        argv = [part.replace("{connection_file}", file) for part in self._spec.argv]
        own = self._spec.env | {"IPYTHONDIR": str(self._directory / "ipython")}
        if self._sandbox is not None and self._sandbox.encloses:
            entrance = await Entrance.open(self._sandbox, argv, self._environ, private=self._directory, extra=own)
            self._process = await LoggedProcess.enclosed(entrance, self._cwd)
        else:
            own["JPY_PARENT_PID"] = str(os.getpid())  # the kernel ends when we do, however we end
            self._process = await LoggedProcess.start(argv, kernel_environment(self._environ) | own, self._cwd)
        context = zmq.asyncio.Context()
        context.rcvhwm = 0  # we read all the time; beyond a limit zmq would drop messages, the end of a run among them
        self._client = client = AsyncKernelClient(context=context)
        client.load_connection_info(info)
        client.start_channels(hb=False)
        self._watcher = asyncio.create_task(self._watch(self._process))
        self._pumps = [
            asyncio.create_task(self._pump("shell", client.shell_channel.socket)),
            asyncio.create_task(self._pump("iopub", client.iopub_channel.socket)),
            asyncio.create_task(self._pump("stdin", client.stdin_channel.socket)),
            asyncio.create_task(self._pump("control", client.control_channel.socket)),
        ]

    async def _handshake(self) -> dict[str, Any]:
        info = await self._request("kernel_info_request", {})
        while not self._heard.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(0.1):
                    await self._heard.wait()
            info = await self._request("kernel_info_request", {})
        return info

    async def _ask_to_end(self, process: LoggedProcess) -> None:
        self._prepare("control", "shutdown_request", {"restart": False})[1]()
        with suppress(TimeoutError):
            async with asyncio.timeout(POLITE_END):
                await process.wait()

    def _ended_error(self) -> KernelError:
        assert self._process is not None
        return KernelError(
            f"The kernel “{self._spec.name}” could not be started: it {cause_of_end(self._process.returncode or 0)}.",
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
        if self._process is None or self._process.ended:
            raise self._ended_error()
        reply = await self._ask(kind, content)
        if reply is None:
            raise self._ended_error()
        return reply

    def _ask(self, kind: str, content: dict[str, Any]) -> Answer:
        """Ask on the shell channel at once; whoever waits no longer cancels the answer."""
        request_id, send = self._prepare("shell", kind, content)
        answer: Answer = asyncio.get_running_loop().create_future()
        answer.add_done_callback(lambda _: self._replies.pop(request_id, None))
        self._replies[request_id] = answer
        send()
        return answer

    def _prepare(self, channel: Channel, kind: str, content: dict[str, Any]) -> tuple[str, Callable[[], None]]:
        """A message's id, and what sends it: the id has to be known before an answer can come."""
        session = self._client.session
        message = session.msg(kind, content)
        socket = getattr(self._client, f"{channel}_channel").socket

        def send() -> None:
            # Not by the channel: it sends past the asyncio socket, which then may miss, for good, that an answer
            # came at this moment.
            sent = socket.send_multipart(session.serialize(message))
            if sent.done():
                sent.result()

        return message["header"]["msg_id"], send

    async def _pump(self, channel: Channel, socket: Any) -> None:
        while True:
            message = self._parsed(await socket.recv_multipart())
            if channel == "iopub":
                self._heard.set()
            match message:
                case {"msg_type": str(kind), "parent_header": {"msg_id": str(parent)}, "content": dict(content)}:
                    self._deliver_or_drop(channel, kind, parent, content)
            await asyncio.sleep(0)  # a socket that is never empty would not let anyone else run

    def _parsed(self, parts: list[bytes]) -> dict[str, Any] | None:
        if sum(map(len, parts)) > FRAME_LIMIT:
            return None
        session = self._client.session
        try:
            _, frames = session.feed_identities(parts)
            message: dict[str, Any] = session.deserialize(frames)
        except Exception:
            # Boundary: a forged or broken message raises almost anything (ValueError, KeyError, RecursionError).
            return None
        return message

    def _deliver_or_drop(self, channel: Channel, kind: str, parent: str, content: dict[str, Any]) -> None:
        try:
            self._deliver(channel, kind, parent, content)
        except Exception as error:
            # Boundary: a message that we cannot use must not stop those that come after it.
            self._dropped += 1
            if self._dropped == 1:
                _log.warning("a message of the kernel was dropped: %s in %s", type(error).__name__, channel)

    def _deliver(self, channel: Channel, kind: str, parent: str, content: dict[str, Any]) -> None:
        future = self._replies.get(parent) if channel == "shell" else None
        if future is not None and not future.done():
            future.set_result(content)
        run = self._run
        if run is None or parent != run.request_id:
            return  # of an earlier run (a thread that still prints): it must not end up in this one
        match channel:
            case "iopub":
                run.on_iopub(kind, content)
            case "shell" if kind == "execute_reply":
                run.on_reply(content)
            case "stdin":
                run.on_stdin(kind, content)

    # -- the process -----------------------------------------------------------------------------------

    async def _watch(self, process: LoggedProcess) -> None:
        how = cause_of_end(await process.wait())
        await asyncio.sleep(LAST_WORDS)
        for future in self._replies.values():
            if not future.done():
                future.set_result(None)
        if self._run is None or self._run.over.is_set():
            self._on_end(how)
            return
        self._run.finish(RunFinished(status="died", detail=f"The kernel {how}; its state is lost."))
        self._on_end("")
