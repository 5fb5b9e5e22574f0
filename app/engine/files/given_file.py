"""Files that a person names: read whole, if they are files at all and of a size that makes sense."""

import os
import stat
from pathlib import Path


class UnusableFile(Exception):
    """Why a file is not read; the words continue "the file ..."."""


def file_stamp(path: Path) -> tuple[int, ...]:
    """Differs when the file was saved; empty while there is none, also while an editor replaces it."""
    try:
        state = path.stat()
    except OSError:
        return ()
    return state.st_mtime_ns, state.st_size, state.st_ino


def read_given_file(path: Path, most: int) -> bytes:
    """The content of a plain file, or of the target of a link, of at most this many bytes; UnusableFile otherwise.

    Never waits for a device or a pipe: it may have no end, or nobody at the other one.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        with open(descriptor, "rb") as file:
            state = os.fstat(descriptor)
            if not stat.S_ISREG(state.st_mode):
                raise UnusableFile("is no plain file, but a device, a pipe or a folder")
            data = file.read(most + 1) if state.st_size <= most else b""  # it may grow meanwhile
    except OSError as error:
        raise UnusableFile(f"cannot be read: {error.strerror}") from error
    if max(len(data), state.st_size) > most:
        size = f"{most // 1_000_000} MB" if most >= 1_000_000 else f"{most:,} bytes"
        raise UnusableFile(f"is larger than {size}")
    return data


def read_given_text(path: Path, most: int) -> str:
    """The same as text; UnusableFile if it is not UTF-8."""
    try:
        return read_given_file(path, most).decode()
    except UnicodeDecodeError as error:
        raise UnusableFile("is not UTF-8") from error
