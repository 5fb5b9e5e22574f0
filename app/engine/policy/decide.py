"""The way to the decision. `judging`, which knows the order, is loaded for the first code or call that wants to run."""

from oi_tui.app.engine.core.values import ApprovalMode
from oi_tui.app.engine.policy.decision import Policy, PolicyDecision, PolicyRequest
from oi_tui.app.engine.policy.reading import SourceFacts


def decide(request: PolicyRequest, policy: Policy, approval: ApprovalMode = "auto") -> PolicyDecision:
    """Whether it runs, is asked about, or does not run. Never raises."""
    from oi_tui.app.engine.policy.judging import judge  # as above

    return judge(request, policy, approval)


def read_source(request: PolicyRequest) -> SourceFacts:
    """The reading of the source; an existing one is reused. Never raises."""
    from oi_tui.app.engine.policy.judging import read  # as above

    return read(request)
