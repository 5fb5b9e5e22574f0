"""Files opened beneath a folder and through no link: if a folder is replaced by a link meanwhile, the result is an
error and not a file from elsewhere.

Linux does that in one call (`openat2`); elsewhere, and where that call is not let through, each part of the path is
opened by itself.
"""

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_OPENAT2 = 437
"""The same number on every architecture."""

_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_HOW = struct.Struct("=QQQ")
"""Flags, mode, and how the path is followed."""

_NOT_HERE = frozenset({errno.ENOSYS, errno.EPERM, errno.EINVAL})
"""An older kernel, or a filter around this process; what else they may mean, the other way says too."""

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def open_beneath(folder: int, path: str, flags: int) -> int:
    """A descriptor for this relative path, which has no `..`, below an open folder; "." is the folder itself. OSError,
    ELOOP if there is a link on the way or at the end."""
    if sys.platform == "linux":
        try:
            return _openat2(folder, path, flags)
        except OSError as error:
            if error.errno not in _NOT_HERE:
                raise
    return open_by_steps(folder, path, flags)


def _openat2(folder: int, path: str, flags: int) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    how = _HOW.pack(flags, 0, _BENEATH | _NO_MAGICLINKS | _NO_SYMLINKS)
    number = ctypes.c_long(_OPENAT2)
    found: int = libc.syscall(number, ctypes.c_int(folder), os.fsencode(path), how, ctypes.c_size_t(_HOW.size))
    if found < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), path)
    return found


def open_by_steps(folder: int, path: str, flags: int) -> int:
    """The same, one part of the path after the other."""
    *above, last = path.split("/")
    if any(part in ("", "..") for part in (*above, last)):
        raise OSError(errno.EINVAL, "not a plain path", path)
    at = os.dup(folder)
    try:
        for part in above:
            below = os.open(part, FOLDER | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = below
        return os.open(last, flags | os.O_NOFOLLOW, dir_fd=at)
    except NotADirectoryError as error:  # what O_NOFOLLOW and O_DIRECTORY together say of a link
        raise OSError(errno.ELOOP, "a link or a file is on the way", path) from error
    finally:
        os.close(at)


@contextmanager
def opened_beneath(root: str, path: str, flags: int) -> Iterator[int]:
    """A descriptor for this path below a folder, closed at the end."""
    folder = os.open(root, FOLDER)
    try:
        found = open_beneath(folder, path, flags)
    finally:
        os.close(folder)
    try:
        yield found
    finally:
        os.close(found)
