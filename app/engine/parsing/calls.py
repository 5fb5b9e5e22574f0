"""Calls of the tool `execute(language, code)`: what counts as one, and calls that a model wrote as plain text.

Small models were trained on calls but are served without them, so they write the call into the answer:

    {"name": "execute", "arguments": {"language": "python", "code": "1 + 1"}}
    {"language": "python", "code": "1 + 1"}
    <tool_call>{"name": ...}</tool_call>
    functions.execute({"language": ...})

Only what is certainly a call is taken for one; anything else stays what it was.
"""

from collections.abc import Callable
from typing import Literal

from oi_tui.app.engine.core.values import Language, Value
from oi_tui.app.engine.parsing.objects import JsonValue, NotAnObject, Object, ObjectReader

Canonical = Callable[[str], Language | None]
"""From the label a model wrote to the language that can be run here, None if there is none."""

CALL_LIMIT = 65_536
"""Characters of text that are kept back at most while they may be a call."""

_SLICE = 256
_CLOSING = {"{": "", "<tool_call>": "</tool_call>", "functions.execute(": ")"}
"""What a call in text begins with, and what ends it after its object."""
_KEYS = frozenset({"name", "arguments", "parameters", "language", "code", "type", "function", "id"})


class Call(Value, frozen=True, kw_only=True):
    """A call that a model wrote as text: run this source in this language."""

    language: Language
    source: str


def called_language(name: str, label: JsonValue, canonical: Canonical) -> Language | None:
    """What a call of the tool `name` runs, or None if it does not run code.

    The tool may be named after a language (some models call `python`). Without a label it is Python.
    """
    tool = name.removeprefix("functions.")
    if tool != "execute":
        return canonical(tool)
    if label is None or label == "":
        return canonical("python")
    return canonical(label) if isinstance(label, str) else None


def call_of(fields: Object, canonical: Canonical) -> Call | None:
    """The call that this object is, if it is one."""
    match fields:
        case {"function": dict(function)}:
            return call_of(function, canonical) if "name" in function else None
        case {"name": str(name), "arguments": arguments} | {"name": str(name), "parameters": arguments}:
            inner = _object(arguments)
        case {"language": str(), "code": str()} if len(fields) == 2:
            name, inner = "execute", fields
        case _:
            return None
    source = inner.get("code")
    language = called_language(name, inner.get("language"), canonical)
    if language is None or not isinstance(source, str) or not source.strip():
        return None
    return Call(language=language, source=source)


def whole_call(text: str, canonical: Canonical) -> Call | None:
    """The call that this text is from its beginning to its end, if it is one."""
    if not CallReader.may_begin(text):
        return None
    reader = CallReader()
    reader.read(text, 0)
    whole = reader.state == "whole" and not text[reader.used :].strip()
    return reader.call(canonical) if whole else None


def _object(arguments: JsonValue) -> Object:
    """Arguments come as an object or as the JSON text of one."""
    if isinstance(arguments, dict):
        return arguments
    if not isinstance(arguments, str):
        return {}
    reader = ObjectReader()
    try:
        reader.feed(arguments)
    except NotAnObject:
        return {}
    return reader.fields if reader.done else {}


class CallReader:
    """Reads text that may be a call, from its first character on, as it arrives."""

    def __init__(self) -> None:
        self.state: Literal["open", "whole", "refused"] = "open"
        """`whole`: an object in its wrapping was read (`call_of` says if it is a call); `refused`: it is none."""
        self.used = 0
        """Characters read so far."""
        self._opened = ""
        self._object = ObjectReader(keys=_KEYS)
        self._closing: str | None = None

    @staticmethod
    def may_begin(begun: str) -> bool:
        """Whether a text that begins like this may turn out to be a call; not for blank text."""
        begun = begun.lstrip(" \t\n")
        return bool(begun) and any(begun.startswith(word) or word.startswith(begun) for word in _CLOSING)

    def call(self, canonical: Canonical) -> Call | None:
        """The call, if it is one: its object must be there, though its wrapping may not be closed yet."""
        known = self._object.done and self.state != "refused"
        return call_of(self._object.fields, canonical) if known else None

    def read(self, text: str, at: int) -> bool:
        """Read on in a text in which the call begins at `at`; whether more may belong to it.

        Beyond `CALL_LIMIT` it is refused.
        """
        limit = min(CALL_LIMIT, len(text) - at)
        while self.used < limit and self.state == "open":
            seen = at + self.used
            self.used += self._feed(text[seen : min(seen + _SLICE, at + limit)])
        if self.used == CALL_LIMIT:
            self.state = "refused"
        return self.state == "open"

    def _feed(self, text: str) -> int:
        used = 0
        while used < len(text) and self.state == "open":
            if self._opened in _CLOSING and self._closing is None:
                used += self._read_object(text[used:])
            else:
                self._read_wrapping(text[used])
                used += 1
        return used

    def _read_object(self, text: str) -> int:
        before = self._object.read
        try:
            self._object.feed(text)
        except NotAnObject:
            self.state = "refused"
        if self._object.done:
            self._closing = _CLOSING[self._opened]
            self.state = "open" if self._closing else "whole"
        return self._object.read - before

    def _read_wrapping(self, char: str) -> None:
        if self._closing is not None:
            self._read_closing(self._closing, char)
        elif self._opened or not char.isspace():
            self._opened += char
            if not any(word.startswith(self._opened) for word in _CLOSING):
                self.state = "refused"
            if self._opened == "{":
                self._object.feed("{")

    def _read_closing(self, closing: str, char: str) -> None:
        if char.isspace() and closing in _CLOSING.values():
            return
        if not closing.startswith(char):
            self.state = "refused"
        self._closing = closing[1:]
        if self.state == "open" and not self._closing:
            self.state = "whole"
