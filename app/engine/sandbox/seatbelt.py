"""The rung for macOS: a plan as a profile of Seatbelt, in the language that `sandbox-exec` reads. NEVER RUN ON A MAC.

Its text is tested against the promises, by a reader of our own; whether a Mac understands and enforces it is unknown,
so nothing starts with it and it does not count as a sandbox (`rungs.py`). The last matching rule decides, as the
deepest mount does elsewhere. Paths are parameters: the text has nothing of this machine in it. Forbidden names need no
placeholders: they are denied at any depth, in upper and lower case, because Macs compare names that way.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from oi_tui.app.engine.sandbox import places
from oi_tui.app.engine.sandbox.environments import PROXY_PORT
from oi_tui.app.engine.sandbox.mounts import Mount, MountKind, Plan
from oi_tui.app.engine.sandbox.profile import Network, Profile

PROGRAM = "/usr/bin/sandbox-exec"

SYSTEM_FOLDERS = (
    *("/usr", "/bin", "/sbin", "/System/Library", "/System/Cryptexes", "/System/Volumes/Preboot/Cryptexes"),
    *("/Library/Apple", "/Library/Developer", "/Library/Fonts", "/Library/Frameworks", "/private/var/select"),
    *("/private/var/db/dyld", "/private/var/db/timezone"),
)
"""Where programs and their libraries are on a Mac. Not all of /System: home folders have a second name there."""

ALSO = {"s": "\N{LATIN SMALL LETTER LONG S}", "k": "\N{KELVIN SIGN}"}
"""What is the same letter too, where upper and lower case are."""

BASE = """\
(version 1)
(deny default)
(allow process-fork)
(allow process-info* signal (target same-sandbox))
(allow sysctl-read
    (sysctl-name-prefix "hw.") (sysctl-name-prefix "net.routetable.")
    (sysctl-name "kern.argmax") (sysctl-name "kern.hostname") (sysctl-name "kern.maxfilesperproc")
    (sysctl-name "kern.osproductversion") (sysctl-name "kern.osrelease") (sysctl-name "kern.ostype")
    (sysctl-name "kern.osversion") (sysctl-name "kern.version") (sysctl-name "vm.loadavg"))
(allow mach-lookup
    (global-name "com.apple.system.opendirectoryd.libinfo")
    (global-name "com.apple.system.opendirectoryd.membership"))
(allow ipc-posix-sem ipc-posix-shm* (ipc-posix-name-regex #"^/(mp-|psm_|loky-)"))
(allow pseudo-tty)
(allow file-read* file-write-data file-ioctl (literal "/dev/ptmx"))
(allow file-read* file-write-data file-ioctl
    (require-all (regex #"^/dev/ttys[0-9]+$") (extension "com.apple.sandbox.pty")))
(allow file-read* file-write-data (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (subpath "/dev/fd"))
(allow file-read* (literal "/") (literal "/dev/random") (literal "/dev/urandom"))
"""
"""What every program needs, and nothing of other programs: their variables can be read by no name of `sysctl`."""

SEEN, UNSEEN = "(allow file-read* process-exec* (subpath {}))", "(deny file-read* process-exec* (subpath {}))"
CHANGED, UNCHANGED = "(allow file-write* (subpath {}))", "(deny file-write* (subpath {}))"

RULES: Mapping[MountKind, tuple[str, ...]] = {
    MountKind.SCRATCH: (UNSEEN, UNCHANGED),  # another one serves in its place
    MountKind.READABLE: (SEEN, UNCHANGED),
    MountKind.WRITABLE: (SEEN, CHANGED),
    MountKind.GUARDED: (SEEN, UNCHANGED),
    MountKind.HIDDEN: (UNSEEN, UNCHANGED),
}

NETWORKS: Mapping[Network, str] = {
    "none": "",
    "hosts": f'(allow network-outbound (remote tcp "localhost:{PROXY_PORT}"))\n',
    "full": '(allow network* (remote ip "*:*") (local ip "*:*"))\n'
    '(allow network-outbound (remote unix-socket (path-literal "/private/var/run/mDNSResponder")))\n',
}


class SeatbeltText(NamedTuple):
    """A profile as `sandbox-exec` wants it."""

    text: str
    parameters: Mapping[str, str]

    def arguments(self) -> list[str]:
        """The words before the command."""
        given = (part for name, value in self.parameters.items() for part in ("-D", f"{name}={value}"))
        return [PROGRAM, "-p", self.text, *given]


def seatbelt_text(profile: Profile, plan: Plan, *, scratch: Path, pipes: Path) -> SeatbeltText:
    """The profile. `scratch` is the folder for files that do not last; in `pipes`, which the plan names as well,
    existing pipes may be written to, and sockets serve both sides."""
    parameters: dict[str, str] = {}

    def parameter(path: str) -> str:
        name = f"P{len(parameters)}"
        parameters[name] = path
        return f'(param "{name}")'

    laid = sorted(_entries_of(plan, scratch), key=lambda entry: (len(Path(entry[0]).parts), *entry))
    text = BASE + NETWORKS[profile.network]
    for path, kind in laid:
        named = parameter(path)
        text += "".join(f"{rule.format(named)}\n" for rule in RULES[kind])
    shown = [path for path, kind in laid if kind not in (MountKind.SCRATCH, MountKind.HIDDEN)]
    for path in _above(shown):
        text += f"(allow file-read-metadata (literal {parameter(path)}))\n"
    own, door = parameter(os.path.realpath(scratch)), parameter(os.path.realpath(pipes))
    text += f"(allow file-write-data (subpath {door}))\n"
    for folder in (own, door):
        text += f"(allow network-bind network-inbound (local unix-socket (subpath {folder})))\n"
        text += f"(allow network-outbound (remote unix-socket (subpath {folder})))\n"
    text += _name_rules(own)
    # What is moved with the folder that it is in would be under another path, which no rule names.
    fixed = [path for path, kind in laid if kind in (MountKind.GUARDED, MountKind.HIDDEN)]
    for path in _above([*fixed, *(os.path.realpath(folder / "x") for folder in profile.writes)]):
        text += f"(deny file-write-unlink (literal {parameter(path)}))\n"
    return SeatbeltText(text, parameters)


def _entries_of(plan: Plan, scratch: Path) -> Iterator[tuple[str, MountKind]]:
    """The paths of the plan without links, since the system judges real paths."""
    for folder in SYSTEM_FOLDERS:
        yield folder, MountKind.READABLE
    for name in places.ETC:
        yield f"/private/etc/{name}", MountKind.READABLE
    for mount in (*plan.mounts, Mount(scratch, MountKind.WRITABLE)):
        yield os.path.realpath(mount.path), mount.kind


def _above(paths: Iterable[str]) -> list[str]:
    """All folders that these are in."""
    return sorted({str(parent) for path in paths for parent in Path(path).parents})


def _name_rules(own: str) -> str:
    """Rules for what is known by its name, wherever it is: what must not change, and what must not be read."""
    guarded = "|".join(map(_any_case, places.GUARDED))
    harmless = "|".join(map(_any_case, places.HARMLESS_ENDINGS))
    environment = f"/{_any_case(places.ENVIRONMENT_FILE)}"
    return (
        f'(deny file-write* (require-all (regex #"/({guarded})(/|$)") (require-not (subpath {own}))))\n'
        f'(deny file-read* file-write* process-exec* (require-all (regex #"{environment}([.][^/]*)?$")'
        f' (require-not (regex #"{environment}[.][^/]*({harmless})$|{environment}({harmless})$"))))\n'
    )


def _any_case(name: str) -> str:
    """A pattern for all spellings that a Mac takes for this name."""
    spelt = (sorted({letter, letter.upper(), *ALSO.get(letter, "")}) for letter in name)
    return "".join(f"({'|'.join(same)})" if len(same) > 1 else f"[{same[0]}]" for same in spelt)
