"""The approval modes, and the names by which other settings ask for one. Of any two settings the stricter wins; so do
the values of `STRICTER` that an administrator or a project sets.

This is one of two axes; the other is `sandbox.mode`: what code that runs can reach. The modes:

    plan               only tools that read run, and what no rule allows is asked about; no code runs
    dontAsk            what no rule allows is refused; nobody is asked
    default            what no rule allows is asked about, but for tools that only read the folder
    acceptEdits        as default; tools change files of the folder without a question, but for what runs later
    auto               the same, and what stays in a sandbox without network runs; everything else is asked about
    unlessDestructive  everything runs but what destroys something, which is asked about
    bypassPermissions  everything runs, except for rules, hidden characters or a secret that may leave
"""

from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Any, Literal

from msgspec.structs import replace

from oi_tui.app.engine.core.settings import PolicySection, SandboxSection, Settings, without_network
from oi_tui.app.engine.core.values import ApprovalMode, PermissionMode, SandboxMode

MODES: tuple[PermissionMode, ...] = (
    *("plan", "dontAsk", "default", "acceptEdits", "auto", "unlessDestructive", "bypassPermissions"),
)
"""The strictest first."""

DEFAULT_MODE: PermissionMode = "unlessDestructive"

OF_APPROVAL: dict[ApprovalMode, PermissionMode] = {
    "never": "plan",
    "plan": "plan",
    "ask": "default",
    "auto": "bypassPermissions",
}
"""What the setting `approve` demands at least; the mode that is set adds the rest."""

OF_SAFE_MODE: dict[str, PermissionMode] = {"off": "bypassPermissions", "ask": "default", "auto": "auto"}
"""Open Interpreter's `safe_mode`: `auto` lets run what a sandbox holds, and asks about the rest."""

OF_AUTO_RUN: dict[bool, PermissionMode] = {True: "bypassPermissions", False: "default"}
"""Open Interpreter's `auto_run`."""


def strictest(first: PermissionMode, *others: PermissionMode) -> PermissionMode:
    """The strictest of these."""
    return min((first, *others), key=MODES.index)


def requested_mode(section: PolicySection) -> PermissionMode:
    """The mode the section asks for; `approve` can only make it stricter. Destructive actions run without asking only
    in the mode named for that."""
    return strictest(
        section.mode or DEFAULT_MODE,
        OF_SAFE_MODE[section.safe_mode],
        OF_AUTO_RUN[True if section.auto_run is None else section.auto_run],
    )


def effective_mode(section: PolicySection, sandbox: SandboxSection) -> PermissionMode:
    """The same as it works out: without a sandbox that has no network, the mode `auto` asks about everything."""
    mode = requested_mode(section)
    enclosed = sandbox.mode != "danger-full-access" and sandbox.rung != "lock" and sandbox.network == "none"
    return "default" if mode == "auto" and not enclosed else mode


JOINT = " & "
"""Between expressions of which both must match."""


def joint_patterns(value: tuple[str, ...], limit: tuple[str, ...]) -> tuple[str, ...]:
    """Patterns that match where one of each list does; a list without entries limits nothing."""
    if not value or not limit:
        return value or limit
    return tuple(dict.fromkeys(one if one == other else f"{one}{JOINT}{other}" for one in value for other in limit))


_APPROVALS: tuple[ApprovalMode, ...] = ("never", "plan", "ask", "auto")
_SANDBOXES: tuple[SandboxMode, ...] = ("read-only", "workspace-write", "danger-full-access")
_NETWORKS = ("none", "hosts", "full")
ATTACHES: tuple[bool | Literal["never"], ...] = ("never", False, True)
"""The strictest first."""


def _places_within(value: tuple[str, ...], limit: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the value that are in one of the limit, as they are written: no file is looked at."""
    allowed = [_parts(place) for place in limit]
    return tuple(
        place
        for place in value
        if ".." not in (parts := _parts(place)) and any(parts[: len(one)] == one for one in allowed)
    )


def _parts(place: str) -> tuple[str, ...]:
    return PurePosixPath(place).parts


def _stricter_mode(value: PermissionMode | Literal[""], limit: PermissionMode) -> PermissionMode | Literal[""]:
    """A mode that is not set is the default one."""
    return limit if MODES.index(limit) < MODES.index(value or DEFAULT_MODE) else value


STRICTER: Mapping[str, Callable[[Any, Any], Any]] = {
    "loop.approve": lambda value, limit: min(value, limit, key=_APPROVALS.index),
    "loop.max_steps": min,
    "loop.output_to_model": min,
    "sandbox.mode": lambda value, limit: min(value, limit, key=_SANDBOXES.index),
    "sandbox.rung": lambda value, limit: limit if value == "lock" else value,
    "sandbox.network": lambda value, limit: min(value, limit, key=_NETWORKS.index),
    "sandbox.hosts": lambda value, limit: tuple(host for host in value if host in limit),
    "sandbox.writable": _places_within,
    "sandbox.readable": _places_within,
    "sandbox.environment": lambda value, limit: tuple(name for name in value if name in limit),
    "kernel.attach": lambda value, limit: min(value, limit, key=ATTACHES.index),
    "policy.mode": _stricter_mode,
    "policy.allow_destructive": lambda value, limit: value and limit,
    "policy.ask": lambda value, limit: tuple(dict.fromkeys((*limit, *value))),
    "policy.deny": lambda value, limit: tuple(dict.fromkeys((*limit, *value))),
    "functions.allow": joint_patterns,
    "functions.deny": lambda value, limit: tuple(dict.fromkeys((*limit, *value))),
    "network.offline": lambda value, limit: value or limit,
}
"""What of a value and a limit of the same key holds: the stricter."""


def with_limits(settings: Settings, limits: Mapping[str, Any]) -> Settings:
    """The settings, nowhere milder than the limits, which are values by `section.key` of `STRICTER`."""
    for key, limit in limits.items():
        name, _, field = key.partition(".")
        section = getattr(settings, name)
        held = STRICTER[key](getattr(section, field), limit)
        if held != getattr(section, field):
            settings = replace(settings, **{name: replace(section, **{field: held})})
    return without_network(settings)


def stricter_sandbox(first: SandboxMode, second: SandboxMode) -> SandboxMode:
    """The stricter of the two."""
    return min(first, second, key=_SANDBOXES.index)
