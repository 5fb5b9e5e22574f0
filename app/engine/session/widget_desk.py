"""Widgets on the screen that operates them: their controls, sent again after each run, and each operation as a run."""

from collections.abc import Callable

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.core.events import KernelChanged
from oi_tui.app.engine.core.kernel_looks import WatchWidgets, WidgetsFound
from oi_tui.app.engine.core.protocol import Reply
from oi_tui.app.engine.core.values import Language
from oi_tui.app.engine.core.variable import Telling
from oi_tui.app.engine.core.widget_controls import OperateWidget, WidgetControl
from oi_tui.app.engine.kernels.base import Kernel, KernelSource, Runner
from oi_tui.app.engine.kernels.widget_operation import WidgetOperation, WidgetSource
from oi_tui.app.engine.text.operable_widgets import operation_in_words

MOST_WATCHED, LONGEST_NAME = 100, 200
"""Displays of one block that are reported, and characters of their names."""


class WidgetDesk:
    """Knows which widgets a front end looks at."""

    def __init__(self, kernels: KernelSource, tell: Callable[[Reply], None]) -> None:
        self._kernels = kernels
        self._tell = tell
        self._watched: WatchWidgets | None = None

    def watch(self, verb: WatchWidgets) -> None:
        """Report these widgets from now on; none without names."""
        names = tuple(name for name in verb.names[:MOST_WATCHED] if len(name) <= LONGEST_NAME)
        self._watched = WatchWidgets(language=verb.language, names=names) if names else None
        self._tell_state()

    def follow(self, event: KernelChanged) -> None:
        """A kernel changed: so may have its widgets."""
        if self._watched is not None and event.language == self._watched.language:
            self._tell_state(busy=event.state not in ("idle", "dead", "cold"))

    def operation(self, verb: OperateWidget) -> tuple[Language, str, Runner]:
        """What is run for it: the language, a source that says it in words, and what runs it; KernelError if it cannot
        be done, and why."""
        kernel = self._kernel(verb.language)
        control = next((one for one in _controls(kernel, (verb.name,)) if one.name == verb.name), None)
        if kernel is None or control is None or not isinstance(kernel, WidgetSource):
            raise KernelError(
                f"The {verb.language} kernel does not have this widget any more.",
                hint="Run the code again that made it, then operate it.",
            )
        kernel.widgets.check(control, verb.value)  # refused before it is a run
        return verb.language, operation_in_words(control, verb.value), WidgetOperation(kernel, control, verb.value)

    def _tell_state(self, *, busy: bool = False) -> None:
        if (watched := self._watched) is None:
            return
        kernel = self._kernel(watched.language)
        telling = "busy" if busy else _obstacle(kernel)
        controls = () if telling else _controls(kernel, watched.names)
        if not telling and not controls:
            telling = "gone"
        self._tell(WidgetsFound(names=watched.names, telling=telling or "told", controls=controls))

    def _kernel(self, language: Language) -> Kernel | None:
        return next((one for one in self._kernels.started_kernels() if one.language == language), None)


def _obstacle(kernel: Kernel | None) -> Telling | None:
    if kernel is None or kernel.state == "cold":
        return "cold"
    if kernel.state == "dead":
        return "dead"
    return None if kernel.state == "idle" else "busy"


def _controls(kernel: object, names: tuple[str, ...]) -> tuple[WidgetControl, ...]:
    return kernel.widgets.controls(names) if isinstance(kernel, WidgetSource) else ()
