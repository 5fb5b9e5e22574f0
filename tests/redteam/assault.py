"""What is tried from inside a sandbox, by a generator with a seed. Read as text and run there by a Python of its own:
the standard library alone.

The facts come as JSON on standard input: `seed`, `first` and `count` of the attempts, `seconds` after which no other is
begun, and where the sentinels are that the other side watches. Of each attempt one line comes back: its number, what
it was, and what it got, "" for nothing. Much of what fails and what does not is seen from outside only (`probes.py`).
"""

import contextlib
import ctypes
import json
import mmap
import os
import platform
import random
import resource
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

libc = ctypes.CDLL(None, use_errno=True)

TOKEN = b"do-not-read-"
"""How every secret begins; the rest is not known in here."""

SECONDS = 3
"""Of one attempt."""

LIMITS = {resource.RLIMIT_CORE: 0, resource.RLIMIT_FSIZE: 10_000_000, resource.RLIMIT_AS: 2_000_000_000}
"""Of one attempt: what it gets at counts, not what it wastes."""

FAMILIES = (1, 2, 10, 16)

NUMBERS = 472
"""The calls of Linux that are tried, from 0."""

LEFT_OUT = frozenset((
    *(0, 34, 23, 7, 35, 61, 247, 270, 271, 230, 232, 281, 441, 130, 128, 202, 449, 455, 15, 219),  # would wait, or wake
    *(57, 58, 60, 231, 59, 322, 56, 435),  # processes that would go on with what they find, or none at all
    *(62, 200, 234, 129, 297, 424, 109, 112),  # ends this process' own group
    *(302, 141, 142, 144, 203, 314, 251, 256, 279, 440, 448, 238, 237),  # tried with the watched process alone
    *(162, 306, 29, 30, 31, 67, 64, 65, 66, 68, 69, 70, 71, 220, *range(240, 246)),  # would stay on the machine
    *(169, 246, 320, 167, 168, 164, 227, 159, 305, 170, 171, 163, 175, 313, 176),  # of the machine as a whole
))  # fmt: skip
"""Calls that only waste time, or that hurt who tries them (numbers of x86_64)."""


class Facts:
    """Where everything is."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.seed: str = given["seed"]
        self.home: str = given["home"]
        self.out: str = given["out"]
        self.work: str = given["work"]
        self.mark: str = given["mark"]
        self.pid: int = given["pid"]
        self.ports: list[int] = given["ports"]
        self.named: str = given["named"]
        self.weaker: bool = given["weaker"]
        self.secrets: list[str] = given["secrets"]


def call(name: str, *given: Any) -> int:
    """A function of the C library; OSError if it fails."""
    found = int(getattr(libc, name)(*given))
    if found < 0:
        raise OSError(ctypes.get_errno(), name)
    return found


# -- paths that lead to the same


def spell(path: str, chance: random.Random, facts: Facts) -> str:
    """Another way to say an absolute path, made of one or two tricks."""
    for _ in range(chance.choice((0, 1, 1, 1, 2))):
        with contextlib.suppress(OSError):
            path = chance.choice(TRICKS)(path, chance, facts)
    return path


def of_root(path: str, chance: random.Random, facts: Facts) -> str:
    """Through somebody's root or working folder."""
    who = chance.choice(
        ("self", "thread-self", "1", "2", str(os.getppid()), str(facts.pid), f"self/task/{os.getpid()}")
    )
    return f"/proc/{who}/{chance.choice(('root', 'root/.', 'cwd' + '/..' * 12))}{path}"


def upwards(path: str, chance: random.Random, _facts: Facts) -> str:
    """Relative to the working folder, up beyond the top."""
    return "../" * chance.randint(6, 16) + path.lstrip("/")


def roundabout(path: str, chance: random.Random, _facts: Facts) -> str:
    """With more parts than are needed."""
    parts = path.split("/")
    place = chance.randrange(1, len(parts)) if len(parts) > 1 else 0
    more = chance.choice(("", ".", "./.", f"{parts[place]}/.." if place < len(parts) - 1 else ".", "//"))
    return "/".join((*parts[:place], more, *parts[place:]))


def by_link(path: str, chance: random.Random, facts: Facts) -> str:
    """Through links in the workspace, to all of it or to a part."""
    cut = chance.randrange(1, path.count("/") + 1) if path.count("/") else 0
    parts = path.split("/")
    front, rest = "/".join(parts[: cut + 1]) or "/", "/".join(parts[cut + 1 :])
    for number in range(chance.randint(1, 3)):
        name = os.path.join(facts.work, "sub", f"l{number}{os.getpid()}")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        os.symlink(front, name)
        front = name
    return os.path.join(front, rest)


def by_hard_link(path: str, _chance: random.Random, facts: Facts) -> str:
    """A second name for the file."""
    name = os.path.join(facts.work, "sub", f"h{os.getpid()}")
    os.link(path, name, follow_symlinks=False)
    return name


def by_descriptor(path: str, chance: random.Random, _facts: Facts) -> str:
    """Through an open folder, which may be all of the way or a part."""
    parts = path.split("/")
    cut = chance.randrange(1, len(parts)) if len(parts) > 1 else 1
    opened = os.open("/".join(parts[:cut]) or "/", chance.choice((os.O_RDONLY, os.O_PATH)) | os.O_DIRECTORY)
    return f"{chance.choice(('/proc/self/fd', '/dev/fd', f'/proc/{os.getpid()}/fd'))}/{opened}/" + "/".join(parts[cut:])


def by_folder(path: str, _chance: random.Random, _facts: Facts) -> str:
    """From the folder that it is in."""
    os.chdir(os.path.dirname(path) or "/")
    return os.path.basename(path)


TRICKS = (of_root, of_root, upwards, roundabout, by_link, by_link, by_hard_link, by_descriptor, by_folder)


# -- attempts: each gives what it got


def read_secret(chance: random.Random, facts: Facts) -> tuple[str, str]:
    """A secret, by one of many paths and one of many ways to read."""
    own = () if facts.weaker else (".env", ".env.local", "sub/.env")
    process = chance.choice(("environ", "cmdline", "mem", "maps", "cwd/x", "root/etc/hostname", "fd/0", "auxv"))
    targets = [f"{facts.home}/{name}" for name in facts.secrets] + [f"{facts.work}/{name}" for name in own]
    target = chance.choice((*targets, f"/proc/{facts.pid}/{process}"))
    path = spell(target, chance, facts)
    way = chance.randrange(8)
    got = b""
    if way == 0:
        with open(path, "rb") as file:
            got = file.read(4096)
    elif way == 1:
        got = os.pread(os.open(path, os.O_RDONLY | chance.choice((0, os.O_NOFOLLOW, os.O_NONBLOCK))), 4096, 0)
    elif way == 2:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
            got = view[:4096]
    elif way == 3:
        reads, writes = os.pipe()
        os.sendfile(writes, os.open(path, os.O_RDONLY), 0, 4096)
        got = os.read(reads, 4096)
    elif way == 4:
        copy = os.open(os.path.join(facts.work, "sub", f"c{os.getpid()}"), os.O_RDWR | os.O_CREAT)
        os.copy_file_range(os.open(path, os.O_RDONLY), copy, 4096)
        got = os.pread(copy, 4096, 0)
    elif way == 5:
        got = subprocess.run(["cat", path], capture_output=True, timeout=SECONDS, check=False).stdout
    elif way == 6:
        pinned = os.open(path, os.O_PATH)
        with open(f"/proc/self/fd/{pinned}", "rb") as file:
            got = file.read(4096)
    else:
        how = (ctypes.c_uint64 * 3)(0, 0, chance.choice((0, 2, 8, 16)))  # openat2
        got = os.read(call("syscall", 437, -100, path.encode(), how, 24), 4096)
    return f"read {target} as {path} (way {way})", "it was read" if TOKEN in got else ""


def write_outside(chance: random.Random, facts: Facts) -> tuple[str, str]:
    """Something beyond what may be written; whether it was is seen from outside."""
    guarded = (
        ".git/config",
        ".git/hooks/pre-commit",
        ".git/new",
        ".oi/permissions.toml",
        ".vscode/t",
        ".envrc",
        ".git",
    )
    names = () if facts.weaker else (*guarded, ".envrc", ".mcp.json", ".venv/pyvenv.cfg")
    own = tuple(f"{facts.work}/{name}" for name in names)
    outside = (f"{facts.out}/file", f"{facts.out}/new", facts.out, f"{facts.home}/.bashrc", f"{facts.home}/.netrc")
    places = (f"/etc/{facts.mark}", f"/usr/lib/{facts.mark}", f"{sys.prefix}/{facts.mark}.pth", f"/run/{facts.mark}")
    target = chance.choice((*own, *outside, *outside, *places, f"/tmp/{facts.mark}", f"/var/tmp/{facts.mark}"))
    path = spell(target, chance, facts)
    way = chance.choice(sorted(WAYS_TO_WRITE))
    own_file = os.path.join(facts.work, "sub", f"w{os.getpid()}")
    with open(own_file, "wb") as file:
        file.write(b"changed")
    WAYS_TO_WRITE[way](path, own_file, chance)
    return f"{way} {target} as {path}", f"{KNOWN} {way}" if facts.weaker and way in OPEN_WAYS else ""


def _opened(path: str, flags: int) -> int:
    descriptor = os.open(path, flags, 0o644)
    if flags & (os.O_WRONLY | os.O_RDWR) and not flags & os.O_DIRECTORY:
        os.write(descriptor, b"changed")
    return descriptor


def _open_to_write(path: str, _own: str, chance: random.Random) -> None:
    choices = (os.O_CREAT, os.O_TRUNC, os.O_APPEND, os.O_CREAT | os.O_EXCL, os.O_CREAT | os.O_TRUNC, 0, os.O_SYNC)
    _opened(path, chance.choice((os.O_WRONLY, os.O_RDWR)) | chance.choice(choices))


def _unnamed(path: str, own: str, _chance: random.Random) -> None:
    made = os.open(os.path.dirname(own), os.O_TMPFILE | os.O_RDWR)
    os.write(made, b"changed")
    call("linkat", -100, f"/proc/self/fd/{made}".encode(), -100, path.encode(), 0x400)


def _copy_range(path: str, own: str, _chance: random.Random) -> None:
    os.copy_file_range(os.open(own, os.O_RDONLY), os.open(path, os.O_WRONLY), 7)


def _map(path: str, _own: str, _chance: random.Random) -> None:
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as view:
        view[:1] = b"X"


def _through_read_only(path: str, _own: str, _chance: random.Random) -> None:
    pinned = os.open(path, os.O_RDONLY)
    os.write(os.open(f"/proc/self/fd/{pinned}", os.O_WRONLY), b"changed")


def _exchange(path: str, own: str, chance: random.Random) -> None:
    call("renameat2", -100, own.encode(), -100, path.encode(), chance.choice((0, 1, 2)))


def _remove_all(path: str, _own: str, _chance: random.Random) -> None:
    shutil.rmtree(path)


def _by_program(path: str, own: str, chance: random.Random) -> None:
    programs = (
        ["sh", "-c", 'echo changed >"$1"', "sh", path],
        ["cp", own, path],
        ["mv", "-f", own, path],
        ["ln", "-sfn", own, path],
        ["dd", f"if={own}", f"of={path}", "conv=notrunc"],
        ["install", "-m", "777", own, path],
        ["tee", path],
        ["truncate", "-s", "0", path],
        ["chmod", "777", path],
        ["touch", path],
    )
    given: dict[str, Any] = {"capture_output": True, "timeout": SECONDS, "stdin": subprocess.DEVNULL}
    subprocess.run(chance.choice(programs), check=False, **given)


WAYS_TO_WRITE: dict[str, Callable[[str, str, random.Random], object]] = {
    "open": _open_to_write,
    "link a file without a name to": _unnamed,
    "copy a range to": _copy_range,
    "map": _map,
    "open again": _through_read_only,
    "exchange": _exchange,
    "run a program on": _by_program,
    "truncate": lambda path, _own, _chance: os.truncate(path, 0),
    "rename to": lambda path, own, _chance: os.rename(own, path),
    "rename": lambda path, own, _chance: os.rename(path, f"{own}-moved"),
    "link to": lambda path, own, _chance: os.link(own, path),
    "put a link at": lambda path, own, _chance: os.symlink(own, path),
    "make a folder": lambda path, _own, _chance: os.mkdir(path),
    "make a pipe": lambda path, _own, _chance: os.mkfifo(path),
    "make a device": lambda path, _own, _chance: os.mknod(path, 0o60666, os.makedev(8, 0)),
    "make a socket": lambda path, _own, _chance: socket.socket(socket.AF_UNIX).bind(path),
    "remove": lambda path, _own, _chance: os.unlink(path),
    "remove the folder": lambda path, _own, _chance: os.rmdir(path),
    "remove all of": _remove_all,
    "change the mode of": lambda path, _own, _chance: os.chmod(path, 0o7777),
    "change the owner of": lambda path, _own, _chance: os.chown(path, os.getuid(), 12345),
    "change the time of": lambda path, _own, _chance: os.utime(path, (1, 1)),
    "put an attribute on": lambda path, _own, _chance: os.setxattr(path, "user.oi-tui", b"x"),
}


KNOWN = "known:"
"""Before what the lock does not promise to hold."""

OPEN_WAYS = ("change the mode of", "change the owner of", "change the time of", "put an attribute on")


def write_system(chance: random.Random, facts: Facts) -> tuple[str, str]:
    """A file of /proc or /sys is opened for writing; nothing is written to it."""
    top = chance.choice(
        ("/proc/sys", "/proc/sys/kernel", "/sys", "/proc", "/proc/pressure", "/sys/fs/cgroup", "/proc/irq")
    )
    path = top
    for _ in range(6):
        names = [name for name in sorted(os.listdir(path)) if not name.isdigit() and not name.endswith("self")]
        if not names:
            break
        path = f"{path}/{chance.choice(names)}"
        if not os.path.isdir(path) or os.path.islink(path):
            break
    spoken = spell(path, chance, facts)
    os.close(os.open(spoken, chance.choice((os.O_WRONLY, os.O_RDWR)) | os.O_NONBLOCK))
    return f"open {path} as {spoken} for writing", "it was opened" if os.path.realpath(path).startswith(
        ("/proc", "/sys")
    ) else ""


def reach(chance: random.Random, facts: Facts) -> tuple[str, str]:
    """A socket of any family, and with it to whoever listens outside."""
    family = chance.choice((*FAMILIES, *FAMILIES, *range(48)))
    kind = chance.choice((1, 1, 2, 3, 4, 5, 6, 10)) | chance.choice((0, 0, 0x800, 0x80000))
    protocol = chance.choice((0, 0, 0, 1, 6, 17, 132, 262, chance.randrange(300)))
    what = f"socket({family}, {kind}, {protocol})"
    made = socket.socket(family, kind, protocol)
    if family not in FAMILIES:
        return what, "it was made"
    made.settimeout(0.3)
    name, port = facts.mark, chance.choice(facts.ports)
    hosts = ("127.0.0.1", "0.0.0.0", "127.1.2.3", "localhost", socket.gethostname())
    where: Any = {
        1: chance.choice((facts.named, f"\0{name}", spell(facts.named, chance, facts))),
        2: (chance.choice(hosts), port),
        10: (chance.choice(("::1", "::ffff:127.0.0.1", "::")), port),
    }.get(family, (0, 0))
    way = chance.randrange(5)
    if way == 0:
        made.connect(where)
        made.sendall(b"reached")
    elif way == 1:
        made.sendto(b"reached", where)
    elif way == 2:
        made.sendto(b"reached", 0x20000000, where)  # connects by sending
    elif way == 3:
        made.bind(where if family == 1 else ("0.0.0.0", 0) if family == 2 else ("::", 0) if family == 10 else (0, 0))
        made.listen()
    else:
        made.sendmsg([b"reached"], [(1, 1, struct.pack("i", 0))], 0, where)
    return f"{what} to {where!r} (way {way})", ""


def touch_process(chance: random.Random, facts: Facts) -> tuple[str, str]:
    """The watched process: signals, limits, priorities, memory; whether it is as before is seen from outside."""
    pid = facts.pid
    buffer = ctypes.create_string_buffer(b"\0" * 4096)
    numbers = {
        "pidfd_open": (434, pid, 0), "process_vm_readv": (310, pid, buffer, 1, buffer, 1, 0),
        "process_vm_writev": (311, pid, buffer, 1, buffer, 1, 0), "ptrace": (101, 16, pid, 0, 0),
        "seize": (101, 0x4206, pid, 0, 0), "prlimit64": (302, pid, 7, struct.pack("QQ", 10, 10), None),
        "prlimit64 of files": (302, pid, 1, struct.pack("QQ", 0, 0), None), "setpriority": (141, 0, pid, 19),
        "sched_setaffinity": (203, pid, 8, struct.pack("Q", 1)),
        "sched_setscheduler": (144, pid, 5, struct.pack("i", 0)), "ioprio_set": (251, 1, pid, 3 << 13),
        "migrate_pages": (256, pid, 8, struct.pack("Q", 1), struct.pack("Q", 1)),
        "kcmp": (312, pid, os.getpid(), 0, 0, 0),
        "setpgid": (109, pid, pid), "kill": (62, pid, chance.choice((0, 9, 15, 19, 2))),
        "tgkill": (234, pid, pid, chance.choice((9, 15))), "tkill": (200, pid, 9), "kill of its group": (62, -pid, 15),
        "rt_sigqueueinfo": (129, pid, 15, buffer), "sched_setattr": (314, pid, buffer, 0),
        "move_pages": (279, pid, 0, 0, 0, 0, 0),
    }  # fmt: skip
    if platform.machine() != "x86_64":
        os.kill(pid, chance.choice((0, 15)))
        return "kill", ""
    name = chance.choice(sorted(numbers))
    found = call("syscall", *numbers[name])
    if facts.weaker and name == "pidfd_open":
        return name, ""  # what can be done with it is tried by itself
    if facts.weaker:
        return f"{name} of the watched process", f"{KNOWN} {name}" if name not in HELD_CALLS else f"it gave {found}"
    return f"{name} of the watched process", f"it gave {found}"


HELD_CALLS = (
    *("process_vm_readv", "process_vm_writev", "ptrace", "seize", "kcmp", "kill", "tgkill", "tkill"),
    *("kill of its group", "rt_sigqueueinfo", "prlimit64"),
    *("prlimit64 of files", "setpriority", "ioprio_set"),
)
"""What the lock promises; where there are namespaces, the process cannot even be named."""


PROPERTIES = frozenset(
    {*range(90, 95), 132, *range(188, 191), *range(197, 200), 235, 260, 261, 268, 280, 452, 463, 466}
)
"""Calls for modes, owners, times and attributes. The lock does not promise to hold them, and `/` is there the machine's
own: a mode that chance gives it would lock everybody out."""


def system_calls(chance: random.Random, facts: Facts) -> tuple[str, str]:
    """Up to six calls with arguments that make sense now and then; what one gives the next may take."""
    if platform.machine() != "x86_64":
        return "system calls have other numbers here", ""
    paths = [f"{facts.out}/file", f"{facts.home}/.netrc", f"{facts.out}/new", f"{facts.work}/sub/x", facts.out, "/"]
    paths += [] if facts.weaker else [f"{facts.work}/.git/config", f"{facts.work}/.git", f"{facts.work}/.vscode"]
    texts = [ctypes.create_string_buffer(path.encode()) for path in paths]
    space = ctypes.create_string_buffer(bytes(chance.getrandbits(8) for _ in range(256)), 65536)
    numbers = [0, 1, 2, 3, 7, 8, 16, 64, 255, 256, 4096, 65536, 0x7FFFFFFF, 0xFFFFFFFF, 2**63, 2**64 - 1, 2**64 - 100]
    pool: list[int] = [*numbers, *numbers, *map(ctypes.addressof, texts), *[ctypes.addressof(space)] * 4]
    made, left_out = [], LEFT_OUT | PROPERTIES if facts.weaker else LEFT_OUT
    for _ in range(chance.randint(1, 6)):
        number = chance.choice([n for n in (chance.randrange(NUMBERS) for _ in range(20)) if n not in left_out])
        given = [chance.choice((*pool, chance.getrandbits(chance.choice((4, 12, 32))))) for _ in range(6)]
        made.append(number)
        found = libc.syscall(ctypes.c_long(number | chance.choice((0, 0, 0, 0x40000000))), *map(ctypes.c_ulong, given))
        if 2 < found < 2**31:
            pool += [found] * 8
    return f"system calls {made}", ""


KINDS = (*[read_secret] * 3, *[write_outside] * 4, write_system, reach, reach, touch_process, *[system_calls] * 5)


def attempt(number: int, facts: Facts) -> tuple[str, str]:
    """One of them, in a process of its own; what it was and what it got."""
    chance = random.Random(f"{facts.seed} {number}")
    kind = chance.choice(KINDS)
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        found = (kind.__name__, "")
        os.close(reads)
        signal.alarm(SECONDS)
        for limit, most in LIMITS.items():
            resource.setrlimit(limit, (most, most))
        os.chdir(facts.work)
        for target, end in enumerate((*os.pipe(), os.pipe()[1])):  # nothing of the machine, not even /dev/null
            os.dup2(end, target)
        writes = os.dup2(writes, 900)
        try:
            found = kind(chance, facts)
        except (OSError, ValueError, OverflowError, subprocess.SubprocessError, ctypes.ArgumentError):
            pass  # refused, or it makes no sense
        finally:
            with contextlib.suppress(BaseException):
                os.write(writes, json.dumps(found).encode()[:4000])
            os._exit(0)
    os.close(writes)
    with open(reads, "rb") as file:
        if not select.select([file], [], [], SECONDS + 0.5)[0]:  # some call did away with the alarm
            os.kill(child, signal.SIGKILL)
        said = file.read()
    os.waitpid(child, 0)
    try:
        what, got = json.loads(said)
    except ValueError:
        return kind.__name__, ""  # the calls ended it
    return f"{kind.__name__}: {what}", str(got)


def main() -> None:
    """All that were asked for."""
    given = json.load(sys.stdin)
    facts = Facts(given)
    end = time.monotonic() + given["seconds"]
    for number in range(given["first"], given["first"] + given["count"]):
        if time.monotonic() > end and number > given["first"]:
            break
        print(json.dumps([number, *attempt(number, facts)]), flush=True)


if __name__ == "__main__":
    main()
