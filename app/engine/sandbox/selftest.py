"""The promises for the first program inside a sandbox, and its findings, as values: see `inside.py` for the program."""

import json
import os
import secrets
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from oi_tui.app.engine.sandbox.environments import PROXY_PORT
from oi_tui.app.engine.sandbox.guarding import FORWARDER, guard_promise, handed_modules, module_name
from oi_tui.app.engine.sandbox.limits import rlimits
from oi_tui.app.engine.sandbox.mounts import MountKind, Plan
from oi_tui.app.engine.sandbox.places import is_covered
from oi_tui.app.engine.sandbox.profile import Profile
from oi_tui.app.engine.sandbox.rungs import Rung

OUTSIDE = tuple(map(Path, ("/", "/usr", "/etc", "/dev", "/run", "/proc", "/home")))
"""Where a file must not come to be, beside what is above the workspace."""

PROMISES = frozenset(
    {"rights", "system calls", "processes", "files", "names", "secrets", "environment", "network", "limits"},
)
"""All must be checked; a report that leaves one out is invalid."""


@dataclass(frozen=True, slots=True)
class Report:
    """The findings inside. `broken` says in plain words which promise is broken, and how."""

    checked: frozenset[str]
    broken: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Every promise was checked and kept."""
        return not self.broken and self.checked >= PROMISES

    @classmethod
    def parse(cls, data: bytes) -> Self | None:
        """The report; None if it is not one: the program did not get that far."""
        try:
            match json.loads(data):
                case {"checked": list(checked), "broken": list(broken)}:
                    return cls(frozenset(map(str, checked)), tuple(map(str, broken)))
        except ValueError:
            pass
        return None


class Probe:
    """Sockets of this machine that must not be reachable from inside, open while that is tried."""

    def __init__(self) -> None:
        self._port = socket.create_server(("127.0.0.1", 0))
        self._name = f"oi-tui-{secrets.token_hex(16)}"
        self._named = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._named.bind("\0" + self._name)
        self._named.listen()

    @property
    def addresses(self) -> tuple[str, int, str]:
        """Address and port, and the name of an abstract socket."""
        return ("127.0.0.1", self._port.getsockname()[1], self._name)

    def close(self) -> None:
        self._port.close()
        self._named.close()


def encode_promises(
    profile: Profile,
    plan: Plan,
    environment: Iterable[str],
    *,
    rung: Rung,
    landlock: Mapping[str, Any],
    bait: Probe,
    proxy: str,
    shared: str,
) -> bytes:
    """The promises of a profile on this rung, for `inside.py`.

    `proxy` is the socket of the network's only door, `shared` the folder that is handed out to us; "" if there is none.
    """
    own, guard = rung.has_namespaces, guard_promise(rung, profile)
    replaced = [_identity(mount.path) for mount in plan.mounts if mount.kind == MountKind.SCRATCH] if own else []
    seen = [] if own else [Path(path) for path in (*landlock["read"], *landlock["write"])]
    return json.dumps(
        {
            "own_processes": own,
            "own_network": own,
            "outsider": os.getpid(),
            "landlock": landlock,
            "guard": guard,
            "modules": handed_modules(guard, proxy),
            "shared": shared,
            "outside": [str(folder) for folder in (*OUTSIDE, *profile.workspace.parents) if _is_outside(folder, plan)],
            "unchangeable": [str(path) for path in plan.guarded] if own else [],
            "changeable": [str(folder) for folder in profile.writes if os.access(folder, os.W_OK)],
            "secrets": [str(path) for path in plan.secrets if not is_covered(path, seen)],
            "replaced": [entry for entry in replaced if entry is not None],
            "environment": sorted(environment),
            "network": profile.network == "full",
            "bait": bait.addresses,
            "limits": dict(rlimits(profile.limits)),
            "proxy": proxy,
            "forwarder": module_name(FORWARDER),
            "proxy_port": PROXY_PORT,
        }
    ).encode()


def _is_outside(folder: Path, plan: Plan) -> bool:
    """Whether nothing may be written there, neither here nor into memory."""
    kinds = {mount.path: mount.kind for mount in plan.mounts}
    around = next((kinds[path] for path in (folder, *folder.parents) if path in kinds), MountKind.READABLE)
    return around == MountKind.READABLE


def _identity(path: Path) -> tuple[str, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return (str(path), found.st_dev, found.st_ino)
