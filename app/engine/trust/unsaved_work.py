"""The person's work that would be lost if a file were overwritten: content that git does not have.

git itself is not run (see `git_index.py`). A file counts as safe where its content is in the index of its repository:
committed, or staged at least. A file outside of any repository is not judged here. Other systems of version control are
not known. Methods are for a thread; all they do is bounded, and what could not be looked at counts as lost.
"""

import glob
import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from oi_tui.app.engine.policy.losses import MANY, Loss, Target
from oi_tui.app.engine.trust.git_index import LARGEST, IndexEntry, WrongIndex, find_entries

SECONDS = 1.0
"""Of one look."""

FILES = 2_000
"""That are looked at for one source."""

COMPARED = 64_000_000
"""Bytes of a file whose content is compared."""

CHANGED = ", whose changes are not committed"
UNTRACKED = ", which is not under version control"
UNKNOWN = ", and whether it is committed took too long to find out"
TOO_MANY = "more files than oi-tui looks at"

_LEVELS = 60
"""Folders above a file in which its repository is looked for."""


_MADE_AGAIN = frozenset({".git", "__pycache__", "node_modules"})
"""Folders that are not looked into."""


class _Repository(NamedTuple):
    root: str
    """Of the working tree."""
    data: str
    """The folder in which the index is."""


class UnsavedWork:
    """Looks for it. Several threads may use one."""

    def __init__(
        self, *, seconds: float = SECONDS, files: int = FILES, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._seconds, self._files, self._clock = seconds, files, clock

    def list_files(self, targets: Sequence[Target]) -> Sequence[str]:
        """The files these targets name, existing or not; without links."""
        try:
            return [path for _, path in self._expand(targets, self._clock() + self._seconds) if path]
        except (OSError, ValueError):  # a path that no system takes
            return ()

    def find_losses(self, targets: Sequence[Target]) -> Sequence[Loss]:
        """Targets whose present content git does not have."""
        try:
            return self._look(targets)
        except (OSError, ValueError):  # the same, or a folder went away meanwhile
            return [Loss(target, target.path, UNKNOWN) for target in targets[:1]]

    def _look(self, targets: Sequence[Target]) -> Sequence[Loss]:
        end = self._clock() + self._seconds
        losses: list[Loss] = []
        found: dict[_Repository, dict[str, Target]] = {}
        homes: dict[str, _Repository | None] = {}
        for target, path in self._expand(targets, end):
            if not path:
                losses.append(Loss(target, "", TOO_MANY))
            elif _has_content(path):
                repository = _repository_of(os.path.dirname(path), homes)
                if repository is not None:
                    found.setdefault(repository, {}).setdefault(path, target)
        for repository, files in found.items():
            names = {os.fsencode(os.path.relpath(path, repository.root)): path for path in files}
            entries, compared = _known_files(repository, names)
            for name, path in names.items():
                entry = entries.get(name)
                if self._clock() > end:
                    losses.append(Loss(files[path], path, UNKNOWN))
                elif entry is None:
                    losses.append(Loss(files[path], path, UNTRACKED))
                elif not _is_held(path, entry, compared):
                    losses.append(Loss(files[path], path, CHANGED))
        return losses

    def _expand(self, targets: Sequence[Target], end: float) -> Iterator[tuple[Target, str]]:
        """Each file that a target means; "" for those that are too many."""
        seen: set[str] = set()
        for place, target in enumerate(targets):
            for path in _files_of(target, self._files):
                if len(seen) >= self._files or place >= MANY or self._clock() > end:
                    yield target, ""
                    return
                if path not in seen:
                    seen.add(path)
                    yield target, path


def _files_of(target: Target, most: int) -> Iterator[str]:
    sources = _matches(target.source) if target.pattern and target.source else iter((target.source,))
    goals = [*islice(_matches(target.path), most + 1)] if target.pattern else [target.path]
    for source in sources:
        for goal in goals:
            if not source:
                beneath = _beneath(goal) if target.moved and os.path.isdir(goal) else (goal,)
                yield from map(os.path.realpath, beneath)
                continue
            inside = os.path.join(goal, os.path.basename(source))
            if target.tree and os.path.isdir(source):
                for file in _beneath(source):
                    rest = os.path.relpath(file, source)
                    yield os.path.realpath(os.path.join(goal, rest))
                    yield os.path.realpath(os.path.join(inside, rest))
            else:
                yield os.path.realpath(inside if os.path.isdir(goal) else goal)


def _matches(pattern: str) -> Iterator[str]:
    """The files that are there; of a text without signs for them, the text."""
    return glob.iglob(pattern, recursive=True) if glob.has_magic(pattern) else iter((pattern,))


def _beneath(folder: str) -> Iterator[str]:
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in _MADE_AGAIN]
        yield from (os.path.join(place, file) for file in files)


def _has_content(path: str) -> bool:
    """Whether there is a file with something in it."""
    try:
        state = os.lstat(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(state.st_mode) and state.st_size > 0


def _repository_of(folder: str, known: dict[str, _Repository | None]) -> _Repository | None:
    """The nearest one in whose working tree the folder is. A `.git` without a HEAD is none: the sandbox creates one
    where a repository must not be made."""
    passed: list[str] = []
    found: _Repository | None = None
    for _ in range(_LEVELS):
        if folder in known:
            found = known[folder]
            break
        passed.append(folder)
        data = os.path.join(folder, ".git")
        if os.path.isfile(data):
            data = _told_folder(data)
        if data and os.path.lexists(os.path.join(data, "HEAD")):
            found = _Repository(folder, data)
            break
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above
    known.update(dict.fromkeys(passed, found))
    return found


def _told_folder(file: str) -> str:
    """Where the `.git` of a further working tree or of a module leads; "" if nowhere."""
    word, _, path = _read_all(file, 8_192).decode("utf-8", "surrogateescape").partition(":")
    path = path.strip("\n").strip(" ")
    return os.path.join(os.path.dirname(file), path) if word == "gitdir" and path and "\0" not in path else ""


def _known_files(repository: _Repository, names: dict[bytes, str]) -> tuple[dict[bytes, IndexEntry], int]:
    """What the index says of these, and when it was written, in nanoseconds; nothing if it cannot be read. It may be
    split in two files; the second has the entries that have not changed for long."""
    index = os.path.join(repository.data, "index")
    entries: dict[bytes, IndexEntry] = {}
    try:
        written = os.stat(index).st_mtime_ns
        shared = sorted(Path(repository.data).glob("sharedindex.*"))[:4]
        for path in (index, *map(str, shared)):
            found = find_entries(_read_all(path, LARGEST), [name for name in names if name not in entries])
            entries = {**found, **entries}
    except (OSError, WrongIndex):
        return entries, 0
    return entries, written


def _read_all(path: str, most: int) -> bytes:
    """All of a plain file, nothing of anything else or of what is longer."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        return b""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        state = os.fstat(file.fileno())
        return file.read(most + 1) if stat.S_ISREG(state.st_mode) and state.st_size <= most else b""


def _is_held(path: str, entry: IndexEntry, written: int) -> bool:
    """Whether the file has the content that git has. As `git status` does: a file that looks as it did when it was
    compared last is the same, unless it could have changed in the moment the index was written; else the content
    counts."""
    if not entry.held:
        return False
    try:
        state = os.lstat(path)
        if _looks_the_same(state, entry) and state.st_mtime_ns < written:
            return True
        return state.st_size <= COMPARED and _digest(path, state.st_size, len(entry.oid)) == entry.oid
    except OSError:
        return False


def _looks_the_same(state: os.stat_result, entry: IndexEntry) -> bool:
    """Some programs write an index without inodes and parts of a second: these are not compared."""
    for nanoseconds, (seconds, rest) in ((state.st_mtime_ns, entry.modified), (state.st_ctime_ns, entry.changed)):
        if (nanoseconds // 10**9) & 0xFFFFFFFF != seconds or rest not in (0, nanoseconds % 10**9):
            return False
    return entry.size == state.st_size & 0xFFFFFFFF and entry.inode in (0, state.st_ino & 0xFFFFFFFF)


def _digest(path: str, size: int, length: int) -> bytes:
    """The name that git gives to this content."""
    made = hashlib.new("sha1" if length == 20 else "sha256", b"blob %d\0" % size, usedforsecurity=False)
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
        while piece := file.read(1_000_000):
            made.update(piece)
    return made.digest()
