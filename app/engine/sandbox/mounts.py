"""What a sandbox is made of, as data that every rung with a file system of its own is built from: an empty root into
which little is put.

Mounts are sorted by depth, so that a mount beneath another one is always made after it, whatever they are: a secret in
a workspace, an interpreter in a home folder, a workspace in /tmp.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.sandbox import places
from oi_tui.app.engine.sandbox.profile import Profile

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
    size: int = 0
    """Bytes of an empty folder in memory; 0 is what the profile says."""

    @property
    def source(self) -> str:
        """What is put there of this machine, without links; "" where it is nothing of it."""
        return "" if self.kind == MountKind.SCRATCH else os.path.realpath(self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is put where. `secrets` and `guarded` are for the proof."""

    mounts: tuple[Mount, ...]
    links: tuple[tuple[str, str], ...]
    """Links at the root, and where they lead."""
    secrets: tuple[Path, ...]
    """What exists on this machine and must not be readable."""
    guarded: tuple[Path, ...]
    """What must be visible, and unchangeable."""


def check(profile: Profile) -> None:
    """KernelError in plain words if this profile cannot keep what it says."""
    for folder in changeable(profile):
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
                f"{folder} cannot be worked in with a sandbox: it is in {secret}, which the sandbox hides.",
                hint="Start in another folder.",
            )
        link = next((path for name in places.GUARDED if (path := folder / name).is_symlink()), None)
        if link is not None and profile.writes:
            raise KernelError(
                f"{link} is a symbolic link, which the sandbox cannot protect.",
                hint="Put the real file or folder in its place, or use the read-only sandbox.",
            )


def plan(profile: Profile, private: Mount, readable: Sequence[Path] = ()) -> Plan:
    """What the sandbox is made of. `private` is the folder of sockets
    and pipes between us and what runs, `readable` is what the program needs beside the system's."""
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
    wanted = [*system, *places.python_places(profile), *profile.readable, *places.fonts(profile.home), *readable]
    for path in wanted:
        if path.exists() and not path.is_symlink():
            put(path, MountKind.READABLE)
    for path in wanted:
        # A link to a program outside everything visible: its target takes its place.
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
    secrets |= {path for folder in changeable(profile) for path in places.environment_files(folder)}
    shown = _visible_paths(mounts)
    for path in secrets:
        if places.is_covered(path, shown):
            put(path, MountKind.HIDDEN)
    return Plan(
        mounts=tuple(
            private if path == private.path else Mount(path, kind)
            for path, kind in sorted(mounts.items(), key=_depth)
            if _is_needed(path, mounts)
        ),
        links=tuple((name, os.readlink(name)) for name in places.ROOT_LINKS if os.path.islink(name)),
        secrets=tuple(sorted(secrets)),
        guarded=tuple(dict.fromkeys(guarded)),
    )


def changeable(profile: Profile) -> tuple[Path, ...]:
    """The folders of the user's work, writable in this mode or not."""
    return (profile.workspace, *profile.writable)


def _guarded_paths(profile: Profile, folder: Path) -> tuple[Path, ...]:
    return places.guarded_paths(folder, is_home=folder == profile.home)


def _visible_paths(mounts: Mapping[Path, MountKind]) -> list[Path]:
    return [path for path, kind in mounts.items() if kind != MountKind.SCRATCH]


def _is_needed(path: Path, mounts: Mapping[Path, MountKind]) -> bool:
    """Whether it differs from what is around it."""
    if str(path) in places.ROOT_LINKS and path.is_symlink():
        return False
    around = next((mounts[parent] for parent in path.parents if parent in mounts), None)
    return not (mounts[path] is around and around in (MountKind.READABLE, MountKind.HIDDEN))


def _depth(entry: tuple[Path, MountKind]) -> tuple[int, str]:
    return len(entry[0].parts), str(entry[0])
