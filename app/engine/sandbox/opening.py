"""Opens existing files on behalf of another process, without ever waiting. Run in the first process of a sandbox, for
`name_guard.py`.
"""

import contextlib
import errno
import fcntl
import os
import stat

from oi_tui.app.engine.sandbox.caller import CLOSED, LONGEST, Caller

UNNAMED = os.O_TMPFILE & ~os.O_DIRECTORY
SETTABLE = os.O_APPEND | os.O_DIRECT | os.O_NOATIME | os.O_ASYNC
TERMINAL, PSEUDO_TERMINAL = os.makedev(5, 0), 136


class Waits(Exception):
    """The call cannot be answered yet."""


def is_read_only(descriptor: int) -> bool:
    """Whether it is on a read-only mount."""
    return bool(os.fstatvfs(descriptor).f_flag & os.ST_RDONLY)


def open_guarded(folder: int, name: bytes, flags: int) -> int:
    """Opens a guarded name for reading. OSError if it is missing, or the flags would write it."""
    try:
        found = os.open(name, os.O_PATH | os.O_NOFOLLOW | CLOSED, dir_fd=folder)
    except FileNotFoundError:
        raise OSError(errno.EPERM if flags & os.O_CREAT else errno.ENOENT, "it is guarded") from None
    try:
        if flags & os.O_CREAT and flags & os.O_EXCL:
            raise OSError(errno.EEXIST, "it is there")
        if flags & (os.O_ACCMODE | os.O_TRUNC | UNNAMED):
            raise OSError(errno.EROFS if is_read_only(found) else errno.EPERM, "it is guarded")
        if not stat.S_ISREG(os.fstat(found).st_mode):
            raise OSError(errno.EISDIR, "it is no file")
        return os.open(f"/proc/self/fd/{found}", flags & ~(os.O_CREAT | os.O_NOFOLLOW) | CLOSED)
    finally:
        os.close(found)


def open_at_once(caller: Caller, name: bytes, flags: int, mode: int, folder: int, asked: int) -> int:
    """Open an existing file without waiting: `Waits` where that were needed, since this process answers others too.
    `asked` are the flags as the caller gave them."""
    try:
        found = os.open(name, flags | os.O_NONBLOCK | os.O_NOCTTY | CLOSED, mode, dir_fd=folder)
    except BlockingIOError:
        if asked & os.O_NONBLOCK:
            raise
        raise Waits from None  # somebody has a lease
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        there = os.stat(name, dir_fd=folder)
        if stat.S_ISFIFO(there.st_mode) and not asked & os.O_NONBLOCK:
            raise Waits from None
        if not stat.S_ISCHR(there.st_mode) or there.st_rdev != TERMINAL:
            raise
        return open_terminal(caller, flags)
    if asked & os.O_CREAT and not asked & os.O_ACCMODE and stat.S_ISDIR(os.fstat(found).st_mode):
        os.close(found)
        raise OSError(errno.EISDIR, "it is a folder")
    if not asked & os.O_NONBLOCK:
        fcntl.fcntl(found, fcntl.F_SETFL, asked & SETTABLE)
    return found


def open_terminal(caller: Caller, flags: int) -> int:
    """The terminal of the caller's session, which `/dev/tty` is for it. That of the command itself is of outside, where
    there is no way to: it gets ours, which is the same."""
    with open(f"/proc/{caller.tid}/stat", "rb", buffering=0) as file:
        *_, session, device = map(int, file.read(LONGEST).rpartition(b")")[2].split()[1:5])
    with contextlib.suppress(OSError):
        if session == caller.command and os.isatty(1) and os.fstat(1).st_rdev == device:
            return os.dup(1)
    if os.major(device) != PSEUDO_TERMINAL:
        raise OSError(errno.ENXIO, "it has none")
    return os.open(f"/dev/pts/{os.minor(device)}", flags & ~os.O_NOFOLLOW | os.O_NOCTTY | CLOSED)
