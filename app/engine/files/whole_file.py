"""A file that is there whole or not at all, also when the program or the machine ends in between."""

import os
import secrets
from pathlib import Path


def write_whole(path: Path, data: bytes, *, over: bool = False) -> None:
    """Write a private file; in place of another only with `over`. OSError if that fails (FileExistsError)."""
    beside = path.with_name(f".{secrets.token_hex(8)}.part")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if not over:
            _take_name(beside, path)
        else:
            beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _take_name(beside: Path, path: Path) -> None:
    try:
        os.link(beside, path, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:  # a file system without links: an empty file keeps the name until the whole one takes its place
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        beside.replace(path)
