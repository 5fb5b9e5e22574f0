"""How turns, decisions and runs come out, and which state a kernel is in: the words that events say it with."""

from typing import Literal

StopReason = Literal[
    "done",  # the model answered without proposing anything
    "interrupted",  # the person broke the turn off
    "stopped",  # the person answered a question with "stop"
    "paused",  # after the step in which the person asked for that; `Retry` continues
    "step_cap",  # too many answers in one turn, or actions in one answer
    "budget",  # the money or the tokens of this session are spent
    "repeated",  # the same code or the same traceback again
    "refused",  # nobody may decide here (approval mode "never"), or the run was refused without a reason
    "unfit",  # the answer does not fit the schema that was asked for, however often the model was asked again
    "model_error",
    "kernel_error",
    "engine_lost",  # the engine ended, or failed, in the middle
]

Verdict = Literal["run", "edit", "always", "skip", "stop"]
"""run once / run the edited source / run, and everything in `Decide.scope` without asking / refuse, the turn continues
/ refuse and end the turn."""

Decider = Literal["person", "mode", "grant", "rule"]
"""Who decided: a key press, the approval mode, an earlier "always" for the same source, or a rule: one of the policy,
or one of the loop (an earlier block of the same answer failed or was refused)."""

NOBODY = "there is nobody to approve it"
"""How the reason of a refusal begins where a person would have been asked, and none is there."""

SYNTAX_ERROR = "syntax error, "
"""How the reason of a refusal begins where the code has one and nobody was asked; the model answers again."""

ExecutionStatus = Literal["ok", "error", "interrupted", "died"]

RerunOutcome = Literal["same", "differs", "error", "interrupted", "died", "refused"]
"""How a repeated run compares with the one on record: `same` and `differs` speak of what came out of a run that ended
as it did then; `error` where it raises now and did not then; `refused` where a rule denies it now."""

KernelState = Literal["cold", "starting", "idle", "busy", "interrupting", "restarting", "dead"]
