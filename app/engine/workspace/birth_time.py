"""When a file was made, which neither writing nor moving it changes."""

import ctypes
import os
import struct
import sys

_AT_FDCWD, _NO_FOLLOW, _BIRTH = -100, 0x100, 0x800
"""Of `statx`: from the working folder on, no link at the end, and what is asked for."""

_BYTES = 256
_FOUND = struct.Struct("=I76xqI")
"""What is known, then seconds and nanoseconds of the birth."""

_SECOND = 1_000_000_000


def birth_time(path: str) -> int | None:
    """In nanoseconds of Unix time; None where the file system does not say."""
    if sys.platform != "linux":
        seconds = getattr(os.lstat(path), "st_birthtime", None)
        return None if seconds is None else int(seconds * _SECOND)
    found = ctypes.create_string_buffer(_BYTES)
    try:
        failed = ctypes.CDLL(None).statx(_AT_FDCWD, os.fsencode(path), _NO_FOLLOW, _BIRTH, found)
    except AttributeError:  # an older C library
        return None
    known, seconds, nanoseconds = _FOUND.unpack_from(found)
    return None if failed or not known & _BIRTH else seconds * _SECOND + nanoseconds
