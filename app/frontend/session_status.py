"""How things stand, for the line at the bottom: of the session, the settings and what the engine told."""

import re
from collections.abc import Mapping

from oi_tui.app.engine.core.events import (
    AnyEvent,
    CallStarted,
    CodeStarted,
    DecisionMade,
    ExecutionFinished,
    ExecutionStarted,
    KernelChanged,
    ProseStarted,
    RerunFinished,
    RerunStarted,
    RetryScheduled,
    StepStarted,
    TurnEnded,
    TurnStarted,
)
from oi_tui.app.engine.core.modes import effective_mode
from oi_tui.app.engine.core.outcomes import KernelState
from oi_tui.app.engine.core.settings import Settings, describe_sandbox
from oi_tui.app.engine.transcript.transcript import Transcript
from oi_tui.widgets.status import Status

_ELSEWHERE = re.compile(r"(kernel )?\S+ on (?P<host>\S+)|kernel \S+, started by .+")
"""A kernel on a server, or one of a provisioner; the folder of an environment may be called anything."""

FAILS = "sandbox fails"
"""Where there has to be a sandbox and can be none: no code runs. Short, for it has to stay on a narrow line."""


def activity(event: AnyEvent, before: str, *, turn_open: bool) -> str:
    """What goes on after this event, in a word or two; "" at rest."""
    match event:
        case TurnStarted() | StepStarted():  # before its first step, the model may still be opening
            return "thinking"
        case ProseStarted() | CodeStarted(author="assistant") | CallStarted():
            return "writing"
        case RetryScheduled():
            return f"trying again in {event.delay:.0f} s"
        case DecisionMade(verdict="run") | ExecutionStarted():
            return "running"
        case KernelChanged(state="starting" | "restarting") if before:
            return f"starting {event.language}"
        case ExecutionFinished():
            return "thinking" if turn_open else ""
        case RerunStarted():
            return "rebuilding"
        case RerunFinished() | TurnEnded():
            return ""
        case _:
            return before


def kernel_label(language: str, place: str) -> str:
    """A kernel on a narrow line: "python in .venv" for one in "Python 3.12.4 in /home/me/project/.venv", and of one on
    another machine that the sandbox of this line is not around it."""
    if found := _ELSEWHERE.fullmatch(place):
        return f"{language} on {found['host']}, no sandbox" if found["host"] else f"{language}, no sandbox"
    environment = place.partition(" in ")[2].rpartition("/")[2]
    return f"{language} in {environment}" if environment else language


def current_status(
    transcript: Transcript,
    settings: Settings,
    kernels: Mapping[str, KernelState],
    doing: str,
    *,
    fails: bool,
    recorded: bool,
) -> Status:
    """`fails`: the sandbox was tried and does not hold; no kernel has started since."""
    without = settings.sandbox.mode == "danger-full-access"
    asked = transcript.pending_decision or transcript.pending_input
    return Status(
        model=transcript.model or ("" if transcript.session_id else settings.model.name),
        approval=transcript.approval,
        floor=effective_mode(settings.policy, settings.sandbox),
        sandbox=FAILS if fails and not without else describe_sandbox(settings.sandbox),
        exposed=fails or without or settings.sandbox.rung == "lock",
        recorded=recorded,
        activity="waiting for you" if asked else doing,
        kernels=tuple(kernels.items()),
        usage=transcript.usage,
        context_window=settings.model.context_window or transcript.context_window,
        max_cost=transcript.max_cost,
    )
