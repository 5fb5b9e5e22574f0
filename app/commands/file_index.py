"""The files of a folder by name, found while a name is typed.

A thread walks the folder, within limits and never through links. Searches use the result of the walk: with a hundred
thousand files they take a few milliseconds, so each key press can search.
"""

import asyncio
import os
import re
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator
from itertools import accumulate, compress
from typing import NamedTuple

from oi_tui.app.commands.mentions import write_mention
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.workspace.ignore_rules import NEVER, IgnoreRules, is_ignored, load_ignores, outer_ignores

MOST = 200_000
"""Entries of an index."""

TEXT = 30_000_000
"""Characters of all their paths together: those of a deep folder are long."""

WALK = 10.0
"""Seconds that a walk may take."""

FRESH, SHARE = 3.0, 20
"""Seconds after which the next search walks the folder again, and the same as a multiple of the last walk's
duration."""

FOUND = 50
"""Results of one search."""

ENOUGH = 10
"""With this many paths that contain the query, paths that only have its letters are not searched."""

BREATHER = 500
"""Entries after which the walk lets others have the processor."""


class FileTable(NamedTuple):
    """The result of one walk, nearest and shortest first, prepared for searches."""

    paths: tuple[str, ...] = ()
    """Below the folder; those of folders end with a slash."""
    lower: str = ""
    """All paths in small letters, each behind a line feed."""
    starts: tuple[int, ...] = ()
    """The offset in `lower` of the line feed before each path."""
    masks: tuple[int, ...] = ()
    """Of each path, one bit for each letter that is in it."""
    cut: bool = False
    """Whether there is more than the bounds allow."""

    @classmethod
    def of(cls, paths: list[str], *, cut: bool = False) -> "FileTable":
        """The table of these paths."""
        alike: dict[tuple[int, int], list[str]] = {}
        for path in paths:
            alike.setdefault((path.count("/", 0, -1), len(path)), []).append(path)
        # In pieces: nothing else could run while all of them are sorted in one go.
        paths = [path for kind in sorted(alike) for path in sorted(alike[kind])]
        small = [_small(path) for path in paths]
        starts = tuple(accumulate((len(path) + 1 for path in small), initial=0))[:-1]
        return cls(tuple(paths), "".join(f"\n{path}" for path in small), starts, tuple(map(_mask, small)), cut)


def find_files(table: FileTable, query: str, most: int = FOUND) -> list[str]:
    """Paths that match the query, best first: names that begin with it, paths that contain it, then paths that have its
    letters in order. Hidden files (`.name`) match only if the query has a dot."""
    query = _small(query)
    found: dict[int, None] = {}
    ways = (_by_name, _by_part, _by_letters) if query else (_all,)
    for way in ways:
        if way is _by_letters and len(found) >= ENOUGH:
            break
        for number in way(table, query):
            path = table.paths[number]
            if "." in query or not _is_hidden(path):
                found[number] = None
            if len(found) >= most:
                return [table.paths[one] for one in found]
    return [table.paths[one] for one in found]


def _all(table: FileTable, query: str) -> Iterator[int]:
    yield from range(len(table.paths))


def _by_name(table: FileTable, query: str) -> Iterator[int]:
    """Paths, or names in them, that begin with it."""
    yield from _places(table, f"\n{query}")
    yield from _places(table, f"/{query}")


def _by_part(table: FileTable, query: str) -> Iterator[int]:
    return _places(table, query)


def _places(table: FileTable, text: str) -> Iterator[int]:
    """Paths that contain this text; each path is preceded by a line feed."""
    place = table.lower.find(text)
    while place >= 0:
        number = bisect_right(table.starts, place) - 1
        yield number
        if number + 1 == len(table.starts):
            return
        place = table.lower.find(text, table.starts[number + 1])


def _by_letters(table: FileTable, query: str) -> Iterator[int]:
    wanted = _mask(query)
    # Each letter at its first place only, without backtracking: the names come from strangers.
    order = re.compile("".join(f"(?>[^\n]*?{re.escape(letter)})" for letter in query))
    lower, starts, last = table.lower, table.starts, len(table.starts) - 1
    for number in compress(range(len(starts)), (mask & wanted == wanted for mask in table.masks)):
        end = starts[number + 1] if number < last else len(lower)
        if order.match(lower, starts[number] + 1, end):
            yield number


class FileIndex:
    """The files of one folder at the time of the last walk."""

    def __init__(self, folder: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.folder = folder
        self.table = FileTable()
        self.is_ready = False
        """Whether it was walked at least once."""
        self._clock = clock
        self._due = float("-inf")
        """When to walk again."""
        self._walking: asyncio.Task[None] | None = None

    def search(self, query: str) -> list[str]:
        """The matches known so far."""
        return find_files(self.table, query)

    def refresh(self, then: Callable[[], None]) -> None:
        """Walk the folder in a thread, unless that was done just now; `then` is called where that changed anything."""
        if self._walking is None and self._clock() >= self._due:
            self._walking = asyncio.create_task(self._walk(then))

    async def _walk(self, then: Callable[[], None]) -> None:
        begun = self._clock()
        try:
            table = await asyncio.to_thread(walk_folder, self.folder)
        finally:
            now = self._clock()
            self._due, self._walking = now + max(FRESH, SHARE * (now - begun)), None
        is_new = not self.is_ready or table.paths != self.table.paths
        self.table, self.is_ready = table, True
        if is_new:
            then()


def walk_folder(folder: str, most: int = MOST, within: float = WALK) -> FileTable:
    """The table of what is in the folder, without what its `.gitignore` files leave out and without names that no
    prompt can mention or no terminal should show. Nearer folders come first where the bounds are met."""
    end = time.monotonic() + within
    found: list[str] = []
    text = 0
    waiting: deque[tuple[str, tuple[IgnoreRules, ...]]] = deque([("", tuple(outer_ignores(folder)))])
    while waiting:
        prefix, layers = waiting.popleft()
        own = load_ignores(os.path.join(folder, prefix, ".gitignore"), prefix)
        layers = (*layers, own) if own is not None else layers
        try:
            entries = os.scandir(os.path.join(folder, prefix))
        except OSError:
            continue
        with entries:
            for number, entry in enumerate(entries):
                if len(found) >= most or text > TEXT or time.monotonic() > end:
                    return FileTable.of(found, cut=True)
                if number % BREATHER == BREATHER - 1:
                    time.sleep(0)
                path, is_folder = f"{prefix}{entry.name}", _is_folder(entry)
                if is_folder is None or entry.name in NEVER or _is_unspeakable(path):
                    continue
                if layers and is_ignored(path, is_folder, layers):
                    continue
                found.append(f"{path}/" if is_folder else path)
                text += len(path)
                if is_folder:
                    waiting.append((f"{path}/", layers))
    return FileTable.of(found)


def _is_folder(entry: os.DirEntry[str]) -> bool | None:
    """None for a link, and for what is neither a folder nor a file."""
    try:
        if entry.is_dir(follow_symlinks=False):
            return True
        return False if entry.is_file(follow_symlinks=False) else None
    except OSError:
        return None


def _is_unspeakable(path: str) -> bool:
    if path.isascii() and path.isprintable() and '"' not in path:
        return False
    return safe_text(path) != path or "\n" in path or write_mention(path) is None


def _is_hidden(path: str) -> bool:
    return path.startswith(".") or "/." in path


def _small(text: str) -> str:
    """In small letters, each character still one."""
    lower = text.lower()
    return (
        lower if len(lower) == len(text) else "".join(char if len(char.lower()) != 1 else char.lower() for char in text)
    )


def _mask(text: str) -> int:
    mask = 0
    for char in set(text):
        mask |= 1 << (ord(char) & 63)
    return mask
