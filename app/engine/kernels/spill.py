"""The file with all that a long run wrote."""

import os
import re
import stat
import uuid
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from oi_tui.app.engine.core.outputs import WholeOutput

LONG = 10_000
"""Characters from which on an output has a file: as many as go to a model, about."""

FILE_LIMIT = 1_000_000_000
"""Bytes of one run that are kept; an endless loop must not fill the disk."""

FOLDER_LIMIT = 4_000_000_000
"""Bytes of all files together; the oldest ones make room."""

LARGE = 10_000_000
"""Bytes from which on a file is worth a look at the folder."""

_OURS = re.compile(r"output-[0-9a-f]{32}\.txt")
"""Names of such files."""


class Spill:
    """Keeps the text of one run in memory while it is short, then in a file that only the user can read.

    The run continues whatever the disk does; `whole` says what happened to the file.
    """

    def __init__(self, folder: Path | None) -> None:
        self.whole: WholeOutput | None = None
        """None while the output is short, and always without a folder."""
        self._folder = folder
        self._short: list[str] = []
        self._size = 0
        """Characters of those."""
        self._file: BinaryIO | None = None
        self._room = FILE_LIMIT
        self._closed = False

    def add(self, text: str) -> None:
        """More text of the run."""
        if self._closed:
            self.miss("what it wrote after its end is not kept")
        elif self._file is not None:
            self._write(text)
        elif self._folder is not None and self.whole is None:
            self._short.append(text)
            self._size += len(text)
            if self._size > LONG:
                self._begin(self._folder)

    def miss(self, why: str) -> None:
        """What comes from now on is not in the file, or not all of it."""
        if self.whole is not None and not self.whole.missing:
            self.whole = WholeOutput(path=self.whole.path, missing=why)

    def flush(self) -> None:
        """Let readers of the file see all of it."""
        try:
            if self._file is not None:
                self._file.flush()
        except OSError as error:
            self._fail(error)

    def clear(self) -> None:
        """The earlier text is void: start again, unless the run is over."""
        closed = self._closed
        self.close()
        self._closed = closed
        if self.whole is not None and self.whole.path:
            with suppress(OSError):  # somebody was faster
                os.unlink(self.whole.path)
        self.whole, self._room = None, FILE_LIMIT
        self._short, self._size = [], 0

    def close(self) -> None:
        """The run is over: what comes now is not in the file."""
        self._closed = True
        self._short = []
        self.flush()
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError):  # the notice about a full disk was sent
                file.close()
            if FILE_LIMIT - self._room > LARGE and self._folder is not None:
                make_room(self._folder, FOLDER_LIMIT)

    def _begin(self, folder: Path) -> None:
        path = folder / f"output-{uuid.uuid4().hex}.txt"
        text, self._short = "".join(self._short), []
        self.whole = WholeOutput(path=str(path))
        try:
            self._file = open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")  # noqa: SIM115  # close()
        except OSError as error:
            self.whole = WholeOutput(path="", missing=f"it could not be written: {error.strerror}")
            return
        self._write(text)

    def _write(self, text: str) -> None:
        assert self._file is not None
        data = text.encode()
        if len(data) > self._room:
            data = data[: self._room].decode(errors="ignore").encode()
            self._room = len(data)
            self.miss(f"only its first {FILE_LIMIT // 1_000_000:,} MB are kept")
        self._room -= len(data)
        try:
            self._file.write(data)
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        self.miss(f"the rest could not be written: {error.strerror}")
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError):  # it tries once more to write what is in its buffer
                file.close()


def read_spilled(folder: Path, path: str, limit: int) -> str:
    """The first characters of a run's file, "" where this is none: a path comes from a stored session, and code may
    have put something else in its place. Only a plain file of ours right in the folder is opened, and no link."""
    named = Path(path)
    if named.parent != folder or not _OURS.fullmatch(named.name):
        return ""
    try:
        where = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
            descriptor = os.open(named.name, flags, dir_fd=where)
        finally:
            os.close(where)
        with open(descriptor, encoding="utf-8", errors="replace") as file:
            facts = os.fstat(descriptor)
            ours = stat.S_ISREG(facts.st_mode) and facts.st_nlink == 1 and facts.st_uid == os.getuid()
            return file.read(limit) if ours else ""
    except OSError:
        return ""


def make_room(folder: Path, limit: int) -> None:
    """Delete the oldest files of runs until the folder holds at most `limit` bytes; the newest one stays."""
    with suppress(OSError):  # another program may clear it at the same time; the next long run tries again
        files = sorted(_files(folder), reverse=True)
        total = 0
        for number, (_, size, path) in enumerate(files):
            total += size
            if number and total > limit:
                os.unlink(path)


def _files(folder: Path) -> Iterable[tuple[float, int, str]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith("output-"):
                facts = entry.stat()
                yield facts.st_mtime, facts.st_size, entry.path
