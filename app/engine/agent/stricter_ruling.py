"""What a plugin says of an action, beside rules and mode: of all of them the strictest holds."""

from oi_tui.app.engine.core.modes import OF_APPROVAL, strictest
from oi_tui.app.engine.core.values import ApprovalMode
from oi_tui.app.engine.hooks.values import Judgement
from oi_tui.app.engine.policy.decision import Policy, PolicyDecision


def stricter_ruling(
    ruling: PolicyDecision, judged: Judgement | None, policy: Policy, approval: ApprovalMode
) -> PolicyDecision:
    """The ruling, or what a plugin says where that is stricter; where nobody is asked, to ask is to deny."""
    if judged is None or ruling.verdict == "deny":
        return ruling
    if judged.verdict == "deny":
        return ruling._replace(verdict="deny", by=judged.reason, ground="rule")
    if strictest(policy.mode, OF_APPROVAL[approval]) == "dontAsk":
        by = f"{judged.reason}, and in the mode “dontAsk” nobody is asked"
        return ruling._replace(verdict="deny", by=by, ground="rule")
    return ruling._replace(verdict="ask", by=judged.reason, ground="rule")
