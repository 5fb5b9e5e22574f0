"""A native tool call while it arrives: its JSON arguments are read piece by piece, so that code streams.

What becomes of a call that is not as it should be:

- arguments that are not an object are the code itself, in Python or in the language that the tool is named after;
- arguments that break off, or break the rules of JSON after the code has begun, give code that is never run;
- a tool or a language that is not here gives prose with the raw call in a fence, and so does a call without code.
"""

import json
import re

from oi_tui.app.engine.core.values import Language
from oi_tui.app.engine.parsing.calls import Canonical, called_language
from oi_tui.app.engine.parsing.code_repair import repair_code
from oi_tui.app.engine.parsing.objects import NotAnObject, ObjectReader
from oi_tui.app.engine.parsing.pieces import CodeClosed, CodeOpened, CodeText, Piece, ProseText
from oi_tui.app.engine.parsing.text_stream import TextStream


class NativeCall:
    """One call. Fragments are kept by `add`; `read` turns them into pieces when it is this call's turn."""

    def __init__(self, canonical: Canonical, *, thought: bool = False) -> None:
        """`thought`: the model was in the middle of its thinking."""
        self.id = ""
        self._thought = thought
        self.closed = False
        self._canonical = canonical
        self._name = ""
        self._fragments: list[str] = []
        self._unread = 0
        self._plain = False
        self._object = ObjectReader(streamed="code")
        self._text = TextStream()
        self._language: Language | None = None
        self._source: list[str] = []

    def add(self, *, call_id: str, name: str, arguments: str) -> None:
        """One more fragment."""
        self.id = self.id or call_id
        self._name = self._name or name
        if arguments:
            self._fragments.append(arguments)

    def read(self) -> list[Piece]:
        """The pieces that are certain now."""
        pieces: list[Piece] = []
        while self._unread < len(self._fragments) and not self.closed:
            fragment = self._fragments[self._unread]
            self._unread += 1
            pieces += self._read_plain(fragment) if self._plain else self._read_object(fragment)
        return pieces

    def finish(self, complete: bool) -> list[Piece]:
        """No more fragments come."""
        pieces = self.read()
        if self.closed:
            return pieces
        whole = self._plain or "code" in self._object.fields
        return pieces + self._close(complete and whole)

    # -- what arrives --------------------------------------------------------------------------------

    @property
    def _raw(self) -> str:
        return "".join(self._fragments)

    def _read_plain(self, text: str) -> list[Piece]:
        return self._grow(self._text.feed(text), called_language(self._name, None, self._canonical))

    def _read_object(self, fragment: str) -> list[Piece]:
        try:
            self._object.feed(fragment)
        except NotAnObject:
            return self._read_broken()
        if self._object.done:
            return self._close(complete=True)
        if "language" not in self._object.fields:
            return []
        return self._grow(self._text.feed(self._object.take()), self._language or self._label_read())

    def _read_broken(self) -> list[Piece]:
        if self._object.streaming and "language" in self._object.fields:
            return self._close(complete=False)
        self._object.take()
        self._plain, self._unread = True, len(self._fragments)
        return self._read_plain(self._raw)

    def _label_read(self) -> Language | None:
        return called_language(self._name, self._object.fields.get("language"), self._canonical)

    # -- what comes of it ----------------------------------------------------------------------------

    def _grow(self, text: str, language: Language | None) -> list[Piece]:
        if not text or language is None:
            return []
        self._source.append(text)
        if self._language is not None:
            return [CodeText(text=text)]
        if text.isspace():
            return []
        self._language, text = language, "".join(self._source)
        return [CodeOpened(language=language, call_id=self.id or None), CodeText(text=text)]

    def _close(self, complete: bool) -> list[Piece]:
        language = self._language or (self._label_read() if not self._plain else None)
        pieces = self._grow(self._text.feed(self._object.take()) + self._text.finish(), language)
        self.closed = True
        if self._language is None:
            return [*pieces, ProseText(text=self._as_prose())]
        language, source = repair_code(self._language, "".join(self._source), self._canonical)
        closed = CodeClosed(language=language, source=source, complete=complete, thought=self._thought)
        return [*pieces, closed]

    def _as_prose(self) -> str:
        body = f'{{"name": {json.dumps(self._name)}, "arguments": {self._raw.strip() or "{}"}}}'
        ticks = max((len(run) for run in re.findall("`+", body)), default=0)
        fence = "`" * max(3, ticks + 1)
        return f"{fence}json\n{body}\n{fence}"
