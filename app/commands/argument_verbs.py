"""The argument of a slash command, as a verb of the engine."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import get_args

from oi_tui.app.engine.core.tool_verbs import (
    DraftFunction,
    FindSkills,
    FindTools,
    KeepFunction,
    LookPurpose,
    ReadChanges,
    SetPlanMode,
    UndoChanges,
    UndoScope,
    UseFunction,
)
from oi_tui.app.engine.core.values import ApprovalMode
from oi_tui.app.engine.core.verbs import (
    AddRule,
    AnyVerb,
    Clear,
    Compact,
    Detach,
    FindInstructions,
    FindKernels,
    FindModels,
    Pause,
    ReadContext,
    Restart,
    Retry,
    SetApproval,
    SetBudget,
    SetComplete,
    TellUsage,
    UseKernel,
    UseModel,
)

_MONEY = r"\$?(\d{1,9}(?:\.\d{0,12})?|\.\d{1,12})"
_TOKENS = r"(\d{1,12}) ?(k)? ?tokens?"


class WrongArgument(Exception):
    """The argument of a slash command is not valid; the message says which ones are."""


_SCOPE_OF: dict[str, UndoScope] = {"": "turn", "turn": "turn", "block": "block", "session": "session"}


def model_verb(argument: str) -> AnyVerb:
    """Another model, or the list of models."""
    return UseModel(name=argument) if argument else FindModels()


def kernel_verb(argument: str) -> AnyVerb:
    """Another kernel (`NAME yes` where somebody else started it), or the list."""
    name, _, word = argument.rpartition(" ")
    if word == "yes" and name.strip():
        return UseKernel(name=name.strip(), agreed=True)
    return UseKernel(name=argument) if argument else FindKernels()


def approval_verb(argument: str) -> AnyVerb:
    """Another approval mode; WrongArgument."""
    if (mode := next((one for one in get_args(ApprovalMode) if one == argument), None)) is not None:
        return SetApproval(mode=mode)
    raise WrongArgument("Say /approve ask, /approve auto, /approve plan or /approve never.")


def keep_verb(argument: str) -> AnyVerb:
    """Keep a function of this session, after its test; `NAME yes` keeps what was shown."""
    name, _, word = argument.rpartition(" ")
    return KeepFunction(name=name) if word == "yes" and name else DraftFunction(name=argument)


def function_verb(argument: str) -> AnyVerb:
    """A kept function in this session, or the list."""
    return UseFunction(name=argument) if argument else FindSkills()


def plan_mode_verb(argument: str) -> AnyVerb:
    """Plan mode on or off; WrongArgument."""
    if argument not in ("", "on", "off"):
        raise WrongArgument("Say /plan, or /plan off.")
    return SetPlanMode(on=argument != "off")


def budget_verb(argument: str) -> AnyVerb:
    """Another budget, or what it is; WrongArgument."""
    if (budget := read_budget(argument)) is None:
        raise WrongArgument("Say /budget 2 for two dollars, /budget 50000 tokens, or /budget off.")
    return budget


def complete_verb(argument: str) -> AnyVerb:
    """Whether the model must say that it is done; WrongArgument."""
    if argument not in ("on", "off"):
        raise WrongArgument("Say /complete on or /complete off.")
    return SetComplete(on=argument == "on")


def changes_verb(purpose: LookPurpose, argument: str) -> AnyVerb:
    """Show, undo or redo changes of files; WrongArgument."""
    scope, now = _SCOPE_OF.get(argument.removesuffix("yes").strip()), argument.endswith("yes")
    if scope is None:
        raise WrongArgument(f"Say /{purpose}, /{purpose} block or /{purpose} session.")
    does = now and purpose != "diff"
    return UndoChanges(scope=scope, redo=purpose == "redo") if does else ReadChanges(scope=scope, purpose=purpose)


def rule_verb(argument: str) -> AnyVerb:
    """A rule for this session; WrongArgument."""
    verdict, _, rule = argument.partition(" ")
    match verdict:
        case "allow" | "ask" | "deny" if rule.strip():
            return AddRule(verdict=verdict, rule=rule.strip())
        case _:
            raise WrongArgument("Say /rule allow Shell(git log *), /rule ask ..., or /rule deny ....")


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


VERBS: Mapping[str, Callable[[str], AnyVerb]] = {
    "model": model_verb,
    "approve": approval_verb,
    "plan": plan_mode_verb,
    "budget": budget_verb,
    **{purpose: partial(changes_verb, purpose) for purpose in get_args(LookPurpose)},
    "usage": lambda _: TellUsage(),
    "complete": complete_verb,
    "pause": lambda _: Pause(),
    "rule": rule_verb,
    "instructions": lambda _: FindInstructions(),
    "keep": keep_verb,
    "use": function_verb,
    "skills": lambda _: FindSkills(),
    "tools": lambda _: FindTools(),
    "restart": lambda argument: Restart(language=argument or None),
    "kernel": kernel_verb,
    "compact": lambda argument: Compact(focus=argument),
    "context": lambda _: ReadContext(),
    "clear": lambda _: Clear(),
    "retry": lambda _: Retry(),
    "detach": lambda _: Detach(),
}
"""By the id of a command: what makes the verb that is sent for it."""
