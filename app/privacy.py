"""What a process of ours does against being looked into by other processes of the same person, sandbox or not."""

import ctypes

_SET_DUMPABLE = 4
"""PR_SET_DUMPABLE of `prctl`."""


def protect_process() -> None:
    """Keep processes without special rights from reading our environment and our memory.

    Where the system knows no `prctl` nothing is done. Children are not affected once they run a program of theirs.
    """
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(_SET_DUMPABLE, 0, 0, 0, 0)
