"""The first program inside a sandbox: proves that the sandbox holds, sets limits, then becomes the real command.

Never imported by us: bubblewrap starts it as `python -I -S` with the arguments of the real command, so what it
tries is what the command could do. It is told on one descriptor what was promised and says on another what it found.
If one promise is broken, it ends here, and the command never runs.

No first-party import may stand here.
"""

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import resource
import signal
import socket
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from typing import Any

BROKEN = 125
"""Exit code where a promise does not hold."""

CREATE_RULESET, RESTRICT_SELF = 444, 446
"""System calls of Landlock."""

SCOPED_SOCKETS = 6
"""The version of Landlock since which sockets without a path can be kept apart."""

NEW_USER_NAMESPACE = 0x10000000
PATIENCE = 0.2
"""Seconds that a connection may take which must not come about."""

OF_THE_SYSTEM = ("/proc/sys/kernel/core_pattern", "/proc/sys/vm/overcommit_memory", "/proc/pressure/memory")
"""Files that change the whole machine; what is written to the first one is run by the system, outside."""

PIECE = 65_536

Promised = dict[str, Any]
Findings = Iterator[str]
"""What is wrong, in plain words."""


def main() -> None:
    """Tell what holds, then become the command."""
    told, said, *command = sys.argv[1:]
    with os.fdopen(int(told), "rb") as file:
        promised: Promised = json.load(file)
    with contextlib.suppress(PermissionError):
        os.setsid()  # so that signals can reach the command and its children, and nobody else
    if promised["proxy"]:
        forward(promised["proxy"], promised["proxy_port"])
    promised["apart"] = keep_sockets_apart()
    set_limits(promised["limits"])
    broken = [f"{name}: {wrong}" for name, check in CHECKS.items() for wrong in check(promised)]
    with os.fdopen(int(said), "w") as report:
        json.dump({"checked": list(CHECKS), "broken": broken}, report)
    if broken:
        os._exit(BROKEN)
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)  # Python, or who started us, ignores them; the command must not
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")


def set_limits(limits: dict[str, int]) -> None:
    """For this process and all that come after it; a stricter one that is there stays."""
    for name, value in limits.items():
        number = getattr(resource, name)
        hard = resource.getrlimit(number)[1]
        wanted = value if hard == resource.RLIM_INFINITY else min(value, hard)
        # Processor time: a warning first (SIGXCPU), the end a second later.
        ceiling = wanted + 1 if name == "RLIMIT_CPU" and hard == resource.RLIM_INFINITY else wanted
        resource.setrlimit(number, (wanted, ceiling))


def keep_sockets_apart() -> bool:
    """Whether abstract sockets of other programs are out of reach from now on, be the network shared or not: the
    screen's, for one, through which everything can be typed."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(CREATE_RULESET, None, 0, 1) < SCOPED_SOCKETS:
        return False
    handled = (ctypes.c_uint64 * 3)(0, 0, 1)  # neither files nor ports, but the scope of abstract sockets
    rules = libc.syscall(CREATE_RULESET, handled, ctypes.sizeof(handled), 0)
    if rules < 0:
        return False
    done: bool = libc.syscall(RESTRICT_SELF, rules, 0) == 0
    os.close(rules)
    return done


# -- promises ------------------------------------------------------------------------------------------


def check_rights(_promised: Promised) -> Findings:
    """No capabilities, none to be had, and a filter of system calls."""
    wanted = {"CapEff": "0" * 16, "CapBnd": "0" * 16, "CapPrm": "0" * 16, "NoNewPrivs": "1", "Seccomp": "2"}
    with open("/proc/self/status", encoding="ascii", errors="replace") as status:
        found = dict(line.rstrip("\n").split(":\t", 1) for line in status if ":\t" in line)
    for name, value in wanted.items():
        if found.get(name, "").strip() != value:
            yield f"{name} is {found.get(name, 'not told')} instead of {value}"


def check_calls(_promised: Promised) -> Findings:
    """System calls that lead out are denied."""
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


def check_processes(_promised: Promised) -> Findings:
    """Nobody else's processes are visible."""
    if os.getppid() != 1:
        yield "this is not a process space of its own"
    others = {int(name) for name in os.listdir("/proc") if name.isdecimal()} - {1, os.getpid()}
    if len(others) > 1:  # the forwarder of the network
        yield f"{len(others)} other processes are visible"


def check_files(promised: Promised) -> Findings:
    """Nothing can be written outside, and what may be written can be."""
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
    if not os.statvfs("/proc").f_flag & os.ST_RDONLY:
        yield "/proc can be written"
    for path in promised["unchangeable"]:
        if not os.path.lexists(path):
            yield f"{path} is not there, so it could be made"
        elif not os.statvfs(path).f_flag & os.ST_RDONLY:
            yield f"{path} can be written"  # or its mode be changed, so that it can
    for path in promised["changeable"]:
        if not os.access(path, os.W_OK):
            yield f"{path} cannot be written"


def check_secrets(promised: Promised) -> Findings:
    """What is secret cannot be read, and the home folder is another one."""
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
    interfaces = {name for _, name in socket.if_nameindex()} - {"lo"}
    if interfaces:
        yield f"there are network interfaces: {', '.join(sorted(interfaces))}"
    if reaches(socket.AF_INET, tuple(promised["bait"][:2])):
        yield "a port of this machine could be reached"


def check_limits(promised: Promised) -> Findings:
    """Resource limits (processes, file size, core dumps) are set as the profile says."""
    for name, value in promised["limits"].items():
        soft = resource.getrlimit(getattr(resource, name))[0]
        if soft == resource.RLIM_INFINITY or soft > value:
            yield f"{name} is {soft} instead of {value}"


def reaches(family: int, address: Any) -> bool:
    """Whether somebody listens there."""
    with socket.socket(family, socket.SOCK_STREAM) as caller:
        caller.settimeout(PATIENCE)
        try:
            caller.connect(address)
        except OSError:
            return False
    return True


CHECKS: dict[str, Callable[[Promised], Findings]] = {
    "rights": check_rights,
    "system calls": check_calls,
    "processes": check_processes,
    "files": check_files,
    "secrets": check_secrets,
    "environment": check_environment,
    "network": check_network,
    "limits": check_limits,
}


# -- the network's only door -----------------------------------------------------------------------------


def forward(path: str, port: int) -> None:
    """A process that carries what is said to a port of the sandbox's own loopback to the proxy's socket outside."""
    listener = socket.create_server(("127.0.0.1", port))
    if os.fork():
        listener.close()
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.setsid()
    for number in range(3, 256):
        if number != listener.fileno():
            with contextlib.suppress(OSError):
                os.close(number)
    while True:
        caller, _ = listener.accept()
        threading.Thread(target=carry_both_ways, args=(caller, path), daemon=True).start()


def carry_both_ways(caller: socket.socket, path: str) -> None:
    """Between one caller and the proxy, until both have said all."""
    with contextlib.suppress(OSError), caller, socket.socket(socket.AF_UNIX) as proxy:
        proxy.connect(path)
        back = threading.Thread(target=carry, args=(proxy, caller), daemon=True)
        back.start()
        carry(caller, proxy)
        back.join()


def carry(source: socket.socket, target: socket.socket) -> None:
    """Hand on what comes until its end, and then the end."""
    with contextlib.suppress(OSError):
        while data := source.recv(PIECE):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    main()
