"""A run that is over at once is shown once: with its result, and not before as one that runs.

To show that something runs costs a frame as dear as the result, which comes while it is drawn: three quarters of the
time from Enter to the result of `1+1` went into it. So what says nothing but that a run began waits for a moment, and
is passed on with what follows.
"""

from collections.abc import Callable, Sequence

from oi_tui.app.engine.core.blocks import Action, Block
from oi_tui.app.engine.core.events import DecisionRequested, InputRequested
from oi_tui.app.engine.core.protocol import ViewReply
from oi_tui.app.frontend.bridge import View
from oi_tui.app.frontend.session_status import RUNNING
from oi_tui.widgets.status import Status

BRIEF = 0.08
"""Seconds for which a run is not shown, unless it has something to show."""


class BriefRuns:
    """A view in front of another one. Blocks and status reach that in order; those that begin to run, later."""

    def __init__(self, view: View, call_after: Callable[[float, Callable[[], None]], object]) -> None:
        """`call_after` calls a function after this many seconds, if the view still exists."""
        self._view = view
        self._call_after = call_after
        self._block: tuple[int, Block] | None = None
        """What began to run, and its place."""
        self._status: Status | None = None
        """That it does."""
        self._seen = ""
        """Id of the block that was shown as one that runs."""
        self._shown: tuple[bool, int] = False, 0
        """Whether the view shows that something runs, and how many prompts it shows that wait."""
        self.is_waiting = False
        """Whether something is going to be shown."""

    @property
    def holds_run(self) -> bool:
        """Whether something runs, and the view does not show it yet."""
        return self._status is not None

    def reset(self, blocks: Sequence[Block]) -> None:
        self._block = None
        self._view.reset(blocks)

    def put(self, index: int, block: Block) -> None:
        if self._block is not None and self._block[0] != index:
            self._show_block()
        if isinstance(block, Action) and block.state == "running" and block.id != self._seen:
            if not block.outputs:
                self._block = index, block
                self._wait()
                return
            self._seen = block.id
        self._block = None
        self._view.put(index, block)

    def show_status(self, status: Status, queued: int) -> None:
        runs = _says_running(status)
        if runs and self._shown == (False, queued):
            self._status = status
            self._wait()
        else:
            self._status, self._shown = None, (runs, queued)
            self._view.show_status(status, queued)

    def ask(self, decision: DecisionRequested | None, question: InputRequested | None) -> None:
        if decision is not None or question is not None:
            self._show_block()
        self._view.ask(decision, question)

    def show(self, reply: ViewReply) -> None:
        self._view.show(reply)

    def _wait(self) -> None:
        if not self.is_waiting:
            self.is_waiting = True
            self._call_after(BRIEF, self._show_all)

    def _show_all(self) -> None:
        self.is_waiting = False
        self._show_block()
        if self._status is not None:
            status, self._status = self._status, None
            self._shown = True, self._shown[1]
            self._view.show_status(status, self._shown[1])

    def _show_block(self) -> None:
        if self._block is not None:
            (index, block), self._block = self._block, None
            self._seen = block.id
            self._view.put(index, block)


def _says_running(status: Status) -> bool:
    return status.activity.word == RUNNING or any(state == "busy" for _, state in status.kernels)
