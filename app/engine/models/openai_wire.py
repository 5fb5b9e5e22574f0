"""OpenAI's chat language: the body of a request, and what each event of an answer says. Pure.

Servers speak it in many dialects, so what comes is read leniently; what is sent is what the provider's row in
providers.py says that it takes.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from oi_tui.app.engine.core.chat_model import ChatRequest
from oi_tui.app.engine.core.settings import ModelExtra, ModelSection
from oi_tui.app.engine.models.facts import Facts
from oi_tui.app.engine.models.messages import JsonObject, mark_for_cache, request_messages, tool_schema
from oi_tui.app.engine.models.prices import TokenCounts, told_dollars
from oi_tui.app.engine.models.providers import ChatProvider, LeanChoice
from oi_tui.app.engine.models.sealed_thoughts import add_thoughts
from oi_tui.app.engine.models.wire import AnswerPiece, CallPiece, decode_json, error_in
from oi_tui.app.engine.structured.strict_form import response_format

PATH = "/chat/completions"
_TICKS = 10_000_000_000
"""This many make a dollar: the unit of one provider's prices."""


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: Any = None


class _Call(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Said(msgspec.Struct):
    content: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    reasoning_details: Any = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct):
    delta: _Said | None = None
    message: _Said | None = None
    finish_reason: str | None = None
    index: int | None = 0


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: Any = None
    x_groq: Any = None
    error: Any = None
    object: str | None = None


def chat_body(
    choice: LeanChoice, facts: Facts, section: ModelSection, request: ChatRequest, thoughts: Mapping[str, Any]
) -> JsonObject:
    """The request; `thoughts` are those that led to native calls, by the id of the call."""
    provider = choice.provider
    tools = facts.takes_tools and bool(request.tools)
    spoken = request_messages(request.messages, tools=tools, images=facts.takes_images)
    if provider.name == "openrouter" and choice.model.startswith("anthropic/"):
        mark_for_cache(spoken)
    body: JsonObject = {"model": choice.model, "messages": spoken, "stream": True, **dict(provider.extra)}
    if not provider.is_strict:  # such a one tells the usage unasked
        body["stream_options"] = {"include_usage": True}
    if section.temperature is not None and (not choice.thinks_first or section.temperature == 1):
        body["temperature"] = section.temperature
    if section.max_output_tokens is not None:
        limit = "max_completion_tokens" if choice.thinks_first else "max_tokens"
        body[limit] = section.max_output_tokens
    _add_extra(body, provider, section.extra)
    if request.schema is not None and facts.takes_schema:
        body["response_format"] = response_format(request.schema)
    if tools:
        schemas = [tool_schema(tool) for tool in request.tools]
        body["tools"] = _without(schemas, _NOT_IN_STRICT) if provider.is_strict else schemas
    if provider.wants_reasoning and tools:  # a blank where there are none: of another day, or another model
        add_thoughts(spoken, "reasoning_content", thoughts, " ")
    elif tools:  # they come from who sent them
        add_thoughts(spoken, "reasoning_details", thoughts)
    if provider.is_strict:
        body["messages"] = [_without_none(message) for message in spoken if _says_something(message)]
    _shorten_ids(body["messages"], _nine_letters if provider.short_ids else _forty_letters)
    return body


def _add_extra(body: JsonObject, provider: ChatProvider, extra: ModelExtra) -> None:
    """Add the fields of the settings to each request, in the provider's words."""
    effort, budget = extra.reasoning_effort, extra.thinking_budget
    if provider.name == "openrouter":
        thinking = {name: value for name, value in (("effort", effort), ("max_tokens", budget)) if value}
        body |= {"reasoning": thinking} if thinking else {}
    elif effort:
        body["reasoning_effort"] = effort
    if extra.top_p is not None:
        body["top_p"] = extra.top_p
    if extra.seed is not None:
        body["random_seed" if provider.name == "mistral" else "seed"] = extra.seed
    body |= extra.body


_NOT_IN_STRICT = frozenset({"$id", "$schema", "strict", "additionalProperties"})


def _without(value: Any, names: frozenset[str]) -> Any:
    match value:
        case dict():
            return {name: _without(item, names) for name, item in value.items() if name not in names}
        case list():
            return [_without(item, names) for item in value]
    return value


def _without_none(message: JsonObject) -> JsonObject:
    return {name: value for name, value in message.items() if value is not None}


def _says_something(message: JsonObject) -> bool:
    return message["role"] != "assistant" or bool(message.get("content") or message.get("tool_calls"))


def _shorten_ids(spoken: Iterable[JsonObject], shorten: Callable[[str], str]) -> None:
    for message in spoken:
        for call in message.get("tool_calls") or ():
            call["id"] = shorten(call["id"])
        if "tool_call_id" in message:
            message["tool_call_id"] = shorten(message["tool_call_id"])


def _nine_letters(name: str) -> str:
    return name if len(name) == 9 and name.isascii() and name.isalnum() else _digest(name)[:9]


def _forty_letters(name: str) -> str:
    """OpenAI's limit; a call that Gemini made has its signature in its id."""
    return name if len(name) <= 40 else _digest(name)[:40]


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def read_event(data: bytes) -> AnswerPiece:
    """Parse one event; UnreadableAnswer if it is not valid."""
    if (data := data.strip()) in (b"", b"[DONE]"):
        return AnswerPiece(last=bool(data))
    chunk = decode_json(data, _Chunk)
    if chunk.error or chunk.object == "error":
        return AnswerPiece(error=error_in(decode_json(data, dict[str, Any])))
    elsewhere = chunk.x_groq.get("usage") if isinstance(chunk.x_groq, dict) else None
    counts = _counts(chunk.usage or elsewhere)
    choice = next((choice for choice in chunk.choices or () if not choice.index), None)
    if choice is None:
        return AnswerPiece(counts=counts)
    said = choice.delta or choice.message
    finish = choice.finish_reason or ""
    if said is None:
        return AnswerPiece(finish=finish, counts=counts)
    text = said.content if isinstance(said.content, str) else _parts(said.content, "text")
    told = said.reasoning_details if isinstance(said.reasoning_details, list) else ()
    details = [one for one in told if isinstance(one, dict)]
    reasoning = said.reasoning_content or said.reasoning or _parts(said.content, "thinking") or _words_of(details)
    return AnswerPiece(
        text=text or said.refusal or "",
        reasoning=reasoning if isinstance(reasoning, str) else "",
        details=details,
        calls=[_piece(call) for call in said.tool_calls] if said.tool_calls else (),
        finish=finish,
        counts=counts,
    )


def _words_of(details: Iterable[Mapping[str, Any]]) -> str:
    """What can be read of them, where a server sends nothing else."""
    return "".join(words for one in details if isinstance(words := one.get("text") or one.get("summary"), str))


def _parts(content: Any, kind: str) -> str:
    """The text of the parts of this kind, where content comes in parts."""
    if not isinstance(content, list):
        return ""
    found = (part.get(kind) for part in content if isinstance(part, dict) and part.get("type") == kind)
    return "".join(part if isinstance(part, str) else _parts(part, "text") for part in found)


def _piece(call: _Call) -> CallPiece:
    function = call.function or _Function()
    arguments = function.arguments
    if arguments is not None and not isinstance(arguments, str):
        arguments = msgspec.json.encode(arguments).decode()
    return CallPiece(index=call.index, call_id=call.id or "", name=function.name or "", arguments=arguments or "")


def _counts(usage: Any) -> TokenCounts | None:
    if not isinstance(usage, dict) or not ("prompt_tokens" in usage or "completion_tokens" in usage):
        return None
    read, written = _tokens(usage, "prompt_tokens"), _tokens(usage, "completion_tokens")
    details = _details(usage, "prompt_tokens_details")
    reasoning = _tokens(_details(usage, "completion_tokens_details"), "reasoning_tokens")
    if reasoning and usage.get("total_tokens") == read + written + reasoning:
        written += reasoning  # some count thinking beside the answer, and not in it
    return TokenCounts(
        input_tokens=read,
        output_tokens=written,
        cached=max(0, _tokens(details, "cached_tokens") or _tokens(usage, "prompt_cache_hit_tokens")),
        cache_written=max(0, _tokens(details, "cache_write_tokens") or _tokens(details, "cache_creation_tokens")),
        reasoning=max(0, reasoning),
        cost=_cost(usage),
    )


def _cost(usage: Mapping[str, Any]) -> float | None:
    """US dollars, where a provider says it. With one's own key at OpenRouter, `cost` is its fee alone."""
    cost = told_dollars(usage.get("cost"))
    if cost is None:
        ticks = told_dollars(usage.get("cost_in_usd_ticks"))
        return None if ticks is None else ticks / _TICKS
    own = _details(usage, "cost_details").get("upstream_inference_cost") if usage.get("is_byok") is True else None
    return cost + (told_dollars(own) or 0.0)


def _details(usage: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = usage.get(name)
    return found if isinstance(found, dict) else {}


def _tokens(counts: Mapping[str, Any], name: str) -> int:
    value = counts.get(name)
    return value if isinstance(value, int) else 0
