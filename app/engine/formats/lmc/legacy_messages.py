"""Conversations that Open Interpreter saved, in the ways in which it and its versions wrote them, as static messages.

Its files are lists of messages without a frame. Some have the flags of the stream left in, some lack the type or the
format, pictures come in more formats, and the first versions wrote one message with text, code and output in it.
What is said here is only about form; whether the messages are right is judged by `loading.py`.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from oi_tui.app.engine.formats.lmc.mime_map import Message

_FIRST_VERSION = ("message", "code", "output")
_FLAGS = ("start", "end")
_FORMATS = {"base64.jpg": "base64.jpeg"}


class NumberedMessage(NamedTuple):
    """A message, and which one of the file it comes from (the first is 1)."""

    number: int
    message: Any


def update_messages(messages: list[Any]) -> list[NumberedMessage]:
    """The messages in the form that the language has now."""
    plain = [found for number, message in enumerate(messages, start=1) for found in _plain(number, message)]
    return list(_without_flags(plain))


def _plain(number: int, message: Any) -> Iterator[NumberedMessage]:
    if not isinstance(message, dict):
        yield NumberedMessage(number, message)
    elif "type" not in message and "content" not in message and any(key in message for key in _FIRST_VERSION):
        yield from (NumberedMessage(number, part) for part in _parts(message))
    elif message.get("role") != "system":
        yield NumberedMessage(number, _with_type(message))


def _parts(message: Message) -> Iterator[Message]:
    """The parts of a message of the first versions."""
    if message.get("message"):
        yield {"role": message.get("role"), "type": "message", "content": message["message"]}
    if message.get("code"):
        language = message.get("language") or "python"
        yield {"role": "assistant", "type": "code", "format": language, "content": message["code"]}
        if isinstance(message.get("output"), str):
            yield {"role": "computer", "type": "console", "format": "output", "content": message["output"]}


def _with_type(message: Message) -> Message:
    message = dict(message)
    if message.get("role") in ("function", "tool"):
        message |= {"role": "computer", "type": "console", "format": "output"}
    message.setdefault("type", "message")
    content = message.get("content")
    if isinstance(content, list):
        message["content"] = content = "\n".join(_texts(content))
    if content is None and not any(flag in message for flag in _FLAGS):
        message["content"] = ""
    match message:
        case {"type": "code"} if not message.get("format"):
            message["format"] = "python"
        case {"type": "image", "format": "description"} if message.get("role") == "user":
            message = {"role": "user", "type": "message", "content": message["content"]}
        case {"type": "image", "format": "description"} | {"role": "computer", "type": "message"}:
            message |= {"role": "computer", "type": "console", "format": "output"}
        case {"type": "image", "format": str(form)}:
            message["format"] = _FORMATS.get(form, form)
        case {"type": "console", "format": "active_line"}:
            message["content"] = ""
        case _:
            pass
    return message


def _texts(parts: list[Any]) -> Iterator[str]:
    """The texts in a content of several parts."""
    return (part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))


def _without_flags(messages: list[NumberedMessage]) -> Iterator[NumberedMessage]:
    """Messages between a start and an end flag are one message; a flag on a whole message means nothing."""
    open_message: NumberedMessage | None = None
    for number, message in messages:
        if not isinstance(message, dict):
            yield NumberedMessage(number, message)
            continue
        flagged = any(message.get(flag) for flag in _FLAGS) and not message.get("content")
        bare = {key: value for key, value in message.items() if key not in _FLAGS}
        if flagged or (open_message is not None and not _continues(open_message.message, bare)):
            if open_message is not None and "content" in open_message.message:
                yield open_message
            open_message = NumberedMessage(number, bare) if message.get("start") and flagged else None
            if flagged:
                if open_message is not None:
                    open_message.message.pop("content", None)
                continue
        if open_message is None:
            yield NumberedMessage(number, bare)
        elif bare.get("format") != "active_line":
            said = open_message.message.get("content", "") + bare["content"]
            open_message = NumberedMessage(open_message.number, {**bare, "content": said})
    if open_message is not None and "content" in open_message.message:
        yield open_message


def _continues(opened: Message, message: Message) -> bool:
    same = all(opened.get(key) == message.get(key) for key in ("role", "type"))
    return same and isinstance(message.get("content"), str)
