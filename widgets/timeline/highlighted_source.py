"""Highlighted source that may still be growing, as rows: for code blocks and for fences in prose.

Only painted lines are lexed and drawn. Appended text costs its new lines.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import TypeVar

from pygments.token import Token
from rich.segment import Segment
from rich.style import Style

from oi_tui.app.engine.text.safe import SPELLED_OUT, safe_text, visible_text
from oi_tui.widgets.rows.row import RowStrip
from oi_tui.widgets.timeline.diff_tokens import LexedLine
from oi_tui.widgets.timeline.lexing import LineLexer, lex_whole
from oi_tui.widgets.timeline.row_pieces import Canvas
from oi_tui.widgets.timeline.wrap import Continuation, fold_offsets, fold_runs

TAB = 4
WHOLE_LIMIT = 200
"""Lines; a finished source of at most this many is lexed again as a whole."""


_Look = TypeVar("_Look")


def with_marks(runs: Sequence[tuple[str, _Look]], look: _Look) -> list[tuple[str, _Look]]:
    """The runs of a line, each `<U+202E>` in them with this look, over whatever a lexer took its signs for."""
    line = "".join(text for text, _ in runs)
    marks = [*(found.span() for found in SPELLED_OUT.finditer(line)), (len(line), len(line))]
    marked: list[tuple[str, _Look]] = []
    at = number = 0
    for text, own in runs:
        end = at + len(text)
        while at < end:
            while marks[number][1] <= at:
                number += 1
            start, stop = marks[number]
            cut = min(end, stop if start <= at else start)
            marked.append((line[at:cut], look if start <= at else own))
            at = cut
    return marked


class HighlightedSource:
    """The lines of a source and their tokens."""

    def __init__(self, language: str, *, reveals: bool = False) -> None:
        """With `reveals`, hidden characters are written out: for code that runs or ran."""
        self.language = language
        self._reveals = reveals
        self.lines: list[str] = [""]
        """Safe to show, tabs expanded; the last one may grow."""
        self.revealing: set[int] = set()
        """Lines (from 0) in which something is written out."""
        self.complete = False
        self._text = ""
        self._lexer = LineLexer(language)
        self._lexed: list[LexedLine] = []

    def update(self, text: str, *, complete: bool) -> int:
        """Take a newer text; returns the first line that is not as it was."""
        if text == self._text and complete == self.complete:
            return len(self.lines)
        if text.startswith(self._text) and not self.complete:
            changed = len(self.lines) - 1
            tail = self._text.rpartition("\n")[2] + text[len(self._text) :]
        else:
            changed, tail = 0, text
        del self.lines[changed:]
        self.revealing = {number for number in self.revealing if number < changed}
        self.lines += [self._safe(number, line) for number, line in enumerate(tail.split("\n"), changed)]
        self._text = text
        if complete and len(self.lines) > 1 and not self.lines[-1]:
            self.lines.pop()
        self.complete = complete
        return self._relex(changed)

    def tokens(self, number: int) -> LexedLine:
        """Tokens of a line; together they are exactly its text."""
        line = self.lines[number]
        if number == len(self.lines) - 1 and not self.complete:
            self._lex_to(number)
            lexed = self._lexer.line(line, last=True)
        else:
            self._lex_to(number + 1)
            lexed = self._lexed[number]
        return lexed if "".join(text for _, text in lexed) == line else [(Token, line)]

    def _safe(self, number: int, line: str) -> str:
        if not self._reveals:
            return safe_text(line).expandtabs(TAB)
        shown, hidden = visible_text(line, emoji=True)
        if hidden:
            self.revealing.add(number)
        return shown.expandtabs(TAB)

    def _relex(self, changed: int) -> int:
        if self.complete and len(self.lines) <= WHOLE_LIMIT and max(map(len, self.lines)) < WHOLE_LIMIT * 10:
            self._lexed = lex_whole(self.language, "\n".join(self.lines))
            self._lexed += [[] for _ in range(len(self.lines) - len(self._lexed))]
            return 0
        if changed < len(self._lexed):
            self._lexer, self._lexed = LineLexer(self.language), []
        return changed

    def _lex_to(self, end: int) -> None:
        while len(self._lexed) < end:
            self._lexed.append(self._lexer.line(self.lines[len(self._lexed)]))


def number_width(lines: int, room: int) -> int:
    """Cells for the line numbers of this many lines, with the space after them; 0 if there is no room."""
    width = len(str(max(lines, 99))) + 1
    return width if width * 3 <= room else 0


class SourceRows:
    """A source at one width; long lines wrap behind a mark.

    With `numbers`, each line has its own before it.
    """

    def __init__(
        self, source: HighlightedSource, canvas: Canvas, active_line: int | None = None, *, numbers: bool = False
    ) -> None:
        self._source = source
        self._canvas = canvas
        self._numbers = numbers
        self._margin = 0
        self._starts: list[int] = []
        self.height = 0
        """Number of rows on the screen."""
        self._drawn: dict[int, list[RowStrip]] = {}
        self.active_line = active_line
        """1-based line that runs now."""
        self._error_line: int | None = None
        self.invalidate(0)

    def invalidate(self, first: int) -> None:
        """The source has other lines from the line `first` on."""
        margin = number_width(len(self._source.lines), self._canvas.room) if self._numbers else 0
        if margin != self._margin:
            self._margin, first = margin, 0
        room = self._canvas.room - margin
        if first < len(self._starts):
            self.height = self._starts[first]
            del self._starts[first:]
            self._drawn = {number: drawn for number, drawn in self._drawn.items() if number < first}
        for line in self._source.lines[len(self._starts) :]:
            self._starts.append(self.height)
            self.height += len(fold_offsets(line, room))

    def activate(self, line: int | None) -> None:
        """Another line runs now."""
        for number in (self.active_line, line):
            if number is not None:
                self._drawn.pop(number - 1, None)
        self.active_line = line

    def blame(self, line: int | None) -> None:
        """Mark the line that raised an error."""
        for number in (self._error_line, line):
            if number is not None and self._error_line != line:
                self._drawn.pop(number - 1, None)
        self._error_line = line

    def first_row(self, line: int) -> int:
        """The row in which the line (1-based) begins."""
        return self._starts[line - 1]

    def row(self, index: int) -> RowStrip:
        """The row at `index`."""
        number = bisect_right(self._starts, index) - 1
        drawn = self._drawn.get(number)
        if drawn is None:
            if len(self._drawn) > WHOLE_LIMIT:
                self._drawn.clear()
            drawn = self._drawn[number] = self._draw(number)
        return drawn[index - self._starts[number]]

    def _draw(self, number: int) -> list[RowStrip]:
        canvas, ink, margin = self._canvas, self._canvas.ink, self._margin
        runs = [(text, ink.token(kind)) for kind, text in self._source.tokens(number)]
        if number in self._source.revealing:
            runs = with_marks(runs, ink.code_hidden)
        strips = []
        for part, line in enumerate(fold_runs(runs, canvas.room - margin)):
            mark, style = self._mark(number + 1) if not part else ("↪", ink.code_faint)
            if margin:
                label = Segment(f"{'' if part else number + 1:>{margin - 1}} ", ink.code_faint)
                line = Continuation([label, *line], line.joint if isinstance(line, Continuation) else "\n", margin)
            strips.append(canvas.strip(line, ink.code, mark, style))
        return strips

    def _mark(self, line: int) -> tuple[str, Style]:
        ink = self._canvas.ink
        if line == self.active_line:
            return "▸", ink.code_active
        if line == self._error_line:
            return "✗", ink.code + Style(color=ink.error.color, bold=True)
        return " ", ink.code_faint
