"""A native tool call while it arrives: the arguments of `execute` are read piece by piece, so that code streams.

A call of another known tool shows its arguments as they arrive, and is a call once they are a JSON object.

Malformed calls:

- arguments that are not an object are the code itself, in Python or in the language the tool is named after;
- arguments that end early, or are invalid JSON after the code has begun, give code that never runs;
- an unknown tool or language gives prose with the raw call in a fence, and so does a call without code.
"""

import json
import re
from collections.abc import Container

from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.values import Language
from oi_tui.app.engine.parsing.answer_blocks import AnswerBlocks
from oi_tui.app.engine.parsing.calls import Canonical, called_language
from oi_tui.app.engine.parsing.objects import NotAnObject, ObjectReader
from oi_tui.app.engine.parsing.text_stream import TextStream


class NativeCall:
    """One call. Fragments are kept by `add`; `read` turns them into code when it is this call's turn."""

    def __init__(
        self, canonical: Canonical, blocks: AnswerBlocks, tools: Container[str] = frozenset(), *, thought: bool = False
    ) -> None:
        """`tools` may be called beside `execute`. `thought`: the model was in the middle of its thinking."""
        self.id = ""
        self._thought = thought
        self.closed = False
        self._canonical = canonical
        self._blocks = blocks
        self._tools = tools
        self._name = ""
        self._fragments: list[str] = []
        self._unread = 0
        self._plain = False
        self._object = ObjectReader(streamed="code")
        self._text = TextStream()
        self._language: Language | None = None
        self._source: list[str] = []
        self._called = False
        """A call of one of the tools was begun."""

    def add(self, *, call_id: str, name: str, arguments: str) -> None:
        self.id = self.id or call_id
        self._name = self._name or name
        if arguments:
            self._fragments.append(arguments)

    def read(self) -> None:
        """Pass on what is certain now."""
        while self._unread < len(self._fragments) and not self.closed:
            fragment = self._fragments[self._unread]
            self._unread += 1
            if self._name in self._tools:
                self._read_arguments(fragment)
            elif self._plain:
                self._read_plain(fragment)
            else:
                self._read_object(fragment)

    def finish(self, complete: bool) -> None:
        """No more fragments come."""
        self.read()
        if self._name in self._tools:
            self._close_call(complete=complete)
        elif not self.closed:
            self._close(complete and (self._plain or "code" in self._object.fields))

    # -- what arrives --------------------------------------------------------------------------------

    @property
    def _raw(self) -> str:
        return "".join(self._fragments)

    def _read_arguments(self, fragment: str) -> None:
        if not self._called:
            self._called = True
            self._blocks.open_call(self._name, self.id or new_id())
        self._blocks.grow_call(fragment)
        if self._plain:
            return
        try:
            self._object.feed(fragment)
        except NotAnObject:  # or of more levels than are followed here: its end is that of the answer
            self._plain = True
        if self._object.done:
            self._close_call(complete=True)

    def _close_call(self, *, complete: bool) -> None:
        """A call without arguments is one with an empty object."""
        if self.closed:
            return
        if not self._called:
            self._read_arguments("")
        self.closed = True
        written = self._raw[: self._object.read] if self._object.done else self._raw
        self._blocks.close_call(self._name, written.strip() or "{}", complete=complete, thought=self._thought)

    def _read_plain(self, text: str) -> None:
        self._grow(self._text.feed(text), called_language(self._name, None, self._canonical))

    def _read_object(self, fragment: str) -> None:
        try:
            self._object.feed(fragment)
        except NotAnObject:
            self._read_broken()
            return
        if self._object.done:
            self._close(complete=True)
        elif "language" in self._object.fields:
            self._grow(self._text.feed(self._object.take()), self._language or self._label_read())

    def _read_broken(self) -> None:
        if self._object.streaming and "language" in self._object.fields:
            self._close(complete=False)
            return
        self._object.take()
        self._plain, self._unread = True, len(self._fragments)
        self._read_plain(self._raw)

    def _label_read(self) -> Language | None:
        return called_language(self._name, self._object.fields.get("language"), self._canonical)

    # -- results ----------------------------------------------------------------------------

    def _grow(self, text: str, language: Language | None) -> None:
        if not text or language is None:
            return
        self._source.append(text)
        if self._language is None:
            if text.isspace():
                return
            self._language, text = language, "".join(self._source)
            self._blocks.open(language, self.id or None)
        self._blocks.grow(text)

    def _close(self, complete: bool) -> None:
        language = self._language or (self._label_read() if not self._plain else None)
        self._grow(self._text.feed(self._object.take()) + self._text.finish(), language)
        self.closed = True
        if self._language is None:
            self._blocks.prose(self._as_prose(), self)
        else:
            source = "".join(self._source)
            self._blocks.close(self._language, source, complete=complete, thought=self._thought)

    def _as_prose(self) -> str:
        body = f'{{"name": {json.dumps(self._name)}, "arguments": {self._raw.strip() or "{}"}}}'
        ticks = max((len(run) for run in re.findall("`+", body)), default=0)
        fence = "`" * max(3, ticks + 1)
        return f"{fence}json\n{body}\n{fence}"
