"""What a sandbox has on this machine, and what clears it away when the sandbox is gone, however that came about.

Stand-ins are for what must not come to be in a workspace, such as a `.git` with hooks that somebody runs later.

A mount needs something to lie on. So a guarded name that does not exist is made, as an empty folder, for as long as
a sandbox has it covered: removing it earlier would take away the cover. A keeper, a small process of its own,
waits for the end of the sandbox and removes it, even where we were killed. Sandboxes that share a workspace share the
stand-ins: each holds a shared lock on them, and only who could have it alone removes one. `rmdir` never takes what
holds something.

Folders of ours, for pipes and sockets, go the same way.

Run as a program this is the keeper: it is told the folders, "--", and the stand-ins, none of which need be there yet,
and waits for the end of its stdin. What was left by others, whose keeper was killed as well, it clears away at once.
"""

import contextlib
import errno
import fcntl
import json
import os
import re
import socket
import stat
import sys
import time
from collections.abc import Iterable

PLACEHOLDER_MODE = 0o1500
"""Mode of a stand-in; nobody makes a folder like this by chance, and no umask changes it. It outlives a machine that
lost its power."""


def is_placeholder(path: str) -> bool:
    """Whether the path is a stand-in, of whichever sandbox."""
    try:
        found = os.lstat(path)
        return stat.S_ISDIR(found.st_mode) and stat.S_IMODE(found.st_mode) == PLACEHOLDER_MODE and not os.listdir(path)
    except OSError:
        return False


def claim(paths: Iterable[str]) -> dict[str, int]:
    """Make the stand-ins that are missing, share those of others; each path with the descriptor of its lock.

    What cannot be made for want of rights cannot be made by code in the sandbox either, and is left out.
    """
    claimed: dict[str, int] = {}
    try:
        for path in paths:
            descriptor = _claim(path)
            if descriptor is not None:
                claimed[path] = descriptor
    except BaseException:
        release(claimed)
        raise
    return claimed


def release(claimed: dict[str, int]) -> None:
    """Let go, and remove those that nobody else holds."""
    for path, descriptor in claimed.items():
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is(path, descriptor):
                os.rmdir(path)
        except OSError:
            pass  # held by another sandbox, or no longer empty: it is not ours to remove
        finally:
            os.close(descriptor)


def _claim(path: str) -> int | None:
    while True:
        if not is_placeholder(path):
            if os.path.lexists(path):
                return None  # something real came to be meanwhile
            try:
                os.mkdir(path, PLACEHOLDER_MODE)
            except FileExistsError:
                continue
            except OSError as error:
                if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
                    return None
                raise
        with contextlib.suppress(FileNotFoundError):
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            fcntl.flock(descriptor, fcntl.LOCK_SH)
            if _is(path, descriptor):
                return descriptor
            os.close(descriptor)  # removed by its last holder before we had the lock


def _is(path: str, descriptor: int) -> bool:
    try:
        named, held = os.lstat(path), os.fstat(descriptor)
    except FileNotFoundError:
        return False
    return (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino)


def remove_tree(path: str) -> None:
    """Remove a folder with all that is in it, be it nested thousands deep; what cannot be removed stays.

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

LONGEST, MOST = 200_000, 250
"""Bytes and locks that are handed over at once."""

TRIES, PAUSE = 100, 0.01

YOUNG = 60.0
"""Seconds in which a folder may have no lock yet."""


def make_folder(path: str) -> int:
    """Make a private folder; its lock, which has to be held as long as it is in use."""
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
    apart = sys.argv.index("--")
    folders, paths = sys.argv[1:apart], sys.argv[apart + 1 :]
    for base in {os.path.dirname(folder) for folder in folders}:
        sweep(base)
    locks = wait_for_end()
    for folder in folders:
        remove_tree(folder)
    release({path: descriptor for path, descriptor in locks.items() if path in paths})
    for _ in range(TRIES if not locks else 0):  # who made them was killed in between, and may still be ending
        release(claim(path for path in paths if is_placeholder(path)))
        if not any(map(is_placeholder, paths)):
            return
        time.sleep(PAUSE)


def wait_for_end() -> dict[str, int]:
    """Until nobody holds the other end of stdin any more; the locks that were handed over before anything was started.
    What comes later is of no account: code may have the other end as well."""
    locks: dict[str, int] = {}
    with socket.socket(fileno=0) as line:
        data, descriptors, _, _ = socket.recv_fds(line, LONGEST, MOST)
        if data:
            locks = dict(zip(json.loads(data), descriptors, strict=True))
        while data:
            data = line.recv(LONGEST)
    return locks


if __name__ == "__main__":
    main()
