"""Usual file operations of programs, one after the other in the current folder: run in a sandbox, as text.

Prints, as JSON, what differs from a run without one.
"""

import ctypes
import errno
import fcntl
import json
import multiprocessing
import os
import pty
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from multiprocessing import shared_memory
from typing import Any

wrong: list[str] = []
libc = ctypes.CDLL(None, use_errno=True)

SHELL = {
    "echo a > f; echo b >> f; cat f": "a\nb\n",
    "echo a > /dev/stdout": "a\n",
    "echo a > /dev/stdout | cat": "a\n",
    "(echo a > /dev/stderr) 2>&1": "a\n",
    "echo a > /dev/fd/1; echo b > /proc/self/fd/1; echo c > /proc/$$/fd/1; echo d > /dev/null": "a\nb\nc\n",
    "exec 5>g; echo one > /dev/fd/5; echo two > /proc/thread-self/fd/5; cat g": "two\n",
    "set -o noclobber; echo 1 > n; echo 2 > n; echo 3 >| n; cat n; echo x > /dev/null && echo ok": "3\nok\n",
    "cat <<E\nhello\nE\ncat <<< word": "hello\nword\n",
    "mkfifo p1; (sleep 0.1; echo through > p1) & cat p1; wait": "through\n",
    "mkfifo p2; (sleep 0.2; cat p2) & echo late > p2; wait": "late\n",
    "mkfifo p3; exec 3<>p3; echo x >&3; read y <&3; echo $y": "x\n",
    "mkfifo p4; timeout 0.3 bash -c 'echo x > p4'; echo $?": "124\n",
    "cat <(echo a) <(echo b); echo x | tee >(cat >&2) >/dev/null": "a\nb\n",
    "umask 077; echo > uf; mkdir ud; umask 000; touch ug; mkdir ue; stat -c %a uf ud ug ue": "600\n700\n666\n777\n",
    "touch t1; chmod 444 t1; ln -s t1 l1; ln t1 h1; readlink l1; stat -c %h t1": "t1\n2\n",
    "ln -s missing to; echo x > to; cat missing; ln -s /nowhere/x to2; echo x > to2 || echo no": "x\nno\n",
    "ln -s loop1 loop2; ln -s loop2 loop1; echo > loop1 || echo no": "no\n",
    "mkdir -p a/b/c; mkdir -p a/b/c; mv a a2; cp -a a2 a3; mv a3/b/c .; rmdir c; ls a3/b | wc -l": "0\n",
    "mkdir d/ && echo x > d/f && mv d/ e/ && cat e/f; rmdir e 2>/dev/null; echo $?": "x\n1\n",
    "echo x > /tmp/across; mv /tmp/across .; cat across; mv across /tmp/back; cat /tmp/back": "x\nx\n",
    "cd e; echo y > ../up; cat ../up; echo z > $OLDPWD/up2; cat ../up2": "y\nz\n",
    "tar cf archive e; mkdir x; tar xf archive -C x; cat x/e/f": "x\n",
    "touch lock; flock lock echo locked; (exec 9>lock; flock -n 9 && echo again)": "locked\nagain\n",
    "echo b > s; echo a >> s; sort -o s s; split -b 2 s part; sed -i s/a/q/ s; cat s partaa": "q\nb\na\n",
    "dd if=/dev/zero of=zeros bs=1k count=2 2>&- ; truncate -s 5 t5; stat -c %s zeros t5": "2048\n5\n",
    "install -m 700 f installed; stat -c %a installed": "700\n",
    "mktemp -p . >/dev/null && mktemp -d -p . >/dev/null && echo ok": "ok\n",
    "echo x > /dev/tty || echo none": "none\n",
    "mkdir repo; cd repo; git init -q; echo 1 > a; git add a; git -c user.name=a -c user.email=b commit -qm first;"
    " git checkout -qb b; git gc -q; cd ..; git clone -q repo copy; git -C copy log --format=%s": "first\n",
}
if os.path.exists("/usr/bin/script"):
    SHELL["script -qc 'echo hi > /dev/tty' /dev/null </dev/null"] = "hi\n"


def expect(name: str, found: object, wanted: object = True) -> None:
    """Note it if it is not so."""
    if found != wanted:
        wrong.append(f"{name}: {found!r} instead of {wanted!r}")


def fails(name: str, call: Callable[..., Any], *given: Any, **named: Any) -> None:
    """The call ends with this error."""
    try:
        call(*given, **named)
    except OSError as error:
        expect(f"{call.__name__} {str(given)[:60]}", errno.errorcode.get(error.errno or 0), name)
    else:
        expect(f"{call.__name__} {str(given)[:60]}", "done", name)


def work_in_the_shell() -> None:
    for text, wanted in SHELL.items():
        if "git " in text and shutil.which("git") is None:
            os.makedirs("repo/full")  # for what comes after
            continue  # the test says so
        done = subprocess.run(["bash", "-c", text], capture_output=True, text=True, timeout=20)
        expect(text, done.stdout, wanted)


def open_in_all_ways() -> None:
    for mode in ("w", "a", "x", "w+", "a+", "wb", "xb", "ab+", "r+", "rb+"):
        if mode[0] == "r":
            open(f"mode{mode}", "w").close()
        open(f"mode{mode}", mode).close()
    fails("EEXIST", open, "modex", "x")
    for _ in range(2):
        with open("appended", "a") as file:
            file.write("1")
    with open("appended") as file:
        expect("append", file.read(), "11")
    for flags, kept in ((os.O_APPEND, os.O_APPEND), (os.O_NONBLOCK, os.O_NONBLOCK), (0, 0)):
        descriptor = os.open("flags", os.O_CREAT | os.O_WRONLY | flags, 0o640)
        expect("flags", fcntl.fcntl(descriptor, fcntl.F_GETFL) & 0o6003, kept | os.O_WRONLY)
        expect("closed on exec", os.get_inheritable(descriptor), False)
        os.close(descriptor)
    descriptor = libc.open(b"inherited", os.O_CREAT | os.O_RDWR, 0o600)
    expect("inherited", os.get_inheritable(descriptor))
    os.close(descriptor)
    here = os.open(".", os.O_RDONLY)
    descriptor = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600)
    os.write(descriptor, b"no name")
    os.link(f"/proc/self/fd/{descriptor}", "named", dst_dir_fd=here, follow_symlinks=True)
    with open("named") as file:
        expect("a file without a name", file.read(), "no name")
    os.close(descriptor)
    os.mkdir("beneath", dir_fd=here)
    os.rename("beneath", "e/moved", src_dir_fd=here)
    expect("by descriptors", os.path.isdir("e/moved"))
    os.close(here)
    for maker in (tempfile.NamedTemporaryFile, tempfile.TemporaryFile):
        with maker() as temporary:
            temporary.write(b"x")
    with tempfile.TemporaryDirectory() as folder:
        open(f"{folder}/x", "w").close()


def fail_as_usual() -> None:
    for name, path in {"EISDIR": "e", "ENOTDIR": "f/x", "ENAMETOOLONG": "x" * 256, "ELOOP": "loop1"}.items():
        fails(name, open, path, "w")
    for path in ("no/x", "", "to2"):
        fails("ENOENT", open, path, "w")
    fails("EISDIR", os.open, "e", os.O_CREAT)
    fails("EISDIR", os.open, "new/", os.O_CREAT | os.O_WRONLY)
    fails("ENAMETOOLONG", open, "y/" * 2100, "w")
    fails("EEXIST", os.open, "to2", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    fails("ELOOP", os.open, "l1", os.O_CREAT | os.O_NOFOLLOW | os.O_WRONLY)
    for path in ("e", "l1", "/", ".", "e/"):
        fails("EEXIST", os.mkdir, path)
    fails("ENOTEMPTY", os.rename, "x", "repo")
    fails("EINVAL", os.rename, "e", "e/inner")
    fails("EXDEV", os.rename, "f", "/tmp/f")
    fails("EROFS", open, "/usr/x", "w")
    fails("EROFS", os.mkdir, "/usr/x")
    fails("EROFS", open, "/proc/self/comm", "w")
    fails("ENOENT", os.symlink, "", "empty")
    fails("EBADF", os.mkdir, "x1", dir_fd=999)
    fails("ENXIO", os.open, "p1", os.O_WRONLY | os.O_NONBLOCK)
    file = os.open("f", os.O_RDONLY)
    fails("ENOTDIR", os.mkdir, "x1", dir_fd=file)
    os.close(file)
    for address in (1, 2**47 + 8, 2**64 - 4096, 2**63):
        libc.mkdir(ctypes.c_void_p(address), 0o700)
        expect(f"address {address}", ctypes.get_errno(), errno.EFAULT)
    resource_free = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, resource_free[1]))
    try:
        fails("EMFILE", os.open, "f", os.O_WRONLY)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, resource_free)


def link_and_move() -> None:
    os.symlink("../f", "e/relative")
    os.symlink(f"{os.getcwd()}/far", "e/absolute")
    for name in ("relative", "absolute"):
        with open(f"e/{name}", "w") as file:
            file.write(name)
    expect("exchange", libc.renameat2(-100, b"f", -100, b"far", 2), 0)
    with open("f") as read:
        expect("exchanged", read.read(), "absolute")
    expect("replace nothing", libc.renameat2(-100, b"f", -100, b"far", 1), -1)
    os.link("f", "hard")
    os.link("l1", "link-of-link", follow_symlinks=False)
    expect("links", (os.stat("f").st_nlink, os.path.islink("link-of-link")), (2, True))
    top, long = os.getcwd(), "z" * 200
    for _ in range(30):
        os.mkdir(long)
        os.chdir(long)
    open("bottom", "w").close()
    expect("6,000 letters deep", os.listdir("."), ["bottom"])
    os.chdir(top)
    shutil.rmtree(long)


def work_in_many() -> None:
    def make(number: int) -> None:
        for each in range(10):
            open(f"thread-{number}-{each}", "w").close()
            os.rename(f"thread-{number}-{each}", f"done-{number}-{each}")

    threads = [threading.Thread(target=make, args=(number,)) for number in range(200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect("200 threads", sum(name.startswith("done-") for name in os.listdir(".")), 2000)
    fork = multiprocessing.get_context("fork")
    with fork.Pool(4) as pool:
        expect("a pool", pool.map(len, ["a", "bb"]), [1, 2])
    with fork.Lock():
        pass
    shared = shared_memory.SharedMemory(create=True, size=10)
    shared.close()
    shared.unlink()
    opened = (os.POSIX_SPAWN_OPEN, 5, "spawned-1", os.O_CREAT | os.O_WRONLY, 0o600)
    pid = os.posix_spawn("/bin/sh", ["sh", "-c", "echo >spawned-2"], os.environ, file_actions=[opened])
    os.waitpid(pid, 0)
    expect("spawned", os.path.exists("spawned-1") and os.path.exists("spawned-2"))
    database = sqlite3.connect("database")
    database.execute("pragma journal_mode=wal")
    database.execute("create table numbers (n)")
    for number in range(20):
        database.execute("insert into numbers values (?)", (number,))
        database.commit()
    database.close()
    pid, terminal = pty.fork()
    if pid == 0:
        with open("/dev/tty", "w") as tty:
            tty.write("said")
        os._exit(0)
    expect("a terminal", b"said" in os.read(terminal, 100))
    os.waitpid(pid, 0)
    socket.socket(socket.AF_UNIX).bind("socket")


def cut_off() -> None:
    with open("cut", "w") as file:
        file.write("12345")
    os.symlink("cut", "to-cut")
    for path, length, wanted in (("cut", 3, "123"), ("to-cut", 5, "123\0\0"), (f"{os.getcwd()}/cut", 0, "")):
        os.truncate(path, length)
        with open("cut") as file:
            expect(f"cut {path}", file.read(), wanted)
    os.mkfifo("cut-pipe")
    for name, path, length in (
        *(("EINVAL", "cut", -1), ("EINVAL", "cut-pipe", 0), ("EISDIR", "e", 0), ("ENOENT", "no", 0)),
        *(
            ("EFBIG", "cut", 1 << 62),
            ("ENOTDIR", "cut/", 0),
            ("EROFS", "/usr/bin/env", os.path.getsize("/usr/bin/env")),
            ("ENOENT", "", 0),
        ),
    ):
        fails(name, os.truncate, path, length)
    resource_free = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource_free[1]))
    try:
        fails("EFBIG", os.truncate, "cut", 1001)
        os.truncate("cut", 1000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, resource_free)


def go_on_at_once() -> None:
    """A closed file is closed: it can be run, and its lock is free."""
    busy, held = 0, 0
    for number in range(100):
        name = f"program-{number}"
        script = os.open(name, os.O_CREAT | os.O_WRONLY, 0o700)
        os.write(script, b"#!/bin/true\n")
        os.close(script)
        try:
            os.waitpid(os.posix_spawn(name, [name], os.environ), 0)
        except OSError:
            busy += 1
        for _ in range(2):
            lock = os.open("locked", os.O_CREAT | os.O_RDWR, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                held += 1
            os.close(lock)
    expect("busy programs and locks that stayed", (busy, held), (0, 0))


def hide_memory() -> None:
    """Hides its memory like gpg-agent, and must still be able to make files."""
    child = os.fork()
    if not child:
        done = ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
        try:
            open("hidden", "w").close()
        except OSError:
            done = 1
        os._exit(done)
    expect("whoever hides its memory makes files", os.waitpid(child, 0)[1], 0)


class Interrupted(Exception):
    """By the alarm."""


def be_interrupted() -> None:
    def interrupt(*_: object) -> None:
        raise Interrupted

    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    begun = time.monotonic()
    try:
        open("p1", "w").close()
    except Interrupted:
        expect("interrupted soon", time.monotonic() - begun < 5)
    else:
        expect("interrupted", False)
    heard = []
    signal.signal(signal.SIGALRM, lambda *_: heard.append(1))
    signal.siginterrupt(signal.SIGALRM, False)
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    for number in range(1000):
        os.mkdir(f"signal-{number}")
        os.close(os.open(f"file-{number}", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        os.rename(f"file-{number}", f"after-{number}")
    signal.setitimer(signal.ITIMER_REAL, 0)
    expect("signals came", len(heard) > 10)


def main() -> None:
    """Try all; only where the system cannot be written, for some of it is tried as well."""
    if not os.statvfs("/usr").f_flag & os.ST_RDONLY:
        sys.exit("This is for sandboxes only.")
    begun = os.getcwd()
    top = tempfile.mkdtemp(dir=".")
    os.chdir(top)
    parts = (work_in_the_shell, open_in_all_ways, fail_as_usual, link_and_move, work_in_many)
    for part in (*parts, cut_off, go_on_at_once, hide_memory, be_interrupted):
        try:
            part()
        except Exception as error:
            wrong.append(f"{part.__name__}: {error!r}")
    os.chdir(begun)
    json.dump(wrong, sys.stdout)


main()
