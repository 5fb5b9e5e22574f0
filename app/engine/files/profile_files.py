"""Where profiles are: the person's, and those that ship with the program. The person's wins over ours of its name.

A profile is a file of settings. Its first line is a comment that says what it is for.
"""

import difflib
import re
from pathlib import Path
from typing import NamedTuple

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.settings import ProfileSection
from oi_tui.app.engine.files.given_file import UnusableFile, read_given_file

PROFILES = "profiles"
"""Folder of the person's, beside the settings."""

SHIPPED = Path(__file__).parent / PROFILES
"""Folder of ours."""

PLAIN = "default"
"""Name of the profile that changes nothing."""

LARGEST_PROFILE = 1_000_000
"""Bytes of a file."""


class ProfileFile(NamedTuple):
    """A profile and its file."""

    name: str
    path: Path
    replaces: bool = False
    """Whether one of ours has this name, too."""

    @property
    def is_shipped(self) -> bool:
        """Whether it is one of ours."""
        return self.path.parent == SHIPPED

    @property
    def changes_nothing(self) -> bool:
        """Whether it is as if there were no profile."""
        return self.is_shipped and self.name == PLAIN

    @property
    def purpose(self) -> str:
        """The purpose in the first line, "" if there is none. Reads the file."""
        try:
            text = read_given_file(self.path, LARGEST_PROFILE).decode(errors="replace")
        except UnusableFile:
            return ""
        first = text.partition("\n")[0].strip()
        return first.lstrip("# ") if first.startswith("#") else ""


def is_profile_name(name: str) -> bool:
    """Whether a profile may be called so."""
    return re.fullmatch(r"[\w.-]+", name) is not None and not name.startswith(".")


def profile_files(folder: Path) -> list[ProfileFile]:
    """All profiles, for settings in this folder: the person's, then ours."""
    own, ours = (
        {file.stem: file for file in sorted(place.glob("*.toml")) if is_profile_name(file.stem)}
        for place in (folder / PROFILES, SHIPPED)
    )
    return [
        *(ProfileFile(name, path, replaces=name in ours) for name, path in own.items()),
        *(ProfileFile(name, path) for name, path in ours.items() if name not in own),
    ]


def find_profile(folder: Path, name: str) -> ProfileFile:
    """The profile of this name, for settings in this folder; SettingsError if there is none."""
    if not is_profile_name(name):
        raise SettingsError(f"{name!r} is no name of a profile.", hint="Letters, digits, '-', '_' and '.'.")
    for place in (folder / PROFILES, SHIPPED):
        if (path := place / f"{name}.toml").exists():
            return ProfileFile(name, path, replaces=place != SHIPPED and (SHIPPED / path.name).exists())
    there = [one.name for one in profile_files(folder)]
    close = difflib.get_close_matches(name, there, n=1)
    known = f"Did you mean {close[0]}?" if close else f"There are: {', '.join(there)}."
    raise SettingsError(f"There is no profile {name!r}.", hint=known)


def profile_for(section: ProfileSection, cwd: Path, folder: Path, origin: str) -> str:
    """The profile that the person chose for this working folder or the nearest one above it, else for all; "" is none.
    SettingsError, which names the `origin` of the choice, if there is no such profile."""
    name, key = section.default, "profile.default"
    try:
        here = cwd.resolve() if section.folders else cwd
    except OSError:
        here = cwd
    chosen = {Path(place).expanduser(): (name, f'profile.folders."{place}"') for place, name in section.folders.items()}
    name, key = next((chosen[place] for place in (here, *here.parents) if place in chosen), (name, key))
    if name:
        try:
            find_profile(folder, name)
        except SettingsError as error:
            hint = f"{error.hint} --profile {PLAIN} starts without one."
            raise SettingsError(f"{origin}: {key}: {error.title}", hint=hint) from error
    return name
