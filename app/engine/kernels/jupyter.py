"""A Jupyter kernel as a `Kernel`: the only module that knows jupyter_client and zmq.

Both are imported when the first kernel is started: they cost 0.14 s. Messages go over sockets in a private folder.
"""

import asyncio
import os
import secrets
from collections.abc import Awaitable
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from typing import Any

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.core.events import Emit, NoticeAdded
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.values import Language
from oi_tui.app.engine.core.variable import FrameQuestion
from oi_tui.app.engine.files.paths import socket_dir
from oi_tui.app.engine.kernels.base import InterruptMeans, RunRequest, RunResult
from oi_tui.app.engine.kernels.channels import Channels
from oi_tui.app.engine.kernels.inspection import (
    LINE,
    CodeNames,
    FrameAnswer,
    Listing,
    VariableDetail,
    frame_request,
    names_in,
    read_detail,
    read_frame,
    read_listing,
    read_names,
)
from oi_tui.app.engine.kernels.jupyter_worker import JupyterWorker, KernelOrigin, Opened
from oi_tui.app.engine.kernels.kernelspecs import LANGUAGE_CHARACTERS, read_kernelspecs
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.message_desk import ReplyFuture
from oi_tui.app.engine.kernels.processes import LoggedProcess
from oi_tui.app.engine.kernels.provisioned import provisioned_origin
from oi_tui.app.engine.kernels.socket_folder import short_name, socket_folder
from oi_tui.app.engine.kernels.spec import FOREIGN, LOCAL, KernelSpec, label_of, program_of, python_spec
from oi_tui.app.engine.kernels.widget_operation import BeginRun, KernelWidgets
from oi_tui.app.engine.kernels.worker import WorkerKernel
from oi_tui.app.engine.sandbox.environments import kernel_environment
from oi_tui.app.engine.sandbox.ladder import require_rung
from oi_tui.app.engine.sandbox.places import program_places
from oi_tui.app.engine.sandbox.profile import Profile
from oi_tui.app.engine.sandbox.sandbox_launch import SandboxLaunch

CONNECTION = "connection.json"
"""The file in the folder of the sockets that has their addresses for a kernel."""

KNOCKING = 10
"""Milliseconds between two attempts to connect: with zmq's usual 100 to 200, a kernel that is ready waits for us."""


def installed_kernelspecs() -> dict[str, str]:
    """The label of every installed kernelspec but our own, and the language that it says it runs."""
    if (read := read_kernelspecs()) is not None:
        return read
    from jupyter_client.kernelspec import KernelSpecManager  # deferred: heavy

    manager = KernelSpecManager()
    specs = manager.get_all_specs()  # but those whose provisioner is missing: of these we tell when they are wanted
    labels = {label_of(name, folder): name for name, folder in manager.find_kernel_specs().items()}
    languages = {name: str(entry["spec"].get("language", ""))[:LANGUAGE_CHARACTERS] for name, entry in specs.items()}
    return {label: languages.get(name, "") for label, name in labels.items() if label}


def kernelspec(label: str) -> KernelSpec:
    """The installed kernelspec; KernelError that names the ones there are if it does not exist."""
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel  # deferred: heavy

    name = label.removeprefix(FOREIGN)
    try:
        spec = KernelSpecManager().get_kernel_spec(name)
    except NoSuchKernel as error:
        if name in KernelSpecManager().find_kernel_specs():
            raise KernelError(
                f"The kernel “{name}” wants to be started by a provisioner that is not installed.",
                hint="Install what brings it beside oi-tui, or choose another kernel.",
            ) from error
        there = ", ".join(["python", "shell", *sorted(installed_kernelspecs())])
        raise KernelError(
            f"There is no kernel “{name}”.",
            hint=f"Installed kernels: {there}. `jupyter kernelspec list` shows where they are.",
        ) from error
    program, *rest = (part.replace("{resource_dir}", spec.resource_dir) for part in spec.argv)
    match spec.metadata:
        case {"kernel_provisioner": {"provisioner_name": str(provisioner)}} if provisioner != LOCAL:
            pass
        case _:
            provisioner = ""
    return KernelSpec(
        name=name,
        argv=(program_of(program, spec.resource_dir), *rest),
        env=dict(spec.env),
        signals=spec.interrupt_mode != "message",
        provisioner=provisioner,
    )


class JupyterKernel(WorkerKernel):
    """Runs source in a Jupyter kernel of its own."""

    def __init__(
        self,
        launch: Launch,
        *,
        language: Language = "python",
        spec: KernelSpec | None = None,
        origin: KernelOrigin | None = None,
    ) -> None:
        """Started here by the `spec`, without one in the Python of the launch; or of an `origin` elsewhere."""
        if origin is None and spec is not None and spec.provisioner:
            launch, origin = replace(launch, sandbox=None), provisioned_origin(launch, spec)  # nothing of ours is there
        origin = origin or local_origin(launch, spec)
        self._told = False
        """Whether the person knows what this kernel cannot do."""
        opening = partial(JupyterWorker.open, launch, origin)
        super().__init__(language, launch, opening, origin.place, elsewhere=origin.elsewhere)

        async def follow(begin: BeginRun, block_id: str, emit: Emit) -> RunResult:
            request = RunRequest("", block_id, emit, self._settings.output_cap, self._spill_dir)
            return await self._result_of(begin(request), "")

        self.widgets = KernelWidgets(lambda: self._worker, lambda: self.state, follow)

    async def run(self, source: str, block_id: str, emit: Emit) -> RunResult:
        await self.start()
        if not self._told and isinstance(self._worker, JupyterWorker) and self._worker.remark:
            self._told = True
            emit(NoticeAdded(block_id=new_id(), level="info", title=self._worker.remark))
        return await super().run(source, block_id, emit)

    def variables(self, known: tuple[str, ...], *, again: bool) -> Awaitable[Listing | None]:
        first = names_in(self._worker.source) if isinstance(self._worker, JupyterWorker) else []
        return read_listing(self._ask("oi_tui_variables", {"first": first, "known": known, "again": again}))

    def peek(self, name: str) -> Awaitable[VariableDetail | None]:
        return read_detail(self._ask("oi_tui_peek", {"name": name}))

    def frame(self, question: FrameQuestion) -> Awaitable[FrameAnswer | None]:
        return read_frame(self._ask("oi_tui_frame", frame_request(question)), question)

    def names(self, source: str, place: int) -> Awaitable[CodeNames | None]:
        before = max(0, place - LINE)
        return read_names(self._ask("oi_tui_names", {"line": source[before:place]}), before)

    def _ask(self, kind: str, question: dict[str, Any]) -> ReplyFuture | None:
        """Never while something runs."""
        if self.state == "idle" and isinstance(self._worker, JupyterWorker):
            return self._worker.inspect(kind, question)
        return None


def local_origin(launch: Launch, spec: KernelSpec | None = None) -> KernelOrigin:
    """A kernel that is a process of ours."""
    if spec is None:
        name, place, signals = "python3", launch.python.describe(launch.cwd), True
    else:
        name, place, signals = spec.name, f"kernel {spec.name}", spec.signals
    # SIGINT would end a kernel that wants to be asked.
    rungs: tuple[InterruptMeans, ...] = ("signal", "second_signal", "request") if signals else ("request",)
    return KernelOrigin(name, place, rungs, partial(open_process, launch, spec))


async def open_process(launch: Launch, asked: KernelSpec | None = None) -> Opened:
    """Start a kernel whose sockets nobody else may open; KernelError if the program or the folder is missing.

    Without `spec` it is the Python of the launch, which may need a lent ipykernel: that reads files.
    """
    spec = asked if asked is not None else await asyncio.to_thread(python_spec, launch.python)
    from jupyter_client import KernelClient, write_connection_file  # deferred: heavy
    from zmq.constants import Event  # deferred: heavy
    from zmq.sugar.context import Context

    async with AsyncExitStack() as stack:
        process: LoggedProcess | None = None
        enclosed: SandboxLaunch | None = None
        if launch.enclosure is not None:
            profile = launch.enclosure
            if asked is not None:
                profile = replace(profile, readable=(*profile.readable, *program_places(spec.argv[0])))
            enclosed = await _prepare_sandbox(launch, profile, spec)
            stack.push_async_callback(enclosed.close)
            process = await LoggedProcess.start_enclosed(enclosed, launch.cwd)
            stack.push_async_callback(process.close)
            ours, theirs = enclosed.folder, enclosed.folder_inside
        else:
            ours = stack.enter_context(socket_folder())
            theirs = ours if asked is None else stack.enter_context(short_name(ours))
        # Sockets in a folder that only we may enter: on a port of this machine every user could knock.
        file, info = write_connection_file(
            str(ours / CONNECTION),
            transport="ipc",
            ip=str(theirs / "s"),
            key=secrets.token_hex(32).encode(),
            **{f"{name}_port": number for number, name in enumerate(("shell", "iopub", "stdin", "hb", "control"), 1)},
        )
        context = Context()
        context.rcvhwm = 0  # we read all the time; beyond a limit zmq would drop messages, the end of a run among them
        context.sndhwm = 0  # we send little; beyond a limit this process would wait for a kernel that reads nothing
        context.reconnect_ivl = KNOCKING
        client = KernelClient(context=context)
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
