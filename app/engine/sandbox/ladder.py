"""Which rung there is on this machine: found out by trying, the best first, and remembered."""

import asyncio
import os
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.sandbox import mounts
from oi_tui.app.engine.sandbox.profile import Profile
from oi_tui.app.engine.sandbox.rungs import Rung, offered_rungs
from oi_tui.app.engine.sandbox.sandbox_launch import NO_FALLBACK, SandboxLaunch

PATIENCE = 20.0
"""Seconds that the trial of one rung has."""


class Climb(NamedTuple):
    """The rung that works, and why those above do not."""

    rung: Rung | None
    """The first one whose proof passed; None if there is none."""
    obstacles: tuple[tuple[Rung, str], ...] = ()
    """Those before it, and why not, in plain words."""

    @property
    def why_not(self) -> str:
        """All of that as one sentence."""
        return (
            f"There is no sandbox here: {'; '.join(f'{rung.title}{why}'.rstrip('. ') for rung, why in self.obstacles)}."
        )


_found: dict[tuple[Profile, str], Rung] = {}
"""By profile and search path."""


async def find_rung(profile: Profile) -> Climb:
    """Start one after the other and have it proven; KernelError only for a folder around which there can be none."""
    mounts.check(profile)
    key = (profile, os.environ.get("PATH", ""))
    known = _found.get(key)
    if known is not None and not known.obstacle(profile):  # bubblewrap may have been removed since
        return Climb(known)
    obstacles: list[tuple[Rung, str]] = []
    for rung in offered_rungs(profile):
        why = rung.obstacle(profile) or await try_rung(rung, profile)
        if not why:
            _found[key] = rung
            return Climb(rung, tuple(obstacles))
        obstacles.append((rung, why))
    return Climb(None, tuple(obstacles))


async def require_rung(profile: Profile) -> Rung:
    """The same; KernelError if there is none."""
    found = await find_rung(profile)
    if found.rung is None:
        raise KernelError(found.why_not, hint=NO_FALLBACK)
    return found.rung


async def try_rung(rung: Rung, profile: Profile) -> str:
    """Why there can be no such sandbox here, in plain words; "" if there can. Starts one to find out."""
    try:
        async with asyncio.timeout(PATIENCE):
            return await _try(rung, profile)
    except KernelError as error:
        return " ".join(f"{error.title} {error.details}".split())
    except TimeoutError:
        return f"it did not start within {PATIENCE:.0f} seconds"


async def _try(rung: Rung, profile: Profile) -> str:
    launch = await SandboxLaunch.open(
        rung,
        profile,
        lambda _, __: [sys.executable, "-c", ""],
        os.environ,
        name_folder=lambda: Path(tempfile.gettempdir(), f"oi-tui-{os.urandom(6).hex()}"),
    )
    try:
        process = await launch.start(
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
        )
        why: KernelError | None = None
        try:
            await launch.prove()
        except KernelError as error:
            why = error
    finally:
        await launch.close()
    _, said = await process.communicate()
    if why is None:
        return ""
    last = " ".join(said.decode(errors="replace").split())
    return last if last and not why.details else " ".join(f"{why.title} {why.details} {last}".split())
