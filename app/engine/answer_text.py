"""Reads the text of an answer as it arrives: prose, fenced code, and calls that were written as text.

A state machine over lines. Each state is a method that reads on in the buffer and says whether it could;
if it could not, it waits for more. Text is kept back only while its line may still turn out to be a fence
or a call, so whatever the cuts between the pieces of an answer, the same comes out.
"""

import re
from collections.abc import Callable
from typing import Literal

from oi_tui.app.engine.calls import CALL_LIMIT, Call, CallReader, Canonical, call_of
from oi_tui.app.engine.fenced_source import Source
from oi_tui.app.engine.fences import HELD_LINE, Fence, may_open, opening
from oi_tui.app.engine.habits import undone
from oi_tui.app.engine.pieces import CodeClosed, CodeOpened, CodeText, Piece, ProseText
from oi_tui.app.engine.text_stream import TextStream
from oi_tui.app.engine.values import Language

LineKind = Literal["undecided", "blank", "closing", "text"]

_WORD_LINE = re.compile(r"[ \t]*[\w+#.-]{0,32}[ \t]*")
"""A line that may be the language of a block whose fence has none."""


class ProseRun:
    """Prose between two codes: no blank lines at its edges, and none at all if nothing but blanks came."""

    def __init__(self) -> None:
        self._begun = False
        self._blank: list[str] = []

    def grow(self, text: str) -> str:
        """The part of the run that is certain with this text."""
        body = text.rstrip()
        if not body:
            self._blank.append(text)
            return ""
        whole = "".join(self._blank) + body
        self._blank = [text[len(body) :]]
        if not self._begun:
            self._begun = True
            whole = whole[whole.rfind("\n", 0, len(whole) - len(whole.lstrip())) + 1 :]
        return whole

    def end(self) -> None:
        """Code comes; what follows it is another run."""
        self._begun = False
        self._blank.clear()


class AnswerText:
    """The text of one answer. `feed` it, `finish` it; both return pieces."""

    def __init__(self, canonical: Canonical) -> None:
        self._canonical = canonical
        self._stream = TextStream()
        self._buffer = ""
        self._at = 0
        self._passed = 0
        """Characters of the answer before the buffer."""
        self._ended = False
        self._complete = True
        self._step: Callable[[], bool] = self._prose_line
        self._pieces: list[Piece] = []
        self._run = ProseRun()
        self._trusting = False
        self._fence = Fence(indent=0, marker="", ticks="```", label="")
        self._language: Language = ""
        self._head: list[str] = []
        """The opening line of a block and blank lines after it, while it is open what becomes of them."""
        self._blank_from = 0
        """Where in the head the blank lines begin that belong to the code."""
        self._source: Source | None = None
        self._line_break = ""
        self._call = CallReader()
        self._scanned = 0
        """Characters from `_at` on that the call reader has seen."""
        self._calls: list[Call] = []
        self._no_call_before = 0
        """Text before this place of the answer was read as a call once, and is none."""

    def feed(self, text: str) -> list[Piece]:
        """More of the answer."""
        self._load(self._stream.feed(text))
        return self._read()

    def finish(self, complete: bool) -> list[Piece]:
        """The end. A block that is open is taken as whole if the answer is `complete`."""
        self._load(self._stream.finish())
        self._ended, self._complete = True, complete
        pieces = self._read()
        while self._source is not None:
            if complete and self._source.rest is not None:
                self._trusting = True
                source, behind = self._source.split()
                self._close(source, complete=True)
                self._load(behind)
            else:
                self._emit(CodeText, self._source.show_all())
                self._close(self._without_ticks(self._source.whole()), complete)
            pieces += self._read()
        self._emit_prose("".join(self._head))
        self._head.clear()
        return pieces + self._taken()

    # -- the buffer ----------------------------------------------------------------------------------

    def _load(self, text: str) -> None:
        self._passed += self._at
        self._buffer = self._buffer[self._at :] + text
        self._at = 0

    def _read(self) -> list[Piece]:
        while (self._at < len(self._buffer) or self._ended) and self._step():
            pass
        return self._taken()

    def _taken(self) -> list[Piece]:
        pieces, self._pieces = self._pieces, []
        return pieces

    def _line(self) -> tuple[str, bool]:
        """The line at hand without its end, as far as it is here, and whether that is all of it.

        Not more than one character beyond `HELD_LINE`.
        """
        end = self._buffer.find("\n", self._at, self._at + HELD_LINE + 1)
        if end >= 0:
            return self._buffer[self._at : end], True
        line = self._buffer[self._at : self._at + HELD_LINE + 1]
        return line, self._ended and self._at + len(line) == len(self._buffer)

    def _take_line(self) -> str:
        """Go behind the line at hand (or as much of it as is here); returns it with its end."""
        end = self._buffer.find("\n", self._at) + 1
        return self._take((end or len(self._buffer)) - self._at)

    def _take(self, length: int) -> str:
        start, self._at = self._at, self._at + length
        text = self._buffer[start : self._at]
        if self._source is not None and self._source.rest is not None:
            self._source.rest.append(text)
        return text

    def _kind(self) -> LineKind:
        """What the line at hand is to the block that is open."""
        line, whole = self._line()
        if self._at_end():
            return "undecided"
        if len(line) > HELD_LINE:
            return "text"
        if not whole:
            return "undecided" if line.isspace() or self._fence.may_be_closed_by(line) else "text"
        if not line.strip():
            return "blank"
        return "closing" if self._fence.closed_by(line) else "text"

    def _at_end(self) -> bool:
        return self._at == len(self._buffer)

    def _go(self, step: Callable[[], bool]) -> bool:
        self._step = step
        return True

    # -- prose ---------------------------------------------------------------------------------------

    def _prose_line(self) -> bool:
        """At the beginning of a line of prose."""
        if self._at_end():
            return False
        line, whole = self._line()
        if CallReader.may_begin(line) and self._passed + self._at >= self._no_call_before:
            return self._begin_call(self._prose_call)
        if len(line) > HELD_LINE:
            return self._go(self._prose_rest)
        if not whole:
            return not may_open(line) and self._go(self._prose_rest)
        fence = opening(line)
        return self._go(self._prose_rest) if fence is None else self._open_fence(fence)

    def _prose_rest(self) -> bool:
        if self._at_end():
            return False
        text = self._take_line()
        self._emit_prose(text)
        return self._go(self._prose_line if text.endswith("\n") else self._prose_rest)

    def _prose_call(self) -> bool:
        """In a line of prose that may be a call: nothing is shown until it is certain."""
        if not self._call_scanned():
            return False
        start = self._at + self._scanned
        end = self._buffer.find("\n", start)
        rest = self._buffer[start:] if end < 0 else self._buffer[start:end]
        call = call_of(self._call.fields, self._canonical) if self._call.object_read else None
        if self._call.state == "refused" or call is None or rest.strip() or len(rest) > HELD_LINE:
            self._no_call_before = self._passed + start
            return self._go(self._prose_line)
        if end < 0 and not self._ended:
            return False
        self._take(self._scanned)
        self._take_line()
        self._emit_call(call, complete=end >= 0 or self._complete)
        return self._go(self._prose_line)

    def _begin_call(self, step: Callable[[], bool]) -> bool:
        self._call, self._scanned = CallReader(), 0
        return self._go(step)

    def _call_scanned(self) -> bool:
        """Let the call reader see what is new; whether it is certain now what it is (or what there is of it)."""
        limit = min(CALL_LIMIT, len(self._buffer) - self._at)
        while self._scanned < limit and self._call.state == "open":
            seen = self._at + self._scanned
            self._scanned += self._call.feed(self._buffer[seen : min(seen + HELD_LINE, self._at + limit)])
        if self._scanned == CALL_LIMIT:
            self._call.state = "refused"
        return self._ended or self._call.state != "open"

    # -- the beginning of a block --------------------------------------------------------------------

    def _open_fence(self, fence: Fence) -> bool:
        line = self._take_line()
        self._emit_prose(fence.marker)
        self._fence, self._head = fence, [line[len(fence.marker) :]]
        if not fence.label:
            return self._go(self._language_line)
        language = self._canonical(fence.label)
        return self._go(self._sample_start) if language is None else self._begin_source(language)

    def _language_line(self) -> bool:
        """The first line of a block whose fence names no language may name it."""
        line, whole = self._line()
        if not whole:
            return _WORD_LINE.fullmatch(line) is None and self._go(self._sample_start)
        word = line.strip()
        language = self._canonical(word) if word and _WORD_LINE.fullmatch(line) else None
        if language is None:
            return self._go(self._sample_start)
        self._head.append(self._take_line())
        return self._begin_source(language)

    def _begin_source(self, language: Language) -> bool:
        self._blank_from, self._language = len(self._head), language
        return self._go(self._source_start)

    def _source_start(self) -> bool:
        """Before the first text of the code: a block without any is no code."""
        match self._kind():
            case "undecided":
                return False
            case "blank":
                self._head.append(self._take_line())
                return True
            case "closing":
                return self._end_block_as_prose()
            case "text":
                return self._start_source()

    def _start_source(self) -> bool:
        self._source = Source(self._language, trusting=self._trusting)
        self._emit_code_opened(self._language)
        for blank in self._head[self._blank_from :]:
            self._emit_code(self._fence.dedented(blank.removesuffix("\n")))
            self._line_break = "\n"
        self._head.clear()
        return self._go(self._source_line)

    def _end_block_as_prose(self) -> bool:
        self._head.append(self._take_line())
        self._emit_prose("".join(self._head))
        self._head.clear()
        return self._go(self._prose_line)

    # -- code ----------------------------------------------------------------------------------------

    def _source_line(self) -> bool:
        """At the beginning of a line of code."""
        assert self._source is not None
        kind = self._kind()
        if kind == "undecided":
            return False
        if kind == "closing" and self._source.closes():
            self._take_line()
            self._emit(CodeText, self._source.show_all())
            return self._close(self._source.whole(), complete=True)
        line, _ = self._line()
        self._take(len(line) - len(self._fence.dedented(line)))
        return self._go(self._source_rest)

    def _source_rest(self) -> bool:
        if self._at_end() and not self._ended:
            return False
        text = self._take_line()
        self._emit_code(text.removesuffix("\n"))
        if not text.endswith("\n"):
            return not self._ended
        self._line_break = "\n"
        return self._go(self._source_line)

    def _without_ticks(self, source: str) -> str:
        """Code that was not closed by a line of its own may have been closed on its last line."""
        code = source.removesuffix(self._fence.ticks)
        return code if code.strip() else source

    def _close(self, source: str, complete: bool) -> bool:
        assert self._source is not None
        language, source = undone(self._source.language, source, self._canonical)
        self._pieces.append(CodeClosed(language=language, source=source, complete=complete))
        self._source, self._line_break = None, ""
        return self._go(self._prose_line)

    # -- a block that is not run ---------------------------------------------------------------------

    def _sample_start(self) -> bool:
        """Before the first text of the block, which may be a call."""
        match self._kind():
            case "undecided":
                return False
            case "blank":
                self._head.append(self._take_line())
                return True
            case "closing":
                return self._end_block_as_prose()
            case "text":
                return self._begin_call_or_sample()

    def _begin_call_or_sample(self) -> bool:
        line, _ = self._line()
        return self._begin_call(self._sample_call) if CallReader.may_begin(line) else self._end_head_as_prose()

    def _sample_call(self) -> bool:
        if not self._call_scanned():
            return False
        call = call_of(self._call.fields, self._canonical) if self._call.object_read else None
        if self._call.state == "refused" or call is None:
            return self._end_head_as_prose()
        self._calls.append(call)
        self._head.append(self._take(self._scanned))
        return self._go(self._sample_called)

    def _sample_called(self) -> bool:
        """Behind a call: only more calls and the closing fence may follow."""
        if self._at_end():
            return self._ended and self._end_calls(self._complete)
        match self._kind():
            case "undecided":
                return False
            case "blank":
                self._head.append(self._take_line())
                return True
            case "closing":
                self._take_line()
                return self._end_calls(complete=True)
            case "text":
                return self._begin_call_or_sample()

    def _end_calls(self, complete: bool) -> bool:
        for call in self._calls:
            self._emit_call(call, complete)
        self._calls.clear()
        self._head.clear()
        return self._go(self._prose_line)

    def _end_head_as_prose(self) -> bool:
        self._emit_prose("".join(self._head))
        self._head.clear()
        self._calls.clear()
        return self._go(self._sample_line)

    def _sample_line(self) -> bool:
        kind = self._kind()
        if kind == "undecided":
            return False
        if kind != "closing":
            return self._go(self._sample_rest)
        self._emit_prose(self._take_line())
        return self._go(self._prose_line)

    def _sample_rest(self) -> bool:
        if self._at_end():
            return False
        text = self._take_line()
        self._emit_prose(text)
        return self._go(self._sample_line if text.endswith("\n") else self._sample_rest)

    # -- pieces --------------------------------------------------------------------------------------

    def _emit(self, kind: type[ProseText | CodeText], text: str) -> None:
        if text:
            self._pieces.append(kind(text=text))

    def _emit_prose(self, text: str) -> None:
        self._emit(ProseText, self._run.grow(text))

    def _emit_code_opened(self, language: Language) -> None:
        self._run.end()
        self._pieces.append(CodeOpened(language=language))

    def _emit_code(self, text: str) -> None:
        """A line of code or a part of it; a line break is kept back until something follows it."""
        assert self._source is not None
        text, self._line_break = self._line_break + text, ""
        self._emit(CodeText, self._source.add(text))

    def _emit_call(self, call: Call, complete: bool) -> None:
        language, source = undone(call.language, call.source, self._canonical)
        self._emit_code_opened(language)
        self._emit(CodeText, source)
        self._pieces.append(CodeClosed(language=language, source=source, complete=complete))
