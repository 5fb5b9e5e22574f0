"""The approval modes, and the names by which other settings ask for one. Of any two settings the stricter wins.

This is one of two axes; the other is `sandbox.mode`: what code that runs can reach. The modes:

    plan               nothing runs
    dontAsk            what no rule allows is refused; nobody is asked
    default            what no rule allows is asked about
    acceptEdits        as default; file edits in the workspace will run without approval, once there is a tool for them
    auto               what stays in a sandbox without network runs; everything else is asked about
    unlessDestructive  everything runs but what destroys something, which is asked about
    bypassPermissions  everything runs, except for rules, hidden characters or a secret that may leave
"""

from oi_tui.app.engine.core.settings import PolicySection, SandboxSection
from oi_tui.app.engine.core.values import ApprovalMode, PermissionMode

MODES: tuple[PermissionMode, ...] = (
    *("plan", "dontAsk", "default", "acceptEdits", "auto", "unlessDestructive", "bypassPermissions"),
)
"""The strictest first."""

OF_APPROVAL: dict[ApprovalMode, PermissionMode] = {"never": "plan", "ask": "default", "auto": "bypassPermissions"}
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
        section.mode or "unlessDestructive",
        OF_SAFE_MODE[section.safe_mode],
        OF_AUTO_RUN[True if section.auto_run is None else section.auto_run],
    )


def effective_mode(section: PolicySection, sandbox: SandboxSection) -> PermissionMode:
    """The same as it works out: without a sandbox that has no network, the mode `auto` asks about everything."""
    mode = requested_mode(section)
    enclosed = sandbox.mode != "danger-full-access" and sandbox.rung != "lock" and sandbox.network == "none"
    return "default" if mode == "auto" and not enclosed else mode
