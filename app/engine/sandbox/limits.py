"""Limits of a profile as the system knows them. They are set inside the sandbox, right before the code starts."""

from collections.abc import Mapping

import psutil

from oi_tui.app.engine.sandbox.profile import Limits

SHARE = 0.75
"""Of the machine's memory, where the settings do not say how much: the rest keeps the machine usable."""


def usual_memory() -> int:
    """Bytes that one process may ask for where nothing was set."""
    return int(psutil.virtual_memory().total * SHARE)


def rlimits(limits: Limits) -> Mapping[str, int]:
    """Names of Python's `resource` module and their values.

    Memory is RLIMIT_DATA, which counts private writable memory. RLIMIT_AS would count address space too, and numerical
    libraries reserve many times what they use.
    """
    chosen = {
        "RLIMIT_DATA": limits.memory,
        "RLIMIT_NPROC": limits.processes,
        "RLIMIT_FSIZE": limits.file_size,
        "RLIMIT_NOFILE": limits.open_files,
        "RLIMIT_CPU": limits.cpu,
    }
    return {name: value for name, value in chosen.items() if value} | {"RLIMIT_CORE": 0}
