"""The fold of the plan: what an event makes of it, and whether the model knows it as it is."""

from oi_tui.app.engine.core.events import AnyEvent, ContextCompacted, ConversationCleared, PlanChanged, StepStarted
from oi_tui.app.engine.core.plan import SessionPlan


def plan_after(event: AnyEvent, plan: SessionPlan) -> SessionPlan:
    """The plan after this event. The model reads what it does not know before its next step."""
    match event:
        case PlanChanged():
            return SessionPlan(steps=event.steps, version=plan.version + 1, untold=event.author == "user")
        case ConversationCleared():
            return SessionPlan(version=plan.version + 1)
        case ContextCompacted():
            return SessionPlan(steps=plan.steps, version=plan.version, untold=bool(plan.steps))
        case StepStarted() if plan.untold:
            return SessionPlan(steps=plan.steps, version=plan.version)
        case _:
            return plan
