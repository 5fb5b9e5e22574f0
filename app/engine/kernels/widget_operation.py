"""One operation of a widget as a run, so that it is sealed, watched and interrupted like any other."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol, runtime_checkable

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.core.events import Emit
from oi_tui.app.engine.core.outcomes import KernelState
from oi_tui.app.engine.core.values import Confinement
from oi_tui.app.engine.core.widget_controls import ControlValue, WidgetControl
from oi_tui.app.engine.kernels.base import InterruptMeans, Kernel, RunRequest, RunResult
from oi_tui.app.engine.kernels.jupyter_worker import JupyterWorker
from oi_tui.app.engine.kernels.output_stream import OutputStream

BeginRun = Callable[[RunRequest], OutputStream]
"""Hands something to a kernel, and gives the run that came of it."""


class KernelWidgets:
    """The widgets of one kernel, and how they are operated there."""

    def __init__(
        self,
        worker: Callable[[], object],
        state: Callable[[], KernelState],
        follow: Callable[[BeginRun, str, Emit], Awaitable[RunResult]],
    ) -> None:
        """The `worker` of now; `follow` begins a run for a block and waits for its end."""
        self._worker = worker
        self._state = state
        self._follow = follow

    def controls(self, names: Iterable[str]) -> tuple[WidgetControl, ...]:
        """The controls of these widgets as they are now; none for unknown widgets."""
        worker = self._worker()
        return worker.runs.widgets.controls(names) if isinstance(worker, JupyterWorker) else ()

    def check(self, control: WidgetControl, value: ControlValue) -> None:
        """KernelError, and why, if it cannot have this value."""
        worker = self._worker()
        if isinstance(worker, JupyterWorker):
            worker.runs.widgets.messages_for(control, value)

    async def operate(self, control: WidgetControl, value: ControlValue, block_id: str, emit: Emit) -> RunResult:
        """Set it, or press it, and wait until what hangs on it has run; KernelError if that cannot be."""
        worker = self._worker()
        if self._state() != "idle" or not isinstance(worker, JupyterWorker):
            raise KernelError("The kernel cannot be asked now: a widget can be operated while it is idle.")
        return await self._follow(lambda request: worker.operate(request, control, value), block_id, emit)


@runtime_checkable
class WidgetSource(Protocol):
    """A kernel whose widgets are known, and can be operated."""

    widgets: KernelWidgets


class WidgetOperation:
    """A `Runner` for this one operation, in the kernel as it is: it starts none."""

    def __init__(self, kernel: Kernel, control: WidgetControl, value: ControlValue) -> None:
        """The kernel is a `WidgetSource` as well."""
        self._kernel = kernel
        self._control = control
        self._value = value

    @property
    def confinement(self) -> Confinement:
        """The sandbox of the kernel."""
        return self._kernel.confinement

    @property
    def place(self) -> str:
        return self._kernel.place

    @property
    def elsewhere(self) -> bool:
        return self._kernel.elsewhere

    @property
    def state(self) -> KernelState:
        return self._kernel.state

    @property
    def generation(self) -> int:
        return self._kernel.generation

    async def start(self) -> None:
        """KernelError if it is not there any more: a fresh one does not have the widget."""
        if self._kernel.state in ("cold", "dead"):
            raise KernelError(
                "The kernel of this widget has ended.", hint="Run the code again that made the widget, then operate it."
            )

    async def run(self, source: str, block_id: str, emit: Emit) -> RunResult:
        """The `source` says in words what is done; it is not run."""
        assert isinstance(self._kernel, WidgetSource)
        return await self._kernel.widgets.operate(self._control, self._value, block_id, emit)

    async def answer(self, text: str) -> None:
        await self._kernel.answer(text)

    async def interrupt(self, *, restart: bool = True) -> InterruptMeans:
        return await self._kernel.interrupt(restart=restart)
