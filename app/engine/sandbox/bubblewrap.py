"""The rung that is bubblewrap (`man 1 bwrap`): a plan as its arguments."""

import os
import shutil
from pathlib import Path

from oi_tui.app.engine.sandbox import places
from oi_tui.app.engine.sandbox.mounts import Mount, MountKind, Plan, changeable
from oi_tui.app.engine.sandbox.profile import Profile


def find_bubblewrap(profile: Profile, path: str = "") -> str | None:
    """The program, None if it is not installed. One that code in the sandbox could have put there is none.

    `path` is looked through instead of our own search path.
    """
    for folder in (path or os.environ.get("PATH", os.defpath)).split(os.pathsep):
        found = shutil.which("bwrap", path=folder) if os.path.isabs(folder) else None
        if found is not None and not places.is_covered(Path(os.path.realpath(found)), changeable(profile)):
            return found
    return None


def bubblewrap_arguments(
    profile: Profile, plan: Plan, *, inside: tuple[int, str], seccomp: int, info: int
) -> list[str]:
    """All arguments before the command. `inside` is a descriptor of our first program and its path inside, `seccomp` a
    descriptor of the filter, `info` one for the pid of the first process, written before that does anything.

    Without --die-with-parent: killing it between two of its steps would leave a process that waits for ever. The first
    process inside, which is ours, ends when we do.
    """
    made = ["--unshare-all", "--unshare-user", "--disable-userns", "--as-pid-1", "--new-session"]
    made += ["--share-net"] if profile.network == "full" else []
    made += ["--cap-drop", "ALL", "--hostname", "sandbox", "--seccomp", str(seccomp), "--info-fd", str(info)]
    # Files of /proc/sys ask who writes, not with what rights: root without any could set up a program on the outside.
    made += ["--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev"]
    for name, target in plan.links:
        made += ["--symlink", target, name]
    for mount in plan.mounts:
        made += _mount_arguments(mount, profile.limits.scratch_size)
    program, place = inside
    made += ["--ro-bind-data", str(program), place]
    # What bubblewrap made to hang all this on is writable until here.
    return [*made, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", str(profile.workspace)]


def _mount_arguments(mount: Mount, scratch: int) -> tuple[str, ...]:
    path, scratch = str(mount.path), mount.size or scratch
    match mount.kind:
        case MountKind.SCRATCH:
            return ("--perms", "0700", "--size", str(scratch), "--tmpfs", path)
        case MountKind.WRITABLE:
            return ("--bind", mount.source, path)
        case MountKind.HIDDEN if mount.path.is_dir():
            return ("--perms", "0000", "--size", "4096", "--tmpfs", path, "--remount-ro", path)
        case MountKind.HIDDEN:
            return ("--ro-bind", "/dev/null", path)  # a device where devices are not allowed: it cannot be opened
        case _:
            return ("--ro-bind", mount.source, path)
