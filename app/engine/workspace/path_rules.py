"""What tools may read and write of a person's files: the folder and what the settings add, without what the sandbox
would hide or keep, for nothing else is around a tool that runs in the engine."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from oi_tui.app.engine.policy.decision import Policy
from oi_tui.app.engine.policy.losses import is_within
from oi_tui.app.engine.policy.reading import PathUse, SourceFacts
from oi_tui.app.engine.policy.rules import Rule, fixed_path, hit
from oi_tui.app.engine.sandbox.places import (
    GUARDED,
    guarded_paths,
    is_covered,
    is_environment_file,
    secrets,
)
from oi_tui.app.engine.sandbox.profile import Profile
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.tools.tool import ToolFailed
from oi_tui.app.engine.trust.autorun_files import is_place, runs_later


class PlaceRefused(ToolFailed):
    """A path that no tool opens; the text says why."""


class FilePlace(NamedTuple):
    """Where a path leads: a folder that tools may work in, and the way from there, without links."""

    root: str
    rest: str
    """Relative, "." for the folder itself."""
    name: str
    """The path as it is shown: relative to the working folder if it is inside."""

    @property
    def path(self) -> str:
        """For words and rules; to open it, there is `beneath.py`."""
        return self.root if self.rest == "." else os.path.join(self.root, self.rest)


class PathRules:
    """The path rules of one session."""

    def __init__(self, profile: Profile, policy: Callable[[], Policy] = Policy) -> None:
        """`profile.hidden` are our own folders, which no tool enters in any mode."""
        self._profile, self._policy = profile, policy
        self.folder = str(profile.workspace)
        writes = () if profile.mode == "read-only" else (profile.workspace, *profile.writable)
        self._writes = tuple(map(str, writes))
        self._roots = tuple(map(str, (profile.workspace, *profile.writable, *profile.readable)))

    def locate(self, path: str) -> FilePlace:
        """Where this path leads now; PlaceRefused if that is nowhere that tools go."""
        if not path or "\0" in path:
            raise PlaceRefused("That is no path.")
        spelled = self._policy().base._replace(cwd=self.folder).absolute(path)
        try:
            real = os.path.realpath(spelled)
        except (OSError, ValueError) as error:
            raise PlaceRefused(f"{safe_text(path)} is no path that can be followed.") from error
        root = max((one for one in self._roots if is_within(real, one)), key=len, default="")
        if not root:
            link = any(is_within(spelled, one) for one in self._roots)
            why = "leads out of the folder through a link" if link else "is outside of the folder"
            hint = "sandbox.readable and sandbox.writable of the settings add others"
            raise PlaceRefused(f"{safe_text(path)} {why} that tools for files work in ({hint}).")
        if not os.path.isdir(root):  # a single file that the settings name
            root = os.path.dirname(root)
        rest = os.path.relpath(real, root)
        name = os.path.relpath(real, self.folder) if is_within(real, self.folder) else real
        return FilePlace(root, rest, name)

    def check_read(self, place: FilePlace) -> None:
        """PlaceRefused for what no tool reads."""
        if why := self.view().why_hidden(place.path):
            raise PlaceRefused(f"{safe_text(place.name)} {why}.")

    def check_write(self, place: FilePlace) -> None:
        """PlaceRefused for what no tool changes."""
        self.check_read(place)
        if not any(is_within(place.path, one) for one in self._writes):
            why = "the sandbox is read-only" if not self._writes else "this folder can only be read"
            raise PlaceRefused(f"{safe_text(place.name)} cannot be changed: {why}.")
        if self._encloses and self._is_guarded(place.path):
            raise PlaceRefused(
                f"{safe_text(place.name)} cannot be changed: other programs run or obey it, and the sandbox keeps it "
                "as it is."
            )

    @property
    def _encloses(self) -> bool:
        return self._profile.encloses and not self._profile.is_weaker

    def _is_guarded(self, path: str) -> bool:
        if any(part in (".git", ".oi") for part in path.lower().split("/")):
            return True
        for folder in map(Path, self._writes):
            kept = {*guarded_paths(folder, is_home=folder == self._profile.home), *(folder / name for name in GUARDED)}
            if is_covered(Path(path), kept):
                return True
        return False

    def later(self, place: FilePlace) -> bool:
        """Whether other programs run or obey this file later, by themselves."""
        folder, _, name = place.path.rpartition("/")
        mode = 0
        with contextlib.suppress(OSError):  # it is not there yet: its name alone says what it will be
            mode = os.lstat(place.path).st_mode
        return runs_later(name, mode, in_place=is_place(f"{folder.removeprefix('/')}/"))

    def uses(self, path: str, *, writes: bool = False, whole: bool = False) -> tuple[PathUse, ...]:
        """The path for rules and labels: as written, where it leads, and as rules spell that."""
        base = self._policy().base
        real = os.path.realpath(base._replace(cwd=self.folder).absolute(path)) if "\0" not in path else path
        spelled = {path: None, real: None}
        for rule in self._policy().rules:
            if rule.tool in ("Edit", "Read") and rule.real and is_within(real, rule.real):
                spelled[fixed_path(rule, base).rstrip("/") + real[len(rule.real.rstrip("/")) :]] = None
        return tuple(PathUse(one, 0, writes=writes, whole=whole) for one in spelled)

    def view(self) -> "HiddenFiles":
        """What is hidden at this moment."""
        policy = self._policy()
        closed = [rule for rule in policy.rules if rule.tool == "Read" and rule.verdict != "allow"]
        own = frozenset(self._profile.hidden)
        hidden = own | frozenset(secrets(self._profile)) if self._encloses else own
        return HiddenFiles(hidden, tuple(closed), policy, by_name=self._encloses)


class HiddenFiles:
    """What must not be read, at one moment: quick enough to be asked about each file of a large folder."""

    def __init__(self, hidden: frozenset[Path], rules: tuple[Rule, ...], policy: Policy, *, by_name: bool) -> None:
        self._hidden = tuple(map(str, hidden))
        self._rules, self._policy, self._by_name = rules, policy, by_name

    def why_hidden(self, path: str, *, by_rule: bool = False) -> str:
        """Why no tool reads this (absolute, without links), "" if nothing is against it. `by_rule`: also what rules
        deny or ask about, which is decided before where a call names the file."""
        if any(is_within(path, one) for one in self._hidden):
            return "is hidden from code and tools"
        if self._by_name and is_environment_file(path.rpartition("/")[2]):
            return "is hidden from code and tools: such files hold secrets"
        if by_rule and any(self._rule_hits(path)):
            return "is kept back by a rule"
        return ""

    def _rule_hits(self, path: str) -> Iterator[bool]:
        base = self._policy.base
        for rule in self._rules:
            spelled = [path]
            if rule.real and is_within(path, rule.real):
                spelled.append(fixed_path(rule, base).rstrip("/") + path[len(rule.real.rstrip("/")) :])
            facts = SourceFacts(places=tuple(PathUse(one, 0) for one in spelled))
            yield hit(rule, facts, "Tool", "", base) == "yes"
