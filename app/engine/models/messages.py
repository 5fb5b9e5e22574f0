"""A chat request in the form of the OpenAI wire, which LiteLLM translates for every other provider. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from oi_tui.app.engine.core.chat_model import ChatMessage, ToolCall, ToolSpec
from oi_tui.app.engine.text.mime import UNTRUSTED

JsonObject = dict[str, Any]


def tool_schema(tool: ToolSpec) -> JsonObject:
    """A tool as the wire names it."""
    function = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return {"type": "function", "function": function}


def request_messages(conversation: Iterable[ChatMessage], *, tools: bool, images: bool) -> list[JsonObject]:
    """The messages; calls and their results become text for a model without tools, pictures go only where asked."""
    spoken = conversation if tools else _as_text(conversation)
    return [_message(message, images=images) for message in spoken]


def mark_for_cache(spoken: Sequence[JsonObject]) -> None:
    """Ask for a cache of all up to here: behind the system prompt, which stays, and behind the last message, which is
    the beginning of the next request. Without marks Anthropic reads everything again at the full price."""
    ends = [message for message in spoken if message["role"] == "system"][-1:]
    if spoken and spoken[-1]["role"] in ("user", "tool"):
        ends.append(spoken[-1])
    for message in ends:
        content = message["content"]
        if message["role"] == "tool":
            message["cache_control"] = _CACHED
        elif isinstance(content, str) and content.strip():
            message["content"] = [{"type": "text", "text": content, "cache_control": _CACHED}]
        elif isinstance(content, list):
            content[-1] = {**content[-1], "cache_control": _CACHED}


_CACHED = {"type": "ephemeral"}


def _message(message: ChatMessage, *, images: bool) -> JsonObject:
    match message.role:
        case "tool":
            return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}
        case "assistant" if message.calls:
            calls = [_call(call) for call in message.calls]
            return {"role": "assistant", "content": message.text or None, "tool_calls": calls}
        case "user" if message.images and images:
            pictures = [{"type": "image_url", "image_url": {"url": url}} for url in message.images]
            return {"role": "user", "content": [{"type": "text", "text": message.text}, *pictures]}
        case role:
            return {"role": role, "content": message.text}


def _call(call: ToolCall) -> JsonObject:
    # Several providers parse the arguments again: truncated ones must still be an object.
    arguments = (
        call.arguments if _arguments(call) is not None else msgspec.json.encode({"code": call.arguments}).decode()
    )
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _arguments(call: ToolCall) -> JsonObject | None:
    try:
        return msgspec.json.decode(call.arguments, type=JsonObject)
    except msgspec.DecodeError:
        return None


def _as_text(conversation: Iterable[ChatMessage]) -> Iterator[ChatMessage]:
    """Native calls as fenced code or JSON, all results of one answer as one user message."""
    results: list[str] = []
    for message in conversation:
        if message.role == "tool":
            results.append(f"Output ({UNTRUSTED}):\n{message.text}")
            continue
        if results and message.role == "user":
            text = "\n\n".join((*results, message.text))
            message = ChatMessage(role="user", text=text, images=message.images)
        elif results:
            yield ChatMessage(role="user", text="\n\n".join(results))
        results = []
        if message.calls:
            parts = (message.text, *map(_fence, message.calls))
            message = ChatMessage(role="assistant", text="\n\n".join(part for part in parts if part))
        yield message
    if results:
        yield ChatMessage(role="user", text="\n\n".join(results))


def _fence(call: ToolCall) -> str:
    arguments = _arguments(call) or {}
    if "code" in arguments:
        label, text = arguments.get("language", ""), str(arguments["code"])
    else:
        label, text = "json", msgspec.json.encode({"name": call.name, "arguments": arguments}).decode()
    ticks = "```" if "```" not in text else "````"
    return f"{ticks}{label}\n{text}\n{ticks}"
