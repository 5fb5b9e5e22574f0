"""Decisions about folders: whether their rules and settings apply, and whether code there runs without a sandbox.
Stored in a file of ours that code in a sandbox cannot see.

    [folder."/home/me/data"]
    trusted = true
    sandbox = "danger-full-access"     # only where it was chosen for this folder
    decided = "2026-11-22"
    rules = "5f3c..."                  # digest of the .oi/permissions.toml that was looked at; "" where there was none
    settings = ""                      # the same of its .oi/config.toml
    instructions = ""                  # the same of AGENTS.md and the like, in the folders above it too
    commands = ""                      # the same of the files in its .oi/commands
    skills = ""                        # the same of the files in its .oi/skills and .agents/skills
"""

import datetime
import os
from pathlib import Path
from typing import Literal

import msgspec

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.values import SandboxMode, Value
from oi_tui.app.engine.files import paths
from oi_tui.app.engine.files.owned_file import file_lock, read_record, replace_owned_file
from oi_tui.app.engine.trust.folder_digests import FolderDigests, folder_digests, has_folder_content

FOLDERS_FILE = "folders.toml"
NOTHING = FolderDigests()
_HARMLESS = ("instructions", "commands", "skills")
"""What a folder may lose without a question."""

_HINT = "Nothing is run until it can be relied on: fix it, or delete it and decide again."


class FolderDecision(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The decision about a folder and what is below it. Trust ends where something below brings rules of its own:
    code in a sandbox may have written them."""

    trusted: bool
    """Its own rules and settings count. If not: code reads only, and is asked about."""
    sandbox: SandboxMode | Literal[""] = ""
    """The choice for this folder; "" leaves it to the settings."""
    decided: str = ""
    """The day."""
    rules: str = ""
    """What the folder's own rules were then (see `project.Seen`). Decisions of before this was noted have none."""
    settings: str = ""
    """The same of its settings."""
    instructions: str = ""
    """The same of its instructions to the model."""
    commands: str = ""
    """The same of its commands."""
    skills: str = ""
    """The same of its skills."""

    def changed_files(self, folder: Path) -> tuple[str, ...]:
        """Which of its files have changed since they were trusted: `rules`, `settings`."""
        if not self.trusted:
            return ()
        now = folder_digests(folder)
        changed = [name for name in FolderDigests._fields if getattr(self, name) != getattr(now, name)]
        return tuple(name for name in changed if name not in _HARMLESS or getattr(now, name))

    def trusted_commands(self, folder: Path) -> str | None:
        """The digest of the commands with which the folder was trusted, to compare before one runs; None if it is not
        trusted, or something else of it changed."""
        return self.commands if self.trusted and not {*self.changed_files(folder)} - {"commands"} else None


class _Record(msgspec.Struct, forbid_unknown_fields=True):
    folder: dict[str, FolderDecision] = {}


class FolderDecisions:
    """The file of decisions. What is in it is read each time: another program of ours may have changed it."""

    def __init__(self, path: Path, *, owner: int, home: Path | None = None) -> None:
        self._path = path
        self._owner = owner
        self._home = (home or Path.home()).resolve()

    def find(self, folder: Path) -> FolderDecision | None:
        """The decision about the nearest of this folder and those above it; SettingsError if the file is no good.

        Trust in one above is of no folder that brings something itself: what that one brought does not count here.
        """
        folder = folder.resolve()
        decided = self.all()
        for place in (folder, *folder.parents):
            if (found := decided.get(str(place))) is not None and (place == folder or self._holds_below(place)):
                unseen = found.trusted and place != folder and has_folder_content(folder)
                if unseen or not self.can_remember(place):
                    return None
                none = dict.fromkeys(("rules", "settings", "commands", "skills"), "")
                return found if place == folder else msgspec.structs.replace(found, **none)
        return None

    def all(self) -> dict[str, FolderDecision]:
        """Every decision, by the absolute path of its folder; SettingsError if the file is no good."""
        return read_record(_Record, self._path, "record of folders", _HINT, owner=self._owner).folder

    def can_remember(self, folder: Path) -> bool:
        """Whether a decision about it is kept: not for a parent of all home folders, or all of one's own."""
        folder = folder.resolve()
        return folder == self._home or not self._home.is_relative_to(folder)

    def _holds_below(self, folder: Path) -> bool:
        """Trust in the home folder does not extend to the folders in it."""
        return folder != self._home

    def decide(
        self,
        folder: Path,
        *,
        trusted: bool,
        sandbox: SandboxMode | Literal[""] = "",
        seen: FolderDigests = NOTHING,
    ) -> FolderDecision:
        """Keep a decision, where it can be kept; OiTuiError if the file cannot be read or written. `seen` is what the
        folder brought when the person looked: before that was read, for it may change at any time."""
        today = datetime.datetime.now().astimezone().date().isoformat()
        kept = seen if trusted else NOTHING
        made = FolderDecision(trusted=trusted, sandbox=sandbox, decided=today, **kept._asdict())
        if self.can_remember(folder):
            with file_lock(self._path):
                self._write(self.all() | {str(folder.resolve()): made})
        return made

    def forget(self, folder: Path) -> bool:
        """Take back the decision about exactly this folder; whether there was one."""
        with file_lock(self._path):
            decided = self.all()
            if decided.pop(str(folder.resolve()), None) is None:
                return False
            self._write(decided)
            return True

    def _write(self, decided: dict[str, FolderDecision]) -> None:
        import tomli_w  # only where something was decided

        replace_owned_file(self._path, tomli_w.dumps({"folder": msgspec.to_builtins(decided)}))


def known_folders() -> FolderDecisions:
    """What this person decided; OiTuiError in plain words if our folder cannot be used."""
    return FolderDecisions(paths.private_dir(paths.data_dir()) / FOLDERS_FILE, owner=os.getuid())


def trusts_folder(folder: Path) -> bool:
    """Whether this person trusts it; not where the record cannot be relied on."""
    try:
        decision = known_folders().find(folder)
    except SettingsError:
        return False
    return decision is not None and decision.trusted
