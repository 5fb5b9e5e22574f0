"""Work of a known size."""

import time


def compute(seconds: float) -> None:
    """Use the processor for so long, however busy the machine is."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
