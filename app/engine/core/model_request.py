"""What is kept of requests to models and of turns, over all sessions, and what they come to."""

from typing import Literal, NamedTuple

from oi_tui.app.engine.core.values import Value


class RequestRecord(Value, frozen=True, kw_only=True):
    """One request and what became of it."""

    at: float
    """When it was sent, in Unix seconds."""
    session_id: str = ""
    folder: str = ""
    profile: str = ""
    provider: str = ""
    model: str = ""
    input_tokens: int = 0
    """All that was read, cached or not."""
    cached_tokens: int = 0
    """Those of the input that the provider had in its cache."""
    output_tokens: int = 0
    thought_tokens: int = 0
    """Those of the output that were spent on thinking."""
    cost: float | None = None
    """US dollars; None if the price is unknown, or no usage was reported."""
    estimated: bool = False
    """Whether the numbers were counted here."""
    seconds: float = 0.0
    first_token_seconds: float | None = None
    """Until the first part of the answer; None if none came."""
    retries: int = 0
    ending: str = "stop"
    """`stop`, `length`, `tool_calls`, `stopped` (by the person), or the kind of an error."""
    failed: bool = False


def provider_prefix(model: str) -> str:
    """The part before the slash; a name without one is OpenAI's, or of a server that speaks its language."""
    prefix, slash, _ = model.partition("/")
    return prefix if slash else "openai"


class TurnRecord(Value, frozen=True, kw_only=True):
    """One turn and how it ended."""

    at: float
    """When it ended, in Unix seconds."""
    session_id: str = ""
    folder: str = ""
    profile: str = ""
    model: str = ""
    ending: str = "done"
    """A `StopReason`."""
    seconds: float = 0.0


Grouping = Literal["day", "month", "model", "provider", "profile", "folder", "session", "ending"]
"""By what requests are put together."""


class UsageRow(NamedTuple):
    """The totals of some requests."""

    key: str
    requests: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    thought_tokens: int
    cost: float
    """US dollars of those whose price is known."""
    unpriced: int
    """Requests whose price is not known."""
    failures: int
    seconds: float | None
    """On average, of requests that were answered."""
    first_token_seconds: float | None
    turns: int = 0
    """Turns that ended, where they can be put together like this."""
    turns_done: int = 0
    """Those that ended because nothing more was to do."""


class Spending(NamedTuple):
    """Money, requests and tokens since a moment."""

    cost: float = 0.0
    requests: int = 0
    tokens: int = 0
