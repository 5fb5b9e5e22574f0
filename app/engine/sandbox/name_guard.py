"""Refuses to make or move a guarded name, by answering system calls in place of the kernel (`man 2 seccomp_unotify`).

Run in the first process of a sandbox, which is an ancestor of all others, cannot be inspected, and is bound by the same
Landlock rules. A filter (`seccomp.guard_program`) sends it each call that makes or moves a name, or opens for writing.
It copies the path out of the caller's memory once, finds the folder, and refuses, or makes the call on that folder and
hands the result over. Another thread may overwrite the path meanwhile without effect: no call continues, so the kernel
never reads the path again.

`inside.py` receives its modules together with it.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import resource
import socket
import stat
import struct
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from oi_tui.app.engine.sandbox.caller import (
    CLOSED,
    HERE,
    MOST_LINKS,
    ROOT,
    Caller,
    is_of_system,
    is_system,
    number_of,
    path_of,
)
from oi_tui.app.engine.sandbox.opening import UNNAMED, Waits, is_read_only, open_at_once, open_guarded

RECEIVE, SEND, IS_VALID, ADD, SET_FLAGS = 0xC0502100, 0xC0182101, 0x40082102, 0x40182103, 0x40082104
"""Requests to a listener."""

NOTICE, ANSWER, HANDED = struct.Struct("=QIIiIQ6Q"), struct.Struct("=QqiI"), struct.Struct("=QIIII")
"""`struct seccomp_notif`, `seccomp_notif_resp` and `seccomp_notif_addfd`."""

WAKE_HERE = 1
SET_FILTER, NEW_LISTENER, WAIT_KILLABLE = 1, 1 << 3, 1 << 5

FOLLOW_LINK, EMPTY_PATH = 0x400, 0x1000
PATIENCE = 0.01
"""Seconds between two tries of an open that has to wait, such as of a pipe that nobody reads yet."""

AT_ONCE = 8
"""Of those, how many are tried in a row."""

FILLERS = frozenset("\u115f\u1160\u3164\uffa0")
"""Letters that some file systems leave out of a name."""

OLDER: dict[str, tuple[str, Callable[..., tuple[int, ...]]]] = {
    "open": ("openat", lambda path, flags, mode, *_: (HERE, path, flags, mode)),
    "creat": ("openat", lambda path, mode, *_: (HERE, path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, mode)),
    "mkdir": ("mkdirat", lambda path, mode, *_: (HERE, path, mode)),
    "mknod": ("mknodat", lambda path, mode, device, *_: (HERE, path, mode, device)),
    "symlink": ("symlinkat", lambda target, path, *_: (target, HERE, path)),
    "link": ("linkat", lambda old, new, *_: (HERE, old, HERE, new, 0)),
    "rename": ("renameat2", lambda old, new, *_: (HERE, old, HERE, new, 0)),
    "renameat": ("renameat2", lambda base, old, into, new, *_: (base, old, into, new, 0)),
}
"""Calls for which there is a newer one, that one, and what it is given in their place."""

libc = ctypes.CDLL(None, use_errno=True)


def install_guard(call: int, program: bytes, handing: socket.socket) -> None:
    """The filter, for this process and all that come after it; who answers gets the listener. OSError if it fails."""
    steps = ctypes.create_string_buffer(program, len(program))
    wanted = struct.pack("=HxxxxxxQ", len(program) // 8, ctypes.addressof(steps))
    for flags in (NEW_LISTENER | WAIT_KILLABLE, NEW_LISTENER):
        listener = libc.syscall(call, SET_FILTER, flags, wanted)
        if listener >= 0:
            socket.send_fds(handing, [b" "], [listener])
            os.close(listener)
            return
    raise OSError(ctypes.get_errno(), "no guard could be set up (does another program answer our system calls?)")


def meet_guard(told: dict[str, Any], line: socket.socket, command: int) -> "NameGuard | None":
    """The guard that answers once the filter is installed; None if the child, `command`, ended before that."""
    with line:
        _, listeners, _, _ = socket.recv_fds(line, 1, 1)
    return NameGuard(listeners[0], told, command) if listeners else None


def makeable_names(told: dict[str, Any]) -> Iterator[str]:
    """Guarded names that could be created or moved to in spite of the guard, in plain words. Nothing must exist
    meanwhile."""
    if "failed" in told:
        yield told["failed"]
    for path in [os.path.join(folder, name) for folder in told["folders"] for name in told["names"]]:
        for make in (os.mkdir, os.mkfifo, lambda path: os.rename(f"{path}-not-there", path)):
            try:
                make(path)
            except OSError as error:
                if error.errno == errno.EPERM or (error.errno == errno.EEXIST and os.path.lexists(path)):
                    continue
                yield f"{path} is not guarded: {error.strerror}"
            else:
                (os.rmdir if make is os.mkdir else os.unlink)(path)
                yield f"{path} could be made"


def plain_name(name: bytes) -> str:
    """A name as file systems may compare it that do not tell case, ignore letters, or cut off what is at the end."""
    text = name.decode("utf-8", "surrogateescape").rstrip("/. ").partition(":")[0]
    if not text.isascii():
        import unicodedata  # of the standard library; it costs a start a millisecond, and is hardly ever needed

        text = unicodedata.normalize("NFKD", text)
        text = "".join(c for c in text if unicodedata.category(c) not in ("Cf", "Mn", "Cn") and c not in FILLERS)
    return text.casefold()


class NameGuard:
    """Answers for one sandbox: in the given folders, none of the names can be made or moved."""

    def __init__(self, listener: int, told: dict[str, Any], command: int) -> None:
        self.listener = listener
        self._command = command
        self._folders = [os.fsencode(folder) for folder in told["folders"]]
        self._tops = {(found.st_dev, found.st_ino) for found in map(os.stat, told["folders"])}
        self._names = frozenset(told["names"])
        self._calls: dict[int, Callable[..., int | None]] = {
            int(number): getattr(self, f"do_{OLDER[name][0] if name in OLDER else name}")
            for number, name in told["calls"].items()
        }
        self._older = {int(number): OLDER[name][1] for number, name in told["calls"].items() if name in OLDER}
        self._umask = os.umask(0)
        os.umask(self._umask)
        self._waiting: deque[bytes] = deque()
        self._due = 0.0
        with contextlib.suppress(OSError):  # before Linux 6.6 it takes a little longer
            fcntl.ioctl(listener, SET_FLAGS, WAKE_HERE)

    @property
    def pause(self) -> float | None:
        """Milliseconds until `retry` has something to do; None if it has nothing."""
        return PATIENCE * 1000 if self._waiting else None

    def serve(self) -> None:
        """Answer the next of the calls that wait."""
        notice = bytearray(NOTICE.size)
        try:
            fcntl.ioctl(self.listener, RECEIVE, notice, True)
        except OSError:
            return  # the caller is gone
        self._answer(bytes(notice))

    def retry(self) -> None:
        """Try again what could not be answered yet, if it is time."""
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + PATIENCE
        for _ in range(min(AT_ONCE, len(self._waiting))):
            notice = self._waiting.popleft()
            ident, tid, *_ = NOTICE.unpack(notice)
            if not self._is_waiting(ident):
                continue
            try:
                interruption = Caller(tid, self._command).interruption()
            except OSError:
                continue  # it is gone
            if interruption:
                self._send(ident, interruption)
            else:
                self._answer(notice)

    def _answer(self, notice: bytes) -> None:
        ident, tid, _, number, _, _, *arguments = NOTICE.unpack(notice)
        caller, error, value = Caller(tid, self._command), 0, 0
        try:
            given = self._older[number](*arguments) if number in self._older else arguments
            done = self._calls[number](ident, caller, *given)
            if done is not None:
                hand = HANDED.pack(ident, 0, done, 0, caller.drops_on_exec)
                value = fcntl.ioctl(self.listener, ADD, bytearray(hand))
        except Waits:
            self._waiting.append(notice)
            return
        except OSError as failed:
            error = failed.errno or errno.EIO
        except Exception:  # whatever it is, this process must live on, and the caller not wait for ever
            error = errno.EIO
        finally:
            caller.close()  # first: what is open for writing cannot be run, and a lock lasts until all close it
        self._send(ident, error, value)

    def _send(self, ident: int, error: int, value: int = 0) -> None:
        with contextlib.suppress(OSError):  # the caller is gone
            fcntl.ioctl(self.listener, SEND, ANSWER.pack(ident, value, -error, 0))

    def _is_waiting(self, ident: int) -> bool:
        try:
            fcntl.ioctl(self.listener, IS_VALID, struct.pack("=Q", ident))
        except OSError:
            return False
        return True

    def _check(self, ident: int) -> None:
        """OSError unless all that was read was the caller's; to be asked before anything is done."""
        if not self._is_waiting(ident):
            raise OSError(errno.ESRCH, "the caller is gone")

    # -- what is guarded -----------------------------------------------------------------------------------

    def _is_guarded(self, folder: int, name: bytes = b"") -> bool:
        """Whether this is a guarded name, or something beneath one made since the start: earlier ones are behind a
        read-only mount. OSError if it is about this process."""
        found = os.fstat(folder)
        if name and (found.st_dev, found.st_ino) in self._tops:
            return plain_name(name) in self._names
        if is_of_system(folder):
            return False
        path = path_of(folder)
        beneath = (path[len(top) :] for top in self._folders if path.startswith(top))
        first = (rest[1:].partition(b"/")[0] for rest in beneath if rest.startswith(b"/"))
        return any(plain_name(part) in self._names for part in first) and not is_read_only(folder)

    def _new(self, ident: int, caller: Caller, number: int, address: int) -> tuple[int, bytes]:
        """The folder and the name of the new file; OSError if it is not allowed."""
        path = caller.path(address)
        folder, name = caller.locate(caller.base(number_of(number), path), path)
        if self._is_guarded(folder, name):
            there = exists(folder, name)
            raise OSError(errno.EEXIST if there else errno.EPERM, "it is guarded")
        self._check(ident)
        return folder, name

    def _use_umask(self, caller: Caller) -> None:
        wanted = int(caller.status(b"Umask") or b"22", 8)
        if wanted != self._umask:
            os.umask(wanted)
            self._umask = wanted

    # -- the calls -----------------------------------------------------------------------------------------

    def do_openat(self, ident: int, caller: Caller, base: int, address: int, flags: int, mode: int, *_: int) -> int:
        flags, mode, path = number_of(flags), mode & 0o7777, caller.path(address)
        caller.drops_on_exec = flags & CLOSED
        begun = caller.base(number_of(base), path)
        self._check(ident)
        for _link in range(MOST_LINKS):
            if path.endswith(b"/") and flags & os.O_CREAT:
                raise OSError(errno.EISDIR, "a folder is not made so")
            folder, name = caller.locate(begun, path + b"." * path.endswith(b"/"))
            if self._is_guarded(folder, name):
                return caller.keep(open_guarded(folder, name, flags))
            if is_of_system(folder):
                return caller.keep(self._reopen(caller, caller.reach(begun, path), flags, mode))
            try:
                return caller.keep(self._open_in(caller, folder, name, flags, mode))
            except OSError as error:
                if error.errno not in (errno.ELOOP, errno.ENOTDIR) or flags & os.O_NOFOLLOW:
                    raise
                try:
                    path = os.readlink(name, dir_fd=folder)
                except OSError:
                    raise error from None
            begun = ROOT if path.startswith(b"/") else folder
        raise OSError(errno.ELOOP, "too many links")

    def _open_in(self, caller: Caller, folder: int, name: bytes, flags: int, mode: int) -> int:
        """Open the existing file, or else create it. OSError with ELOOP or ENOTDIR if it is a link."""
        if flags & UNNAMED:
            self._use_umask(caller)
        for _ in range(MOST_LINKS):
            if not flags & os.O_CREAT or not flags & os.O_EXCL:
                try:
                    return open_at_once(caller, name, flags & ~os.O_CREAT | os.O_NOFOLLOW, mode, folder, flags)
                except FileNotFoundError:
                    if not flags & os.O_CREAT:
                        raise
            self._use_umask(caller)
            try:
                return os.open(name, flags | os.O_CREAT | os.O_EXCL | os.O_NOCTTY | CLOSED, mode, dir_fd=folder)
            except FileExistsError:
                if flags & os.O_EXCL:
                    raise
        raise OSError(errno.EEXIST, "it comes and goes")

    def _reopen(self, caller: Caller, found: int, flags: int, mode: int) -> int:
        """The file behind somebody's descriptor, opened again."""
        if is_system(found):
            raise OSError(errno.EROFS, "nothing is written there")
        if flags & os.O_NOFOLLOW or (flags & os.O_CREAT and flags & os.O_EXCL):
            raise OSError(errno.ELOOP if flags & os.O_NOFOLLOW else errno.EEXIST, "it is a link")
        if self._is_guarded(found):
            raise OSError(errno.EPERM, "it is guarded")
        if flags & UNNAMED:
            self._use_umask(caller)
        return open_at_once(caller, f"/proc/self/fd/{found}".encode(), flags & ~os.O_CREAT, mode, found, flags)

    def do_truncate(self, ident: int, caller: Caller, address: int, length: int, *_: int) -> None:
        path = caller.path(address)
        begun = caller.base(HERE, path)
        self._check(ident)
        found = caller.reach(begun, path)
        kind, size = os.fstat(found).st_mode, os.fstat(found).st_size
        if length >> 63 or not stat.S_ISREG(kind):
            raise OSError(errno.EISDIR if stat.S_ISDIR(kind) else errno.EINVAL, "it cannot be cut off there")
        if self._is_guarded(found):
            raise OSError(errno.EPERM, "it is guarded")
        opened = caller.keep(open_at_once(caller, b"/proc/self/fd/%d" % found, os.O_WRONLY, 0, found, os.O_WRONLY))
        limit = resource.prlimit(caller.tid, resource.RLIMIT_FSIZE)[0]
        if size < length and resource.RLIM_INFINITY != limit < length:
            raise OSError(errno.EFBIG, "it would be too large")
        os.ftruncate(opened, length)

    def do_mkdirat(self, ident: int, caller: Caller, base: int, path: int, mode: int, *_: int) -> None:
        folder, name = self._new(ident, caller, base, path)
        self._use_umask(caller)
        os.mkdir(name, mode & 0o7777, dir_fd=folder)

    def do_mknodat(self, ident: int, caller: Caller, base: int, path: int, mode: int, device: int, *_: int) -> None:
        folder, name = self._new(ident, caller, base, path)
        self._use_umask(caller)
        os.mknod(name, mode & 0o177777, device & 0xFFFFFFFF, dir_fd=folder)

    def do_symlinkat(self, ident: int, caller: Caller, target: int, base: int, path: int, *_: int) -> None:
        words = caller.path(target)
        folder, name = self._new(ident, caller, base, path)
        os.symlink(words, name, dir_fd=folder)

    def do_linkat(
        self, ident: int, caller: Caller, base: int, old: int, into: int, new: int, flags: int, *_: int
    ) -> None:
        flags, base, path = number_of(flags), number_of(base), caller.path(old)
        if flags & ~(FOLLOW_LINK | EMPTY_PATH):
            raise OSError(errno.EINVAL, "unknown flags")
        begun = caller.base(base, path)
        folder, name = self._new(ident, caller, into, new)
        if flags & FOLLOW_LINK or (flags & EMPTY_PATH and not path):
            found = caller.reach(begun, path) if path else begun
            if self._is_guarded(found):
                raise OSError(errno.EPERM, "it is guarded")
            os.link(f"/proc/self/fd/{found}", name, dst_dir_fd=folder, follow_symlinks=True)
            return
        source, old_name = caller.locate(begun, path)
        if self._is_guarded(source, old_name):
            raise OSError(errno.EPERM, "it is guarded")
        os.link(old_name, name, src_dir_fd=source, dst_dir_fd=folder, follow_symlinks=False)

    def do_renameat2(
        self, ident: int, caller: Caller, base: int, old: int, into: int, new: int, flags: int, *_: int
    ) -> None:
        places: list[int | bytes] = []
        for number, address in ((base, old), (into, new)):
            path = caller.path(address)
            folder, name = caller.locate(caller.base(number_of(number), path), path)
            if self._is_guarded(folder, name):
                raise OSError(errno.EPERM, "it is guarded")
            places += [folder, name]
        self._check(ident)
        if libc.renameat2(*places, flags & 0xFFFFFFFF):
            raise OSError(ctypes.get_errno(), "it was not moved")


def exists(folder: int, name: bytes) -> bool:
    """Whether anything has this name, even a dangling link."""
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True
