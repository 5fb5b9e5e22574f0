"""The end of a call that hangs.

In the main thread, SIGALRM breaks it off, also out of `sleep` and out of reading. C code that never comes back to
Python cannot be broken off from within the process: then only the end of the process helps (Ctrl+\\).
"""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class TookTooLong(BaseException):
    """No `Exception`: what hangs in a loop of `try ... except Exception` is ended, too."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """TookTooLong inside, when the time is over. In other threads than the main one nothing happens. A timer of
    somebody else's that would ring before keeps its turn; one that rings later goes on afterwards."""
    before = signal.getitimer(signal.ITIMER_REAL)[0] if hasattr(signal, "getitimer") else 0.0
    if threading.current_thread() is not threading.main_thread() or 0 < before <= seconds:
        yield
        return
    inside = True

    def ring(number: int, frame: Any) -> None:
        if inside:
            raise TookTooLong

    began, previous = time.monotonic(), signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, 0.1)  # again and again: a first one may be swallowed
        yield
    finally:
        inside = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
        if before:
            signal.setitimer(signal.ITIMER_REAL, max(0.001, before - (time.monotonic() - began)))
