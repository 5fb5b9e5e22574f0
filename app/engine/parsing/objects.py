"""Reads one JSON object while it arrives, forgiving what models get wrong about JSON.

Forgiven: keys without quotes, single quotes, line breaks inside strings, unknown escapes, a comma too many.
Numbers, true, false and null are read as None, for no caller needs them. The reader is a coroutine that takes
one character at a time, so that a cut can fall anywhere. It knows nothing of calls: see `calls.py`.
"""

from collections.abc import Callable, Generator
from typing import TypeVar

from oi_tui.app.engine.parsing.text_stream import TextStream

JsonValue = str | None | list["JsonValue"] | dict[str, "JsonValue"]
Object = dict[str, JsonValue]

T = TypeVar("T")
IncrementalRead = Generator[None, str, T]
"""Takes characters by `send`, returns the parsed value."""

_DEPTH = 16
_BARE_KEY_LENGTH = 64
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\\": "\\", '"': '"', "'": "'"}


class NotAnObject(Exception):
    """The text cannot be the beginning of an object (or not of one that is wanted)."""


class ObjectReader:
    """One object. `fields` fills while it is read: a key is there as soon as its value is whole."""

    def __init__(self, *, streamed: str = "", keys: frozenset[str] | None = None) -> None:
        """`streamed` names the key whose text is wanted as it arrives; `keys`, if given, are all that may occur."""
        self.fields: Object = {}
        self.streaming = False
        """Whether the text of the `streamed` key has begun."""
        self.done = False
        self.read = 0
        """Characters used so far, with the one that was refused."""
        self._streamed = streamed
        self._keys = keys
        self._pieces: list[str] = []
        self._reading = self._whole()
        next(self._reading)

    def feed(self, text: str) -> int:
        """Read on; returns how many characters were used, fewer than given when the object is over.

        Raises NotAnObject.
        """
        if self.done:
            return 0
        before = self.read
        for char in text:
            self.read += 1
            try:
                self._reading.send(char)
            except StopIteration:
                self.done = True
                break
        return self.read - before

    def take(self) -> str:
        """New results of the streamed text since the last call."""
        text = "".join(self._pieces)
        self._pieces.clear()
        return text

    # -- the grammar ---------------------------------------------------------------------------------

    def _whole(self) -> IncrementalRead[None]:
        char = yield from _after_space((yield))
        if char != "{":
            raise NotAnObject
        yield from self._members(self.fields, 1)

    def _members(self, fields: Object, depth: int) -> IncrementalRead[None]:
        char = yield from _after_space((yield))
        while char != "}":
            key, char = yield from _key(char)
            if depth == 1 and self._keys is not None and key not in self._keys:
                raise NotAnObject
            if (yield from _after_space(char)) != ":":
                raise NotAnObject
            sink: Callable[[str], None] | None = None
            char = yield from _after_space((yield))
            if depth == 1 and key == self._streamed and char in "\"'":
                self.streaming, sink = True, self._pieces.append
            fields[key], after = yield from self._value(char, depth, sink)
            char = yield from _after_space(after or (yield))
            if char == ",":
                char = yield from _after_space((yield))
            elif char != "}":
                raise NotAnObject

    def _items(self, depth: int) -> IncrementalRead[list[JsonValue]]:
        items: list[JsonValue] = []
        char = yield from _after_space((yield))
        while char != "]":
            item, after = yield from self._value(char, depth, None)
            items.append(item)
            char = yield from _after_space(after or (yield))
            if char == ",":
                char = yield from _after_space((yield))
            elif char != "]":
                raise NotAnObject
        return items

    def _value(
        self, char: str, depth: int, sink: Callable[[str], None] | None
    ) -> IncrementalRead[tuple[JsonValue, str]]:
        """The value that begins with `char`, and the character after it if that was read too."""
        if depth == _DEPTH:
            raise NotAnObject
        match char:
            case '"' | "'":
                return (yield from _string(char, sink)), ""
            case "{":
                inner: Object = {}
                yield from self._members(inner, depth + 1)
                return inner, ""
            case "[":
                return (yield from self._items(depth + 1)), ""
            case _:
                return None, (yield from _after_word(char))


def _after_space(char: str) -> IncrementalRead[str]:
    while char.isspace():
        char = yield
    return char


def _after_word(char: str) -> IncrementalRead[str]:
    """Skip a number, true, false or null; at least one character of it."""
    if not (char.isalnum() or char in "+-."):
        raise NotAnObject
    while char.isalnum() or char in "+-._":
        char = yield
    return char


def _key(char: str) -> IncrementalRead[tuple[str, str]]:
    """The key that begins with `char`, and the character after it."""
    if char in "\"'":
        return (yield from _string(char, None)), (yield)
    key = ""
    while char.isalnum() or char == "_":
        key += char
        if len(key) > _BARE_KEY_LENGTH:
            raise NotAnObject
        char = yield
    if not key.isidentifier():
        raise NotAnObject
    return key, char


def _string(quote: str, sink: Callable[[str], None] | None) -> IncrementalRead[str]:
    parts: list[str] = []
    while (char := (yield)) != quote:
        if char == "\\":
            char = yield from _escape()
        parts.append(char)
        if sink is not None:
            sink(char)
    text = TextStream()
    return text.feed("".join(parts)) + text.finish()


def _escape() -> IncrementalRead[str]:
    char = yield
    if char != "u":
        return _ESCAPES.get(char, "\\" + char)
    digits = ""
    while len(digits) < 4:
        digits += yield
    try:
        return chr(int(digits, 16))
    except ValueError:
        return "\\u" + digits
