"""Single files read and replaced, held to `beneath.py`: what is read is what the path rules spoke about."""

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from oi_tui.app.engine.files.whole_file import write_whole
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.tools.tool import ToolFailed
from oi_tui.app.engine.workspace.beneath import FILE, FOLDER, open_beneath, opened_beneath
from oi_tui.app.engine.workspace.path_rules import FilePlace

LARGEST_READ = 50_000_000
"""Bytes of a file that is read at all."""

UNREAD = "unread:"
"""How the name of a file that was not read begins."""


class FileContent(NamedTuple):
    """A file as it was at one moment."""

    data: bytes
    mode: int
    """Permissions."""
    names: int = 1
    """Hard links to it."""

    @property
    def digest(self) -> str:
        """The digest by which it is compared."""
        return content_digest(self.data)


def content_digest(data: bytes) -> str:
    """SHA-256, in hexadecimal: two files with the same are the same."""
    return hashlib.sha256(data).hexdigest()


def state_of(place: FilePlace) -> os.stat_result | None:
    """How the file is, unread; None if there is none. ToolFailed where a link is in the way."""
    try:
        with opened_beneath(place.root, place.rest, FILE) as file:
            return os.fstat(file)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ToolFailed(f"{safe_text(place.name)} cannot be read: {_reason(error)}.") from error


def read_place(place: FilePlace, most: int = LARGEST_READ) -> FileContent | None:
    """The file, None if there is none; ToolFailed if it is not a plain file or cannot be read."""
    try:
        with opened_beneath(place.root, place.rest, FILE) as file:
            return _content(file, place.name, most)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ToolFailed(f"{safe_text(place.name)} cannot be read: {_reason(error)}.") from error


def _content(file: int, name: str, most: int) -> FileContent:
    state = os.fstat(file)
    if stat.S_ISDIR(state.st_mode):
        raise ToolFailed(f"{safe_text(name)} is a folder.")
    if not stat.S_ISREG(state.st_mode):
        raise ToolFailed(f"{safe_text(name)} is no plain file, but a device, a pipe or a socket.")
    pieces, left = [], most + 1
    while left and (piece := os.read(file, min(left, 1 << 20))):
        pieces.append(piece)
        left -= len(piece)
    if not left:
        raise ToolFailed(f"{safe_text(name)} is larger than {most:,} bytes.")
    return FileContent(b"".join(pieces), stat.S_IMODE(state.st_mode), state.st_nlink)


def unread_name(state: os.stat_result) -> str:
    """The name that is used instead of a digest for a file that is too large to read: it stays the same as long as
    nobody writes the file."""
    return f"{UNREAD}{state.st_size}:{state.st_mtime_ns}:{state.st_ctime_ns}:{state.st_ino}"


def replace_place(
    place: FilePlace, data: bytes, before: str | None, mode: int | None = None, modified: int = 0
) -> None:
    """Replace a file in one step. It must have the digest (or name, if it is unread) `before`; None if there must be no
    file. ToolFailed if it has not, or cannot be written; then nothing has changed. Folders on the way are made.
    `modified` (nanoseconds of Unix time, 0 is now) is when it says it was modified."""
    try:
        with _folder_of(place, make=before is None) as (folder, name):
            _check_unchanged(folder, name, place, before)
            write_whole(Path(name), data, over=before is not None, mode=mode, at=folder)
            if modified:
                os.utime(name, ns=(modified, modified), dir_fd=folder, follow_symlinks=False)
    except FileExistsError as error:
        raise ToolFailed(changed_since(place)) from error
    except OSError as error:
        raise ToolFailed(f"{safe_text(place.name)} cannot be written: {_reason(error)}.") from error


def remove_place(place: FilePlace, before: str, above: int = 0) -> None:
    """Delete the file with this digest (or name), and as many folders `above` it as are empty then; ToolFailed as
    above."""
    try:
        with _folder_of(place, make=False) as (folder, name):
            _check_unchanged(folder, name, place, before)
            os.unlink(name, dir_fd=folder)
        rest = place.rest
        for _ in range(above):
            rest = rest.rpartition("/")[0]
            with _folder_of(place._replace(rest=rest), make=False) as (folder, name):
                os.rmdir(name, dir_fd=folder)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):  # somebody has something there
            raise ToolFailed(f"{safe_text(place.name)} cannot be deleted: {_reason(error)}.") from error


def changed_since(place: FilePlace) -> str:
    """The message about a file that changed since it was shown."""
    return f"{safe_text(place.name)} is not as it was when this change was made up: nothing was written. Read it again."


def _check_unchanged(folder: int, name: str, place: FilePlace, before: str | None) -> None:
    found, mode = None, 0o222
    with contextlib.suppress(FileNotFoundError):
        file = open_beneath(folder, name, FILE)
        try:
            if before is not None and before.startswith(UNREAD):
                state = os.fstat(file)
                found, mode = unread_name(state), state.st_mode
            else:
                content = _content(file, place.name, LARGEST_READ)
                found, mode = content.digest, content.mode
        finally:
            os.close(file)
    if found != before:
        raise ToolFailed(changed_since(place))
    if not mode & 0o222:
        raise ToolFailed(f"{safe_text(place.name)} cannot be written: it is marked as read-only.")


@contextmanager
def _folder_of(place: FilePlace, *, make: bool) -> Iterator[tuple[int, str]]:
    """The open folder that a file is in, and the name of the file there."""
    above, _, name = place.rest.rpartition("/")
    if name in ("", ".", ".."):
        raise ToolFailed(f"{safe_text(place.name)} is a folder.")
    at = os.open(place.root, FOLDER)
    try:
        for part in above.split("/") if above else ():
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=at)
            below = open_beneath(at, part, FOLDER)
            os.close(at)
            at = below
        yield at, name
    finally:
        os.close(at)


def _reason(error: OSError) -> str:
    if error.errno in (errno.ELOOP, errno.EXDEV):
        return "a link came in its way meanwhile"
    return error.strerror or type(error).__name__
