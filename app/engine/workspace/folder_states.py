"""How the files of a folder are, without reading them: size, times and inode of each, quickly enough to be asked before
and after every run. What git ignores is left out, and no link is followed."""

import os
import stat
import time
from collections.abc import Collection, Iterator, Mapping
from itertools import chain, islice
from typing import NamedTuple

from oi_tui.app.engine.text.words import quantity
from oi_tui.app.engine.workspace.ignore_rules import NEVER, IgnoreRules, is_ignored, load_ignores, outer_ignores

LEVELS = 40
"""Folders in folders."""

SECONDS = 2.0
"""Of one look."""

AT_ONCE = 5_000
"""Entries of one folder that are held in memory."""

ENVIRONMENT = "pyvenv.cfg"
"""What makes a folder an environment of Python, which is not looked into."""

IGNORES = ".gitignore"


class FileIdentity(NamedTuple):
    """A file at one moment: the same identity later means that nobody has written it since."""

    size: int
    modified: int
    """In nanoseconds of Unix time, as a program may set it."""
    changed: int
    """The same, as no program can set it."""
    inode: int
    mode: int
    """Permissions."""

    @classmethod
    def of(cls, state: os.stat_result) -> "FileIdentity":
        """The identity of a plain file."""
        mode = state.st_mode & 0o7777
        return cls(state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino, mode)


class FolderState(NamedTuple):
    """All plain files of a folder."""

    files: Mapping[str, FileIdentity]
    """By path, relative to the folder."""
    folders: Collection[str]
    cut: str = ""
    """Why not all of them are there, "" if they are."""


class Verdicts(NamedTuple):
    """What is ignored in one folder."""

    layers: tuple[IgnoreRules, ...]
    """The rules that say so."""
    ignored: dict[str, bool]
    """By name, with a slash at the end for folders."""


class FolderStates:
    """Looks at one folder, time and again; remembers what is ignored. For a thread, one look at a time."""

    def __init__(self, root: str, *, passed_over: Collection[str] = ()) -> None:
        """Folders of `passed_over` (absolute) are not looked into."""
        self._root, self._passed_over = root, frozenset(passed_over)
        self._verdicts: dict[str, Verdicts] = {}
        """By folder, of the last look that saw all."""
        self._earlier: dict[str, Verdicts] = {}
        """Of the one before."""
        self._rules: dict[str, tuple[FileIdentity, IgnoreRules | None]] = {}
        """By folder, of its ignore file."""
        self._outer = tuple(outer_ignores(root))

    def look(self, most: int) -> FolderState:
        """How it is now, unless it has more than `most` files and folders."""
        files: dict[str, FileIdentity] = {}
        folders: set[str] = set()
        end = time.monotonic() + SECONDS
        waiting: list[tuple[str, tuple[IgnoreRules, ...], int]] = [("", self._outer, 0)]
        ruled: set[str] = set()
        verdicts: dict[str, Verdicts] = {}
        while waiting:
            folder, layers, level = waiting.pop()
            entries = self._entries(folder)
            found = list(islice(entries, AT_ONCE))
            names = {entry.name for entry in found}
            if len(found) == AT_ONCE:  # the others are not held in memory
                names |= {name for name in (ENVIRONMENT, IGNORES) if os.path.lexists(f"{self._root}/{folder}/{name}")}
            if ENVIRONMENT in names:
                continue
            if IGNORES in names:
                ruled.add(folder)
                layers = self._with_own(folder, layers)
            prefix = f"{folder}/" if folder else ""
            here = verdicts[folder] = Verdicts(layers, {})
            known = self._last_verdicts(folder, layers)
            for entry in chain(found, entries):
                if len(files) + len(folders) > most:
                    return FolderState(files, folders, f"more than {quantity(most, 'file')}")
                if time.monotonic() > end:
                    return FolderState(files, folders, f"to look at all files takes longer than {SECONDS:g} seconds")
                name = entry.name
                if name in NEVER:
                    continue
                rest = prefix + name
                try:
                    if entry.is_dir(follow_symlinks=False):
                        if not _is_left_out(rest, f"{name}/", here, known) and level < LEVELS:
                            folders.add(rest)
                            waiting.append((rest, layers, level + 1))
                    elif entry.is_file(follow_symlinks=False) and not _is_left_out(rest, name, here, known):
                        files[rest] = FileIdentity.of(entry.stat(follow_symlinks=False))
                except OSError:
                    continue  # gone already, or not ours to look at
        if len(files) + len(folders) > most:
            return FolderState(files, folders, f"more than {quantity(most, 'file')}")
        for gone in self._rules.keys() - ruled:
            del self._rules[gone]
        self._earlier, self._verdicts = self._verdicts, verdicts
        return FolderState(files, folders)

    def was_ignored(self, rest: str) -> bool:
        """Whether a file that the last look saw was there in the one before, and was left out."""
        folder, _, name = rest.rpartition("/")
        while not self._was_left_out(folder, name):
            if not folder:
                return False
            folder, _, name = folder.rpartition("/")
            name += "/"
        return True

    def _was_left_out(self, folder: str, name: str) -> bool:
        before = self._earlier.get(folder)
        return before is not None and before.ignored.get(name, False)

    def _last_verdicts(self, folder: str, layers: tuple[IgnoreRules, ...]) -> Mapping[str, bool]:
        """The verdicts of the same rules at the last look."""
        before = self._verdicts.get(folder)
        return before.ignored if before is not None and before.layers == layers else {}

    def _entries(self, folder: str) -> Iterator[os.DirEntry[str]]:
        path = f"{self._root}/{folder}" if folder else self._root
        if path in self._passed_over:
            return
        try:
            if folder and stat.S_ISLNK(os.lstat(path).st_mode):
                return  # it became one since
            with os.scandir(path) as entries:
                yield from entries
        except OSError:
            return  # gone already, or closed to us

    def _with_own(self, folder: str, layers: tuple[IgnoreRules, ...]) -> tuple[IgnoreRules, ...]:
        prefix = f"{folder}/" if folder else ""
        path = f"{self._root}/{prefix}{IGNORES}"
        try:
            now = FileIdentity.of(os.lstat(path))
        except OSError:
            return layers
        before = self._rules.get(folder)
        if before is None or before[0] != now:
            self._rules[folder] = before = (now, load_ignores(path, prefix))
        return layers if before[1] is None else (*layers, before[1])


def _is_left_out(rest: str, name: str, here: Verdicts, known: Mapping[str, bool]) -> bool:
    """Whether what has this path and name is ignored; noted `here`, as long as that is not too much."""
    if not here.layers:
        return False
    ignored = known.get(name)
    if ignored is None:
        ignored = is_ignored(rest, name.endswith("/"), here.layers)
    if len(here.ignored) < AT_ONCE:
        here.ignored[name] = ignored
    return ignored
