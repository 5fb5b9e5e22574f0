"""A result that comes when the call is over: the model reads "pending" now, and the result at a later step.

async def train(arguments, output):
    later = output.finish_later()
    start_job(arguments, done=lambda figures: later.finish(f"accuracy {figures.accuracy}"))
    return Pending("The job is in the queue.")
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from oi_tui.app.engine.core.outputs import RichOutput


class Pending(NamedTuple):
    """Returned by a call whose result comes later."""

    message: str = ""
    """What the model and the person read until then."""


class LaterResult:
    """Where the result goes, once, from any thread."""

    def __init__(self, deliver: Callable[[str | RichOutput | None, bool], None]) -> None:
        self._deliver = deliver
        self._given = False

    def finish(self, result: str | RichOutput | None) -> None:
        """Set the result. TypeError unless it is text or a RichOutput, ValueError for a second one."""
        self._give(result, failed=False)

    def fail(self, why: str) -> None:
        """End without a result; the model reads why."""
        self._give(why, failed=True)

    def _give(self, result: Any, *, failed: bool) -> None:
        if not isinstance(result, str | RichOutput | None):
            raise TypeError(f"a result is text or a RichOutput, not {type(result).__name__}")
        if self._given:
            raise ValueError("a call has one result")
        self._given = True
        self._deliver(result, failed)
