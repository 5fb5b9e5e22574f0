"""Starts a sandbox without another program: by system calls, with the standard library alone.

Never imported by us: it runs as `python -I -S launcher.py PLAN INFO ...`. PLAN is a descriptor with the plan (see
`space.py`); on INFO it writes the pid of the first process inside, as bubblewrap does. It becomes `inside.py`, which
proves that the sandbox works, and passes on the other arguments: another start of Python would take as long as all the
rest.

"space": namespaces of its own, and a file system built from the plan. "lock": none of that, but the filter of system
calls alone, for systems that forbid namespaces. Any failure here ends it: nothing runs then.

No first-party imports.
"""

import ctypes
import fcntl
import json
import marshal
import os
import signal
import socket
import struct
import sys
from collections.abc import Callable
from typing import Any, NoReturn

FAILED = 1

NEW_MOUNTS, NEW_CGROUP, NEW_NAMES, NEW_IPC, NEW_USER, NEW_PROCESSES, NEW_NETWORK = (
    *(0x00020000, 0x02000000, 0x04000000, 0x08000000),
    *(0x10000000, 0x20000000, 0x40000000),
)
"""Of `unshare`."""

NO_SUID, NO_DEVICES, NO_PROGRAMS, BIND, RECURSIVE, PRIVATE = 2, 4, 8, 0x1000, 0x4000, 0x40000
"""Of `mount`."""

READ_ONLY, ATTRIBUTE_NO_SUID, ATTRIBUTE_NO_DEVICES = 1, 2, 4
ALL_BENEATH = 0x8000
"""Of `mount_setattr`, which changes these and leaves the other attributes as they are: some must not be changed."""

DETACH = 2
MOUNT_SETATTR = 442

NO_NEW_RIGHTS, FILTER, DROP_BOUNDING, DEATH_SIGNAL, AMBIENT, CLEAR_AMBIENT, SUBREAPER = 38, 22, 24, 1, 47, 4, 36
"""Of `prctl`."""

CAPABILITIES = 0x20080522
"""Version of the call that sets them."""

INTERFACE_FLAGS, UP = 0x8914, 1

libc = ctypes.CDLL(None, use_errno=True)

Plan = dict[str, Any]


def main() -> None:
    """Follow the plan, then become the program it names."""
    told, info, *rest = sys.argv[1:]
    with os.fdopen(int(told), "rb") as file:
        plan: Plan = json.load(file)
    inside: dict[str, Any] = {"__name__": "inside"}
    exec(marshal.loads(bytes.fromhex(plan["program"])), inside)
    if plan["rung"] == "space":
        enter_space(plan, int(info))
    else:
        enter_lock(int(info), inside["end_all"])
    drop_rights(plan["capability_call"])
    os.chdir(plan["folder"])
    load_filter(bytes.fromhex(plan["filter"]))
    sys.argv = [plan["inside"], *rest]
    inside["main"]()


def tell(info: int, pid: int) -> None:
    """The pid of the first process, as seen from outside."""
    with os.fdopen(info, "w") as file:
        json.dump({"child-pid": pid}, file)


def enter_space(plan: Plan, info: int) -> None:
    """Become the first process of new namespaces; the caller waits for it, and ends the same way."""
    uid, gid = os.getuid(), os.getgid()
    kinds = NEW_USER | NEW_MOUNTS | NEW_PROCESSES | NEW_IPC | NEW_NAMES | NEW_CGROUP
    call("unshare", libc.unshare(kinds | (0 if plan["network"] else NEW_NETWORK)))
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    pid = os.fork()
    if pid:
        tell(info, pid)
        wait_for(pid)
    os.close(info)
    libc.prctl(DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    os.setsid()
    build(plan)
    socket.sethostname("sandbox")
    if not plan["network"]:
        with socket.socket() as any_socket:
            fcntl.ioctl(any_socket, INTERFACE_FLAGS, struct.pack("16sH22x", b"lo", UP))


def enter_lock(info: int, end_all: Callable[[], None]) -> None:
    """Become the first process; the caller waits for it, and reaps and kills what it leaves behind if it is killed. The
    other way round the first one ends all, as soon as the engine learns that the caller is gone."""
    libc.prctl(SUBREAPER, 1, 0, 0, 0)
    pid = os.fork()
    if pid:
        tell(info, pid)
        wait_for(pid, end_all)
    os.close(info)


def wait_for(pid: int, then: Callable[[], None] = lambda: None) -> NoReturn:
    """Wait, and nothing else: killing this process of a space kills the first one inside with it."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    then()
    os._exit(code if code >= 0 else 128 - code)


# -- the file system -------------------------------------------------------------------------------------

NEW, OLD = "/new", "/old"


def build(plan: Plan) -> None:
    """A root of its own in which there is what the plan names, and nothing else."""
    mount(None, "/", None, PRIVATE | RECURSIVE)
    mount("tmpfs", "/tmp", "tmpfs", NO_SUID | NO_DEVICES, "size=1m,mode=0755")
    os.chdir("/tmp")
    for folder in (NEW, OLD):
        os.mkdir(folder[1:], 0o755)
    call("pivot_root", libc.syscall(plan["pivot_call"], b".", OLD[1:].encode()))
    os.chdir("/")
    mount("tmpfs", NEW, "tmpfs", NO_SUID | NO_DEVICES, "size=4m,mode=0755")
    make_system(plan["devices"])
    for name, target in plan["links"]:
        os.symlink(target, NEW + name)
    for entry in plan["mounts"]:
        put(**entry)
    for name in ("/dev", "/"):
        restrict(NEW + name, READ_ONLY)
    with open(f"{NEW}/proc/sys/user/max_user_namespaces", "w") as file:
        file.write("0")  # none beneath this one
    restrict(f"{NEW}/proc", READ_ONLY)
    call("umount", libc.umount2(OLD.encode(), DETACH))
    os.chdir(NEW)
    call("pivot_root", libc.syscall(plan["pivot_call"], b".", b"."))
    call("umount", libc.umount2(b".", DETACH))
    os.chdir("/")


def make_system(devices: list[str]) -> None:
    """/proc of this process space, and the devices that every program expects."""
    os.mkdir(f"{NEW}/proc")
    mount("proc", f"{NEW}/proc", "proc", NO_SUID | NO_DEVICES | NO_PROGRAMS)
    os.mkdir(f"{NEW}/dev")
    mount("tmpfs", f"{NEW}/dev", "tmpfs", NO_SUID, "size=64k,mode=0755")
    for path in devices:
        os.close(os.open(NEW + path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        mount(OLD + path, NEW + path, None, BIND)
        restrict(NEW + path, READ_ONLY)  # or root could change its mode, for everybody
    for name in ("shm", "pts"):
        os.mkdir(f"{NEW}/dev/{name}", 0o755)
    mount("devpts", f"{NEW}/dev/pts", "devpts", NO_SUID | NO_PROGRAMS, "newinstance,ptmxmode=0666,mode=620")
    targets = {"ptmx": "pts/ptmx", "fd": "/proc/self/fd"}
    targets |= {name: f"/proc/self/fd/{number}" for number, name in enumerate(("stdin", "stdout", "stderr"))}
    for name, target in targets.items():
        os.symlink(target, f"{NEW}/dev/{name}")


def put(path: str, kind: str, source: str, size: int) -> None:
    """One entry of the plan: its kinds are those of `mounts.py`."""
    is_file = bool(source) and not os.path.isdir(OLD + source)
    target = place(path, is_file=is_file)
    match kind:
        case "SCRATCH":
            mount("tmpfs", target, "tmpfs", NO_SUID | NO_DEVICES, f"size={size},mode=0700")
        case "HIDDEN" if is_file:
            mount(f"{OLD}/dev/null", target, None, BIND)
            restrict(target, READ_ONLY | ATTRIBUTE_NO_DEVICES)  # a device where there are none cannot be opened
        case "HIDDEN":
            mount("tmpfs", target, "tmpfs", NO_SUID | NO_DEVICES, "size=4096,mode=0000")
            restrict(target, READ_ONLY)
        case _:
            mount(OLD + source, target, None, BIND | RECURSIVE)
            only_read = 0 if kind == "WRITABLE" else READ_ONLY
            restrict(target, only_read | ATTRIBUTE_NO_SUID | ATTRIBUTE_NO_DEVICES, beneath=True)


def place(path: str, *, is_file: bool = False) -> str:
    """Where the path is in the new root; made, if need be. Never through a link, for that could lead elsewhere."""
    target = NEW + path
    parent = os.path.dirname(target)
    os.makedirs(parent, 0o755, exist_ok=True)
    if os.path.realpath(parent) != parent or os.path.islink(target):
        raise OSError(f"{path} is a link, or beneath one")
    if not os.path.lexists(target):
        if is_file:
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        else:
            os.mkdir(target, 0o755)
    return target


def mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    """`mount(2)`; OSError if it fails."""
    named = [os.fsencode(name) if name is not None else None for name in (source, target, kind)]
    options = data.encode() if data is not None else None
    call(f"mount {target}", libc.mount(*named, ctypes.c_ulong(flags), options))


def restrict(target: str, attributes: int, *, beneath: bool = False) -> None:
    """Add attributes to what is mounted there, and to all that is mounted beneath it."""
    wanted = struct.pack("=QQQQ", attributes, 0, 0, 0)
    flags = ALL_BENEATH if beneath else 0
    call(f"restrict {target}", libc.syscall(MOUNT_SETATTR, -100, os.fsencode(target), flags, wanted, len(wanted)))


# -- rights --------------------------------------------------------------------------------------------


def drop_rights(capability_call: int) -> None:
    """Drop all capabilities permanently: no later program gets any."""
    call("prctl", libc.prctl(NO_NEW_RIGHTS, 1, 0, 0, 0))
    for capability in range(64):
        libc.prctl(DROP_BOUNDING, capability, 0, 0, 0)  # of those that do not exist it fails
    libc.prctl(AMBIENT, CLEAR_AMBIENT, 0, 0, 0)
    call("capset", libc.syscall(capability_call, struct.pack("=Ii", CAPABILITIES, 0), bytes(24)))


def load_filter(program: bytes) -> None:
    """The filter of system calls, for this process and all that come after it."""
    steps = ctypes.create_string_buffer(program, len(program))
    wanted = struct.pack("=HxxxxxxQ", len(program) // 8, ctypes.addressof(steps))
    call("seccomp", libc.prctl(FILTER, 2, wanted, 0, 0))


def call(name: str, result: int) -> None:
    """OSError if that was the result of a call that failed."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), name)


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        # Without any further ado: the child of a fork has nothing to clear away.
        os.write(2, f"launcher: {error.filename or 'failed'}: {error.strerror or error}\n".encode())
        os._exit(FAILED)
