"""Whether a change of a setting protects the person more or less."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from oi_tui.app.engine.core.modes import ATTACHES, MODES, STRICTER, requested_mode
from oi_tui.app.engine.core.settings import Settings

Strictness = Literal["", "stricter", "milder"]

_LADDERS: Mapping[str, Callable[[Settings], int]] = {
    "kernel.attach": lambda one: ATTACHES.index(one.kernel.attach),
    **dict.fromkeys(
        ("policy.mode", "policy.safe_mode", "policy.auto_run"), lambda one: MODES.index(requested_mode(one.policy))
    ),
}
"""What protects less has the larger number."""

_NO_PROTECTION = {"loop.max_steps", "loop.output_to_model"}
"""Limits of a folder or an administrator that are not about what code can do."""

_OPENINGS = {"sandbox.writable", "sandbox.readable", "sandbox.environment", "policy.allow"}
"""Lists of what is permitted."""
_LIMITS = {
    *("loop.max_cost", "loop.max_tokens", "kernel.time_limit"),
    *("budget.turn", "budget.day", "budget.month", "budget.requests_per_minute", "budget.tokens_per_minute"),
}
"""Numbers, of which 0 is no limit."""


def strictness(key: str, before: Settings, after: Settings) -> Strictness:
    """Of this setting, `loop.approve`; "" where it does not differ in that, or protects nobody."""
    if key in _LADDERS:
        return _of(_LADDERS[key](before), _LADDERS[key](after))
    one, other = setting_of(before, key), setting_of(after, key)
    if key in _OPENINGS:
        return _of_lists(one, other)
    if key in STRICTER and key not in _NO_PROTECTION:
        return "" if one == other else "stricter" if STRICTER[key](one, other) == other else "milder"
    if key in _LIMITS:
        return _of(one or float("inf"), other or float("inf"))
    return ""


def setting_of(settings: Settings, key: str) -> Any:
    """The value of `section.name`."""
    section, _, name = key.partition(".")
    return getattr(getattr(settings, section), name)


def _of(before: float, after: float) -> Strictness:
    return "" if before == after else "milder" if after > before else "stricter"


def _of_lists(permitted: Sequence[str], then: Sequence[str]) -> Strictness:
    more, fewer = set(then) - set(permitted), set(permitted) - set(then)
    return "milder" if more else "stricter" if fewer else ""
