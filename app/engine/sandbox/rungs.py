"""The ladder: the kinds of sandbox that there are, the best first, each with what starts it and what it promises.

bubblewrap a program of the system that puts namespaces and mounts together space the same by our own launcher: needs no
package, only that the system allows namespaces lock no namespace at all, Landlock and a filter of system calls alone:
files and network are held, names in a folder that may be written are not protected. Only where a person chose it, and
never taken for a sandbox seatbelt what macOS has: a profile that nobody has ever run on a Mac. Nothing is started with
it
"""

import importlib.util
import marshal
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from oi_tui.app.engine.sandbox import places
from oi_tui.app.engine.sandbox.bubblewrap import bubblewrap_arguments, find_bubblewrap
from oi_tui.app.engine.sandbox.mounts import MountKind, Plan
from oi_tui.app.engine.sandbox.profile import Profile
from oi_tui.app.engine.sandbox.seatbelt import seatbelt_text
from oi_tui.app.engine.sandbox.seccomp import filter_program
from oi_tui.app.engine.sandbox.space import LAUNCHER, launcher_plan

RungName = Literal["bubblewrap", "space", "lock", "seatbelt"]

INSIDE_PROGRAM = Path(__file__).with_name("inside.py")
INSIDE_PATH = "/run/oi-tui.pyc"
"""Where our first program is in bubblewrap."""

NEWEST = 7
"""Version of Landlock's interface that is known here."""

UNPROVEN = "its profile is written, but nobody has run it on a Mac, and no program there proves that it holds"

Readable = Callable[[bytes], int]
"""Gives a descriptor from which that can be read, and which the new process inherits."""


@dataclass(frozen=True, slots=True)
class Rung:
    """One kind of sandbox."""

    name: RungName
    has_namespaces: bool
    """Files, processes and network of its own."""
    title: str
    """What comes before its obstacles, in a sentence."""

    def obstacle(self, profile: Profile) -> str:
        """Why it need not even be tried, in plain words; "" if it should be."""
        if self.name == "seatbelt":
            return UNPROVEN if sys.platform == "darwin" else "Seatbelt is there on macOS only"
        if self.name == "bubblewrap" and find_bubblewrap(profile) is None:
            return "bubblewrap is not installed"
        if self.name == "lock" and profile.network == "hosts":
            return "a list of hosts needs a network of its own"
        return ""

    def argv(
        self, profile: Profile, plan: Plan, readable: Readable, info: int, *, scratch: Path | None, pipes: Path
    ) -> list[str]:
        """The command to start; the plan of `inside.py` follows. The first process is reported on `info`, the folders
        are those of `landlock`."""
        match self.name:
            case "space" | "lock" as name:
                told = readable(
                    launcher_plan(name, profile, plan, inside=INSIDE_PROGRAM, program=bytecode_of(INSIDE_PROGRAM))
                )
                return [sys.executable, "-I", "-S", str(LAUNCHER), str(told), str(info)]
            case "seatbelt":
                assert scratch is not None
                text = seatbelt_text(profile, plan, scratch=scratch, pipes=pipes)
                return [*text.arguments(), sys.executable, "-I", "-S", str(INSIDE_PROGRAM)]
            case "bubblewrap":
                program = find_bubblewrap(profile)
                assert program is not None
                put, seccomp = (readable(HEADER + bytecode_of(INSIDE_PROGRAM)), INSIDE_PATH), readable(filter_program())
                arguments = bubblewrap_arguments(profile, plan, inside=put, seccomp=seccomp, info=info)
                # Not on the command line, where it would be in the way of everybody who lists processes.
                listed = readable(
                    b"".join(f"{argument}\0".encode("utf-8", "surrogateescape") for argument in arguments)
                )
                return [program, "--args", str(listed), "--", sys.executable, "-I", "-S", INSIDE_PATH]

    def landlock(self, profile: Profile, plan: Plan, *, scratch: Path | None, pipes: Path) -> Mapping[str, Any]:
        """What `inside.py` should allow; a second wall if the rung has mounts, otherwise the only one.

        `scratch` is the folder for temporary files, if it is on this machine; code can write to existing files in
        `pipes`, but make none.
        """
        write = [str(mount.path) for mount in plan.mounts if mount.kind == MountKind.WRITABLE]
        if self.has_namespaces:
            own = [str(mount.path) for mount in plan.mounts if mount.kind == MountKind.SCRATCH]
            rules = {"read": ["/"], "write": [*write, *own], "devices": ["/dev"], "ports": False, "required": False}
        else:
            kept = [mount.source for mount in plan.mounts if mount.kind == MountKind.READABLE]
            read = [*kept, str(INSIDE_PROGRAM), *(name for name, _ in plan.links), *places.HARMLESS_PROC]
            ports = profile.network != "full"
            write += [str(scratch)] if scratch is not None else []
            rules = {
                "read": read,
                "write": write,
                "devices": (*places.DEVICES, places.TERMINALS),
                "ports": ports,
                "required": True,
            }
        return {**rules, "pipes": [str(pipes)], "newest": NEWEST}


HEADER = importlib.util.MAGIC_NUMBER + bytes(12)
"""Header of bytecode that runs as a file."""


@cache
def bytecode_of(program: Path) -> bytes:
    """One of our own programs, compiled once: to compile it takes 5 ms of each start."""
    return marshal.dumps(compile(program.read_bytes(), str(program), "exec", dont_inherit=True))


LADDER = (
    Rung("bubblewrap", True, ""),
    Rung("space", True, "without it: "),
    Rung("lock", False, "by Landlock alone: "),
    Rung("seatbelt", False, "by Seatbelt: "),
)


def offered_rungs(profile: Profile) -> tuple[Rung, ...]:
    """The rungs that this profile may use, best first."""
    wanted = ("bubblewrap", "space") if profile.rung == "auto" else (profile.rung,)
    found = [rung for rung in LADDER if rung.name in wanted]
    # Bubblewrap cannot mount a device so that its mode stays, which root, who owns it, could change for everybody.
    return tuple(sorted(found, key=lambda rung: rung.name == "bubblewrap") if os.geteuid() == 0 else found)
