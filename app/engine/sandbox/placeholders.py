"""Stand-ins for what must not come to be in a workspace, such as a `.git` with hooks that somebody runs later.

A mount needs something to lie on. So a guarded name that does not exist is made, as an empty folder, for as long as
a sandbox has it covered: removing it earlier would take away the cover. A keeper, a small process of its own,
waits for the end of the sandbox and removes it, even where we were killed. Sandboxes that share a workspace share the
stand-ins: each holds a shared lock on them, and only who could have it alone removes one. `rmdir` never takes what
holds something.

Run as a program this is the keeper: it has the locks as descriptors and waits for the end of its stdin.
"""

import contextlib
import errno
import fcntl
import os
import stat
import sys
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


if __name__ == "__main__":
    while sys.stdin.buffer.read(1):
        pass
    release({path: int(number) for path, number in zip(sys.argv[1::2], sys.argv[2::2], strict=True)})
