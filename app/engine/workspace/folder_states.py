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
        """That of a plain file."""
        mode = state.st_mode & 0o7777
        return cls(state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino, mode)


class FolderState(NamedTuple):
    """All plain files of a folder."""

    files: Mapping[str, FileIdentity]
    """By path, relative to the folder."""
    folders: Collection[str]
    cut: str = ""
    """Why not all of them are there, "" if they are."""


class FolderStates:
    """Looks at one folder, time and again; remembers what is ignored. For a thread, one look at a time."""

    def __init__(self, root: str, *, passed_over: Collection[str] = ()) -> None:
        """Folders of `passed_over` (absolute) are not looked into."""
        self._root, self._passed_over = root, frozenset(passed_over)
        self._ignored: dict[str, bool] = {}
        """By path, with a slash at the end for folders."""
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
                        if not self._is_left_out(f"{rest}/", layers) and level < LEVELS:
                            folders.add(rest)
                            waiting.append((rest, layers, level + 1))
                    elif entry.is_file(follow_symlinks=False) and not self._is_left_out(rest, layers):
                        files[rest] = FileIdentity.of(entry.stat(follow_symlinks=False))
                except OSError:
                    continue  # gone already, or not ours to look at
        if len(files) + len(folders) > most:
            return FolderState(files, folders, f"more than {quantity(most, 'file')}")
        if gone := self._rules.keys() - ruled:
            self._forget_rules(gone)
        return FolderState(files, folders)

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

    def _is_left_out(self, rest: str, layers: tuple[IgnoreRules, ...]) -> bool:
        if not layers:
            return False
        known = self._ignored.get(rest)
        if known is None:
            known = self._ignored[rest] = is_ignored(rest.removesuffix("/"), rest.endswith("/"), layers)
        return known

    def _with_own(self, folder: str, layers: tuple[IgnoreRules, ...]) -> tuple[IgnoreRules, ...]:
        prefix = f"{folder}/" if folder else ""
        path = f"{self._root}/{prefix}{IGNORES}"
        try:
            now = FileIdentity.of(os.lstat(path))
        except OSError:
            return layers
        before = self._rules.get(folder)
        if before is None or before[0] != now:
            if before is not None:
                self._ignored.clear()
            self._rules[folder] = before = (now, load_ignores(path, prefix))
        return layers if before[1] is None else (*layers, before[1])

    def _forget_rules(self, folders: Collection[str]) -> None:
        for folder in folders:
            del self._rules[folder]
        self._ignored.clear()
