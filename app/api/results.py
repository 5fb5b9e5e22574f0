"""What a program gets: the result of a run, its steps, an approval request, and why a run stopped."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from oi_tui.app.engine.core.chat_model import ChatMessage
from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.core.outcomes import ExecutionStatus, StopReason, Verdict
from oi_tui.app.engine.core.usage import Usage

ResultT_co = TypeVar("ResultT_co", covariant=True)


@dataclass(frozen=True, slots=True)
class StepAsked:
    """A request goes to the model."""

    number: int
    """Number of the answer in its run, from 1."""


@dataclass(frozen=True, slots=True)
class StepDecided:
    """Code or a call was approved or refused."""

    block_id: str
    runs_in: str
    """The language of code, or the name of a tool."""
    source: str
    """The code, or the arguments of the call as JSON."""
    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True)
class StepRan:
    """Code or a call ran to its end."""

    block_id: str
    runs_in: str
    source: str
    status: ExecutionStatus
    output: str
    """The output as text; pictures and the like as their mime types."""
    seconds: float


@dataclass(frozen=True, slots=True)
class StepAnswered:
    """The model has finished."""

    text: str


StepMoment = StepAsked | StepDecided | StepRan | StepAnswered
"""What a run consists of, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result(Generic[ResultT_co]):
    """A run that ended with an answer."""

    output: ResultT_co
    """The answer: text, or a value of the session's `output_type`."""
    messages: tuple[ChatMessage, ...]
    """The whole conversation as the model reads it, without the system message."""
    usage: Usage
    """Tokens and US dollars of this run."""
    steps: tuple[StepMoment, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """Limits of a session; 0 is no limit."""

    max_steps: int = 20
    """Most answers of the model in one run."""
    max_cost: float = 0.0
    """US dollars, all runs together."""
    max_tokens: int = 0
    """Tokens in and out, all runs together."""
    seconds: float = 0.0
    """Seconds of one run."""
    cell_seconds: float = 600.0
    """Seconds of one piece of code, or one call."""
    answer_tries: int = 3
    """How often the model may try again when its answer does not fit `output_type`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """Code or a call that needs approval."""

    runs_in: str
    """The language of code, or the name of a tool."""
    source: str
    """Exactly what would run: the code, or the arguments of the call as JSON."""
    is_call: bool
    labels: tuple[str, ...]
    """What it may do, as far as the source shows: `deletes files, line 3`."""
    why: str
    """The rule or mode that requires approval; "" if all code does."""


EarlyEnd = StopReason | Literal["time"]


class RunStopped(OiTuiError):
    """A run ended without an answer. The session keeps everything up to then, and can continue."""

    def __init__(
        self,
        reason: EarlyEnd,
        detail: str,
        *,
        messages: tuple[ChatMessage, ...] = (),
        usage: Usage | None = None,
        steps: tuple[StepMoment, ...] = (),
        last_answer: str = "",
    ) -> None:
        super().__init__(detail or f"The run stopped: {reason}.")
        self.reason: EarlyEnd = reason
        """`refused`, `budget`, `step_cap`, `unfit`, `model_error`, `paused`, `interrupted`, `time` ..."""
        self.messages = messages
        self.usage = usage if usage is not None else Usage()
        self.steps = steps
        self.last_answer = last_answer
        """The model's last message."""


@dataclass(slots=True)
class RunRecord:
    """Collects a run while it runs."""

    before: Usage
    tell: Callable[["StepMoment | str"], None]
    """Called with each step, and with pieces of prose."""
    steps: list[StepMoment] = field(default_factory=list)
    reason: EarlyEnd = "engine_lost"
    detail: str = ""

    def add(self, moment: StepMoment) -> None:
        """Add a step and pass it on at once."""
        self.steps.append(moment)
        self.tell(moment)

    def usage_until(self, now: Usage) -> Usage:
        """The usage of this run."""
        known = now.cost is not None and self.before.cost is not None
        return Usage(
            input_tokens=now.input_tokens - self.before.input_tokens,
            output_tokens=now.output_tokens - self.before.output_tokens,
            cost=(now.cost or 0.0) - (self.before.cost or 0.0) if known else None,
            priced=now.priced - self.before.priced,
            estimated=now.estimated,
            last_input_tokens=now.last_input_tokens,
            last_estimated=now.last_estimated,
        )
