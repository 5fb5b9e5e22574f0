"""The plan of a session: its steps, how each is checked, and the blocks that did it."""

from collections.abc import Iterable
from typing import Literal

from oi_tui.app.engine.core.encoding import expressible
from oi_tui.app.engine.core.values import Value

MOST_STEPS = 50

LONGEST_STEP = 500
"""Characters of a step, and of what says that it is done."""

MOST_EVIDENCE = 10
"""Blocks of one step."""

StepState = Literal["todo", "doing", "done", "dropped"]


class PlanStep(Value, frozen=True, kw_only=True):
    """One thing to do."""

    text: str
    state: StepState = "todo"
    done_when: str = ""
    """What must be so for it to be done."""
    evidence: tuple[str, ...] = ()
    """Ids of the blocks that did it, or show it."""


class SessionPlan(Value, frozen=True, kw_only=True):
    """The steps as they are now; none where there is no plan."""

    steps: tuple[PlanStep, ...] = ()
    version: int = 0
    """How often it was changed: a change of an older one is no longer meant."""
    untold: bool = False
    """The person changed it, or a summary hides it, and the model has not read it since."""


def bounded_steps(steps: Iterable[PlanStep]) -> tuple[PlanStep, ...]:
    """The steps without what is too much of them, and without those that say nothing."""
    whole = tuple(
        PlanStep(
            text=expressible(" ".join(step.text.split())[:LONGEST_STEP]),
            state=step.state,
            done_when=expressible(" ".join(step.done_when.split())[:LONGEST_STEP]),
            evidence=tuple(dict.fromkeys(step.evidence))[:MOST_EVIDENCE],
        )
        for step in steps
        if step.text.strip()
    )
    return whole[:MOST_STEPS]
