"""The model's Markdown as rows, linear in its length while it streams.

Every finished top-level element is drawn once and never parsed again; only the last one is. An
open fence does not even go through the Markdown parser: its lines go to a lexer that keeps its
state. Whether text arrives in pieces or at once gives the same rows.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from rich.segment import Segment

from oi_tui.app.engine.blocks import ProseBlock
from oi_tui.widgets.timeline.markdown import MarkdownLines, clean
from oi_tui.widgets.timeline.pieces import Canvas, Display, Piece, Rows, Stack, rows
from oi_tui.widgets.timeline.source import Source, SourceRows
from oi_tui.widgets.timeline.wrap import crop

if TYPE_CHECKING:
    from markdown_it.token import Token

_OPENING = re.compile(r"( {0,3})(`{3,}(?=[^`]*$)|~{3,})(.*)")


class Fence:
    """A fenced code block at the top level, open until its closing line has come."""

    def __init__(self, opening: re.Match[str]) -> None:
        indent, fence, info = opening.groups()
        self.label = info.strip().split(" ")[0]
        self.source = Source(self.label.lower())
        self._indent = re.compile(rf" {{0,{len(indent)}}}")
        self._closing = re.compile(rf" {{0,3}}{re.escape(fence)}{fence[0]}*[ \t]*")
        self._beginning = re.compile(rf" {{0,3}}{fence[0]}+[ \t]*")
        self._text = ""
        self._rows: SourceRows | None = None
        self._canvas: Canvas | None = None

    def closes(self, line: str) -> bool:
        """Whether `line` ends the fence."""
        return self._closing.fullmatch(line) is not None

    def may_close(self, line: str) -> bool:
        """Whether `line` could become the end of the fence when more of it comes."""
        return self._beginning.fullmatch(line) is not None

    def take(self, lines: list[str]) -> None:
        """Further complete lines."""
        self._text += "".join(self._content(line) + "\n" for line in lines)

    def show(self, unfinished: str = "", *, complete: bool) -> None:
        """Let the rows show what was taken, and a last line that may still grow."""
        changed = self.source.update(self._text + self._content(unfinished), complete=complete)
        if self._rows is not None:
            self._rows.changed(changed)

    def pieces(self, canvas: Canvas) -> list[Piece]:
        """Label and lines."""
        if self._rows is None or self._canvas is not canvas:
            self._canvas, self._rows = canvas, SourceRows(self.source, canvas)
        if not self.label:
            return [self._rows]
        label = crop([(self.label, canvas.ink.dim)], canvas.room)
        return [rows(canvas, [label], canvas.ink.page), self._rows]

    def _content(self, line: str) -> str:
        found = self._indent.match(line)
        return line[found.end() :] if found else line


class Element:
    """A Markdown element at the top level, or an item of a list there."""

    def __init__(self, text: str, start: "Start") -> None:
        self._text = text
        self._start = start

    def pieces(self, canvas: Canvas) -> list[Piece]:
        """Its rows."""
        tokens = canvas.markdown.parse(self._text)
        return [rows(canvas, MarkdownLines(canvas, self._start.number).draw(tokens), canvas.ink.page)]


class Start(NamedTuple):
    """Where an element starts."""

    line: int = 0
    close: bool = False
    """Whether no empty row parts it from the element before: an item of a list."""
    number: int | None = None
    """Of an item of an ordered list."""


class Prose:
    """The rows of a `ProseBlock`."""

    def __init__(self, block: ProseBlock) -> None:
        self._block = block
        self._canvas: Canvas | None = None
        self._stack = Stack()
        self._stacked = 0  # elements of `_done` that are in the stack
        self.parses = 0
        """Times that Markdown was parsed to find elements, for tests of the cost."""
        self._restart()

    def update(self, block: ProseBlock) -> None:
        """A newer version of the block."""
        self._block = block

    def pieces(self, canvas: Canvas, display: Display) -> list[Piece]:
        """What is drawn now."""
        self._advance(canvas)
        if display.fold == "closed":
            return [_closed(self._block.text, canvas)]
        if canvas is not self._canvas:
            self._canvas, self._stack, self._stacked = canvas, Stack(), 0
        for start, element in self._done[self._stacked :]:
            for piece in _parted(start, element, canvas, first=not self._stack.height):
                self._stack.append(piece)
        self._stacked = len(self._done)
        pieces: list[Piece] = [self._stack, *self._tail(canvas)]
        if self._block.state == "cut":
            pieces.append(rows(canvas, [[Segment("… broken off", canvas.ink.dim)]], canvas.ink.page))
        return pieces

    @property
    def has_more(self) -> bool:
        """Nothing of prose is hidden."""
        return False

    @property
    def beyond(self) -> int:
        """Nothing is too wide: all is wrapped."""
        return 0

    def _restart(self) -> None:
        self._text = ""
        self._done: list[tuple[Start, Element | Fence]] = []
        self._taken = 0  # characters of the text that `_done` and the open fence hold
        self._lead = Start()  # what is known of the element that starts there
        self._fence: Fence | None = None
        self._canvas = None

    def _advance(self, canvas: Canvas) -> None:
        text = self._block.text
        if not text.startswith(self._text):
            self._restart()
        end = text.rfind("\n") + 1
        fresh = end > self._text.rfind("\n") + 1
        self._text = text
        while fresh and self._taken < end:
            fresh = self._take_fence(end) if self._fence else self._take_elements(end, canvas)

    def _take_fence(self, end: int) -> bool:
        """Give complete lines to the open fence; whether it was closed and there is more to look at."""
        assert self._fence is not None
        lines = clean(self._text[self._taken : end]).split("\n")[:-1]
        for number, line in enumerate(lines):
            if self._fence.closes(line):
                self._fence.take(lines[:number])
                self._fence.show(complete=True)
                self._done.append((Start(), self._fence))
                self._fence = None
                self._taken = _skip(self._text, self._taken, number + 1)
                return True
        self._fence.take(lines)
        self._taken = end
        return False

    def _take_elements(self, end: int, canvas: Canvas) -> bool:
        """Finish all elements of the complete lines but the last; whether that one is an open fence."""
        self.parses += 1
        text = clean(self._text[self._taken : end])
        lines = text.split("\n")
        starts = _starts(canvas.markdown.parse(text), lines, self._lead)
        for start, following in pairwise(starts):
            self._done.append((start, _finished(lines[start.line : following.line], start)))
        if not starts:
            return False
        self._lead = starts[-1]
        self._taken = _skip(self._text, self._taken, self._lead.line)
        opening = _OPENING.fullmatch(lines[self._lead.line])
        if opening is None:
            return False
        self._taken = _skip(self._text, self._taken, 1)
        self._lead = Start()
        self._fence = Fence(opening)
        return True

    def _tail(self, canvas: Canvas) -> Iterator[Piece]:
        """The elements that may still change."""
        rest = clean(self._text[self._taken :])
        first = not self._stack.height
        if self._fence is not None:
            streaming = self._block.state == "streaming"
            hidden = self._fence.closes(rest) or (streaming and self._fence.may_close(rest))
            self._fence.show("" if hidden else rest, complete=False)
            yield from _parted(Start(), self._fence, canvas, first=first)
            return
        lines = rest.split("\n")
        starts = _starts(canvas.markdown.parse(rest), lines, self._lead)
        for start, following in pairwise([*starts, Start(len(lines))]):
            yield from _parted(start, _finished(lines[start.line : following.line], start), canvas, first=first)
            first = False


def _parted(start: Start, element: Element | Fence, canvas: Canvas, *, first: bool) -> Iterator[Piece]:
    pieces = [piece for piece in element.pieces(canvas) if piece.height]
    if pieces and not first and not start.close:
        yield Rows([canvas.blank])
    yield from pieces


def _finished(lines: list[str], start: Start) -> Element | Fence:
    opening = _OPENING.fullmatch(lines[0])
    if opening is None:
        return Element("\n".join(lines), start)
    fence = Fence(opening)
    content = lines[1:]
    fence.take(content[: next((number for number, line in enumerate(content) if fence.closes(line)), len(content))])
    fence.show(complete=True)
    return fence


def _starts(tokens: "Sequence[Token]", lines: Sequence[str], lead: Start) -> list[Start]:
    """Where elements start; lists are taken apart into their items, so that a long one is not one element."""
    starts: list[Start] = []
    number: int | None = None
    first_of_list = True
    for token in tokens:
        if token.map is None or token.nesting < 0 or token.level > 1:
            continue
        line = token.map[0]
        if token.level == 0 and token.type == "ordered_list_open":
            number = lead.number if not starts and lead.number is not None else int(token.attrs.get("start", 1))
            first_of_list = True
        elif token.level == 0 and token.type == "bullet_list_open":
            number, first_of_list = None, True
        elif token.level == 0:
            starts.append(Start(line))
        elif token.type == "list_item_open":
            close = not first_of_list and bool(lines[line - 1].strip())
            starts.append(Start(line, close if starts else lead.close, number))
            first_of_list = False
            number = None if number is None else number + 1
    return starts


def _skip(text: str, start: int, lines: int) -> int:
    for _ in range(lines):
        start = text.index("\n", start) + 1
    return start


def _closed(text: str, canvas: Canvas) -> Rows:
    first, _, rest = clean(text).strip().partition("\n")
    more = f"  … {rest.count(chr(10)) + 1:,} more lines" if rest else ""
    line = crop([(first + more, canvas.ink.dim)], canvas.room)
    return rows(canvas, [line], canvas.ink.page)
