"""Parts of frames, for a table that somebody pages through. A kernel is asked only while nothing runs in it."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Protocol, TypeVar

from oi_tui.app.engine.core.events import KernelChanged
from oi_tui.app.engine.core.kernel_looks import FrameSeen, ReadFrame
from oi_tui.app.engine.core.protocol import Reply
from oi_tui.app.engine.core.variable import Telling
from oi_tui.app.engine.kernels.base import Kernel, KernelSource
from oi_tui.app.engine.kernels.inspection import FrameAnswer, FrameSource, Inspectable

Answered = TypeVar("Answered")

AT_A_TIME = 8
"""Questions that a kernel may be working on; more are answered with `silent`."""


class Ask(Protocol):
    """Has a question answered when it can be: `tell` gets the answer, None where there is none."""

    def __call__(self, question: Awaitable[Answered | None], tell: Callable[[Answered | None], None]) -> None: ...


class FrameReader:
    """Asks kernels for parts of frames and tells what they answer."""

    def __init__(self, kernels: KernelSource, tell: Callable[[Reply], None], ask: Ask) -> None:
        self._kernels = kernels
        self._tell = tell
        self._ask = ask
        self._open = 0
        """Questions without an answer."""
        self._waiting: ReadFrame | None = None
        """What is asked when its kernel is idle again."""

    def read(self, verb: ReadFrame) -> None:
        """Ask now, or as soon as the kernel can be asked."""
        kernel = next((one for one in self._kernels.started_kernels() if one.language == verb.language), None)
        told = partial(FrameSeen, request_id=verb.request_id)
        asked = askable_kernel(kernel)
        self._waiting = verb if asked == "busy" else None
        if isinstance(asked, str):
            self._tell(told(telling=asked))
        elif not isinstance(asked, FrameSource) or self._open == AT_A_TIME:
            self._tell(told(telling="silent"))
        else:
            self._open += 1
            self._ask(asked.frame(verb.question), partial(self._pass_on, verb.request_id))

    def follow(self, event: KernelChanged) -> None:
        """A kernel changed; what waits for it is asked before it runs anything else."""
        waits = self._waiting is not None and event.language == self._waiting.language
        if self._waiting is not None and waits and event.state in ("idle", "dead", "cold"):
            self.read(self._waiting)

    def _pass_on(self, request_id: str, answer: FrameAnswer | None) -> None:
        self._open -= 1
        told = partial(FrameSeen, request_id=request_id)
        if answer is None:
            self._tell(told(telling="silent"))
        elif answer.state == "gone":
            self._tell(told(telling="gone"))
        else:
            self._tell(told(problem=answer.problem, page=answer.page, figures=answer.figures))


def askable_kernel(kernel: Kernel | None) -> Inspectable | Telling:
    """The kernel, or why it is not to be asked."""
    if kernel is None or kernel.state == "cold":
        return "cold"
    if kernel.state == "dead":
        return "dead"
    if not isinstance(kernel, Inspectable):
        return "silent"
    return kernel if kernel.state == "idle" else "busy"
