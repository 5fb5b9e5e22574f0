"""What a voice reads well: times, counts and states in whole words."""

from collections.abc import Callable

from oi_tui.app.engine.core.outcomes import ExecutionStatus, StopReason
from oi_tui.app.engine.text.words import quantity

REMINDERS = (10.0, 60.0)
"""Seconds after which something that still runs is printed; then each `REPEAT`."""

REPEAT = 300.0

ENDED: dict[ExecutionStatus, str] = {
    "ok": "ended, ok",
    "error": "ended with an error",
    "interrupted": "was interrupted",
    "died": "ended with its kernel: all variables are lost",
}

STOPPED: dict[StopReason, str] = {
    "done": "Done.",
    "interrupted": "The turn was interrupted.",
    "stopped": "The turn was stopped.",
    "paused": "Paused. /retry continues.",
    "step_cap": "The turn ended: too many steps. /retry continues.",
    "budget": "The turn ended: the budget is spent. /budget shows and changes it.",
    "repeated": "The turn ended: the same happened again.",
    "refused": "The turn ended: code was refused.",
    "unfit": "The turn ended: the answer does not fit the schema.",
    "model_error": "The turn ended: the model failed. /retry asks it again.",
    "kernel_error": "The turn ended: the kernel failed.",
    "engine_lost": "The turn ended with the engine.",
}


def spoken_time(seconds: float) -> str:
    """`0.4 seconds`, `1 second`, `12 seconds`, `5 minutes`, `2.5 hours`."""
    if seconds < 9.95 and round(seconds, 1) != round(seconds):
        return f"{seconds:.1f} seconds"
    if seconds < 59.5:
        return quantity(round(seconds), "second")
    if seconds < 5_400:
        return quantity(round(seconds / 60), "minute")
    hours = round(seconds / 3600, 1)
    return f"{hours:g} {'hour' if hours == 1 else 'hours'}"


class Patience:
    """Says that something still runs: after ten seconds, a minute, then each five minutes."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._what = ""
        self._since = self._next = 0.0

    def begin(self, what: str) -> None:
        """Something runs from now: `Code 3 is still running`."""
        self._what, self._since, self._next = what, self._clock(), REMINDERS[0]

    def end(self) -> None:
        self._what = ""

    def reminder(self) -> str:
        """What to say now, without a full stop; "" for nothing."""
        passed = self._clock() - self._since
        if not self._what or passed < self._next:
            return ""
        later = [at for at in REMINDERS if at > passed]
        self._next = later[0] if later else (passed // REPEAT + 1) * REPEAT
        return f"{self._what}, {spoken_time(passed)}"
