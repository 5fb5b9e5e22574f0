"""A budget as it is typed."""

import re

from oi_tui.app.engine.core.verbs import SetBudget

_MONEY = r"\$?(\d{1,9}(?:\.\d{0,12})?|\.\d{1,12})"
_TOKENS = r"(\d{1,12}) ?(k)? ?tokens?"


def read_budget(typed: str) -> SetBudget | None:
    """The budget that this says, None where it says none."""
    if not typed:
        return SetBudget()
    if typed == "off":
        return SetBudget(max_cost=0.0, max_tokens=0)
    money, tokens = re.fullmatch(_MONEY, typed), re.fullmatch(_TOKENS, typed)
    if money and float(money[1]):
        return SetBudget(max_cost=float(money[1]))
    if tokens and int(tokens[1]):
        return SetBudget(max_tokens=int(tokens[1]) * (1000 if tokens[2] else 1))
    return None
