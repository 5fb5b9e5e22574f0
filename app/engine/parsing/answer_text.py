"""Reads the text of an answer as it arrives: prose, fenced code, and calls that were written as text.

A state machine over lines. Each state is a method that reads on in the buffer and says whether it could;
if it could not, it waits for more. Text is kept back only while its line may still turn out to be a fence
or a call, so whatever the cuts between the pieces of an answer, the same comes out.
"""

import re
from collections.abc import Callable
from typing import Literal

from oi_tui.app.engine.core.values import Language
from oi_tui.app.engine.parsing.answer_blocks import AnswerBlocks, TextBlocks
from oi_tui.app.engine.parsing.calls import Call, CallReader, Canonical
from oi_tui.app.engine.parsing.fenced_source import FencedSource
from oi_tui.app.engine.parsing.fences import Fence, is_helpers_end, may_open, opening
from oi_tui.app.engine.parsing.line_buffer import HELD_LINE, LineBuffer
from oi_tui.app.engine.parsing.text_stream import TextStream
from oi_tui.app.engine.parsing.thinking import Thinking, closes_within, may_be_tag

LineKind = Literal["undecided", "blank", "closing", "thought", "text"]

_WORD_LINE = re.compile(r"[ \t]*[\w+#.-]{0,32}[ \t]*")
"""A line that may be the language of a block whose fence has none."""


class AnswerText:
    """The text of one answer, or of a part of it between native calls. `feed` it, then `finish` it."""

    def __init__(self, canonical: Canonical, blocks: AnswerBlocks, *, thinking: bool = False) -> None:
        """`thinking`: it begins in the middle of the model's thinking."""
        self._canonical = canonical
        self._stream = TextStream()
        self._lines = LineBuffer()
        self._complete = True
        self._step: Callable[[], bool] = self._prose_rest if thinking else self._prose_line
        self._blocks = blocks
        self._text = TextBlocks(blocks)
        self._trusting = False
        self._fence = Fence(indent=0, marker="", ticks="```", label="")
        self._fence_in_helpers = False
        """Whether a fence was opened within `<helpers>`, of which the end is still to come."""
        self._language: Language | None = None
        self._head: list[str] = []
        """The opening line of a block and blank lines after it, while it is open what becomes of them."""
        self._blank_from = 0
        """Where in the head the blank lines begin that belong to the code."""
        self._source: FencedSource | None = None
        self._line_break = ""
        self.thinking = Thinking(thinking)
        """Whether the model is thinking now: nothing of it is code."""
        self._call = CallReader()
        self._calls: list[Call] = []
        self._no_call_before = 0
        """Text before this place of the answer was read as a call once, and is none."""

    def feed(self, text: str) -> None:
        """More of the answer."""
        self._lines.feed(self._stream.feed(text))
        self._read()

    def finish(self, complete: bool) -> None:
        """The end. A block that is open is taken as whole if the answer is `complete`."""
        self._lines.feed(self._stream.finish())
        self._lines.ended, self._complete = True, complete
        self._read()
        while self._source is not None:
            if complete and self._source.rest is not None:
                self._trusting = True
                source, behind = self._source.split()
                self._close(source, complete=True)
                self._lines.feed(behind)
            else:
                self._blocks.grow(self._source.show_all())
                self._close(self._fence.without_ticks(self._source.whole()), complete)
            self._read()
        self._text.prose("".join(self._head))
        self._head.clear()

    # -- one step after the other ----------------------------------------------------------------------

    def _read(self) -> None:
        while (self._lines.ended or not self._lines.at_end) and self._step():
            pass

    def _kind(self) -> LineKind:
        """What the current line is to the open block; "thought" ends it, as it ends the model's thinking."""
        line, whole = self._lines.line()
        if self._lines.at_end:
            return "undecided"
        if len(line) > HELD_LINE:
            return "text"
        if not whole:
            open_ended = line.isspace() or self._fence.may_be_closed_by(line) or may_be_tag(line)
            return "undecided" if open_ended else "text"
        if not line.strip():
            return "blank"
        if self.thinking.ends_block(line, self._source):
            return "thought"
        return "closing" if self._fence.is_closed_by(line) else "text"

    def _go(self, step: Callable[[], bool]) -> bool:
        self._step = step
        return True

    # -- prose ---------------------------------------------------------------------------------------

    def _prose_line(self) -> bool:
        """At the beginning of a line of prose."""
        if self._lines.at_end:
            return False
        line, whole = self._lines.line()
        if CallReader.may_begin(line) and self._lines.place >= self._no_call_before:
            self._call = CallReader()
            return self._go(self._prose_call)
        if len(line) > HELD_LINE:
            return self._go(self._prose_rest)
        if not whole:
            return not may_open(line) and self._go(self._prose_rest)
        if is_helpers_end(line) and self._fence_in_helpers:
            self._fence_in_helpers = False
            self._lines.take_line()
            return True
        fence = opening(line)
        return self._go(self._prose_rest) if fence is None else self._open_fence(fence)

    def _prose_rest(self) -> bool:
        """In a line of prose or thought, whatever follows."""
        if self._lines.at_end:
            return False
        was_on = self.thinking.on
        certain = self.thinking.read(self._lines.rest_of_line(), self._lines.ended)
        if not certain.length:
            return False
        text = self._lines.take(certain.length)
        self._text.say(text[: certain.said], thought=was_on)
        if certain.closes or self.thinking.on != was_on:
            self._text.turn()
            if certain.closes and not was_on:
                self._blocks.recognise_thought()
        begins = certain.closes or (text.endswith("\n") and not self.thinking.on)
        return self._go(self._prose_line if begins else self._prose_rest)

    def _prose_call(self) -> bool:
        """In a line of prose that may be a call: nothing is shown until it is certain."""
        if self._call.read(self._lines.text, self._lines.at) and not self._lines.ended:
            return False
        start = self._lines.at + self._call.used
        end = self._lines.text.find("\n", start)
        rest = self._lines.text[start:] if end < 0 else self._lines.text[start:end]
        call = self._call.call(self._canonical)
        if call is None or rest.strip() or len(rest) > HELD_LINE or closes_within(self._lines.ahead(self._call.used)):
            self._no_call_before = self._lines.place + self._call.used
            return self._go(self._prose_line)
        if end < 0 and not self._lines.ended:
            return False
        self._lines.take(self._call.used)
        self._lines.take_line()
        self._text.call(call, complete=end >= 0 or self._complete)
        return self._go(self._prose_line)

    # -- the beginning of a block --------------------------------------------------------------------

    def _open_fence(self, fence: Fence) -> bool:
        line = self._lines.take_line()
        self._text.prose(fence.marker)
        self._fence, self._head = fence, [line[len(fence.marker) :]]
        self.thinking.begin_block()
        return self._begin_block(self._canonical(fence.label)) if fence.label else self._go(self._language_line)

    def _language_line(self) -> bool:
        """The first line of a block whose fence names no language may name it."""
        line, whole = self._lines.line()
        if not whole:
            return _WORD_LINE.fullmatch(line) is None and self._begin_block(None)
        word = line.strip()
        language = self._canonical(word) if word and _WORD_LINE.fullmatch(line) else None
        if language is not None:
            self._head.append(self._lines.take_line())
        return self._begin_block(language)

    def _begin_block(self, language: Language | None) -> bool:
        """`language` is that of the code in it, None if it is no code that is run."""
        self._blank_from, self._language = len(self._head), language
        return self._go(self._block_start)

    def _block_start(self) -> bool:
        """Before the first text of a block, which may be a call. Code without any text is no code."""
        match self._kind():
            case "undecided":
                return False
            case "blank":
                self._head.append(self._lines.take_line())
                return True
            case "closing" | "thought" as kind:
                return self._end_head(self._prose_line, closed=kind == "closing")
            case "text":
                line, whole = self._lines.line()
                if self._fence.holds_helpers and not whole and len(line) <= HELD_LINE and may_open(line):
                    return False
                if self._fence.holds_helpers and (fence := opening(line)) and not fence.holds_helpers:
                    self._fence_in_helpers = True
                    return self._open_fence(fence)
                return self._begin_call_or_sample() if self._language is None else self._start_source(self._language)

    def _start_source(self, language: Language) -> bool:
        self._source = FencedSource(language, trusting=self._trusting)
        self._text.open(language)
        for blank in self._head[self._blank_from :]:
            self._emit_code(self._fence.dedent(blank.removesuffix("\n")))
            self._line_break = "\n"
        self._head.clear()
        return self._go(self._source_line)

    def _end_head(self, step: Callable[[], bool], *, closed: bool = False) -> bool:
        """Treat the kept head of the block as prose; `closed`: the current line is its end."""
        if closed:
            self._head.append(self._lines.take_line())
        self._text.prose("".join(self._head))
        self._head.clear()
        self._calls.clear()
        return self._go(step)

    # -- code ----------------------------------------------------------------------------------------

    def _source_line(self) -> bool:
        """At the beginning of a line of code."""
        assert self._source is not None
        kind = self._kind()
        if kind == "undecided":
            return False
        if kind == "thought" or (kind == "closing" and self._source.closes()):
            if kind == "closing":
                self._lines.take_line()
            self._blocks.grow(self._source.show_all())
            return self._close(self._source.whole(), complete=kind == "closing")
        line, _ = self._lines.line()
        self._source.pass_by(self._lines.take(len(line) - len(self._fence.dedent(line))))
        return self._go(self._source_rest)

    def _source_rest(self) -> bool:
        if self._lines.at_end and not self._lines.ended:
            return False
        assert self._source is not None
        text = self._lines.take_line()
        self._source.pass_by(text)
        self._emit_code(text.removesuffix("\n"))
        if not text.endswith("\n"):
            return not self._lines.ended
        self._line_break = "\n"
        return self._go(self._source_line)

    def _emit_code(self, text: str) -> None:
        """A line of code or a part of it; a line break is kept back until something follows it."""
        assert self._source is not None
        text, self._line_break = self._line_break + text, ""
        self._blocks.grow(self._source.add(text))

    def _close(self, source: str, complete: bool) -> bool:
        assert self._source is not None
        self._blocks.close(self._source.language, source, complete=complete)
        self._source, self._line_break = None, ""
        return self._go(self._prose_line)

    # -- a block that is not run ---------------------------------------------------------------------

    def _begin_call_or_sample(self) -> bool:
        line, _ = self._lines.line()
        if not CallReader.may_begin(line):
            return self._end_head(self._sample_line)
        self._call = CallReader()
        return self._go(self._sample_call)

    def _sample_call(self) -> bool:
        if self._call.read(self._lines.text, self._lines.at) and not self._lines.ended:
            return False
        call = self._call.call(self._canonical)
        if call is None or closes_within(self._lines.ahead(self._call.used)):
            return self._end_head(self._sample_line)
        self._calls.append(call)
        self._head.append(self._lines.take(self._call.used))
        return self._go(self._sample_after_call)

    def _sample_after_call(self) -> bool:
        """Behind a call: only more calls and the closing fence may follow."""
        if self._lines.at_end:
            return self._lines.ended and self._end_calls(self._complete)
        match self._kind():
            case "undecided":
                return False
            case "blank":
                self._head.append(self._lines.take_line())
                return True
            case "closing":
                self._lines.take_line()
                return self._end_calls(complete=True)
            case "thought":
                return self._end_head(self._prose_line)
            case "text":
                return self._begin_call_or_sample()

    def _end_calls(self, complete: bool) -> bool:
        for call in self._calls:
            self._text.call(call, complete=complete)
        self._calls.clear()
        self._head.clear()
        return self._go(self._prose_line)

    def _sample_line(self) -> bool:
        kind = self._kind()
        if kind == "undecided":
            return False
        if kind == "thought":
            return self._go(self._prose_line)
        if kind != "closing":
            return self._go(self._sample_rest)
        self._text.prose(self._lines.take_line())
        return self._go(self._prose_line)

    def _sample_rest(self) -> bool:
        if self._lines.at_end:
            return False
        text = self._lines.take_line()
        self._text.prose(text)
        return self._go(self._sample_line if text.endswith("\n") else self._sample_rest)
