"""Removes the folders of a sandbox on this machine, for pipes and sockets, once it is gone for whatever reason.

As a program this is the keeper, a small process of its own: it gets the folders, which need not exist yet, and waits
for the end of its stdin. It also removes, at once, folders of sandboxes whose keeper was killed as well.
"""

import contextlib
import fcntl
import os
import re
import socket
import sys
import time


def remove_tree(path: str) -> None:
    """Remove a folder with all its content, however deeply nested; whatever cannot be removed stays.

    Folders are first moved up to the top: neither a path nor a stack grows with their depth.
    """
    with contextlib.suppress(OSError):
        top = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            waiting, made = _clear(top, top, 0)
            while waiting:
                name = waiting.pop()
                with contextlib.suppress(OSError):
                    os.chmod(name, 0o700, dir_fd=top)
                    folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=top)
                    try:
                        beneath, made = _clear(folder, top, made)
                    finally:
                        os.close(folder)
                    waiting += beneath
                    os.rmdir(name, dir_fd=top)
        finally:
            os.close(top)
        os.rmdir(path)


def _clear(folder: int, top: int, made: int) -> tuple[list[str], int]:
    """Empty a folder: files are gone then, folders are in `top`. Their names there, and the number of the last one."""
    moved = []
    with os.scandir(folder) as entries:
        for entry in list(entries):
            with contextlib.suppress(OSError):
                if not entry.is_dir(follow_symlinks=False):
                    os.unlink(entry.name, dir_fd=folder)
                    continue
                name, made = f".oi-tui-{made}", made + 1
                os.chmod(entry.name, 0o700, dir_fd=folder)  # one that cannot be written cannot be moved
                os.rename(entry.name, name, src_dir_fd=folder, dst_dir_fd=top)
                moved.append(name)
    return moved, made


# -- folders for sockets -------------------------------------------------------------------------------

NAME = re.compile("oi-tui-[0-9a-f]{12}")
"""Of a folder for sockets; nobody else calls theirs so."""

LONGEST, MOST = 1_000, 10
"""Bytes and locks that are handed over at once."""

YOUNG = 60.0
"""Seconds in which a folder may have no lock yet."""


def make_folder(path: str) -> int:
    """Make a private folder; returns its lock, to be held while the folder is in use."""
    os.mkdir(path, 0o700)
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor


def sweep(base: str, now: float | None = None) -> None:
    """Remove folders for sockets in there that nobody holds any more. `now` is by default the time."""
    before = (time.time() if now is None else now) - YOUNG
    with contextlib.suppress(OSError), os.scandir(base) as entries:
        for entry in entries:
            if NAME.fullmatch(entry.name):
                _sweep(entry.path, before)


def _sweep(path: str, before: float) -> None:
    with contextlib.suppress(OSError):  # held, or another's, or gone meanwhile
        found = os.lstat(path)
        if found.st_uid != os.getuid() or found.st_ctime > before:
            return
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove_tree(path)
        finally:
            os.close(descriptor)


def main() -> None:
    """Wait, then clear away."""
    folders = sys.argv[1:]
    for base in {os.path.dirname(folder) for folder in folders}:
        sweep(base)
    wait_for_end()
    for folder in folders:
        remove_tree(folder)


def wait_for_end() -> None:
    """Until nobody holds the other end of stdin any more. The locks that were handed over before anything was started
    are held until this process ends; what comes later is of no account: code may have the other end as well."""
    with socket.socket(fileno=0) as line:
        data, *_ = socket.recv_fds(line, LONGEST, MOST)
        while data:
            data = line.recv(LONGEST)


if __name__ == "__main__":
    main()
