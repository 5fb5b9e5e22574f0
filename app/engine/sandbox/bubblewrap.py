"""A profile as arguments of bubblewrap (`man 1 bwrap`): an empty root into which little is put.

Mounts are sorted by depth, so that what is beneath something always lies over it, whatever they are: a secret in a
workspace, an interpreter in a home folder, a workspace in /tmp.
"""

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.sandbox import places
from oi_tui.app.engine.sandbox.placeholders import is_placeholder
from oi_tui.app.engine.sandbox.profile import Profile

SCRATCH = 1_000_000_000
"""Bytes of a folder in memory, where nothing else was set: the system's own default is half of all memory."""

RESOLVER = Path("/etc/resolv.conf")


class MountKind(IntEnum):
    """What a path is in the sandbox; of two for the same path the later one counts."""

    SCRATCH = 0
    """An empty folder in memory."""
    READABLE = 1
    WRITABLE = 2
    GUARDED = 3
    """Readable, for all that it is in something writable."""
    HIDDEN = 4
    """There, and not to be entered or read."""


@dataclass(frozen=True, slots=True)
class Mount:
    """One path of the sandbox."""

    path: Path
    kind: MountKind

    def arguments(self, scratch: int) -> tuple[str, ...]:
        """What bubblewrap is told."""
        path, source = str(self.path), os.path.realpath(self.path)
        match self.kind:
            case MountKind.SCRATCH:
                return ("--perms", "0700", "--size", str(scratch), "--tmpfs", path)
            case MountKind.WRITABLE:
                return ("--bind", source, path)
            case MountKind.HIDDEN if self.path.is_dir():
                return ("--perms", "0000", "--size", "4096", "--tmpfs", path, "--remount-ro", path)
            case MountKind.HIDDEN:
                return ("--ro-bind", "/dev/null", path)  # a device where devices are not allowed: it cannot be opened
            case _:
                return ("--ro-bind", source, path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is put where. `secrets` and `guarded` are for the proof."""

    mounts: tuple[Mount, ...]
    secrets: tuple[Path, ...]
    """What exists on this machine and must not be readable."""
    guarded: tuple[Path, ...]
    """What must be visible, and unchangeable."""


def find_bubblewrap(profile: Profile, path: str = "") -> str | None:
    """The program, None if it is not installed. One that code in the sandbox could have put there is none.

    `path` is looked through instead of our own search path.
    """
    for folder in (path or os.environ.get("PATH", os.defpath)).split(os.pathsep):
        found = shutil.which("bwrap", path=folder) if os.path.isabs(folder) else None
        if found is not None and not places.is_covered(Path(os.path.realpath(found)), _changeable(profile)):
            return found
    return None


def check(profile: Profile) -> None:
    """KernelError in plain words if this profile cannot keep what it says."""
    for folder in _changeable(profile):
        if not folder.is_dir():
            raise KernelError(f"There is no folder {folder} to work in.", hint="Check that it is there.")
        if any(Path(place).is_relative_to(folder) for place in places.NO_WORKSPACE):
            raise KernelError(
                f"{folder} cannot be worked in with a sandbox: it belongs to the whole machine.",
                hint="Start in a folder of your own.",
            )
        secret = next((place for place in places.secrets(profile) if folder.is_relative_to(place)), None)
        if secret is not None:
            raise KernelError(
                f"{folder} cannot be worked in with a sandbox: it lies in {secret}, which the sandbox hides.",
                hint="Start in another folder.",
            )
        link = next((path for name in places.GUARDED if (path := folder / name).is_symlink()), None)
        if link is not None and profile.writes:
            raise KernelError(
                f"{link} is a symbolic link, which the sandbox cannot protect.",
                hint="Put the real file or folder in its place, or use the read-only sandbox.",
            )


def missing_paths(profile: Profile) -> tuple[Path, ...]:
    """What must not come to be in the folders that may be written; or is there as a stand-in only."""
    paths = (folder / name for folder in profile.writes for name in places.GUARDED)
    return tuple(path for path in paths if not os.path.lexists(path) or is_placeholder(str(path)))


def plan(profile: Profile, private: Mount, readable: Sequence[Path] = ()) -> Plan:
    """What the sandbox is made of, once stand-ins for what is missing are there. `private` is the folder of sockets
    between us and what runs, `readable` is what the program needs beside the system's."""
    mounts: dict[Path, MountKind] = {}

    def put(path: Path, kind: MountKind) -> None:
        mounts[path] = max(kind, mounts.get(path, kind))

    for place in places.SCRATCH_FOLDERS:
        put(Path(place), MountKind.SCRATCH)
    if not profile.holds_home and not any(Path(place).is_relative_to(profile.home) for place in places.SYSTEM_FOLDERS):
        put(profile.home, MountKind.SCRATCH)
    system = [Path(place) for place in (*places.SYSTEM_FOLDERS, *places.ROOT_LINKS) if os.path.isdir(place)]
    system += [Path("/etc", name) for name in places.ETC if os.path.exists(f"/etc/{name}")]
    if profile.network == "full" and RESOLVER.exists():
        system.append(RESOLVER)
    wanted = [*system, *places.python_places(), *profile.readable, *places.fonts(profile.home), *readable]
    for path in wanted:
        if path.exists() and not path.is_symlink():
            put(path, MountKind.READABLE)
    for path in wanted:
        # A link that leads to a program, and is in nothing that is visible: what it leads to takes its place.
        if path.exists() and path.is_symlink() and not places.is_covered(path, _visible_paths(mounts)):
            put(path, MountKind.READABLE)
    put(profile.workspace, MountKind.WRITABLE if profile.writes else MountKind.READABLE)
    for path in profile.writes:
        put(path, MountKind.WRITABLE)
    put(private.path, private.kind)
    guarded = [path for folder in profile.writes for path in _guarded_paths(profile, folder)]
    for path in guarded:
        put(path, MountKind.GUARDED)
    secrets = {*places.secrets(profile)}
    secrets |= {path for folder in _changeable(profile) for path in places.environment_files(folder)}
    shown = _visible_paths(mounts)
    for path in secrets:
        if places.is_covered(path, shown):
            put(path, MountKind.HIDDEN)
    return Plan(
        mounts=tuple(
            Mount(path, kind) for path, kind in sorted(mounts.items(), key=_depth) if _is_needed(path, mounts)
        ),
        secrets=tuple(sorted(secrets)),
        guarded=tuple(dict.fromkeys(guarded)),
    )


def arguments(profile: Profile, mounts: Sequence[Mount], *, inside: Path, seccomp: int, sync: int | None) -> list[str]:
    """All that bubblewrap is told beside the command. `inside` is our first program in there, `seccomp` a
    descriptor of the filter, `sync` one that is open as long as the sandbox is."""
    scratch = profile.limits.scratch or SCRATCH
    made = ["--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"]
    made += ["--share-net"] if profile.network == "full" else []
    made += ["--cap-drop", "ALL", "--hostname", "sandbox", "--seccomp", str(seccomp)]
    made += ["--sync-fd", str(sync)] if sync is not None else []
    # Files of /proc/sys ask who writes, not with what rights: root without any could set up a program on the outside.
    made += ["--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev"]
    made += [argument for link in _root_links() for argument in link]
    for mount in mounts:
        made += mount.arguments(scratch)
    made += ["--ro-bind", str(inside), INSIDE_PATH]
    # What bubblewrap made to hang all this on is writable until here.
    return [*made, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", str(profile.workspace)]


INSIDE_PATH = "/run/oi-tui.py"
"""Where our first program is in the sandbox."""


def _changeable(profile: Profile) -> tuple[Path, ...]:
    """The folders of the person's work, be they writable in this mode or not."""
    return (profile.workspace, *profile.writable)


def _guarded_paths(profile: Profile, folder: Path) -> tuple[Path, ...]:
    return places.guarded_paths(folder, is_home=folder == profile.home)


def _visible_paths(mounts: Mapping[Path, MountKind]) -> list[Path]:
    return [path for path, kind in mounts.items() if kind != MountKind.SCRATCH]


def _root_links() -> Iterator[tuple[str, str, str]]:
    for name in places.ROOT_LINKS:
        if os.path.islink(name):
            yield ("--symlink", os.readlink(name), name)


def _is_needed(path: Path, mounts: Mapping[Path, MountKind]) -> bool:
    """Whether it differs from what is around it."""
    if str(path) in places.ROOT_LINKS and path.is_symlink():
        return False
    around = next((mounts[parent] for parent in path.parents if parent in mounts), None)
    return not (mounts[path] is around is MountKind.READABLE)


def _depth(entry: tuple[Path, MountKind]) -> tuple[int, str]:
    return len(entry[0].parts), str(entry[0])
