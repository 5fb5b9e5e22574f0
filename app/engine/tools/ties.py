"""What a session passes to a `MakeTools`."""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from oi_tui.app.engine.core.blocks import Block
from oi_tui.app.engine.core.events import Emit
from oi_tui.app.engine.core.plan import SessionPlan
from oi_tui.app.engine.kernels.base import KernelSource
from oi_tui.app.engine.policy.decision import Policy
from oi_tui.app.engine.tools.tool import Tool


class ToolTies(msgspec.Struct, frozen=True, kw_only=True):
    """One session, as its tools know it."""

    session_id: Callable[[], str]
    blocks: Callable[[], Sequence[Block]]
    """All of its blocks, as they are now."""
    emit: Emit
    """Says what happened in the session."""
    kernels: KernelSource
    policy: Callable[[], Policy] = Policy
    """Rules and places that hold now."""
    plan: Callable[[], SessionPlan] = SessionPlan
    planning: Callable[[], bool] = lambda: False
    """Whether plan mode is on."""
    end_planning: Callable[[], bool] = lambda: False
    """The person accepted the plan; False where the settings keep plan mode on."""


MakeTools = Callable[[ToolTies], Iterable[Tool]]
"""Gives the tools of one area (files, web, skills) for one session, when it opens."""
