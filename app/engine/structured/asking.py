"""Asks a model for one value that fits a schema, beside any session: for a record, without code and without tools."""

from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from oi_tui.app.engine.core.chat_model import (
    AnswerEnded,
    AnswerForm,
    AnswerUsage,
    ChatMessage,
    ChatRequest,
    Model,
    TextDelta,
    answer_forms,
)
from oi_tui.app.engine.core.errors import ModelError
from oi_tui.app.engine.structured.answer_schema import AnswerSchema
from oi_tui.app.engine.structured.demand import as_prose, demanded_form, in_form, objection

LONGEST = 1_000_000
"""Characters of an answer that are waited for."""

KEPT = 8_000
"""Characters of an unfit answer that the model reads again."""


@dataclass
class AskedValue:
    """The value of an answer, or why there is none."""

    value: Any = None
    problems: tuple[str, ...] = ()
    """What does not fit; () where there is a value."""
    last: str = ""
    """The model's last answer."""
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0
    """US dollars; None where a price is not known."""
    passed_over: set[AnswerForm] = field(default_factory=set)

    def count(self, usage: AnswerUsage) -> None:
        """Add what one more request came to."""
        self.input_tokens += usage.input_tokens
        self.output_tokens += usage.output_tokens
        self.cost = None if self.cost is None or usage.cost is None else self.cost + usage.cost

    def merge(self, other: "AskedValue", fields: dict[str, Any]) -> None:
        """Add the result of another request, for other fields."""
        self.requests += other.requests
        self.input_tokens += other.input_tokens
        self.output_tokens += other.output_tokens
        self.cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        self.last, self.problems = other.last, other.problems
        if isinstance(other.value, dict):
            fields.update(other.value)


async def ask_for_value(
    model: Model, messages: tuple[ChatMessage, ...], schema: AnswerSchema, *, tries: int
) -> AskedValue:
    """Ask, and again up to `tries` times with what does not fit. ModelError if the model cannot answer."""
    told = AskedValue()
    *before, last = messages
    conversation = [*before, ChatMessage(role="user", text=f"{last.text}\n\n{demanded_form(schema)}")]
    attempt = 0
    while True:
        forms = answer_forms(model)
        form = next((one for one in forms if one not in told.passed_over), forms[-1])
        try:
            whole = await _ask(model, in_form(ChatRequest(messages=tuple(conversation)), schema, form), told)
        except ModelError as error:
            if form == "prompt" or not (error.refuses_schema or error.refuses_tools):
                raise
            told.passed_over.add(form)
            continue
        found = schema.read(told.last)
        problems = found.problems if whole else ("The answer was cut at its limit of length.",)
        if not problems:
            told.value, told.problems = found.value, ()
            return told
        told.problems = problems
        if not found.has_json:
            told.passed_over.add(form)
        if attempt >= tries:
            return told
        attempt += 1
        conversation[len(messages) :] = [
            ChatMessage(role="assistant", text=told.last[:KEPT] or "(nothing)"),
            ChatMessage(role="user", text=objection(problems)),
        ]


async def _ask(model: Model, request: ChatRequest, told: AskedValue) -> bool:
    """One request; whether its answer is whole."""
    told.requests += 1
    pieces: list[str] = []
    size, whole = 0, False
    async with aclosing(as_prose(model.stream(request))) as deltas:
        async for delta in deltas:
            match delta:
                case TextDelta():
                    pieces.append(delta.text)
                    size += len(delta.text)
                case AnswerUsage():
                    told.count(delta)
                case AnswerEnded():
                    whole = delta.reason != "length"
                case _:
                    pass
            if size > LONGEST:
                break
    told.last = "".join(pieces)
    return whole
