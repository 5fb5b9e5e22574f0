"""The runs of a worker, by their requests: the current one, and earlier ones that may still produce output."""

from collections.abc import Callable, Sequence

from oi_tui.app.engine.core.widget_views import FindView
from oi_tui.app.engine.kernels.base import RunRequest
from oi_tui.app.engine.kernels.jupyter_run import JupyterRun
from oi_tui.app.engine.kernels.output_stream import OutputStream
from oi_tui.app.engine.kernels.widget_displays import WidgetDisplays

KEPT_RUNS = 50
"""Runs whose late output is accepted; that of older ones is dropped."""

FindOrphan = Callable[[str], RunRequest | None]
"""The run that a request began, if the program that asked for it is gone."""


class KnownRuns:
    """Finds the run that a message is about."""

    def __init__(
        self,
        doom: Callable[[str], None],
        find_orphan: FindOrphan = lambda request_id: None,
        find_view: FindView = lambda widget: None,
    ) -> None:
        """`doom` ends a kernel that is beyond help; `find_view` knows how its widgets are shown."""
        self._doom = doom
        self._find_orphan = find_orphan
        self._runs: dict[str, JupyterRun] = {}
        self.widgets = WidgetDisplays(find_view)
        """Those of the kernel."""

    def add(self, request_id: str, request: RunRequest) -> OutputStream:
        """A run that is about to begin."""
        return self._add((request_id,), JupyterRun(request, doom=self._doom, widgets=self.widgets))

    def add_messages(self, message_ids: Sequence[str], request: RunRequest) -> OutputStream:
        """A run that is about to begin by messages that get no reply."""
        run = JupyterRun(request, doom=self._doom, widgets=self.widgets, without_reply=len(message_ids))
        return self._add(message_ids, run)

    def _add(self, request_ids: Sequence[str], run: JupyterRun) -> OutputStream:
        self._runs |= dict.fromkeys(request_ids, run)
        while len(self._runs) > max(KEPT_RUNS, len(request_ids)):
            del self._runs[next(iter(self._runs))]
        return run.output

    def find(self, request_id: str) -> JupyterRun | None:
        """The run that this request began, also one whose program is gone."""
        if (run := self._runs.get(request_id)) is not None:
            return run
        if (orphan := self._find_orphan(request_id)) is None:
            return None
        unnamed = self._runs.get("")  # followed already, before anything came of it
        if unnamed is not None and unnamed.request.block_id == orphan.block_id:
            self._runs[request_id] = self._runs.pop("")
        else:
            self.add(request_id, orphan)
        return self._runs[request_id]

    def has(self, block_id: str) -> bool:
        """Whether something came of the run of this block."""
        return any(run.request.block_id == block_id for run in self._runs.values())

    def follow(self, request: RunRequest) -> OutputStream:
        """The run of this block, which was begun by a program that is gone."""
        runs = (run for run in self._runs.values() if run.request.block_id == request.block_id)
        found = next(runs, None)
        output = found.output if found is not None else self.add("", request)
        output.taken = True
        return output

    def mute(self) -> None:
        """The kernel is gone: ignore further messages of these runs."""
        for run in self._runs.values():
            run.output.mute()
