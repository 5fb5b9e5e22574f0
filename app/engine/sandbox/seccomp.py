"""A filter of system calls, written as the small program (classic BPF) that the kernel wants. Pure: bytes come out.

It denies what code in a sandbox never needs and what sandboxes were left by: looking into other processes, key
rings, mounts, namespaces, modules, tracing, odd families of sockets, typing into a terminal. A denied call fails
with EPERM, as if a right were missing. `man 2 seccomp` describes the data that a filter looks at.
"""

import errno
import platform
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

LOAD, JUMP_EQUAL, JUMP_AT_LEAST, JUMP_ANY_BIT, AND, RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
ALLOW, KILL, FAIL, ASK = 0x7FFF0000, 0x80000000, 0x00050000, 0x7FC00000

NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16
"""Offsets in `struct seccomp_data`; each argument has eight bytes, the lower half first."""

X32 = 0x40000000
"""Marks a call of the x32 interface, which has other numbers for the same calls."""

FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16}
"""Sockets that may be made. Netlink tells the network interfaces, without which ZeroMQ aborts."""

STREAM, DATAGRAM, RAW_SOCKET, SEQUENCED, SOCKET_TYPE = 1, 2, 3, 5, 0xF
TCP = 6

FAST_OPEN = 0x20000000
"""Makes a connection by sending."""

_FLAGS = {"sendto": 3, "sendmsg": 2, "sendmmsg": 3}
"""Calls that send, and which argument has their flags."""

NEW_NAMESPACE = 0x02000000 | 0x00020000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
"""CLONE_NEW- CGROUP, NS, UTS, IPC, USER, PID, NET."""

TERMINAL_REQUESTS = (0x5412, 0x541C)
"""TIOCSTI types into a terminal, TIOCLINUX pastes into a console."""

SUBVOLUME_REQUESTS = (0x50009401, 0x5000940E, 0x50009417, 0x50009418, 0x4020BC10, 0x40186F04)
"""BTRFS_IOC_ SNAP_CREATE, SUBVOL_CREATE and their second versions, BCH_IOCTL_SUBVOLUME_CREATE, OCFS2_IOC_REFLINK: what
they make has a name that no call shows."""

_NEWER = {
    "pidfd_getfd": 438,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "clone3": 435,
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "fchmodat2": 452,
    "open_tree_attr": 467,
}
"""Since 2019 a call has the same number everywhere."""

_X86_64 = {
    "socket": 41,
    "connect": 42,
    "sendto": 44,
    "sendmsg": 46,
    "sendmmsg": 307,
    "socketpair": 53,
    "clone": 56,
    "ioctl": 16,
    "ptrace": 101,
    "syslog": 103,
    "uselib": 134,
    "personality": 135,
    "pivot_root": 155,
    "chroot": 161,
    "acct": 163,
    "settimeofday": 164,
    "mount": 165,
    "umount2": 166,
    "swapon": 167,
    "swapoff": 168,
    "reboot": 169,
    "sethostname": 170,
    "setdomainname": 171,
    "iopl": 172,
    "ioperm": 173,
    "init_module": 175,
    "delete_module": 176,
    "quotactl": 179,
    "lookup_dcookie": 212,
    "clock_settime": 227,
    "kexec_load": 246,
    "add_key": 248,
    "request_key": 249,
    "keyctl": 250,
    "unshare": 272,
    "perf_event_open": 298,
    "fanotify_init": 300,
    "open_by_handle_at": 304,
    "setns": 308,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "kcmp": 312,
    "finit_module": 313,
    "kexec_file_load": 320,
    "bpf": 321,
    "userfaultfd": 323,
    "chmod": 90,
    "fchmod": 91,
    "fchmodat": 268,
    "setpriority": 141,
    "ioprio_set": 251,
    "prlimit64": 302,
    **_NEWER,
}

_AARCH64 = {
    "socket": 198,
    "connect": 203,
    "sendto": 206,
    "sendmsg": 211,
    "sendmmsg": 269,
    "socketpair": 199,
    "clone": 220,
    "ioctl": 29,
    "ptrace": 117,
    "syslog": 116,
    "personality": 92,
    "pivot_root": 41,
    "chroot": 51,
    "acct": 89,
    "settimeofday": 170,
    "mount": 40,
    "umount2": 39,
    "swapon": 224,
    "swapoff": 225,
    "reboot": 142,
    "sethostname": 161,
    "setdomainname": 162,
    "init_module": 105,
    "delete_module": 106,
    "quotactl": 60,
    "lookup_dcookie": 18,
    "clock_settime": 112,
    "kexec_load": 104,
    "add_key": 217,
    "request_key": 218,
    "keyctl": 219,
    "unshare": 97,
    "perf_event_open": 241,
    "fanotify_init": 262,
    "open_by_handle_at": 265,
    "setns": 268,
    "process_vm_readv": 270,
    "process_vm_writev": 271,
    "kcmp": 272,
    "finit_module": 273,
    "kexec_file_load": 294,
    "bpf": 280,
    "userfaultfd": 282,
    "fchmod": 52,
    "fchmodat": 53,
    "setpriority": 140,
    "ioprio_set": 30,
    "prlimit64": 261,
    **_NEWER,
}

_NAMING_X86_64 = {
    "open": 2,
    "openat": 257,
    "creat": 85,
    "truncate": 76,
    "mkdir": 83,
    "mkdirat": 258,
    "mknod": 133,
    "mknodat": 259,
    "symlink": 88,
    "symlinkat": 266,
    "link": 86,
    "linkat": 265,
    "rename": 82,
    "renameat": 264,
    "renameat2": 316,
}

_NAMING_AARCH64 = {
    "openat": 56,
    "truncate": 45,
    "mkdirat": 34,
    "mknodat": 33,
    "symlinkat": 36,
    "linkat": 37,
    "renameat": 38,
    "renameat2": 276,
}

_OPENING = {"open": 1, "openat": 2}
"""Calls that may make or move a name, or open for writing, depending on flags, and the argument with the flags."""

SET_DUMPABLE = 4
"""Of `prctl`."""

_OPENAT2, _LANDLOCK = 437, 444
"""A filter cannot read the arguments of the first one, which are in memory; the second one would not bind the process
that acts for others."""

WRITING, ONLY_A_PATH = 0o1103, 0o10000000
"""O_ACCMODE, O_CREAT and O_TRUNC; O_PATH, with which the others are of no account."""

_MODES = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2}
"""Calls that change a mode, and the argument that it is."""

SETUID = 0o4000
"""Makes a program run as its owner, regardless of the caller."""

_OF_PROCESSES = {"prlimit64": 0, "setpriority": 1, "ioprio_set": 1}
"""Calls that hold processes to something, and which argument names the process; 0 is the one that calls. How processes
are scheduled is not among them: threads are named so as well, and ZeroMQ ends the process that may not."""

_LOOKED_INTO = frozenset(
    {"socket", "socketpair", "clone", "clone3", "ioctl", "personality", "connect", "sendto", "sendmsg", "sendmmsg"}
    | _MODES.keys()
    | _OF_PROCESSES.keys()
)
"""Calls that are allowed or not by what they are asked for; the others are denied altogether."""

PERSONALITIES = (0x0, 0xFFFFFFFF)
"""The usual one, and the question which one it is. Others weaken the protection of memory."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """A processor family: its mark in the filter's data and the numbers of its calls."""

    mark: int
    calls: Mapping[str, int]
    naming: Mapping[str, int]
    """Calls that make or move a name, or may do so."""
    seccomp: int
    prctl: int
    x32: bool = False


MACHINES = {
    "x86_64": Architecture(0xC000003E, _X86_64, _NAMING_X86_64, 317, 157, x32=True),
    "aarch64": Architecture(0xC00000B7, _AARCH64, _NAMING_AARCH64, 277, 167),
}


def is_supported(machine: str = "") -> bool:
    """Whether there is a filter for this processor family; "" is the one that we run on."""
    return (machine or platform.machine()) in MACHINES


def filter_program(machine: str = "", *, calls_out: bool = True, own_processes: bool = True) -> bytes:
    """The filter for a processor family of `MACHINES`, eight bytes an instruction; KeyError for any other.

    Without `calls_out` code can neither connect to a port or a socket with a path nor send to an unconnected address:
    for sandboxes that share the network of the machine. Accepting connections stays possible. Without `own_processes`
    it can set limits and priorities only for the calling process, because it can see others.
    """
    target = MACHINES[machine or platform.machine()]
    calls, program = target.calls, _beginning(target)
    for name in sorted(calls.keys() - _LOOKED_INTO):
        program += _call(calls[name], [_failure(errno.EPERM)])
    # The arguments of clone3 are in memory, which a filter cannot read: the C library falls back to clone.
    program += _call(calls["clone3"], [_failure(errno.ENOSYS)])
    program += _call(calls["clone"], [_argument(0), *_if(JUMP_ANY_BIT, NEW_NAMESPACE), _allow()])
    program += _call(calls["ioctl"], [_argument(1), *_if_among(TERMINAL_REQUESTS + SUBVOLUME_REQUESTS), _allow()])
    program += _call(calls["personality"], [_argument(0), *_unless_among(PERSONALITIES), _allow()])
    for name, index in _MODES.items():
        if name in calls:
            program += _call(calls[name], [_argument(index), *_if(JUMP_ANY_BIT, SETUID), _allow()])
    if not own_processes:
        for name, index in _OF_PROCESSES.items():
            program += _call(calls[name], [_argument(index), *_unless_among((0,)), _allow()])
    program += _call(calls["socket"], _socket() if calls_out else _listener())
    pair = [_argument(0), *_unless_among((FAMILIES["AF_UNIX"],))]
    if not calls_out:
        program += _call(calls["connect"], [_failure(errno.EPERM)])
        for name, index in _FLAGS.items():
            program += _call(calls[name], [_argument(index), *_if(JUMP_ANY_BIT, FAST_OPEN), _allow()])
        # What is sent by a datagram can name somebody else than the other end of the pair.
        pair += [_argument(1), _instruction(AND, SOCKET_TYPE), *_if(JUMP_EQUAL, DATAGRAM)]
    program += _call(calls["socketpair"], [*pair, _allow()])
    return b"".join([*program, _allow()])


def guard_program(machine: str = "") -> bytes:
    """The filter that asks about each call that makes or moves a name, or opens for writing: see `name_guard.py`."""
    target = MACHINES[machine or platform.machine()]
    program, ask = _beginning(target), _instruction(RETURN, ASK)
    for name, number in target.naming.items():
        if name in _OPENING:
            kind = [_instruction(JUMP_ANY_BIT, ONLY_A_PATH, 2, 0), _instruction(JUMP_ANY_BIT, WRITING, 0, 1)]
            program += _call(number, [_argument(_OPENING[name]), *kind, ask, _allow()])
        else:
            program += _call(number, [ask])
    # A process that hides its memory could make no file. Programs that try (gpg-agent) get a success: in here nobody
    # may inspect others anyway.
    program += _call(target.prctl, [_argument(0), _instruction(JUMP_EQUAL, SET_DUMPABLE, 0, 1), _failure(0), _allow()])
    for number in (_OPENAT2, _LANDLOCK):
        program += _call(number, [_failure(errno.ENOSYS)])
    return b"".join([*program, _allow()])


def _beginning(target: Architecture) -> list[bytes]:
    """Calls of other machines end the process; the number of the call is loaded."""
    program = [
        _instruction(LOAD, ARCHITECTURE),
        _instruction(JUMP_EQUAL, target.mark, 1, 0),
        _instruction(RETURN, KILL),
        _instruction(LOAD, NUMBER),
    ]
    if target.x32:
        program += [_instruction(JUMP_AT_LEAST, X32, 0, 1), _failure(errno.EPERM)]
    return program


def _socket() -> list[bytes]:
    netlink = FAMILIES["AF_NETLINK"]
    return [
        _argument(0),
        *_unless_among(FAMILIES.values()),
        _instruction(JUMP_EQUAL, netlink, 0, 1),
        _allow(),  # netlink calls itself raw
        _argument(1),
        _instruction(AND, SOCKET_TYPE),
        *_if(JUMP_EQUAL, RAW_SOCKET),
        _allow(),
    ]


def _listener() -> list[bytes]:
    netlink, step = FAMILIES["AF_NETLINK"], _instruction(AND, SOCKET_TYPE)
    return [
        _argument(0),
        *_unless_among(FAMILIES.values()),
        _instruction(JUMP_EQUAL, netlink, 0, 1),
        _allow(),
        _argument(1),
        step,
        *_unless_among((STREAM, SEQUENCED)),
        _argument(2),
        *_unless_among((0, TCP)),  # other protocols have other ways to call
        _allow(),
    ]


def _call(number: int, body: list[bytes]) -> list[bytes]:
    """What is done about this call; the body ends the program. The call's number is loaded before and after."""
    return [_instruction(JUMP_EQUAL, number, 0, len(body)), *body]


def _if(test: int, value: int) -> list[bytes]:
    return [_instruction(test, value, 0, 1), _failure(errno.EPERM)]


def _if_among(values: Iterable[int]) -> list[bytes]:
    return [step for value in values for step in _if(JUMP_EQUAL, value)]


def _unless_among(values: Iterable[int]) -> list[bytes]:
    """Fail unless the loaded value is one of these."""
    known = list(values)
    # From each test over those after it and over the failure.
    tests = [_instruction(JUMP_EQUAL, value, len(known) - index, 0) for index, value in enumerate(known)]
    return [*tests, _failure(errno.EPERM)]


def _argument(index: int) -> bytes:
    """Load the lower half of an argument: the upper one is ignored by these calls, and must be ignored here."""
    return _instruction(LOAD, ARGUMENTS + 8 * index)


def _failure(number: int) -> bytes:
    return _instruction(RETURN, FAIL | number)


def _allow() -> bytes:
    return _instruction(RETURN, ALLOW)


def _instruction(code: int, value: int, when_true: int = 0, when_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, when_true, when_false, value)
