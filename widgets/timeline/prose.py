"""The model's Markdown as rows, linear in its length while it streams.

Every finished top-level element is drawn once and never parsed again; only the last one is. An
open fence does not even go through the Markdown parser: its lines go to a lexer that keeps its
state. Whether text arrives in pieces or at once gives the same rows.
"""

import re
from itertools import pairwise

from markdown_it.token import Token
from rich.segment import Segment

from oi_tui.app.engine.blocks import ProseBlock
from oi_tui.widgets.timeline.markdown import MarkdownLines, clean
from oi_tui.widgets.timeline.pieces import Canvas, Fold, Piece, Rows, rows
from oi_tui.widgets.timeline.source import Source, SourceRows
from oi_tui.widgets.timeline.wrap import Line, crop

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
    """A finished top-level Markdown element."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._canvas: Canvas | None = None
        self._rows: Rows | None = None

    def pieces(self, canvas: Canvas) -> list[Piece]:
        """Its rows, drawn once per canvas."""
        if self._rows is None or self._canvas is not canvas:
            self._canvas = canvas
            self._rows = rows(canvas, _lines(self._text, canvas), canvas.ink.page)
        return [self._rows] if self._rows.height else []


class Prose:
    """The rows of a `ProseBlock`."""

    def __init__(self, block: ProseBlock) -> None:
        self._block = block
        self._text = ""
        self._done: list[Element | Fence] = []
        self._taken = 0  # characters of the text that `_done` and the open fence hold
        self._fence: Fence | None = None
        self.renders = 0
        """Elements parsed or drawn so far, for tests of the cost."""

    def update(self, block: ProseBlock) -> None:
        """A newer version of the block."""
        self._block = block

    def pieces(self, canvas: Canvas, fold: Fold) -> list[Piece]:
        """What is drawn now."""
        self._advance(canvas)
        elements = [*self._done, *self._tail()]
        if fold == "closed":
            return [_closed(self._block.text, canvas)]
        pieces: list[Piece] = []
        gap = Rows([canvas.blank])
        for element in elements:
            drawn = element.pieces(canvas)
            if drawn and pieces:
                pieces.append(gap)
            pieces += drawn
        if self._block.state == "cut":
            pieces.append(rows(canvas, [[Segment("… broken off", canvas.ink.dim)]], canvas.ink.page))
        return pieces

    @property
    def has_more(self) -> bool:
        """Nothing of prose is hidden."""
        return False

    def _advance(self, canvas: Canvas) -> None:
        text = self._block.text
        if not text.startswith(self._text):
            self._done, self._taken, self._fence, self._text = [], 0, None, ""
        if text == self._text:
            return
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
                self._done.append(self._fence)
                self._fence = None
                self._taken = _skip(self._text, self._taken, number + 1)
                return True
        self._fence.take(lines)
        self._taken = end
        return False

    def _take_elements(self, end: int, canvas: Canvas) -> bool:
        """Finish all elements of the complete lines but the last; whether that one is an open fence."""
        self.renders += 1
        text = clean(self._text[self._taken : end])
        lines = text.split("\n")
        starts = _starts(canvas.markdown.parse(text))
        for start, following in pairwise(starts):
            self._done.append(_finished(lines[start:following]))
        if not starts:
            return False
        self._taken = _skip(self._text, self._taken, starts[-1])
        opening = _OPENING.fullmatch(lines[starts[-1]])
        if opening is None:
            return False
        self._taken = _skip(self._text, self._taken, 1)
        self._fence = Fence(opening)
        return True

    def _tail(self) -> list[Element | Fence]:
        rest = clean(self._text[self._taken :])
        if self._fence is None:
            self.renders += 1
            return [Element(rest)] if rest.strip() else []
        streaming = self._block.state == "streaming"
        hidden = self._fence.closes(rest) or (streaming and self._fence.may_close(rest))
        self._fence.show("" if hidden else rest, complete=False)
        return [self._fence]


def _finished(lines: list[str]) -> Element | Fence:
    opening = _OPENING.fullmatch(lines[0])
    if opening is None:
        return Element("\n".join(lines))
    fence = Fence(opening)
    content = lines[1:]
    fence.take(content[: next((number for number, line in enumerate(content) if fence.closes(line)), len(content))])
    fence.show(complete=True)
    return fence


def _starts(tokens: list[Token]) -> list[int]:
    return [token.map[0] for token in tokens if token.level == 0 and token.map and token.nesting >= 0]


def _skip(text: str, start: int, lines: int) -> int:
    for _ in range(lines):
        start = text.index("\n", start) + 1
    return start


def _lines(text: str, canvas: Canvas) -> list[Line]:
    return MarkdownLines(canvas).draw(canvas.markdown.parse(text))


def _closed(text: str, canvas: Canvas) -> Rows:
    first, _, rest = clean(text).strip().partition("\n")
    more = f"  … {rest.count(chr(10)) + 1:,} more lines" if rest else ""
    line = crop([(first + more, canvas.ink.dim)], canvas.room)
    return rows(canvas, [line], canvas.ink.page)
