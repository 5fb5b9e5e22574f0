"""The session's view of a language model: a Protocol, the request and the response."""

from collections.abc import AsyncGenerator
from typing import Any, Literal, Protocol

import msgspec

from oi_tui.app.engine.core.events import RetryScheduled, UsageReported
from oi_tui.app.engine.core.values import SealedThoughts, Value

RECALL = "recall"
"""The tool by which a model reads what was left out of the conversation; a fence with this label is a call of it."""

ASK_USER = "ask_user"
"""The tool by which a model asks the person something."""
FIND_TOOLS = "find_tools"
"""Name of the tool that finds others."""

FIND_FUNCTIONS, LOAD_FUNCTION = "find_functions", "load_function"
"""The tools by which a model uses functions that the person kept."""

FENCED_CALLS = {RECALL: "text", FIND_FUNCTIONS: "query", LOAD_FUNCTION: "name"}
"""Tools of which a fence with that label is a call, for models without tools; and the argument that a text in it is
which is no JSON."""

SESSION_TOOLS = (RECALL, FIND_TOOLS)
"""Tools of a session itself: they read what the model may read anyway, and need no approval."""

WRITE_FILE, EDIT_FILE = "write_file", "edit_file"
"""The tools that change a file of the person."""


class ToolCall(Value, frozen=True, kw_only=True):
    """A whole native call as the model made it; `arguments` is the JSON text."""

    id: str
    name: str
    arguments: str


class ChatMessage(Value, frozen=True, kw_only=True):
    """One message of the conversation in the form that chat models take."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str = ""
    images: tuple[str, ...] = ()
    """data: URLs; only ever sent to a model that takes pictures."""
    calls: tuple[ToolCall, ...] = ()
    """Role assistant only."""
    call_id: str = ""
    """Role tool only: the call that this is the result of."""
    sealed: SealedThoughts | None = None
    """Role assistant, with calls: what led to them, for the model that thought it."""


class ToolSpec(Value, frozen=True, kw_only=True):
    """A tool, as described to the model."""

    name: str
    """Letters, digits, `_` and `-`, at most 64: what providers take."""
    description: str
    schema: dict[str, Any]
    """JSON schema of its arguments, an object."""


class ChatRequest(Value, frozen=True, kw_only=True):
    """One question to a model."""

    messages: tuple[ChatMessage, ...]
    tools: tuple[ToolSpec, ...] = ()
    """What can be called here, `execute(language, code)` first; offered where the model takes tools."""
    schema: dict[str, Any] | None = None
    """JSON schema of an object that the answer has to be; sent where the model takes one (`answer_forms`)."""


class TextDelta(Value, frozen=True, kw_only=True, tag=True):
    """A piece of the answer."""

    text: str


class ThoughtDelta(Value, frozen=True, kw_only=True, tag=True):
    """A piece of what the model thinks, where its server tells that apart from the answer."""

    text: str


class ToolDelta(Value, frozen=True, kw_only=True, tag=True):
    """A piece of native call number `index` (0, 1, ... in the order of the answer); id and name come with its first."""

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


class SealDelta(Value, frozen=True, kw_only=True, tag=True):
    """Thoughts that the provider wants back with the calls of this answer; sent at most once, after them."""

    thoughts: SealedThoughts


class Retrying(Value, frozen=True, kw_only=True, tag=True):
    """The request failed for a reason that may pass, before anything arrived; it is sent again after `delay` s."""

    delay: float
    why: str
    attempt: int = 0
    """As in `RetryScheduled`."""
    attempts: int = 0

    def event(self) -> RetryScheduled:
        """This as an event of a session."""
        return RetryScheduled(**msgspec.structs.asdict(self))


class AnswerNote(Value, frozen=True, kw_only=True, tag=True):
    """Something to tell the person about this answer, such as that it comes from a cache."""

    title: str


class AnswerUsage(Value, frozen=True, kw_only=True, tag=True):
    """Tokens and money of this request; comes at most once, at the end."""

    input_tokens: int
    output_tokens: int
    cost: float | None = None
    estimated: bool = False
    thought_tokens: int = 0
    """Those of `output_tokens` that went into thinking, as far as the server tells."""
    cached_tokens: int = 0
    """Those of `input_tokens` that the provider had in its cache."""

    def event(self, *, aside: bool = False) -> UsageReported:
        """This as an event of a session; `aside` for a request beside the conversation."""
        return UsageReported(**msgspec.structs.asdict(self), aside=aside)


class AnswerEnded(Value, frozen=True, kw_only=True, tag=True):
    """Last value of an answer that came to its end; `length` means that the token limit cut it."""

    reason: Literal["stop", "length", "tool_calls"] = "stop"


AnswerForm = Literal["schema", "tool", "prompt"]
"""How an answer that fits a schema is requested: by a schema in the request, by a tool call, by words alone."""

Delta = TextDelta | ThoughtDelta | ToolDelta | SealDelta | Retrying | AnswerNote | AnswerUsage | AnswerEnded


class Model(Protocol):
    """Something that answers chat requests: a language model behind a server, or a script in tests."""

    @property
    def name(self) -> str:
        """Name for the screen."""
        ...

    @property
    def context_window(self) -> int | None:
        """Tokens that fit, None if unknown."""
        ...

    @property
    def takes_images(self) -> bool:
        """Whether pictures may be sent; False when unknown."""
        ...

    @property
    def tells_price(self) -> bool:
        """Whether the cost of an answer will be known, as far as we can say beforehand. If not, a budget cannot be
        enforced."""
        ...

    def stream(self, request: ChatRequest) -> AsyncGenerator[Delta, None]:
        """Ask. Raises `ModelError`, even in the middle of an answer; close the generator to cancel."""
        ...


class ModelWrapper:
    """A model in front of another, which it asks: what is not overridden is as there. Subclasses have `stream`."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """Name for the screen."""
        return self._model.name

    @property
    def context_window(self) -> int | None:
        """Tokens that fit, None if unknown."""
        return self._model.context_window

    @property
    def takes_images(self) -> bool:
        """Whether pictures may be sent."""
        return self._model.takes_images

    @property
    def tells_price(self) -> bool:
        """Whether what an answer costs will be known."""
        return self._model.tells_price

    @property
    def answer_forms(self) -> tuple[AnswerForm, ...]:
        """How it can be held to a schema."""
        return answer_forms(self._model)

    def retry_now(self) -> None:
        """Do not wait any longer for the next attempt."""
        retry_now(self._model)

    def take_unreported(self) -> "AnswerUsage | None":
        """Estimated usage of an answer that was interrupted; returned once."""
        return take_unreported(self._model)


def answer_forms(model: Model) -> tuple[AnswerForm, ...]:
    """How a model can be held to a schema, the surest way first; words are always one. A model that says nothing of it
    is asked in words."""
    found: tuple[AnswerForm, ...] = getattr(model, "answer_forms", ("prompt",))
    return found


def retry_now(model: Model) -> None:
    """Have a model that waits for its next attempt make it at once; nothing happens if it does not wait, or cannot."""
    if callable(hurry := getattr(model, "retry_now", None)):
        hurry()


def take_unreported(model: Model) -> AnswerUsage | None:
    """About what the last answer cost, once, if it was left in the middle: what was read and written is paid for."""
    take = getattr(model, "take_unreported", None)
    return take() if callable(take) else None
