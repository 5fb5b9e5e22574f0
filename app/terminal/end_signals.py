"""Signals that end the program as a key does: the terminal is put back and the session saved."""

import asyncio
import os
import signal
import threading
from collections.abc import Callable

from oi_tui.app.terminal.skeleton import SIGNALS

LAST_RESORT = 12.0
"""Seconds that leaving may take after a signal; the engine has 8 of them to save and end."""


def leave_at_signals(loop: asyncio.AbstractEventLoop, leave: Callable[[int], object]) -> None:
    """Call `leave` with the exit code in the loop at a signal; if that does not come to an end, end: where the
    terminal is gone, writing to it blocks for ever.

    Not by a handler of the loop, because it is the loop that may be blocked. The engine saves by itself.
    """

    def end(number: int, _: object) -> None:
        last_resort = threading.Timer(LAST_RESORT, os._exit, [128 + number])
        last_resort.daemon = True
        last_resort.start()
        loop.call_soon_threadsafe(leave, 128 + number)  # wakes a loop that sleeps: nothing else may

    for number in SIGNALS:
        signal.signal(number, end)


def restore_signals() -> None:
    """Let signals end the program at once again."""
    for number in SIGNALS:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
