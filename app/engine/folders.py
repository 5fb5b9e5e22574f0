"""What a person decided about folders: whether what stands in them counts, and whether code there does without a
sandbox. Kept in a file of ours that code in a sandbox does not see.

    [folder."/home/me/data"]
    trusted = true
    sandbox = "danger-full-access"     # only where it was chosen for this folder
    decided = "2026-11-22"
"""

import datetime
import tomllib
from pathlib import Path
from typing import Literal

import msgspec

from oi_tui.app.engine.errors import SettingsError
from oi_tui.app.engine.owned_file import locked, read_owned, replace_owned
from oi_tui.app.engine.project import brings_something
from oi_tui.app.engine.values import SandboxMode, Value

NAME = "folders.toml"
_HINT = "Nothing is run until it can be relied on: mend it, or delete it and decide anew."


class Decision(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What holds for a folder and what is below it. Trust ends where something below brings rules of its own: code in a
    sandbox may have written them."""

    trusted: bool
    """Its own rules and settings count. If not: code reads only, and is asked about."""
    sandbox: SandboxMode | Literal[""] = ""
    """What was chosen for this folder; "" leaves it to the settings."""
    decided: str = ""
    """The day."""


class _Record(msgspec.Struct, forbid_unknown_fields=True):
    folder: dict[str, Decision] = {}


class Folders:
    """The file of decisions. What is in it is read each time: another program of ours may have changed it."""

    def __init__(self, path: Path, *, owner: int, home: Path | None = None) -> None:
        self._path = path
        self._owner = owner
        self._home = (home or Path.home()).resolve()

    def find(self, folder: Path) -> Decision | None:
        """The decision about the nearest of this folder and those above it; SettingsError if the file is no good."""
        folder = folder.resolve()
        decided = self.all()
        for place in (folder, *folder.parents):
            if (found := decided.get(str(place))) is not None and (place == folder or self._holds_below(place)):
                unseen = found.trusted and place != folder and brings_something(folder)
                return found if self.can_remember(place) and not unseen else None
        return None

    def all(self) -> dict[str, Decision]:
        """Every decision, by the absolute path of its folder; SettingsError if the file is no good."""
        text = read_owned(self._path, "record of folders", _HINT, owner=self._owner)
        if text is None:
            return {}
        try:
            return msgspec.convert(tomllib.loads(text), _Record).folder
        except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
            raise SettingsError(f"The record of folders {self._path} is wrong: {error}.", hint=_HINT) from error

    def can_remember(self, folder: Path) -> bool:
        """Whether a decision about it is kept: not for what holds everybody's folders, or all of one's own."""
        folder = folder.resolve()
        return folder == self._home or not self._home.is_relative_to(folder)

    def _holds_below(self, folder: Path) -> bool:
        """To trust one's home folder is not to trust whatever is unpacked somewhere in it."""
        return folder != self._home

    def decide(self, folder: Path, *, trusted: bool, sandbox: SandboxMode | Literal[""] = "") -> Decision:
        """Keep a decision, where it can be kept; OiTuiError if the file cannot be read or written."""
        today = datetime.datetime.now().astimezone().date().isoformat()
        made = Decision(trusted=trusted, sandbox=sandbox, decided=today)
        if self.can_remember(folder):
            with locked(self._path):
                self._write(self.all() | {str(folder.resolve()): made})
        return made

    def forget(self, folder: Path) -> bool:
        """Take back the decision about exactly this folder; whether there was one."""
        with locked(self._path):
            decided = self.all()
            if decided.pop(str(folder.resolve()), None) is None:
                return False
            self._write(decided)
            return True

    def _write(self, decided: dict[str, Decision]) -> None:
        import tomli_w  # only where something was decided

        replace_owned(self._path, tomli_w.dumps({"folder": msgspec.to_builtins(decided)}))
