"""What the two wires of our own client have in common: JSON from strangers, errors in it, what an event says. Pure."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from oi_tui.app.engine.core.chat_model import ChatRequest
from oi_tui.app.engine.models.failures import UnreadableAnswer
from oi_tui.app.engine.models.prices import TokenCounts

_TAG = re.compile(r"<(script|style)\b.*?(?:</\1\s*>|\Z)|<[^<>]{0,1000}>", re.DOTALL | re.IGNORECASE)
"""A script without an end goes to the end of the page, as in browsers; that keeps it linear, too."""

T = TypeVar("T")


class CallPiece(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a native call on the wire."""

    index: int | None
    call_id: str
    name: str
    arguments: str


class AnswerPiece(msgspec.Struct, frozen=True, kw_only=True):
    """The part of an answer that one event has."""

    text: str = ""
    reasoning: str = ""
    details: Sequence[Mapping[str, Any]] = ()
    """Pieces of reasoning as its provider wants them back."""
    calls: Sequence[CallPiece] = ()
    finish: str = ""
    counts: TokenCounts | None = None
    error: Mapping[str, Any] | None = None
    last: bool = False
    """Nothing comes behind it."""


def decode_json(data: bytes, kind: type[T]) -> T:
    """JSON of this kind. Bytes that are no text become marks, as do halves of characters. UnreadableAnswer for all
    else."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:  # control characters within strings, and invalid UTF-8
        found = json.loads(data.decode("utf-8", "replace"), strict=False)
        return msgspec.convert(_whole(found), type=kind)
    except (ValueError, RecursionError) as error:  # msgspec's own errors are ValueErrors
        raise UnreadableAnswer(f"not what was expected: {error}: {data[:200].decode('utf-8', 'replace')}") from error


def _whole(value: Any) -> Any:
    """The same without halves of characters, which cannot be written anywhere."""
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case list():
            return [_whole(item) for item in value]
        case dict():
            return {_whole(name): _whole(item) for name, item in value.items()}
    return value


def error_body(data: bytes) -> Mapping[str, Any]:
    """What the body of an error says: `message`, and `code` or `type` where it has them. Anything may come in."""
    try:
        found = decode_json(data, dict[str, Any])
    except UnreadableAnswer:
        text = " ".join(_TAG.sub(" ", data.decode("utf-8", "replace")).split())
        return {"message": text}
    return error_in(found)


def error_in(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """The error that an object reports, in whichever of the usual places."""
    inner = found.get("error") or found
    if not isinstance(inner, Mapping):
        return {"message": str(inner)}
    message = inner.get("message") or inner.get("detail") or inner.get("msg")
    if not isinstance(message, str):
        message = json.dumps(message if message else inner)
    metadata = inner.get("metadata")
    if isinstance(metadata, Mapping) and isinstance(metadata.get("raw"), str):
        message = f"{message}: {metadata['raw']}"  # the server behind a gateway
    code = inner.get("code")
    code = int(code) if isinstance(code, str) and code.isdecimal() and len(code) == 3 else code
    return {"message": message, "code": code, "type": inner.get("type"), **_delay(inner.get("details"))}


def _delay(details: Any) -> dict[str, str]:
    """The `retry-after` of a server that says it in the body, as Google's do."""
    for one in details if isinstance(details, list) else ():
        delay = one.get("retryDelay") if isinstance(one, dict) else None
        if isinstance(delay, str) and delay.endswith("s"):
            return {"retry-after": delay[:-1]}
    return {}


def estimate_counts(request: ChatRequest, written: int) -> TokenCounts:
    """Tokens where nobody counted them: four bytes are one, about; `written` is bytes. Pictures are left out."""
    read = sum(4 + _tokens(message.text) for message in request.messages)
    read += sum(_tokens(call.arguments) for message in request.messages for call in message.calls)
    return TokenCounts(input_tokens=read, output_tokens=max(1, written // 4))


def _tokens(text: str) -> int:
    return len(text.encode("utf-8", "replace")) // 4
