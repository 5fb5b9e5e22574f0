"""The kernels that run on a server, as it lists them: within limits, and checked."""

import re
from collections.abc import Mapping

from oi_tui.app.engine.core.encoding import expressible
from oi_tui.app.engine.core.values import Value

MOST_RUNNING = 200
"""Kernels of one server that are listed."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_SPEC = re.compile(r"[A-Za-z0-9._-]{1,100}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
_STATES = ("starting", "idle", "busy", "restarting", "autorestarting", "dead", "terminating")


class RunningKernel(Value, frozen=True, kw_only=True):
    """A kernel that lives on a server."""

    kernel_id: str
    kernelspec: str = ""
    state: str = "unknown"
    since: str = ""
    """Time of its last activity: `2026-01-31T12:00:00`, UTC; "" if unknown."""
    connections: int = 0
    """Clients that listen to it."""
    notebook: str = ""
    """What it was opened for, as it came from the server: not safe to show."""


def read_running(model: object, notebooks: Mapping[str, str] | None = None) -> RunningKernel | None:
    """One entry of `/api/kernels`; None if it is none. `notebooks` are names by kernel."""
    kernel_id = model.get("id") if isinstance(model, dict) else None
    if not isinstance(model, dict) or not isinstance(kernel_id, str) or not _ID.fullmatch(kernel_id):
        return None
    name, state, since = (model.get(key) for key in ("name", "execution_state", "last_activity"))
    count = model.get("connections")
    return RunningKernel(
        kernel_id=kernel_id,
        kernelspec=name if isinstance(name, str) and _SPEC.fullmatch(name) else "",
        state=state if isinstance(state, str) and state in _STATES else "unknown",
        since=found[0] if isinstance(since, str) and (found := _TIME.match(since)) else "",
        connections=count if type(count) is int and 0 <= count < 10_000 else 0,
        notebook=(notebooks or {}).get(kernel_id, ""),
    )


def read_notebooks(sessions: object) -> dict[str, str]:
    """Kernel and name of what it was opened for, from `/api/sessions`."""
    found: dict[str, str] = {}
    for session in sessions[: 10 * MOST_RUNNING] if isinstance(sessions, list) else ():
        match session:
            case {"kernel": {"id": str(kernel_id)}}:
                names = (session.get("path"), session.get("name"))
                name = next((name for name in names if isinstance(name, str) and name), "")
                found.setdefault(kernel_id, expressible(name[:200]))
    return found
