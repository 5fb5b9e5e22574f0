"""The folder where code runs: the decision about it, and the configuration of the engine that follows from it.

undecided        a sandbox as the settings say; the folder's rules may forbid code, but allow nothing
read-only        a read-only sandbox without network, and code needs approval, whatever the flags say
trusted          its rules and settings apply; no sandbox only if chosen, for it or by settings and flags
trusted, but     its rules or settings differ from the ones shown then: the user decides again, and until then no
  changed        changed rule allows anything
"""

from collections.abc import Sequence, Set
from pathlib import Path
from typing import Literal

import msgspec

from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.modes import stricter_sandbox
from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.engine.core.values import SandboxMode
from oi_tui.app.engine.trust.folder_decisions import FolderDecision, FolderDecisions
from oi_tui.app.engine.trust.folder_digests import FolderDigests, folder_digests, has_folder_content
from oi_tui.app.engine.trust.folder_settings import (
    apply_folder_settings,
    read_folder_settings,
    untrusted_settings,
)
from oi_tui.app.engine.trust.instruction_files import find_instruction_files

FolderChoice = Literal["trust", "look", "open"]
"""Trust it; read-only; trust it and use no sandbox."""


LOCK = "protects files elsewhere and the network, not .git and .env of this folder"
"""What code is held by where the weaker lock was chosen."""


class Workplace:
    """The folder the program was started in."""

    def __init__(
        self, setup: Configure, *, said: Set[str], folders: FolderDecisions, remarks: Sequence[str] = ()
    ) -> None:
        """`said` are the settings that are not defaults, `remarks` what the person should know about them;
        SettingsError if the folder's own cannot be read."""
        self._given = setup
        self._folders = folders
        self.folder = Path(setup.cwd)
        self.settings_remarks = tuple(remarks)
        """Those about the settings files, for callers that need no others."""
        self.mode_said = "sandbox.mode" in said
        """Whether settings or flags say what sandbox there is: it is not asked about then."""
        self.decision: FolderDecision | None = folders.find(self.folder)
        self._changed = self._changed_files()
        self.setup: Configure = self._effective_setup()
        """What the next engine is configured with."""

    @property
    def settings(self) -> Settings:
        """The settings that apply here."""
        return self.setup.settings

    @property
    def requested_settings(self) -> Settings:
        """The settings that flags and files ask for, before the decision about the folder."""
        return self._given.settings

    @property
    def is_home(self) -> bool:
        """Whether it is the person's home folder."""
        return self.folder.resolve() == Path.home().resolve()

    @property
    def is_above_home(self) -> bool:
        """Whether the person's home folder is in it, or is it."""
        return Path.home().resolve().is_relative_to(self.folder.resolve())

    @property
    def is_undecided(self) -> bool:
        """Whether there is something to ask the person."""
        if self.decision is None:
            return not self.mode_said or has_folder_content(self.folder)
        return bool(self._changed)

    @property
    def change(self) -> str:
        """What came of a folder that is trusted, in a sentence; "" if it is as it was."""
        if self.decision is None or not self._changed:
            return ""
        what = " and ".join(self._changed)
        if any(getattr(self.decision, name) for name in self._changed):
            return f"The {what} of this folder changed since you trusted it."
        return f"The {what} of this folder did not exist, or were not recorded, when you trusted it."

    @property
    def trusted_commands(self) -> str | None:
        """The digest of the folder's commands with which the person trusted it, None where they may not be used."""
        decided, others = self.decision, {*self._changed} - {"commands"}  # who uses one compares it once more
        return decided.commands if decided is not None and decided.trusted and not others else None

    @property
    def is_remembered(self) -> bool:
        """Whether what is decided now will hold the next time."""
        return self._folders.can_remember(self.folder)

    def choose(self, choice: FolderChoice, seen: FolderDigests | None = None) -> None:
        """Decide, keep it where it can be kept, and have the next engine configured accordingly; OiTuiError if the
        decision cannot be written, or the folder cannot be relied on. `seen` is what the folder brought when that was
        shown, None what it brings now."""
        seen = seen if seen is not None else folder_digests(self.folder)
        if choice != "look":
            read_folder_settings(self.folder)  # before anything is written down: it must not be trusted if this fails
        sandbox: SandboxMode | Literal[""] = "danger-full-access" if choice == "open" else ""
        self.decision = self._folders.decide(self.folder, trusted=choice != "look", sandbox=sandbox, seen=seen)
        self._changed = self._changed_files()
        self.setup = self._effective_setup()

    def _changed_files(self) -> tuple[str, ...]:
        return self.decision.changed_files(self.folder) if self.decision is not None else ()

    def _effective_setup(self) -> Configure:
        given, decision = self._given.settings, self.decision
        replace = msgspec.structs.replace
        if decision is None:
            return replace(self._given, trusted=False)
        if not decision.trusted:
            return replace(self._given, settings=untrusted_settings(given), trusted=False)
        mode = given.sandbox.mode
        if decision.sandbox:
            mode = stricter_sandbox(mode, decision.sandbox) if self.mode_said else decision.sandbox
        settings = replace(given, sandbox=replace(given.sandbox, mode=mode))
        settings = apply_folder_settings(settings, read_folder_settings(self.folder))
        return replace(
            self._given,
            settings=settings,
            trusted=not self._changed,
            rules=decision.rules,
            instructions=decision.instructions,
            skills=decision.skills,
        )

    def remarks(self) -> list[str]:
        """What somebody who was not asked has to know: one line each, for a front end without a screen."""
        decision, where = self.decision, self.folder
        mode = self.settings.sandbox.mode
        said = list(self.settings_remarks)
        left_out = " and its instructions are not used" if find_instruction_files(where) else ""
        if self.is_above_home and mode == "workspace-write":
            said.append(f"{where} contains your home folder: code could change nearly all your files.")
        if decision is None and has_folder_content(where):
            said.append(f"{where} is not trusted: its rules can only forbid{left_out}. “oi-tui trust” trusts it.")
        elif decision is not None and not decision.trusted:
            said.append(f"{where} is read-only: code writes nothing and needs approval. See “oi-tui trust”.")
        if self.change:
            said.append(f"{self.change} Until you look, its rules can only forbid{left_out}: “oi-tui trust”.")
        if mode != "danger-full-access" and self.settings.sandbox.rung == "lock":
            said.append(f"The weaker lock, as you chose: it {LOCK}.")
        if decision is not None and mode == decision.sandbox == "danger-full-access" and not self.mode_said:
            said.append("No sandbox, as you chose for this folder: code has your full permissions.")
        return said
