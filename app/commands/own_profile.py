"""Profiles of the person's own: begun from another, checked, written, removed."""

from pathlib import Path

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.files.given_file import UnusableFile, read_given_text
from oi_tui.app.engine.files.paths import config_dir, private_dir
from oi_tui.app.engine.files.profile_files import (
    LARGEST_PROFILE,
    PLAIN,
    PROFILES,
    ProfileFile,
    find_profile,
    is_profile_name,
)
from oi_tui.app.engine.files.settings_file import SettingsLayer, check_profile, read_toml
from oi_tui.app.engine.files.whole_file import write_whole

_TEMPLATE = """\
# What this profile is for, in a line: the list of profiles shows it

# Any of the settings (oi-tui help settings). A key here replaces the same key of your settings.

# [model]
# name = "ollama/qwen3-coder"

# [instructions]
# text = "Answer in one sentence."

# [loop]
# max_cost = 1.0
"""


def profile_text(file: ProfileFile) -> str:
    """The file as it is; SettingsError if it cannot be read."""
    try:
        return read_given_text(file.path, LARGEST_PROFILE)
    except UnusableFile as error:
        raise SettingsError(f"{file.path} {error}.") from error


def begin_profile(name: str, based: str = PLAIN) -> Path:
    """Write a profile that says what another one says; SettingsError if that cannot be."""
    base = find_profile(config_dir(), based)
    return save_profile(name, _TEMPLATE if base.changes_nothing else profile_text(base))


def save_profile(name: str, text: str, *, over: bool = False) -> Path:
    """Write a profile of the person's own, if it is valid; SettingsError, with the line, if it is not."""
    path = _own_path(name)
    check_profile_text(text, path)
    private_dir(private_dir(config_dir()) / PROFILES)
    try:
        write_whole(path.resolve() if over else path, text.encode(), over=over)
    except FileExistsError as error:
        raise SettingsError(
            f"There is a profile {name!r} already.", hint=f"To change it: oi-tui profile edit {name}"
        ) from error
    except OSError as error:
        raise SettingsError(f"{path} cannot be written: {error.strerror}.") from error
    return path


def check_profile_text(text: str, path: Path) -> None:
    """SettingsError, with the line, if this is no profile."""
    check_profile(SettingsLayer("profile", str(path), read_toml(text, path), text))


def remove_profile(name: str) -> Path:
    """Delete a profile of the person's own; SettingsError if there is none, or it is one of ours."""
    file = find_profile(config_dir(), name)
    if file.is_shipped:
        raise SettingsError(
            f"The profile {name!r} ships with oi-tui.", hint="A profile of yours with its name replaces it."
        )
    try:
        file.path.unlink()
    except OSError as error:
        raise SettingsError(f"{file.path} cannot be deleted: {error.strerror}.") from error
    return file.path


def _own_path(name: str) -> Path:
    if not is_profile_name(name):
        raise SettingsError(f"{name!r} is no name of a profile.", hint="Letters, digits, '-', '_' and '.'.")
    return config_dir() / PROFILES / f"{name}.toml"
