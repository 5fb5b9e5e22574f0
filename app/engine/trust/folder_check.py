"""A look at a folder before anything runs in it: what it would bring if it were trusted, and whether there can be a
sandbox around it. It loads what reads rules, and starts a process: for after a first frame, in a thread.
"""

import asyncio
import os
from pathlib import Path
from typing import NamedTuple

import msgspec

from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.core.settings import SandboxSection
from oi_tui.app.engine.core.values import SandboxMode
from oi_tui.app.engine.environments.discovery import choose_environment, name_environment
from oi_tui.app.engine.files import paths
from oi_tui.app.engine.files.command_folder import CommandSource, find_command_files
from oi_tui.app.engine.policy.rules import Rule
from oi_tui.app.engine.sandbox.availability import Availability, look
from oi_tui.app.engine.sandbox.profile_choice import chosen_profile
from oi_tui.app.engine.trust.folder_digests import FolderDigests, folder_digests
from oi_tui.app.engine.trust.folder_settings import FolderSettings, read_folder_settings
from oi_tui.app.engine.trust.instruction_files import InstructionFile, find_instruction_files
from oi_tui.app.engine.trust.rule_files import project_rules
from oi_tui.app.engine.trust.skill_files import Skill, find_folder_skills

OF_OTHERS = (
    *("CLAUDE.md", "GEMINI.md", ".cursorrules", ".cursor", ".claude", ".codex"),
    *(".env", ".envrc", ".vscode", ".devcontainer", ".git/hooks"),
)
"""What other programs obey in a folder. We read none of it, and say so where we find it."""


class FolderContent(NamedTuple):
    """The content of a folder. `wrong` says why it cannot be trusted in this state."""

    rules: tuple[Rule, ...] = ()
    wishes: FolderSettings = FolderSettings()
    instructions: tuple[InstructionFile, ...] = ()
    """What the model would read, the nearest last; of the folders above too."""
    commands: tuple[CommandSource, ...] = ()
    skills: tuple[Skill, ...] = ()
    others: tuple[str, ...] = ()
    """Names of files for other programs, which we do not read."""
    wrong: str = ""
    environment: str = ""
    """In which environment of the folder code would run: ".venv (Python 3.12.4)"."""
    seen: FolderDigests = FolderDigests()
    """What it was that was found."""


class FolderCheck(NamedTuple):
    """What a person has to know to decide about a folder."""

    brought: FolderContent
    writing: Availability
    """Of the sandbox in which code may write in the folder, or of a stricter one if the settings ask for that."""
    reading: Availability
    """Of the sandbox in which nothing may be written."""


def check_folder(folder: Path, sandbox: SandboxSection) -> FolderCheck:
    """Look. It blocks, for a tenth of a second as a rule; never raises."""
    writing = try_sandbox(folder, sandbox, "read-only" if sandbox.mode == "read-only" else "workspace-write")
    reading = writing if writing.works or sandbox.mode == "read-only" else try_sandbox(folder, sandbox, "read-only")
    return FolderCheck(read_folder(folder), writing, reading)


def try_sandbox(folder: Path, sandbox: SandboxSection, mode: SandboxMode) -> Availability:
    """Whether the settings' sandbox of this mode can be had around the folder. It blocks."""
    try:
        wanted = msgspec.structs.replace(sandbox, mode=mode)
        profile = chosen_profile(wanted, folder, hidden=paths.own_dirs())
        return asyncio.run(look(profile))
    except OiTuiError as error:
        return Availability(False, error.title, error.hint)


def read_folder(folder: Path) -> FolderContent:
    """All that the folder would bring if it were trusted. Never raises; reads files, and loads what reads rules."""
    others = tuple(name for name in OF_OTHERS if _exists(folder / name))
    seen = folder_digests(folder)  # before reading: a change in between is then not taken for what the user saw
    try:
        rules, wishes = project_rules(folder, trusted=True), read_folder_settings(folder)
    except OiTuiError as error:
        return FolderContent(others=others, wrong=error.title)
    instructions = find_instruction_files(folder.resolve())
    commands = find_command_files(folder.resolve())
    skills = find_folder_skills(folder.resolve())
    return FolderContent(
        rules, wishes, instructions, commands, skills, others, environment=_brought_environment(folder), seen=seen
    )


def _brought_environment(folder: Path) -> str:
    """Where code would run that does not run there without trust; "" if nothing would change."""
    trusted = choose_environment(folder, os.environ, trusted=True).environment
    untrusted = choose_environment(folder, os.environ).environment
    return "" if trusted.prefix == untrusted.prefix else name_environment(folder, trusted)


def _exists(path: Path) -> bool:
    if path.name == "hooks":
        try:
            return any(not entry.name.endswith(".sample") for entry in path.iterdir())
        except OSError:
            return False
    return os.path.lexists(path)
