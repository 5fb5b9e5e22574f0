"""What a folder brings along, as digests: whether it is what the person looked at when they trusted it."""

import os
from pathlib import Path
from typing import NamedTuple

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.files.owned_file import read_owned_file
from oi_tui.app.engine.files.paths import COMMANDS_FOLDER, PROJECT, SKILLS_FOLDERS
from oi_tui.app.engine.trust.folder_settings import CONFIG, RULES, digest_of
from oi_tui.app.engine.trust.instruction_files import (
    find_instruction_files,
    has_instruction_file,
    instructions_digest,
)


class FolderDigests(NamedTuple):
    """What a folder brought along when somebody looked, as digests; "" where there was no such file."""

    rules: str = ""
    settings: str = ""
    instructions: str = ""
    """Of all of them together, also those in the folders above that belong to its repository."""
    commands: str = ""
    """Of all files in `.oi/commands`."""
    skills: str = ""
    """Of all files in `.oi/skills` and `.agents/skills`."""


def folder_digests(folder: Path) -> FolderDigests:
    """What it brings along now. Never raises: those who use it report what cannot be relied on."""
    folder = folder.resolve()
    instructions = instructions_digest(find_instruction_files(folder), folder)
    project = folder / PROJECT
    return FolderDigests(
        _file_digest(project / RULES),
        _file_digest(project / CONFIG),
        instructions,
        _commands_digest(folder),
        _skills_digest(folder),
    )


def _skills_digest(folder: Path) -> str:
    if not any(os.path.lexists(folder / name) for name in SKILLS_FOLDERS):
        return ""
    from oi_tui.app.engine.trust.skill_files import folder_skills_digest  # few folders have any)

    return folder_skills_digest(folder)


def _commands_digest(folder: Path) -> str:
    if not os.path.lexists(folder / PROJECT / COMMANDS_FOLDER):
        return ""
    from oi_tui.app.engine.files.command_folder import commands_digest, find_command_files  # few folders have any

    return commands_digest(find_command_files(folder))


def _file_digest(path: Path) -> str:
    try:
        return digest_of(read_owned_file(path, "file", "", owner=None))
    except SettingsError:
        return "unreadable"


def has_folder_content(folder: Path) -> bool:
    """Whether anything in the folder would count if it were trusted. A quick look: nothing is read."""
    project = folder / PROJECT
    places = [project / name for name in (RULES, CONFIG, COMMANDS_FOLDER)] + [folder / name for name in SKILLS_FOLDERS]
    return has_instruction_file(folder) or any(map(os.path.lexists, places))
