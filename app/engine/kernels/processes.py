"""Ends of processes: all that a kernel started goes with it, and how it died is said in plain words."""

import os
import signal
from contextlib import suppress

import psutil

SWEEPS = 3
"""A process can start another one while it is being ended, so the session is swept again."""


def end_session(leader: int) -> None:
    """Kill the session leader, its descendants and whatever else belongs to its session."""
    for _ in range(SWEEPS):
        members = _members(leader)
        if not members:
            return
        for pid in members:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def _members(leader: int) -> set[int]:
    members = {pid for pid in psutil.pids() if _session_of(pid) == leader}
    for pid in tuple(members):
        # A child that called setsid() is in another session, but still a descendant.
        with suppress(psutil.Error):
            members.update(child.pid for child in psutil.Process(pid).children(recursive=True))
    return {pid for pid in members if _runs(pid)} - {os.getpid()}


def _session_of(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return -1


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def cause_of_end(returncode: int) -> str:
    """How a process ended, as the end of a sentence: "it ..."."""
    # A negative code is a signal; shells and containers say the same with 128 + signal.
    number = -returncode if returncode < 0 else returncode - 128
    match number:
        case signal.SIGKILL:
            return "was killed (signal 9), perhaps because memory ran out"
        case signal.SIGSEGV | signal.SIGBUS:
            return f"crashed with an invalid memory access (signal {number})"
        case signal.SIGABRT:
            return f"aborted (signal {number})"
        case _ if number in signal.valid_signals():
            return f"was ended by signal {number} ({signal.Signals(number).name})"
        case _:
            return f"ended with exit code {returncode}"
