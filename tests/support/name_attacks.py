"""How code tries to make a guarded name at the top of the folder that it is in: run in a sandbox, as text.

Prints, as JSON, what it managed.
"""

import ctypes
import errno
import json
import mmap
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

GUARDED = (".git", ".oi", ".mcp.json", ".vscode", ".envrc")
ALIKE = (".GIT", ".Git/", ".git.", ".git ", ".g\u200dit", ".\uff47it", ".v\u017fcode", ".git::$INDEX_ALLOCATION")
"""What some file systems take for a guarded name."""

TRIES, SEEN, SECONDS = 400, 20, 1.0
"""Of each call while its path changes: how often at least, and of either outcome unless the time is up."""

HERE = -100

managed: list[str] = []
libc = ctypes.CDLL(None, use_errno=True)
top = os.getcwd()


def look(name: str) -> None:
    """Whether there is a guarded name now; it is removed."""
    for found in os.listdir(top):
        if found.lower().startswith(GUARDED) or not found.isascii():
            managed.append(f"{name}: {found} is there")
            subprocess.run(["rm", "-rf", f"{top}/{found}"], check=False)


def refused(name: str, call: Callable[[], object], *known: int) -> None:
    """Note it unless it fails with EPERM, or with one of `known`."""
    try:
        call()
    except OSError as error:
        if error.errno not in (errno.EPERM, *known):
            managed.append(f"{name}: {error!r}")
    else:
        managed.append(f"{name}: done")
    look(name)


def opened(path: str, flags: int = os.O_CREAT | os.O_WRONLY) -> None:
    os.close(os.open(path, flags, 0o600))


def makers(path: str) -> Iterator[tuple[str, Callable[[], object]]]:
    """All that makes this name, or moves something to it."""
    yield "mkdir", lambda: os.mkdir(path)
    yield "mkfifo", lambda: os.mkfifo(path)
    yield "mknod", lambda: os.mknod(path, 0o100600)
    yield "symlink", lambda: os.symlink("plain", path)
    yield "link", lambda: os.link("plain", path)
    yield "rename", lambda: os.rename("plain", path)
    yield "rename of a folder", lambda: os.rename("folder", path)
    yield "rename of a repository", lambda: os.rename("folder/.git", path)
    yield "open", lambda: opened(path)
    yield "open to read", lambda: opened(path, os.O_CREAT)
    yield "open what is new", lambda: opened(path, os.O_CREAT | os.O_EXCL | os.O_RDWR)


def name_it_directly() -> None:
    for guarded in (*GUARDED, *ALIKE):
        for how, make in makers(guarded):
            refused(f"{how} {guarded}", make, errno.EISDIR, errno.ENOTDIR)


def name_it_in_other_words() -> None:
    here = os.open(top, os.O_RDONLY)
    os.symlink(top, "folder/up")
    for way in (
        *(
            f"{top}/.git",
            "./.git",
            "folder/../.git",
            "folder/up/.git",
            "/proc/self/cwd/.git",
            f"/proc/self/fd/{here}/.git",
        ),
        *(f"/dev/fd/{here}/.git", "/proc/thread-self/cwd/.git", f"/proc/{os.getpid()}/root{top}/.git"),
        *(f"/proc/self/root{top}/.git", f"//{top}//.git", f"/proc/self/../..{top}/.git"),
    ):
        for how, make in makers(way):
            refused(f"{how} {way}", make)
    refused("by a descriptor", lambda: os.mkdir(".git", dir_fd=here))
    refused("moved by descriptors", lambda: os.rename("plain", ".git", src_dir_fd=here, dst_dir_fd=here))
    os.chdir("folder")
    refused("from beneath", lambda: os.mkdir("../.git"))
    os.chdir("/")
    refused("from above", lambda: os.mkdir(f"{top[1:]}/.git"))
    os.chdir(top)
    for target in (".git", f"{top}/.git", ".envrc", "folder/up/.git", f"/proc/self/fd/{here}/.git", ".git/config"):
        os.symlink(target, "hop")
        os.symlink("hop", "hop2")
        for name in ("hop", "hop2"):
            refused(f"{name} to {target}", partial(opened, name), errno.ENOENT)
        os.unlink("hop")
        os.unlink("hop2")
    nameless = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600)
    refused("a file without a name", lambda: os.link(f"/proc/self/fd/{nameless}", ".envrc", dst_dir_fd=here))
    os.close(nameless)
    os.close(here)
    for flags in (0, 1, 2, 4):
        for pair in (("folder/.git", ".git"), (".git", "folder/.git"), ("folder", ".vscode")):
            if libc.renameat2(HERE, os.fsencode(pair[0]), HERE, os.fsencode(pair[1]), flags) == 0:
                managed.append(f"renameat2 {pair} {flags}")
            look("renameat2")


def swap_while_it_is_read() -> None:
    """Another process writes the path, of the same length, as fast as it can."""
    shared = mmap.mmap(-1, 8192)
    address = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(shared)))
    swapper = os.fork()
    if swapper == 0:
        while True:
            shared[:5] = b".git\0"
            shared[:5] = b"nice\0"
    calls: dict[str, Callable[[], int]] = {
        "mkdir": lambda: libc.mkdir(address, 0o700),
        "mkdirat": lambda: libc.mkdirat(HERE, address, 0o700),
        "mknod": lambda: libc.mknod(address, 0o10600, 0),
        "creat": lambda: libc.creat(address, 0o600),
        "open": lambda: libc.open(address, os.O_CREAT | os.O_WRONLY, 0o600),
        "openat": lambda: libc.openat(HERE, address, os.O_CREAT | os.O_RDWR, 0o600),
        "symlink": lambda: libc.symlink(b"plain", address),
        "link": lambda: libc.link(b"plain", address),
        "linkat": lambda: libc.linkat(HERE, b"plain", HERE, address, 0),
        "rename": lambda: libc.rename(b"moved", address),
        "renameat": lambda: libc.renameat(HERE, b"moved", HERE, address),
        "renameat2": lambda: libc.renameat2(HERE, b"moved", HERE, address, 1),
    }
    made, turned_away = 0, 0
    try:
        for name, call in calls.items():
            counts, end = [0, 0], time.monotonic() + SECONDS
            while sum(counts) < TRIES or (min(counts) < SEEN and time.monotonic() < end):
                if "rename" in name:
                    libc.close(libc.creat(b"moved", 0o600))
                done = call()
                counts[done < 0] += 1
                if done > 2:
                    os.close(done)
                if os.path.lexists(".git"):
                    look(f"{name} while it is swapped")
                if os.path.lexists("nice"):
                    (os.rmdir if name.startswith("mkdir") else os.unlink)("nice")
            made, turned_away = made + counts[0], turned_away + counts[1]
        if min(made, turned_away) < SEEN:
            managed.append(f"nothing was tried: {made} made, {turned_away} refused")
    finally:
        os.kill(swapper, signal.SIGKILL)
        os.waitpid(swapper, 0)


def turn_on_who_answers() -> None:
    closed = (errno.EACCES, errno.ENOENT, errno.EROFS, errno.ESRCH)
    folder = os.open("/proc/1", os.O_PATH)
    for name in ("mem", "environ", *(f"fd/{n}" for n in range(3, 12)), "cwd/.git", f"root{top}/.git", "task/1/mem"):
        for flags in (os.O_RDWR, os.O_CREAT, os.O_CREAT | os.O_RDWR):
            refused(f"/proc/1/{name}", partial(opened, f"/proc/1/{name}", flags), *closed)
            refused(f"{name} of 1", partial(os.open, name, flags, dir_fd=folder), *closed)
    os.close(folder)
    os.symlink("/proc/1/mem", "memory")
    refused("a link to its memory", lambda: opened("memory", os.O_CREAT), *closed)
    for number in range(1, 65):
        if number not in (signal.SIGCHLD,):
            with suppress(OSError):
                os.kill(1, number)
    for _ in range(1000):
        os.kill(1, signal.SIGCHLD)
    refused("trace", lambda: traced(1))
    for _ in range(30):  # callers that end in the middle
        child = os.fork()
        if child == 0:
            while True:
                with suppress(OSError):
                    os.mkdir("folder/child")
                    os.rmdir("folder/child")
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    rules = libc.syscall(444, None, 0, 1)
    if rules >= 0:
        managed.append("rules of its own, which who answers would not be held by")


def traced(pid: int) -> None:
    if libc.ptrace(0x4206, pid, 0, 0):
        raise OSError(ctypes.get_errno(), "trace")


def flood() -> None:
    done: list[int] = []

    def storm() -> None:
        for _ in range(20):
            with suppress(PermissionError):
                os.mkdir(".git")
                done.append(1)

    threads = [threading.Thread(target=storm) for _ in range(200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    look("flood")
    pipes = []
    for number in range(50):
        os.mkfifo(f"folder/pipe{number}")
        pipes.append(threading.Thread(target=partial(opened, f"folder/pipe{number}", os.O_WRONLY)))
        pipes[-1].start()
    opened("plain")  # others are answered meanwhile
    for number in range(50):
        with open(f"folder/pipe{number}") as reader:
            reader.read()
    for thread in pipes:
        thread.join()


def main() -> None:
    """Try all."""
    os.makedirs("folder/.git/hooks")
    for name in ("plain", ".gitignore", ".github", ".env.example", ".vscode-settings", "git"):
        opened(name)
        if name != "plain":
            os.unlink(name)
    for part in (name_it_directly, name_it_in_other_words, swap_while_it_is_read, turn_on_who_answers, flood):
        try:
            part()
        except Exception as error:
            managed.append(f"{part.__name__} ended: {error!r}")
    json.dump(managed, sys.stdout)


main()
