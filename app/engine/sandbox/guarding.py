"""The part of the plan for `inside.py` about the guard of names, and whether this system supports one."""

import marshal
import os
import platform
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from oi_tui.app.engine.sandbox import places, seccomp
from oi_tui.app.engine.sandbox.profile import Profile
from oi_tui.app.engine.sandbox.rungs import Rung

NEEDED = (5, 14)
"""First version of Linux where an opened descriptor can be handed over in one step."""

NOBODY_LOOKS = 2
"""From this one on, the setting of Yama keeps a process from reading in its children."""

GUARD, FORWARDER = ("caller", "opening", "name_guard"), "forwarder"
"""Modules that are run inside only, and need not even be importable on other systems. In the order in which they need
each other."""


def guard_obstacle(release: str = "", yama: str | None = None) -> str:
    """Why this system supports no guard of names, in plain words; "" if it does. The default is the running kernel's
    release."""
    numbers = tuple(map(int, re.findall(r"\d+", release or os.uname().release)[:2]))
    if numbers < NEEDED:
        return "Linux is older than 5.14"
    if yama is None:
        try:
            yama = Path("/proc/sys/kernel/yama/ptrace_scope").read_text(encoding="ascii")
        except OSError:
            yama = "0"
    return "Yama keeps processes from reading in their children" if int(yama) >= NOBODY_LOOKS else ""


def guard_promise(rung: Rung, profile: Profile) -> Mapping[str, Any] | None:
    """In which folders which names cannot be made; None where there is no guard."""
    if not rung.has_namespaces or not profile.writes or guard_obstacle():
        return None
    machine = seccomp.MACHINES[platform.machine()]
    return {
        "module": module_name(GUARD[-1]),
        "call": machine.seccomp,
        "filter": seccomp.guard_program().hex(),
        "calls": {str(number): name for name, number in machine.naming.items()},
        "folders": list(map(str, profile.writes)),
        "names": places.GUARDED,
    }


def module_name(name: str) -> str:
    """The module name of one of these files."""
    return f"{__package__}.{name}"


def handed_modules(guard: object, proxy: str) -> Mapping[str, str]:
    """The modules that are needed inside: names and code."""
    wanted = (*(GUARD if guard else ()), *([FORWARDER] if proxy else []))
    return {module_name(name): _code_of(name) for name in wanted}


@cache
def _code_of(name: str) -> str:
    """As the Python that we run in reads it, which is also the one inside: to compile it takes longer than all else."""
    source = Path(__file__).with_name(f"{name}.py").read_bytes()
    return marshal.dumps(compile(source, f"{name}.py", "exec", optimize=2)).hex()
