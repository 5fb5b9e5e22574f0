"""A thread that waits for the answer to a system call, and what its paths mean to it: its folder, its descriptors, its
`/proc/self`. Run in the first process of a sandbox, for `name_guard.py`.

Of its own entries in `/proc` this process opens none for anybody: there are its memory and its descriptors.
"""

import ctypes
import errno
import os
import stat
import struct

OPENAT2, NO_MAGIC_LINKS = 437, 2
HERE = -100
"""AT_FDCWD."""

CLOSED, LONGEST, MOST_LINKS = os.O_CLOEXEC, 4096, 40
RESTART = 512
"""ERESTARTSYS: the kernel restarts the call after a signal, or returns EINTR, as the signal handler is set up."""

PROC, SYSTEM = 0x9FA0, os.stat("/proc").st_dev
"""The kind of such a file system, and the device of the sandbox's own."""

ROOT = os.open("/", os.O_PATH | os.O_CLOEXEC)
"""That of all: nobody in a sandbox can have another one."""

libc = ctypes.CDLL(None, use_errno=True)


class Caller:
    """A thread that waits for an answer. What is opened for it is closed by `close`."""

    def __init__(self, tid: int, command: int) -> None:
        self.tid = tid
        self.command = command
        """The process that all others come from, but this one."""
        self.drops_on_exec = 0
        """O_CLOEXEC, if what it gets is not for the programs that it becomes."""
        self._opened: list[int] = []
        self._memory = -1

    def keep(self, descriptor: int) -> int:
        """The same, which is closed at the end."""
        self._opened.append(descriptor)
        return descriptor

    def close(self) -> None:
        for descriptor in self._opened:
            os.close(descriptor)

    def path(self, address: int) -> bytes:
        """A copy of what is in its memory there, up to a zero."""
        if self._memory < 0:
            self._memory = self.keep(os.open(f"/proc/{self.tid}/mem", os.O_RDONLY | CLOSED))
        try:
            found = os.pread(self._memory, LONGEST, address)
        except (OSError, OverflowError):
            found = b""
        path, end, _ = found.partition(b"\0")
        if not end:
            raise OSError(errno.ENAMETOOLONG if len(found) == LONGEST else errno.EFAULT, "no path")
        return path

    def base(self, number: int, path: bytes) -> int:
        """The folder that a path begins in, by the number of the caller's descriptor."""
        if path.startswith(b"/"):
            return ROOT
        name = "cwd" if number == HERE else f"fd/{number}"
        try:
            return self.keep(os.open(f"/proc/{self.tid}/{name}", os.O_PATH | CLOSED))
        except FileNotFoundError:
            raise OSError(errno.EBADF, "no such descriptor") from None

    def status(self, field: bytes) -> bytes:
        """A value of the thread, from `/proc`."""
        with open(f"/proc/{self.tid}/status", "rb", buffering=0) as file:
            found = file.read(LONGEST)
        return found.partition(b"\n" + field + b":\t")[2].partition(b"\n")[0]

    def interruption(self) -> int:
        """What a call that waits ends with, because of a signal; 0 if there is none. OSError if the caller is gone."""
        blocked = int(self.status(b"SigBlk") or b"0", 16)
        if int(self.status(b"SigPnd") or b"0", 16) & ~blocked:
            return RESTART
        if int(self.status(b"ShdPnd") or b"0", 16) & ~blocked:
            return RESTART if self.status(b"Threads") == b"1" else errno.EINTR  # another thread may take it
        return 0

    def locate(self, base: int, path: bytes) -> tuple[int, bytes]:
        """The folder of what the path names, and its name in there, with a slash at the end if it has one."""
        if not path:
            raise OSError(errno.ENOENT, "no path")
        bare = path.rstrip(b"/")
        if not bare:
            return base, b"."
        head, slash, name = bare.rpartition(b"/")
        name += path[len(bare) : len(bare) + 1]
        return (self.enter(base, head or slash) if slash else base), name

    def enter(self, base: int, path: bytes) -> int:
        """The folder of that path."""
        how = struct.pack("=QQQ", os.O_PATH | os.O_DIRECTORY | CLOSED, 0, NO_MAGIC_LINKS)
        found = libc.syscall(OPENAT2, base, path, how, len(how))
        if found >= 0:
            self.keep(found)
            if not is_system(found):
                return int(found)
        return self.walk(base, path)  # it may mean something else to the caller than to us

    def walk(self, base: int, path: bytes) -> int:
        """The same, step by step; OSError if there is none."""
        current, links = base, 0
        steps = path.split(b"/")[::-1]
        if path.startswith(b"/"):
            current = ROOT
        while steps:
            step = steps.pop()
            if step in (b"", b"."):
                continue
            in_system = is_of_system(current)
            if in_system and step in (b"self", b"thread-self") and os.fstat(current).st_ino == 1:
                steps += [str(self.tid).encode(), b"task"] if step == b"thread-self" else []
                steps.append(self.status(b"Tgid"))
                continue
            found = self.keep(os.open(step, os.O_PATH | os.O_NOFOLLOW | CLOSED, dir_fd=current))
            if stat.S_ISLNK(os.fstat(found).st_mode):
                links += 1
                if links > MOST_LINKS:
                    raise OSError(errno.ELOOP, "too many links")
                if in_system and os.fstat(current).st_ino != 1:
                    found = self.keep(os.open(step, os.O_PATH | CLOSED, dir_fd=current))  # not a path, but a thing
                else:
                    target = os.readlink(b"", dir_fd=found)
                    steps += target.split(b"/")[::-1]
                    if target.startswith(b"/"):
                        current = ROOT
                    continue
            current = found
        if not stat.S_ISDIR(os.fstat(current).st_mode):
            raise OSError(errno.ENOTDIR, "no folder")
        return current

    def reach(self, base: int, path: bytes) -> int:
        """The target of a path, after all links."""
        for _ in range(MOST_LINKS):
            folder, name = self.locate(base, path)
            in_system = is_of_system(folder)
            found = self.keep(os.open(name, os.O_PATH | os.O_NOFOLLOW | CLOSED, dir_fd=folder))
            if not stat.S_ISLNK(os.fstat(found).st_mode):
                return found
            if in_system and os.fstat(folder).st_ino != 1:
                return self.keep(os.open(name, os.O_PATH | CLOSED, dir_fd=folder))
            if in_system:
                raise OSError(errno.EACCES, "it is closed")
            path = os.readlink(b"", dir_fd=found)
            base = ROOT if path.startswith(b"/") else folder
        raise OSError(errno.ELOOP, "too many links")


def number_of(argument: int) -> int:
    """An `int` in a register; the upper half is ignored."""
    return ((argument & 0xFFFFFFFF) ^ 0x80000000) - 0x80000000


def path_of(descriptor: int) -> bytes:
    """The path of a folder; if it is too deep, that of the nearest folder above it that is not."""
    above, current = -1, descriptor
    while True:
        try:
            return os.readlink(b"/proc/self/fd/%d" % current)
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:
                raise
            current = os.open("..", os.O_PATH | CLOSED, dir_fd=current)
        finally:
            if above >= 0:
                os.close(above)
            above = current if current != descriptor else -1


def is_of_system(folder: int) -> bool:
    """Whether it is in `/proc`. OSError if it is about this process, which nobody else may look at; or in another
    `/proc` that somebody mounted in the folder, where that could be so."""
    if not is_system(folder):
        return False
    if os.fstat(folder).st_dev != SYSTEM or (path_of(folder) + b"/").startswith(b"/proc/1/"):
        raise OSError(errno.EACCES, "it is closed")
    return True


def is_system(descriptor: int) -> bool:
    """Whether its file system is one that describes processes."""
    found = ctypes.create_string_buffer(256)  # `struct statfs`, which begins with its kind
    if libc.fstatfs(descriptor, found):
        raise OSError(ctypes.get_errno(), "its place is not known")
    return bool(struct.unpack_from("=q", found)[0] == PROC)
