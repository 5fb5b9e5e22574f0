"""What a sandbox leaves open on this machine and would not on another, in words for the person."""

import ctypes
import sys

from oi_tui.app.engine.sandbox import rungs
from oi_tui.app.engine.sandbox.profile import Profile

VERSION_CALL = (444, None, 0, 1)
"""The system call that tells the version of Landlock, with what it is given."""

SCOPES = 6
"""From this version on, sockets without a path are held apart."""

OPEN_SOCKETS = (
    "this Linux is older than 6.12 or has no Landlock, and the network is shared: code can reach other programs' "
    "sockets that have no path (X11, some of D-Bus)"
)


def landlock_version() -> int:
    """Version of this system's Landlock, as far as we know them; 0 without it."""
    if not sys.platform.startswith("linux"):
        return 0
    version: int = ctypes.CDLL(None).syscall(*VERSION_CALL)
    return max(0, min(version, rungs.NEWEST))


def sandbox_gaps(profile: Profile) -> tuple[str, ...]:
    """What the sandbox of this profile promises elsewhere and cannot hold on this system; () if there is nothing.

    The weaker lock is not spoken of: its proof refuses what it cannot hold.
    """
    if not profile.encloses or profile.is_weaker or profile.network != "full":
        return ()
    return (OPEN_SOCKETS,) if landlock_version() < SCOPES else ()
