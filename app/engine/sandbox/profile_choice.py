"""The profile that the settings ask for, on this machine and in this folder."""

import os
from collections.abc import Iterable
from pathlib import Path

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.settings import SandboxSection
from oi_tui.app.engine.sandbox.hosts import parse_rule
from oi_tui.app.engine.sandbox.limits import usual_memory
from oi_tui.app.engine.sandbox.profile import Limits, Profile

MEGABYTE = 1_000_000


def chosen_profile(settings: SandboxSection, workspace: Path, *, hidden: Iterable[Path] = ()) -> Profile:
    """SettingsError if a folder or a host of the settings cannot be understood. `hidden` are folders of ours."""
    for rule in settings.hosts:
        parse_rule(rule)
    return Profile(
        mode=settings.mode,
        rung=settings.rung,
        workspace=workspace.resolve(),
        home=Path.home().resolve(),
        writable=tuple(_folder(name, "writable") for name in settings.writable),
        readable=tuple(_folder(name, "readable") for name in settings.readable),
        hidden=tuple(hidden),
        network=settings.network,
        hosts=tuple(settings.hosts),
        environment=tuple(settings.environment),
        limits=Limits(
            memory=settings.memory_mb * MEGABYTE or usual_memory(),
            processes=settings.processes,
            file_size=settings.file_mb * MEGABYTE,
            open_files=settings.open_files,
            cpu=settings.cpu_seconds,
            scratch=settings.scratch_mb * MEGABYTE,
        ),
    )


def _folder(name: str, key: str) -> Path:
    path = Path(os.path.expanduser(name))
    if not path.is_absolute() or not path.exists():
        raise SettingsError(f"sandbox.{key}: {name!r} is no folder here.", hint="Absolute paths, or beneath ~.")
    return path.resolve()
