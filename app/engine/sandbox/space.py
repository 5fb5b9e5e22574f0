"""The rungs that need no other program: the plan that `launcher.py` reads, as bytes."""

import json
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from oi_tui.app.engine.sandbox import places, seccomp
from oi_tui.app.engine.sandbox.mounts import Mount, Plan
from oi_tui.app.engine.sandbox.profile import Profile

LAUNCHER = Path(__file__).with_name("launcher.py")

CALLS: Mapping[str, tuple[int, int]] = {"x86_64": (155, 126), "aarch64": (41, 91)}
"""Numbers of `pivot_root` and `capset`, for which the C library has no names."""


def launcher_plan(
    rung: Literal["space", "lock"], profile: Profile, plan: Plan, *, inside: Path, program: bytes
) -> bytes:
    """`inside` is the program to become, `program` its bytecode."""
    pivot, capset = CALLS[platform.machine()]
    scratch = profile.limits.scratch_size
    return json.dumps(
        {
            "rung": rung,
            "network": profile.network == "full",
            "folder": str(profile.workspace),
            "devices": places.DEVICES,
            "links": plan.links,
            "mounts": [_entry(mount, scratch) for mount in plan.mounts],
            "inside": str(inside),
            "program": program.hex(),
            "filter": seccomp.filter_program(
                calls_out=rung == "space" or profile.network == "full", own_processes=rung == "space"
            ).hex(),
            "pivot_call": pivot,
            "capability_call": capset,
        }
    ).encode("utf-8", "surrogateescape")


def _entry(mount: Mount, scratch: int) -> dict[str, str | int]:
    return {"path": str(mount.path), "kind": mount.kind.name, "source": mount.source, "size": mount.size or scratch}
