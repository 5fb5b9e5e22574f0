"""A chat request in the form of the OpenAI wire, which LiteLLM translates for every other provider. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from oi_tui.app.engine.core.chat_model import ChatMessage, ToolCall
from oi_tui.app.engine.text.mime import UNTRUSTED

JsonObject = dict[str, Any]

EXECUTE = "execute"
"""The one tool: run code in a language."""


def execute_tool(languages: Sequence[str]) -> JsonObject:
    """The tool `execute(language, code)`."""
    properties = {
        "language": {"type": "string", "enum": list(languages)},
        "code": {"type": "string", "description": "The code; what it prints and its last value come back."},
    }
    parameters = {"type": "object", "properties": properties, "required": ["language", "code"]}
    description = "Run code on the user's machine, in a session that keeps its variables."
    return {"type": "function", "function": {"name": EXECUTE, "description": description, "parameters": parameters}}


def request_messages(conversation: Iterable[ChatMessage], *, tools: bool, images: bool) -> list[JsonObject]:
    """The messages; calls and their results become text for a model without tools, pictures go only where asked."""
    spoken = conversation if tools else _as_text(conversation)
    return [_message(message, images=images) for message in spoken]


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
    # Several providers parse the arguments again: what a model broke off must still be an object.
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
    """Native calls as fenced code, all results of one answer as one user message."""
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
    code = str(arguments.get("code", call.arguments))
    ticks = "```" if "```" not in code else "````"
    return f"{ticks}{arguments.get('language', '')}\n{code}\n{ticks}"
