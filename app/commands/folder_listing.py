"""The entries of one folder outside of the working folder, found while a path to it is typed after `@`.

The folder is read in a thread that nothing waits for, not even the end of the program: a dead network folder may block
it forever. One folder at a time, within bounds.
"""

import asyncio
import contextlib
import os
import re
import threading
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from oi_tui.app.commands.mentions import write_mention
from oi_tui.app.engine.text.safe import safe_text

MOST = 5_000
"""Entries that are read of a folder."""

FOUND = 50
"""Results of one search."""

FRESH = 3.0
"""Seconds after which the next search reads the folder again."""

_OUTSIDE = re.compile(r"(?:~?|\.\.?)/")


def is_outside(query: str) -> bool:
    """Whether what is typed after `@` leads somewhere by itself: `/`, `~/`, `../`, `./`."""
    return _OUTSIDE.match(query) is not None


class FolderListing:
    """The entries of the folder that was asked for last."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._place = ""
        """The folder that is listed."""
        self._paths: tuple[str, ...] = ()
        self._due = float("-inf")
        self._is_reading = False
        self._is_awaited = False
        """Whether another folder was asked for meanwhile."""
        self.is_cut = False
        """Whether the folder has more than the bounds allow."""

    def search(self, folder: Path, query: str, then: Callable[[], None]) -> list[str] | None:
        """Paths that continue the typed one, best first; None while its folder is read, after which `then` is called.

        Those of folders end with a slash. Hidden names are found once a dot is typed.
        """
        prefix, begun = query[: query.rindex("/") + 1], query[query.rindex("/") + 1 :].casefold()
        place = os.path.join(folder, os.path.expanduser(prefix))
        if place != self._place or self._clock() >= self._due:
            self._read(place, then)
        if place != self._place:
            self._is_awaited = True
            return None
        names = [name for name in self._paths if begun.startswith(".") or not name.startswith(".")]
        fitting = sorted(
            (name for name in names if begun in name.casefold()), key=lambda name: not name.casefold().startswith(begun)
        )
        return [path for name in fitting[:FOUND] if _can_be_written(path := prefix + name)]

    def _read(self, place: str, then: Callable[[], None]) -> None:
        if self._is_reading:
            return
        self._is_reading = True
        loop = asyncio.get_running_loop()

        def take(names: list[str]) -> None:
            self._is_reading = False
            is_new = (place, tuple(names[:MOST])) != (self._place, self._paths)
            self._place, self._paths, self.is_cut = place, tuple(names[:MOST]), len(names) > MOST
            self._due = self._clock() + FRESH
            if is_new or self._is_awaited:
                self._is_awaited = False
                then()

        def read() -> None:
            names = list_folder(place, MOST + 1)
            with contextlib.suppress(RuntimeError):  # the program has ended meanwhile
                loop.call_soon_threadsafe(take, names)

        threading.Thread(target=read, name="folder listing", daemon=True).start()


def list_folder(place: str, most: int) -> list[str]:
    """Names in the folder, those of folders with a slash; nothing where it cannot be read."""
    try:
        with os.scandir(place) as entries:
            return sorted(f"{entry.name}/" if _is_folder(entry) else entry.name for entry in islice(entries, most))
    except (OSError, ValueError):
        return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _can_be_written(path: str) -> bool:
    return safe_text(path) == path and write_mention(path) is not None
