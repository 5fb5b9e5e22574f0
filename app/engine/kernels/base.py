"""What the session knows of a kernel: a Protocol and the values that come out of a run."""

from collections.abc import AsyncGenerator, Callable
from typing import Literal, Protocol

from oi_tui.app.engine.core.events import ExecutionStatus, KernelState
from oi_tui.app.engine.core.outputs import Output, StreamName, Tail, WholeOutput
from oi_tui.app.engine.core.values import Confinement, Language, Value

InterruptMeans = Literal["signal", "second_signal", "request", "kill", "restart", "ignored", "nothing_ran"]
"""Which rung of the ladder ended the run: SIGINT, another one to its subprocesses as well, a message, SIGKILL for what
runs in the foreground of a shell. After `restart` the kernel's state is lost; `ignored`: none did."""


class OutputArrived(Value, frozen=True, kw_only=True, tag=True):
    """The run put something out."""

    output: Output


class DisplayUpdated(Value, frozen=True, kw_only=True, tag=True):
    """An earlier display, perhaps of an earlier run, changed."""

    display_id: str
    output: Output


class OutputCleared(Value, frozen=True, kw_only=True, tag=True):
    """`clear_output`; a `wait=True` has already been waited for."""


class TailMoved(Value, frozen=True, kw_only=True, tag=True):
    """A stream goes on beyond the cap: its end now. No more of its text arrives, unless the output is cleared."""

    name: StreamName
    tail: Tail


class OutputFiled(Value, frozen=True, kw_only=True, tag=True):
    """All text of the run goes to this file from now on, or not any more."""

    whole: WholeOutput


class OutputCapped(Value, frozen=True, kw_only=True, tag=True):
    """`characters` of output are neither shown nor in a file."""

    characters: int


class LineReached(Value, frozen=True, kw_only=True, tag=True):
    """The run is at this line (1-based) of its source."""

    line: int


class InputWanted(Value, frozen=True, kw_only=True, tag=True):
    """The run waits for a line: call `Kernel.answer`, or interrupt."""

    prompt: str
    password: bool = False


class SignsChanged(Value, frozen=True, kw_only=True, tag=True):
    """The process that runs this does not respond, or (`responds`) there is something else to know while it runs."""

    text: str
    responds: bool = False


class RunFinished(Value, frozen=True, kw_only=True, tag=True):
    """Last value of every run. `detail` says in plain words what happened to a kernel that died."""

    status: ExecutionStatus
    exit_code: int | None = None
    detail: str = ""


RunEvent = (
    OutputArrived
    | DisplayUpdated
    | OutputCleared
    | TailMoved
    | OutputFiled
    | OutputCapped
    | LineReached
    | InputWanted
    | SignsChanged
    | RunFinished
)

Afterwards = Callable[[RunEvent], None]
"""Told what a run still puts out after its end (a task, a thread, a subprocess of it), a few times a second at most."""


class Kernel(Protocol):
    """Runs source of one language and keeps state between runs. One run at a time."""

    @property
    def language(self) -> Language:
        """What it runs."""
        ...

    @property
    def confinement(self) -> Confinement:
        """What holds back the code that it runs; known before it is started."""
        ...

    @property
    def state(self) -> KernelState:
        """Where it stands now."""
        ...

    @property
    def generation(self) -> int:
        """How often it was started; 0 before the first start."""
        ...

    async def start(self) -> None:
        """Start it if it is cold or dead; KernelError (with the end of its stderr) if that fails."""
        ...

    def run(self, source: str, *, afterwards: Afterwards | None = None) -> AsyncGenerator[RunEvent, None]:
        """Run the source byte for byte, starting the kernel if need be; ends with one `RunFinished`.

        Close the generator (`contextlib.aclosing`) to abandon the run: it is interrupted then. `afterwards` is told
        what comes of a run that was consumed to its end.
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

    async def restart(self) -> None:
        """A fresh process: all state is lost, `generation` counts up."""
        ...

    async def close(self) -> None:
        """End the process and everything that it started; idempotent."""
        ...


class KernelSource(Protocol):
    """Where the session gets its kernels."""

    @property
    def languages(self) -> tuple[Language, ...]:
        """What can be run here, best first."""
        ...

    @property
    def surroundings(self) -> str:
        """For the model: what code in them can reach and change; "" if that is not known."""
        ...

    def canonical(self, label: str) -> Language | None:
        """The language of a fence label, None if it cannot be run here."""
        ...

    def get(self, language: Language) -> Kernel:
        """The kernel of this language, made if need be; KernelError naming those there are."""
        ...

    def started_kernels(self) -> tuple[Kernel, ...]:
        """Those that have been started."""
        ...
