"""Where the paths of rules lead on this machine."""

import os

import msgspec

from oi_tui.app.engine.policy.decision import Policy
from oi_tui.app.engine.policy.rules import fixed_path


def resolve_rules(policy: Policy) -> Policy:
    """The same, with where the rules for files lead."""
    if not any(rule.tool in ("Edit", "Read") and not rule.real for rule in policy.rules):
        return policy
    rules = (
        rule._replace(real=os.path.realpath(fixed_path(rule, policy.base))) if rule.tool in ("Edit", "Read") else rule
        for rule in policy.rules
    )
    return msgspec.structs.replace(policy, rules=tuple(rules))
