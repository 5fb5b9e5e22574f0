"""A file of lines in which each line has the hash of the one before, so that no line can be changed alone.

A line is a JSON object that begins with `seq`, its number in the file from 1 on, and `prev`, the SHA-256 of the line
before it; `log.py` defines the rest. Lines are only ever added at the end, under a lock of the file: two processes may
write to one of them. A truncated line (power failure, full disk) stays, and the next line closes it. To append, only
the end of the file is read: the last line has its number, which `verify` checks. Several hosts on one network file
system are not supported.
"""

import fcntl
import hashlib
import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from oi_tui.app.engine.core.errors import AuditError

PATIENCE = 2.0
"""Seconds that somebody else may hold the file before an attempt to write counts as failed."""

HINT = "Is the disk full, or the folder read-only? Nothing is run that cannot be written down before."


PIECE = 16_384
"""Bytes that are read at once from the end of a file."""

_PLACE = re.compile(rb'\{"seq":([1-9][0-9]{0,17}),"prev":"[0-9a-f]{64}",')
"""How a line begins; one that was cut off behind that still says which one it is."""


class ChainLink(NamedTuple):
    """A line, by its number in the file and its SHA-256 in hexadecimal digits."""

    seq: int
    sha256: str


class ChainState(NamedTuple):
    """The state of a file, for a writer that is about to append."""

    last: ChainLink
    """The last line, which the next one names. One without an end counts as a line."""
    torn: int = 0
    """Bytes of a last line without an end, 0 if it has one."""
    lost: ChainLink | None = None
    """The last line that was written from here, if it is not in the file any more."""


Sync = Callable[[int], None]
"""Returns when everything written to a descriptor is on disk."""

Read = Callable[[int, int, int], bytes]
"""Bytes of a descriptor: at most this many, from this offset."""

Compose = Callable[[ChainState], Sequence[bytes]]
"""What to add, as JSON objects that are not empty."""


def origin(name: str) -> ChainLink:
    """What the first line of a file names: a fixed text with the name of what is logged."""
    return ChainLink(0, digest(f"oi-tui audit log of {name}".encode()))


def digest(data: bytes) -> str:
    """SHA-256 in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def chain_line(body: bytes, before: ChainLink) -> bytes:
    """The line (without its end) that comes after `before`."""
    return b'{"seq":%d,"prev":"%s",' % (before.seq + 1, before.sha256.encode()) + body[1:]


class ChainFile:
    """One file. All methods raise `AuditError` in plain words."""

    def __init__(
        self, path: Path, first: ChainLink, *, patience: float = PATIENCE, sync: Sync = os.fsync, read: Read = os.pread
    ) -> None:
        """`first` is the origin that the first line names; the file is made with the first line."""
        self.path = path
        self._sync = sync
        self._read = read
        self._patience = patience
        self._first = first
        self._descriptor = -1
        self._size = 0
        """Bytes that have been read or written from here."""
        self._last = first
        """The last line that has an end."""
        self._torn = b""
        """The bytes after it."""
        self._replaced = False
        """Another file has taken the place of the one that was open."""

    def append(self, compose: Compose) -> ChainLink:
        """Add lines, all of them in one write; the last one. Nothing is known to be on disk before `sync`."""
        try:
            with self._hold() as descriptor:
                state = self._catch_up(descriptor)
                lines, last = [], state.last
                for body in compose(state):
                    line = chain_line(body, last)
                    last = ChainLink(last.seq + 1, digest(line))
                    lines.append(line + b"\n")
                data = b"\n" * bool(state.torn) + b"".join(lines)
                written = os.write(descriptor, data)
                if written < len(data):  # the next reader finds the written part as a torn line
                    raise AuditError(f"The audit log {self.path} could not be written: the disk is full.", hint=HINT)
                self._size, self._last, self._torn = self._size + written, last, b""
                return last
        except OSError as error:
            raise self._failure(error) from error

    def sync(self) -> None:
        """Return when everything is on disk, also if the power fails now. For any thread."""
        try:
            if (descriptor := self._descriptor) >= 0:
                self._sync(descriptor)
        except OSError as error:
            raise self._failure(error) from error

    def look(self) -> ChainLink:
        """The last line that is in the file now, the origin if there is none."""
        try:
            with self._hold() as descriptor:
                return self._catch_up(descriptor).last
        except OSError as error:
            raise self._failure(error) from error

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    # -- the file -----------------------------------------------------------------------------------------

    @contextmanager
    def _hold(self) -> Iterator[int]:
        """The open file, which nobody else adds to meanwhile."""
        if self._descriptor < 0 or not self._is_in_place():
            self._open()
        descriptor = self._descriptor
        end = time.monotonic() + self._patience
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.005)  # a lock cannot be waited for with an end; another program has it for one line
        try:
            yield descriptor
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)

    def _is_in_place(self) -> bool:
        """Whether the file of this name is still the one that is open: it may have been removed or replaced."""
        try:
            there = os.lstat(self.path)
        except OSError:
            return False
        ours = os.fstat(self._descriptor)
        return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)

    def _open(self) -> None:
        self._replaced = self._descriptor >= 0
        self.close()
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(self.path, flags, 0o600)
        try:
            self._check(os.fstat(descriptor))
            _sync_folder(self.path.parent)
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor

    def _check(self, found: os.stat_result) -> None:
        if not stat.S_ISREG(found.st_mode):
            raise AuditError(f"The audit log {self.path} is no plain file.", hint="Move it away.")
        if found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise AuditError(
                f"The audit log {self.path} belongs to somebody else, or is open to others.",
                hint=f"chmod 600 {self.path} mends the second.",
            )

    def _catch_up(self, descriptor: int) -> ChainState:
        """Take note of what others added, and of what is gone."""
        size, lost = os.fstat(descriptor).st_size, None
        if not self._size and not self._replaced:
            self._find_end(descriptor, size)
        if size < self._size or self._replaced:
            lost, self._replaced = self._last, False
            self._size, self._last, self._torn = 0, self._first, b""
        if size > self._size:
            *lines, self._torn = (self._torn + self._piece(descriptor, self._size, size)).split(b"\n")
            if lost is not None and _holds(lines, lost):
                lost = None  # a true copy
            if lines:
                self._last = ChainLink(self._last.seq + len(lines), digest(lines[-1]))
            self._size = size
        if lost == self._first:
            lost = None
        if self._torn:
            return ChainState(ChainLink(self._last.seq + 1, digest(self._torn)), len(self._torn), lost)
        return ChainState(self._last, 0, lost)

    def _find_end(self, descriptor: int, size: int) -> None:
        """Begin with a file that was there before: from its end back to a line that says which one it is."""
        start, data = size, b""
        while start:
            begun, start = start, max(0, start - max(PIECE, len(data)))  # twice as much each time
            data = self._piece(descriptor, start, begun) + data
            *lines, torn = data.split(b"\n")
            whole = lines[bool(start) :]  # of the first one the beginning may be missing
            for behind, line in enumerate(reversed(whole)):
                if said := _PLACE.match(line):
                    self._last, self._torn = ChainLink(int(said[1]) + behind, digest(lines[-1])), torn
                    self._size = size
                    return

    def _piece(self, descriptor: int, start: int, end: int) -> bytes:
        data = b""
        while start + len(data) < end and (more := self._read(descriptor, end - start - len(data), start + len(data))):
            data += more
        return data

    def _failure(self, error: OSError) -> AuditError:
        if isinstance(error, BlockingIOError):
            return AuditError(f"The audit log {self.path} is held by another program.", hint=HINT)
        return AuditError(f"The audit log {self.path} could not be written: {error.strerror}.", hint=HINT)


def _holds(lines: Sequence[bytes], link: ChainLink) -> bool:
    return 0 < link.seq <= len(lines) and digest(lines[link.seq - 1]) == link.sha256


def _sync_folder(folder: Path) -> None:
    """A new file can be found after a power cut only if its name is on disk too."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
