"""Files that are written as a whole or not at all, even if the program or the machine crashes."""

import contextlib
import os
import shutil
from pathlib import Path

PRIVATE = 0o600


def write_whole(
    path: Path,
    data: bytes | Path,
    *,
    over: bool = False,
    mode: int | None = PRIVATE,
    at: int | None = None,
    sync: bool = True,
) -> None:
    """Write a file beside `path`, sync it, and give it the name; in place of another file only with `over`.

    `data` may be another file, which is copied. Without a `mode` the permissions are those that the umask leaves. With
    an open folder `at`, `path` is a bare name in it. Without `sync` it is whole only if the machine lives on.

    OSError if it fails (FileExistsError); nothing is left then.
    """
    beside = path.with_name(f".{os.urandom(8).hex()}.part")
    permissions = 0o666 if mode is None else PRIVATE
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, permissions, dir_fd=at)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if isinstance(data, Path):
                with data.open("rb") as source:
                    shutil.copyfileobj(source, file, 1 << 20)
            else:
                file.write(data)
            if mode not in (None, PRIVATE):
                os.fchmod(file.fileno(), mode)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        if not over:
            _take_name(beside, path, at)
        else:
            os.replace(beside, path, src_dir_fd=at, dst_dir_fd=at)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside, dir_fd=at)


def _take_name(beside: Path, path: Path, at: int | None) -> None:
    try:
        os.link(beside, path, src_dir_fd=at, dst_dir_fd=at, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:  # a file system without links: an empty file keeps the name until the whole one takes its place
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE, dir_fd=at))
        os.replace(beside, path, src_dir_fd=at, dst_dir_fd=at)
