"""The folder for sockets and pipes of a kernel that runs without a sandbox."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from oi_tui.app.engine.files.paths import socket_dir
from oi_tui.app.engine.sandbox.keeper import make_folder, remove_tree, sweep


@contextmanager
def socket_folder() -> Iterator[Path]:
    """A new one that only we may enter, gone at the end; what was left by programs that were killed goes first."""
    path = socket_dir()
    sweep(str(path.parent))
    lock = make_folder(str(path))
    try:
        yield path
    finally:
        remove_tree(str(path))
        os.close(lock)
