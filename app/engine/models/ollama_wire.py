"""Ollama's own chat language: the body of a request, the lines of an answer, the description of a model. Pure.

Its OpenAI-like address takes no size of the context: it would cut long conversations at its default, from the front,
and say nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from uuid import uuid4

import msgspec

from oi_tui.app.engine.core.chat_model import ChatRequest
from oi_tui.app.engine.core.settings import ModelSection
from oi_tui.app.engine.models.facts import Facts
from oi_tui.app.engine.models.messages import JsonObject, request_messages, tool_schema
from oi_tui.app.engine.models.prices import TokenCounts
from oi_tui.app.engine.models.wire import AnswerPiece, CallPiece, decode_json, error_in

PATH = "/api/chat"
SHOW_PATH = "/api/show"
USUAL_CONTEXT = 16_384
"""Tokens, where neither the settings nor the model's own file say: its memory grows with them."""

_THINKS = {"none": False, "off": False, "on": True}
"""What is no word but a switch there."""
_SET_CONTEXT = re.compile(r"^num_ctx[ \t]+0*([1-9]\d{0,8})[ \t\r]*$", re.MULTILINE)


class _Function(msgspec.Struct):
    name: str = ""
    arguments: Any = None


class _Call(msgspec.Struct):
    function: _Function
    id: str | None = None


class _Said(msgspec.Struct):
    content: str | None = None
    thinking: str | None = None
    tool_calls: list[_Call] | None = None


class _Line(msgspec.Struct):
    message: _Said | None = None
    done: bool = False
    done_reason: str | None = None
    prompt_eval_count: int | None = None
    eval_count: int | None = None
    error: Any = None


class ModelCard(msgspec.Struct):
    """A server's description of a model."""

    capabilities: list[str] | None = None
    model_info: dict[str, Any] = {}
    parameters: str | None = None

    @property
    def longest(self) -> int | None:
        """Tokens that the model was made for."""
        lengths = (value for name, value in self.model_info.items() if name.endswith(".context_length"))
        return next((length for length in lengths if isinstance(length, int) and length > 0), None)

    @property
    def context(self) -> int:
        """Tokens that it is asked with, where the settings say nothing."""
        told = _SET_CONTEXT.search(self.parameters or "")
        return int(told[1]) if told else min(self.longest or USUAL_CONTEXT, USUAL_CONTEXT)


def chat_lines_body(facts: Facts, section: ModelSection, request: ChatRequest) -> JsonObject:
    """The request; `facts.context_window` is the requested context length."""
    tools = facts.takes_tools and bool(request.tools)
    spoken = request_messages(request.messages, tools=tools, images=facts.takes_images)
    extra = section.extra
    limits = {
        "num_ctx": facts.context_window,
        "temperature": section.temperature,
        "num_predict": section.max_output_tokens,
        "top_p": extra.top_p,
        "seed": extra.seed,
    }
    given = extra.body.get("options")
    options = dict(given) if isinstance(given, dict) else {}
    body: JsonObject = {
        **extra.body,
        "model": facts.model,
        "messages": list(_messages(spoken)),
        "stream": True,
        "options": options | {name: value for name, value in limits.items() if value is not None},
    }
    if extra.reasoning_effort:
        body["think"] = _THINKS.get(extra.reasoning_effort, extra.reasoning_effort)
    if request.schema is not None and facts.takes_schema:
        body["format"] = request.schema
    if tools:
        body["tools"] = [tool_schema(tool) for tool in request.tools]
    return body


def _messages(spoken: Iterable[JsonObject]) -> Iterator[JsonObject]:
    names: dict[str, str] = {}
    for message in spoken:
        turned: JsonObject = {"role": message["role"], "content": message.get("content") or ""}
        if isinstance(message.get("content"), list):
            parts = message["content"]
            turned["content"] = "".join(part.get("text", "") for part in parts)
            urls = (part["image_url"]["url"] for part in parts if part["type"] == "image_url")
            turned["images"] = [url.partition(",")[2] for url in urls]
        if calls := message.get("tool_calls"):
            names |= {call["id"]: call["function"]["name"] for call in calls}
            turned["tool_calls"] = [_call(call) for call in calls]
        if call_id := message.get("tool_call_id"):
            turned |= {"tool_call_id": call_id, "tool_name": names.get(call_id, "")}
        yield turned


def _call(call: JsonObject) -> JsonObject:
    arguments = msgspec.json.decode(call["function"]["arguments"])  # an object: messages.py sees to that
    return {"id": call["id"], "function": {"name": call["function"]["name"], "arguments": arguments}}


def read_line(data: bytes) -> AnswerPiece:
    """Parse one line; UnreadableAnswer if it is not valid."""
    line = decode_json(data, _Line)
    if line.error:
        return AnswerPiece(error=error_in(decode_json(data, dict[str, Any])))
    said = line.message or _Said()
    counts = None
    if line.prompt_eval_count is not None and line.eval_count is not None:
        counts = TokenCounts(input_tokens=line.prompt_eval_count, output_tokens=line.eval_count)
    return AnswerPiece(
        text=said.content or "",
        reasoning=said.thinking or "",
        calls=[_piece(call) for call in said.tool_calls] if said.tool_calls else (),
        finish=(line.done_reason or "stop") if line.done else "",
        counts=counts,
        last=line.done,
    )


def _piece(call: _Call) -> CallPiece:
    arguments: str | Mapping[str, Any] = call.function.arguments or {}
    text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
    # Each call comes whole, and from older servers without an id.
    return CallPiece(index=None, call_id=call.id or f"call_{uuid4().hex[:12]}", name=call.function.name, arguments=text)
