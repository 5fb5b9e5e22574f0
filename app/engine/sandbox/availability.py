"""Whether there can be a sandbox on this machine, and if not, what a person can do about it."""

import os
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.sandbox.bubblewrap import find_bubblewrap
from oi_tui.app.engine.sandbox.gaps import sandbox_gaps
from oi_tui.app.engine.sandbox.ladder import find_rung
from oi_tui.app.engine.sandbox.profile import Profile
from oi_tui.app.engine.sandbox.rungs import UNPROVEN

INSTALLERS = {
    "apt": "sudo apt install bubblewrap",
    "dnf": "sudo dnf install bubblewrap",
    "pacman": "sudo pacman -S bubblewrap",
    "zypper": "sudo zypper install bubblewrap",
    "apk": "sudo apk add bubblewrap",
}

SWITCHES = (
    (
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "AppArmor forbids it, as on Ubuntu from 24.04 on. For all programs, until the next boot, this allows it:\n"
        "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
    ),
    (
        "kernel/unprivileged_userns_clone",
        "0",
        "This system forbids it. Until the next boot, this allows it:\n"
        "sudo sysctl -w kernel.unprivileged_userns_clone=1",
    ),
    (
        "user/max_user_namespaces",
        "0",
        "This system forbids it. Until the next boot, this allows it:\nsudo sysctl -w user.max_user_namespaces=10000",
    ),
)
"""What forbids programs to enclose themselves: a file of /proc/sys, its value, and what to do."""


class Availability(NamedTuple):
    """The result of a trial."""

    works: bool
    why: str = ""
    """Why not, in plain words."""
    fix: str = ""
    """What can be done about it; "" if nothing is known."""
    rung: str = ""
    """Which kind of sandbox there is."""
    gaps: tuple[str, ...] = ()
    """What it leaves open on this system, in plain words."""


async def look(profile: Profile) -> Availability:
    """Start such a sandbox and have it proven. Never raises for what a machine lacks."""
    if not sys.platform.startswith("linux"):
        why = f"that of macOS is not used: {UNPROVEN}" if sys.platform == "darwin" else "it is for Linux only"
        return Availability(False, f"There is no sandbox on this system: {why}.")
    try:
        found = await find_rung(profile)
    except KernelError as error:
        return Availability(False, error.title, error.hint)
    if found.rung is not None:
        return Availability(True, rung=found.rung.name, gaps=sandbox_gaps(profile))
    why = found.why_not
    fix = _as_typed(forbidden()) if any(word in why for word in ("unshare", "namespace", "uid map")) else ""
    if profile.rung in ("auto", "bubblewrap") and find_bubblewrap(profile) is None:
        fix = f"{fix}\n{_installation()}".strip()
    return Availability(False, why, f"{fix}\n{WEAKER}" if profile.rung == "auto" else fix)


WEAKER = "Weaker, without any right of the system: OI_TUI_SANDBOX_RUNG=lock (files and network held, .git and .env not)"


def _installation() -> str:
    known = [command for program, command in INSTALLERS.items() if shutil.which(program)]
    return f"To install it: {_as_typed(known[0])}" if known else "To mend that, install the package “bubblewrap”"


def _as_typed(words: str) -> str:
    """`sudo` is for who is not root, where there is one."""
    return words if os.geteuid() != 0 and shutil.which("sudo") else words.replace("sudo ", "")


def forbidden(switches: Path = Path("/proc/sys")) -> str:
    """Why programs may not enclose themselves here, and what changes that."""
    for name, value, words in SWITCHES:
        try:
            if (switches / name).read_text().strip() == value:
                return words
        except OSError:
            continue
    return "In a container, its administrator must allow user namespaces"
