"""The folder for sockets and pipes of a kernel that runs without a sandbox."""

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from oi_tui.app.engine.files.paths import socket_dir
from oi_tui.app.engine.sandbox.keeper import make_folder, remove_tree, sweep


@contextmanager
def socket_folder() -> Iterator[Path]:
    """A new one that only we may enter, removed at the end; folders of killed programs are removed first."""
    path = socket_dir()
    sweep(str(path.parent))
    lock = make_folder(str(path))
    try:
        yield path
    finally:
        remove_tree(str(path))
        os.close(lock)


@contextmanager
def short_name(folder: Path) -> Iterator[Path]:
    """Another name for this folder: kernels of the family xeus accept no socket address of more than 31 bytes.

    It is our link in `/tmp`, useless to anybody who may not enter the folder.
    """
    if sys.platform != "linux":
        yield folder
        return
    for old in Path("/tmp").glob("oi-????????"):
        with suppress(OSError):
            if old.is_symlink() and old.lstat().st_uid == os.getuid() and not old.exists():
                old.unlink()  # of a program that was killed
    link = Path("/tmp", f"oi-{secrets.token_hex(4)}")
    link.symlink_to(folder)
    try:
        yield link
    finally:
        link.unlink(missing_ok=True)
