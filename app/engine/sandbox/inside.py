"""The first program inside a sandbox: proves that the sandbox holds, sets limits, then becomes the real command.

Never imported by us: every rung runs it as `python -I -S` instead of the real command, so it tries what that could do.
It reads the promises from a descriptor, reports its findings on a socket, and waits for an answer; if a promise is
broken, the command never runs. It stays as the first process, which adopts orphans, and ends with the command, its
child, or as soon as nobody holds the other end of the socket. No first-party imports.
"""

import contextlib
import ctypes
import errno
import fcntl
import json
import marshal
import os
import resource
import select
import signal
import socket
import struct
import sys
import termios
import types
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

BROKEN = 125
"""Exit code where a promise does not hold."""

DEATH_SIGNAL, DUMPABLE, SUBREAPER = 1, 4, 36
"""Of `prctl`."""

NEW_USER_NAMESPACE = 0x10000000
PATIENCE = 0.2
"""Seconds that a connection may take which must not come about."""

OF_THE_SYSTEM = (
    *("/proc/sys/kernel/core_pattern", "/proc/sys/vm/overcommit_memory"),
    *("/proc/pressure/cpu", "/proc/pressure/io", "/proc/pressure/memory"),
)
"""Files that change the whole machine; what is written to the first one is run by the system, outside."""

PIECE = 65_536
Promised = dict[str, Any]
Findings = Iterator[str]  # what is wrong, in plain words


def main() -> None:
    """Stay as the first process; the child reports which promises hold, then becomes the command."""
    told, line, held, spare, *command = sys.argv[1:]
    os.close(int(spare))
    with os.fdopen(int(told), "rb") as file:
        promised: Promised = json.load(file)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(DUMPABLE, 0, 0, 0, 0)
    if promised["own_processes"]:
        libc.prctl(DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    else:
        libc.prctl(SUBREAPER, 1, 0, 0, 0)  # it has to live on to end the others
    for name, code in promised["modules"].items():
        sys.modules[name] = types.ModuleType(name)
        exec(marshal.loads(bytes.fromhex(code)), vars(sys.modules[name]))
    other_end = socket.socket(fileno=int(line))  # no child inherits it, nor what is open as long as this process is
    if int(held) >= 0 and promised["own_processes"]:
        os.set_inheritable(int(held), False)
    guard = promised["guard"]
    if guard:  # it does what code asks for, and must not be able to do more
        promised["apart"], promised["walled"] = enclose(promised["landlock"])
    ours, theirs = socket.socketpair()
    first = os.fork()
    if first:
        theirs.close()
        answers = sys.modules[guard["module"]].meet_guard(guard, ours, first) if guard else None
        stay(first, other_end, answers, alone=promised["own_processes"])
    ours.close()
    with contextlib.suppress(PermissionError):
        os.setsid()  # so that signals can reach the command and its children, and nobody else
    if promised["proxy"]:
        sys.modules[promised["forwarder"]].forward(promised["proxy"], promised["proxy_port"])
    if guard:
        libc.prctl(DUMPABLE, 1, 0, 0, 0)  # who answers has to read its paths
        try:
            sys.modules[guard["module"]].install_guard(guard["call"], bytes.fromhex(guard["filter"]), theirs)
        except OSError as error:
            guard["failed"] = str(error)
    theirs.close()
    become(command, promised, other_end)


def become(command: list[str], promised: Promised, other_end: socket.socket) -> NoReturn:
    """Report which promises hold; then the command, if all do and somebody still wants it."""
    if not promised["guard"]:
        promised["apart"], promised["walled"] = enclose(promised["landlock"])
    set_limits(promised["limits"])
    broken = [f"{name}: {wrong}" for name, check in CHECKS.items() for wrong in check(promised)]
    handed = [os.open(promised["shared"], os.O_PATH | os.O_DIRECTORY)] if promised["shared"] and not broken else []
    socket.send_fds(other_end, [b" "], handed)
    other_end.sendall(json.dumps({"checked": list(CHECKS), "broken": broken}).encode() + b"\n")
    if broken or not other_end.recv(1):
        os._exit(BROKEN)
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)  # Python, or who started us, ignores them; the command must not
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")


def stay(first: int, other_end: socket.socket, guard: Any, *, alone: bool) -> NoReturn:
    """Reap processes until the command ends, or nobody outside wants it any more. `alone`: all processes of the sandbox
    end with this one. `guard`, if there is one, answers calls of the others meanwhile."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    woken, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    events = select.poll()
    events.register(woken, select.POLLIN)
    events.register(other_end, select.POLLRDHUP)
    if guard:
        events.register(guard.listener, select.POLLIN)
    os.write(waker, b" ")  # the command may have ended already
    code = None
    while code is None:
        for descriptor, event in events.poll(guard.pause if guard else None):
            if descriptor == woken:
                os.read(woken, PIECE)
                while (ended := reap())[0]:
                    code = ended[1] if ended[0] == first else code
            elif descriptor == other_end.fileno():
                code = -signal.SIGKILL
            elif event & select.POLLIN:
                guard.serve()
            else:
                events.unregister(descriptor)  # all are gone that it could be asked by
        if guard:
            guard.retry()
    if not alone:
        end_all()
    os._exit(code if code >= 0 else 128 - code)


def reap() -> tuple[int, int]:
    """A child that ended, and its exit code or negative signal; 0 for the child if none did."""
    try:
        pid, status = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return 0, 0
    return pid, os.waitstatus_to_exitcode(status)


def end_all() -> None:
    """Kill all that descends from this process: whose parent is gone becomes its child."""
    while True:
        for name in filter(str.isdecimal, os.listdir("/proc")):
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as stat:
                if int(stat.read().rpartition(")")[2].split()[1]) == os.getpid():
                    os.kill(int(name), signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def set_limits(limits: dict[str, int]) -> None:
    """Set limits for this process and its children; a stricter limit stays."""
    for name, value in limits.items():
        number = getattr(resource, name)
        hard = resource.getrlimit(number)[1]
        wanted = value if hard == resource.RLIM_INFINITY else min(value, hard)
        # Processor time: a warning first (SIGXCPU), the end a second later.
        ceiling = wanted + 1 if name == "RLIMIT_CPU" and hard == resource.RLIM_INFINITY else wanted
        resource.setrlimit(number, (wanted, ceiling))


# -- Landlock ------------------------------------------------------------------------------------------

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""System calls."""

(EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE, _CHAR, MAKE_DIR, MAKE_REG, MAKE_SOCK, MAKE_FIFO) = (
    1 << number for number in range(11)
)
MAKE_SYM, REFER, TRUNCATE, IOCTL_DEV = 1 << 12, 1 << 13, 1 << 14, 1 << 15

READ = EXECUTE | READ_FILE | READ_DIR
MAKE = REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_SOCK | MAKE_FIFO | MAKE_SYM | REFER
WRITE = READ | MAKE | WRITE_FILE | TRUNCATE
DEVICE = READ_FILE | WRITE_FILE | READ_DIR | TRUNCATE | IOCTL_DEV
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
"""Rights that a rule for a file may name."""

RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
"""Of a version; from 5 on all of these. 6 brought signals, and 7 nothing that is of use here."""

MOVES, PORTS, SCOPES = 2, 4, 6


def enclose(wanted: dict[str, Any]) -> tuple[bool, bool]:
    """A wall of its own, whatever else there is: rules for files, ports if `ports` says so, and what other programs
    listen on without a path. Whether the latter is kept apart from now on, and whether the rules for files hold.

    Where files could not be moved between folders any more, because the system is so old, they are left alone.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    version = min(libc.syscall(CREATE_RULESET, None, 0, 1), wanted["newest"])
    if version < 1:
        return False, False
    files = RIGHTS.get(version, (1 << 16) - 1) if version >= MOVES else 0
    ports = 0b11 if wanted["ports"] and version >= PORTS else 0
    scopes = 0b11 if version >= SCOPES else 0
    known = 3 if version >= SCOPES else 2 if version >= PORTS else 1
    handled = struct.pack("=QQQ", files, ports, scopes)[: 8 * known]
    rules = libc.syscall(CREATE_RULESET, handled, len(handled), 0) if files or ports or scopes else -1
    if rules < 0:
        return False, False
    own = [f"/proc/{os.getpid()}"] if wanted["required"] else []
    kinds = {"read": READ, "write": WRITE, "devices": DEVICE, "pipes": READ | WRITE_FILE}
    for kind, rights in kinds.items() if files else ():
        for path in [*wanted[kind], *(own if kind == "read" else [])]:
            allow(libc, rules, path, rights & files)
    done = libc.syscall(RESTRICT_SELF, rules, 0) == 0
    os.close(rules)
    return done and bool(scopes), done and bool(files)


def allow(libc: ctypes.CDLL, rules: int, path: str, rights: int) -> None:
    """A rule for a path and everything beneath it; a missing path needs none."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        if not os.path.isdir(path):
            rights &= OF_FILES
        libc.syscall(ADD_RULE, rules, 1, struct.pack("=Qi", rights, descriptor), 0)
        os.close(descriptor)


# -- promises ------------------------------------------------------------------------------------------


def check_rights(promised: Promised) -> Findings:
    """No capabilities, no way to gain any, and a filter of system calls."""
    wanted = {"CapEff": "0" * 16, "CapPrm": "0" * 16, "NoNewPrivs": "1", "Seccomp": "2"}
    wanted |= {"CapBnd": "0" * 16} if promised["own_processes"] else {}  # who has none cannot drop what it may not have
    with open("/proc/self/status", encoding="ascii", errors="replace") as status:
        found = dict(line.rstrip("\n").split(":\t", 1) for line in status if ":\t" in line)
    for name, value in wanted.items():
        if found.get(name, "").strip() != value:
            yield f"{name} is {found.get(name, 'not told')} instead of {value}"
    if promised["landlock"]["required"] and not promised["walled"]:
        yield "this system has no Landlock, or one that is too old"


def check_calls(_promised: Promised) -> Findings:
    """System calls that lead out of the sandbox fail."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(NEW_USER_NAMESPACE) == 0:
        yield "a new user namespace could be made"
    if libc.ptrace(0, 0, 0, 0) == 0:
        yield "processes can be traced"
    with contextlib.suppress(OSError):
        socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM).close()
        yield "raw network packets could be read"
    try:
        fcntl.ioctl(0, termios.TIOCSTI, b"\0")
        yield "terminals can be typed into"
    except OSError as error:
        if error.errno != errno.EPERM:
            yield "typing into terminals is not denied"


def check_processes(promised: Promised) -> Findings:
    """Others' processes are not visible; or, where they are, they can be neither looked into nor signalled."""
    if not promised["own_processes"]:
        with contextlib.suppress(OSError):
            os.kill(promised["outsider"], 0)
            yield "processes outside can be signalled"
        for name in ("environ", "cmdline", "mem"):
            with contextlib.suppress(OSError):
                os.close(os.open(f"/proc/{promised['outsider']}/{name}", os.O_RDONLY))
                yield f"{name} of processes outside can be read"
        return
    if os.getppid() != 1:
        yield "this is not a process space of its own"
    others = {int(name) for name in os.listdir("/proc") if name.isdecimal()} - {1, os.getpid()}
    if len(others) > 1:  # the forwarder of the network
        yield f"{len(others)} other processes are visible"


def check_files(promised: Promised) -> Findings:
    """Check that nothing outside can be written, and that the writable folders can."""
    name = f".oi-tui-{os.getpid()}-{os.urandom(8).hex()}"
    for folder in promised["outside"]:
        path = os.path.join(folder, name)
        with contextlib.suppress(OSError):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            os.unlink(path)
            yield f"{folder} can be written"
    for path in OF_THE_SYSTEM:
        with contextlib.suppress(OSError):
            os.close(os.open(path, os.O_WRONLY))  # nothing is ever written to it
            yield f"{path} can be written"
    if promised["own_processes"] and not os.statvfs("/proc").f_flag & os.ST_RDONLY:
        yield "/proc can be written"
    for path in promised["unchangeable"]:
        if not os.path.lexists(path):
            yield f"{path} is not there, so it could be made"
        elif not os.statvfs(path).f_flag & os.ST_RDONLY:
            yield f"{path} can be written"  # or its mode be changed, so that it can
    for path in promised["changeable"]:
        if not os.access(path, os.W_OK):
            yield f"{path} cannot be written"


def check_names(promised: Promised) -> Findings:
    """Names that others obey cannot be made."""
    guard = promised["guard"]
    return sys.modules[guard["module"]].makeable_names(guard) if guard else iter(())


def check_secrets(promised: Promised) -> Findings:
    """Check that secrets cannot be read, and that the home folder is another one."""
    for path in promised["secrets"]:
        with contextlib.suppress(OSError):
            if os.path.isdir(path):
                os.listdir(path)
            else:
                os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
            yield f"{path} can be read"
    for path, device, inode in promised["replaced"]:
        with contextlib.suppress(OSError):
            found = os.stat(path)
            if (found.st_dev, found.st_ino) == (device, inode):
                yield f"{path} is visible"


def check_environment(promised: Promised) -> Findings:
    """Only variables that were meant to be passed on, here and in what started us."""
    # PWD is bubblewrap's, LC_CTYPE Python's own.
    meant = {*promised["environment"], "PWD", "LC_CTYPE"}
    with contextlib.suppress(PermissionError), open("/proc/1/environ", "rb") as file:
        first = {entry.partition(b"=")[0].decode(errors="replace") for entry in file.read().split(b"\0") if entry}
        if first - meant:
            yield f"variables of the program outside are visible: {', '.join(sorted(first - meant))}"
    if os.environ.keys() - meant:
        yield f"variables were not left out: {', '.join(sorted(os.environ.keys() - meant))}"


def check_network(promised: Promised) -> Findings:
    """Without a network there is none: neither an interface nor a socket of this machine."""
    if (promised["apart"] or not promised["network"]) and reaches(socket.AF_UNIX, "\0" + promised["bait"][2]):
        yield "a socket of this machine could be reached"
    if promised["network"]:
        return
    if reaches(socket.AF_INET, tuple(promised["bait"][:2])):
        yield "a port of this machine could be reached"
    if not promised["own_network"]:
        return
    interfaces = {name for _, name in socket.if_nameindex()} - {"lo"}
    if interfaces:
        yield f"there are network interfaces: {', '.join(sorted(interfaces))}"


def check_limits(promised: Promised) -> Findings:
    """Limits are set as the profile says."""
    for name, value in promised["limits"].items():
        soft = resource.getrlimit(getattr(resource, name))[0]
        if soft == resource.RLIM_INFINITY or soft > value:
            yield f"{name} is {soft} instead of {value}"


def reaches(family: int, address: Any) -> bool:
    """Whether somebody listens there."""
    try:
        with socket.socket(family, socket.SOCK_STREAM) as caller:
            caller.settimeout(PATIENCE)
            caller.connect(address)
    except OSError:
        return False
    return True


CHECKS: dict[str, Callable[[Promised], Findings]] = {
    "rights": check_rights,
    "system calls": check_calls,
    "processes": check_processes,
    "files": check_files,
    "names": check_names,
    "secrets": check_secrets,
    "environment": check_environment,
    "network": check_network,
    "limits": check_limits,
}


if __name__ == "__main__":
    main()
