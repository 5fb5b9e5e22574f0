"""What the session knows of a kernel: a Protocol and the values that come out of a run."""

import re
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

import msgspec

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.core.events import (
    ActiveLineChanged,
    AnyEvent,
    Emit,
    InputRequested,
    KernelChanged,
    NoticeAdded,
    OutputAdded,
    OutputDropped,
    OutputKept,
    OutputsCleared,
    OutputTailMoved,
    OutputUpdated,
)
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.kernel_choice import KernelChoice, KernelMove
from oi_tui.app.engine.core.outcomes import ExecutionStatus, KernelState
from oi_tui.app.engine.core.values import Confinement, Language, Value

InterruptMeans = Literal["signal", "second_signal", "request", "kill", "restart", "ignored", "nothing_ran"]
"""Which rung of the ladder ended the run: SIGINT, another one to its subprocesses as well, a message, SIGKILL for what
runs in the foreground of a shell. After `restart` the kernel's state is lost; `ignored`: none did."""


class RunRequest(NamedTuple):
    """The code to run, and the destination of its events."""

    source: str
    block_id: str
    emit: Emit
    cap: int
    """Characters of output that are passed on as they come."""
    spill_dir: Path | None
    """Where a long output is kept, None if nowhere."""


class RunResult(Value, frozen=True, kw_only=True, tag=True):
    """How a run ended. `detail` says in plain words what happened to a kernel that died."""

    status: ExecutionStatus
    exit_code: int | None = None
    detail: str = ""


def in_block(event: AnyEvent, block_id: str) -> AnyEvent:
    """An event of a run as one of another block; "" leaves out which. A notice is a block of its own."""
    match event:
        case NoticeAdded():
            return msgspec.structs.replace(event, block_id=new_id() if block_id else "")
        case InputRequested():
            return msgspec.structs.replace(event, block_id=block_id, request_id=event.request_id or new_id())
        case (
            ActiveLineChanged()
            | OutputAdded()
            | OutputUpdated()
            | OutputsCleared()
            | OutputTailMoved()
            | OutputKept()
            | OutputDropped()
        ):
            return msgspec.structs.replace(event, block_id=block_id)
        case _:
            raise TypeError(f"{type(event).__name__} is nothing that a run says.")


class ServerFile(Value, frozen=True, kw_only=True):
    """A file on the server."""

    path: str
    """Relative to the folder where the server's files begin, which is where its kernels start."""
    host: str
    data: bytes


class Runner(Protocol):
    """Runs actions, one at a time: a kernel its code, a tool its calls."""

    @property
    def confinement(self) -> Confinement:
        """The sandbox of what it runs; known before it starts."""
        ...

    @property
    def place(self) -> str:
        """Where it runs, as shown to the user: "Python 3.12.4 in .venv"; "" if there is nothing to show."""
        ...

    @property
    def elsewhere(self) -> bool:
        """Whether no sandbox of ours is around it, and files may be others than here: on a server, or started by a
        provisioner, which may have started it anywhere."""
        ...

    @property
    def state(self) -> KernelState: ...

    @property
    def generation(self) -> int:
        """How often it was started; 0 before the first start."""
        ...

    async def start(self) -> None:
        """Start it if it is cold or dead; KernelError (with the end of its stderr) if that fails."""
        ...

    async def run(self, source: str, block_id: str, emit: Emit) -> RunResult:
        """Run the source byte for byte, starting the kernel if needed, and return when it has ended. Events of this
        block are emitted meanwhile: outputs, the active line, `InputRequested` (call `answer`, or interrupt), and
        notices if the kernel stops responding. Output of its tasks, threads and subprocesses after the end is emitted
        too, a few times a second at most. Cancel it to abandon the run, which is interrupted then.
        """
        ...

    async def answer(self, text: str) -> None:
        """Give the line that the run waits for; without a waiting run it does nothing."""
        ...

    async def interrupt(self, *, restart: bool = True) -> InterruptMeans:
        """Stop the run by ever harder means, each with bounded time; says which one did it.

        The last one, a restart, costs the kernel's state; without `restart` it is not used.
        """
        ...


def kernel_change(language: Language, runner: Runner, state: KernelState, place: str = "") -> KernelChanged:
    """The event that this kernel is in that state now."""
    return KernelChanged(
        language=language, state=state, generation=runner.generation, detail=place, elsewhere=runner.elsewhere
    )


class Kernel(Runner, Protocol):
    """Runs source of one language and keeps state between runs."""

    @property
    def language(self) -> Language:
        """Name of the language that it runs."""
        ...

    async def restart(self) -> None:
        """A fresh process: all state is lost, `generation` counts up."""
        ...

    async def close(self) -> None:
        """End the process and everything that it started; idempotent."""
        ...


ComeBack = Literal["back", "runs", "gone"]
"""Whether the kernel still exists with its variables; it does, and the run in progress when we left continues or has
ended; it is gone."""


class RejoinableKernel(Kernel, Protocol):
    """A kernel on a server, which may outlive us."""

    async def come_back(self, block_id: str, source: str) -> ComeBack:
        """Reconnect to the kernel that this session left alive. `block_id` is the run that it did not see the end of,
        "" if there is none. KernelError if the server cannot be reached: the next run tries again."""
        ...

    async def rejoin(self, emit: Emit) -> RunResult:
        """Follow a run that continued without us to its end, as `run` does."""
        ...


class KernelSource(Protocol):
    """Where the session gets its kernels."""

    @property
    def languages(self) -> tuple[Language, ...]:
        """The languages that can be run here, best first."""
        ...

    @property
    def surroundings(self) -> str:
        """For the model: what code in them can reach and change; "" if that is not known."""
        ...

    @property
    def remark(self) -> str:
        """A remark about where code will run, for the person; "" if there is none."""
        ...

    async def settle(self) -> KernelError | None:
        """Find out what can be run, if that needs a request; reports once what cannot be run and why."""
        ...

    async def read_file(self, path: str) -> ServerFile:
        """A file of the server on which code runs; KernelError if there is no server, or no such file."""
        ...

    async def write_file(self, path: str, data: bytes) -> str:
        """Make a file on that server, never over another one; its host. KernelError if it cannot be."""
        ...

    async def use(self, name: str, *, agreed: bool = False) -> KernelMove:
        """Switch Python to another kernel and end the one before. SettingsError if it does not exist or cannot run
        Python, and without `agreed` if somebody else started it."""
        ...

    async def look_around(self) -> None:
        """Find out which languages there are, if that needs a request; KernelError if nobody answers."""
        ...

    def left_alive(self) -> tuple[RejoinableKernel, ...]:
        """Kernels on servers that the session had when it was left, and that may still live."""
        ...

    def hand_over(self, session_id: str, heir: str) -> None:
        """Another session takes over these kernels."""
        ...

    async def choices(self, server: str = "") -> tuple[KernelChoice, ...]:
        """What Python code can run in, the one in use first; or what is on this server, which is asked. KernelError or
        SettingsError if that is not known."""
        ...

    async def installer(self, name: str) -> tuple["Kernel", str]:
        """What installs ipykernel in this environment, not started and the caller's to close, and the command for it.
        SettingsError if there is nothing to install."""
        ...

    def canonical(self, label: str) -> Language | None:
        """The language of a fence label, None if it cannot be run here."""
        ...

    def get(self, language: Language) -> Kernel:
        """The kernel of this language, made if need be; KernelError naming those there are."""
        ...

    def pip_installer(self, arguments: tuple[str, ...]) -> Kernel:
        """What runs `pip install` with these arguments, whatever it is given to run: beside the kernels, in a sandbox
        that may write to the environment and ask its index. To be closed afterwards."""
        ...

    def fresh_kernel(self) -> Kernel:
        """A Python kernel beside those of the session, not started and the caller's to close."""
        ...

    def tool_kernel(self, *, writes: bool, network: bool) -> Kernel:
        """The Python kernel that calls functions of tool files which may do this: beside those that run code, in their
        sandbox, which is narrower where such functions need less."""
        ...

    def started_kernels(self) -> tuple[Kernel, ...]:
        """The kernels that have been started."""
        ...


_ADDRESS = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*://)(?:[^/\s@]*@)*([^?#\s]*)\S*")


def public_place(place: str) -> str:
    """The same without what may be secret in an address: who logs in, and with what, and all behind `?` or `#`."""
    return _ADDRESS.sub(r"\1\2", place)
