"""The end of a call that hangs.

In the main thread, SIGALRM interrupts it, also in `sleep` and while it reads. C code that never comes back to Python
cannot be interrupted from within the process: then only the end of the process helps (Ctrl+\\).
"""

import signal
import threading
import time
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any


class TookTooLong(BaseException):
    """No `Exception`: what hangs in a loop of `try ... except Exception` is ended, too."""


def call_within(seconds: float, function: Callable[..., Any], *arguments: object) -> Any:
    """What the function returns; TookTooLong inside it, when the time is over. In other threads than the main one there
    is no limit. An earlier timer of somebody else still fires in time; a later one is restored afterwards."""
    before = signal.getitimer(signal.ITIMER_REAL)[0]
    if threading.current_thread() is not threading.main_thread() or 0 < before <= seconds:
        return function(*arguments)
    began, previous = time.monotonic(), signal.signal(signal.SIGALRM, _ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, 0.1)  # again and again: the first one may be swallowed
        return _perform(function, arguments)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
        if before:
            signal.setitimer(signal.ITIMER_REAL, max(0.001, before - (time.monotonic() - began)))


def _perform(function: Callable[..., Any], arguments: Sequence[object]) -> Any:
    return function(*arguments)


def _ring(number: int, frame: FrameType | None) -> None:
    """Raise below `_perform` only: a moment later, the call has ended, and nobody would expect it."""
    while frame is not None:
        if frame.f_code is _perform.__code__:
            raise TookTooLong
        frame = frame.f_back
