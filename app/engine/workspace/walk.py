"""A folder walked through as tools see it: without what git ignores, what is hidden, and links; bounded."""

import os
import stat
import time
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from oi_tui.app.engine.text.words import quantity
from oi_tui.app.engine.workspace.beneath import FOLDER, open_beneath
from oi_tui.app.engine.workspace.ignore_rules import NEVER, IgnoreRules, is_ignored, load_ignores, outer_ignores
from oi_tui.app.engine.workspace.path_rules import FilePlace, HiddenFiles

ENTRIES, SECONDS = 100_000, 10.0
"""Bounds of one walk."""


class FoundEntry(NamedTuple):
    """A file or folder that was met."""

    rest: str
    """Relative to the root of the walk's place."""
    is_folder: bool
    size: int
    level: int
    """0 for what is in the folder itself."""


class FolderWalk:
    """One walk, the nearest entries first, those of a folder by name. For a thread."""

    def __init__(self, place: FilePlace, hidden: HiddenFiles, *, levels: int = 60, entries: int = ENTRIES) -> None:
        self._place, self._hidden, self._levels, self._most = place, hidden, levels, entries
        self._end = time.monotonic() + SECONDS
        self.met = 0
        self.kept_back = 0
        """Entries that are hidden or kept back by a rule."""
        self.ignored = 0
        """Entries that git ignores."""
        self.cut = ""
        """Why it did not come to its end, "" if it did."""

    def entries(self) -> Iterator[FoundEntry]:
        """What is met, folders before their content. OSError if the folder itself cannot be opened."""
        root = os.open(self._place.root, FOLDER)
        try:
            begin = "" if self._place.rest == "." else self._place.rest
            waiting = deque([(begin, tuple(self._rules_above(begin)), 0)])
            while waiting and not self.cut:
                folder, layers, level = waiting.popleft()
                try:
                    opened = open_beneath(root, folder or ".", FOLDER)
                except OSError:
                    if level == 0:
                        raise
                    continue  # gone already, closed to us, or a link by now
                try:
                    for found, inner in self._within(opened, folder, layers, level):
                        yield found
                        if found.is_folder and level + 1 < self._levels:
                            waiting.append((found.rest, inner, level + 1))
                finally:
                    os.close(opened)
        finally:
            os.close(root)

    def _rules_above(self, begin: str) -> Iterator[IgnoreRules]:
        """The rules of the folders above; those of a folder itself are added when it is read."""
        yield from outer_ignores(self._place.root)
        parts = begin.split("/") if begin else []
        for count in range(len(parts)):
            prefix = "".join(f"{part}/" for part in parts[:count])
            if (rules := load_ignores(os.path.join(self._place.root, prefix, ".gitignore"), prefix)) is not None:
                yield rules

    def _within(
        self, opened: int, folder: str, layers: tuple[IgnoreRules, ...], level: int
    ) -> Iterator[tuple[FoundEntry, tuple[IgnoreRules, ...]]]:
        prefix = f"{folder}/" if folder else ""
        own = load_ignores(os.path.join(self._place.root, prefix, ".gitignore"), prefix)
        layers = (*layers, own) if own is not None else layers
        try:
            names = sorted(os.listdir(opened))
        except OSError:
            return
        for name in names:
            self.met += 1
            if self.met > self._most:
                self.cut = f"only {quantity(self._most, 'entry', 'entries')} were looked at"
                return
            if time.monotonic() > self._end:
                self.cut = f"it was ended after {SECONDS:g} seconds"
                return
            found = self._look(opened, name, prefix, level)
            if found is None:
                continue
            if name in NEVER or (layers and is_ignored(found.rest, found.is_folder, layers)):
                self.ignored += 1
            elif self._hidden.why_hidden(os.path.join(self._place.root, found.rest), by_rule=True):
                self.kept_back += 1
            else:
                yield found, layers

    def _look(self, opened: int, name: str, prefix: str, level: int) -> FoundEntry | None:
        """None for a link, and for what is neither a folder nor a plain file."""
        try:
            state = os.stat(name, dir_fd=opened, follow_symlinks=False)
        except OSError:
            return None
        is_folder = stat.S_ISDIR(state.st_mode)
        if not (is_folder or stat.S_ISREG(state.st_mode)):
            return None
        return FoundEntry(f"{prefix}{name}", is_folder, state.st_size, level)

    def remarks(self) -> str:
        """What is not in the result, "" if nothing is missing."""
        parts = [f"{self.ignored:,} ignored by git"] * bool(self.ignored)
        parts += [f"{self.kept_back:,} kept back"] * bool(self.kept_back)
        parts += [self.cut] * bool(self.cut)
        return "; ".join(parts)
