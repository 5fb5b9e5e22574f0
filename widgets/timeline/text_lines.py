"""Lines of a terminal text as rows: their heights are known at once, they are drawn when they are painted."""

from bisect import bisect_right
from itertools import accumulate

from rich.style import Style

from oi_tui.widgets.rows.row import RowStrip
from oi_tui.widgets.timeline.row_pieces import Canvas
from oi_tui.widgets.timeline.terminal import TerminalText
from oi_tui.widgets.timeline.wrap import fold_offsets, fold_runs

MOST_DRAWN = 1_000
"""Lines that are kept drawn."""


class Brush:
    """Style of lines and the mark in their gutter."""

    def __init__(self, canvas: Canvas, *, error: bool) -> None:
        ink = canvas.ink
        self.canvas = canvas
        self.base: Style = ink.stderr if error else ink.console
        self.dim: Style = ink.stderr_dim if error else ink.console_dim
        self.mark, self.mark_style = ("┃", ink.stderr_mark) if error else ("│", ink.console_faint)


class TextLines:
    """The lines of a text that may grow, drawn with one brush; of each line the first `limit` characters."""

    def __init__(self, text: TerminalText, brush: Brush, limit: int) -> None:
        self.text = text
        self._brush = brush
        self._limit = limit
        self._heights: dict[int, int] = {}
        self._drawn: dict[int, list[RowStrip]] = {}

    @property
    def measured_count(self) -> int:
        """The number of lines whose height is known."""
        return len(self._heights)

    def invalidate(self, first: int) -> None:
        """Lines from this one on are not as they were."""
        for kept in (self._heights, self._drawn):
            for number in [number for number in kept if number >= first]:
                del kept[number]

    def height(self, number: int) -> int:
        """Rows of a line."""
        height = self._heights.get(number)
        if height is None:
            text = self.text.plain_line(number, self._limit)
            height = self._heights[number] = len(fold_offsets(text, self._brush.canvas.room))
        return height

    def strips(self, number: int) -> list[RowStrip]:
        """The rows of a line."""
        drawn = self._drawn.get(number)
        if drawn is None:
            if len(self._drawn) >= MOST_DRAWN:
                self._drawn.clear()
            drawn = self._drawn[number] = self._draw(number)
        return drawn

    def _draw(self, number: int) -> list[RowStrip]:
        brush, canvas = self._brush, self._brush.canvas
        runs = [(text, canvas.ink.sgr(sgr, brush.base)) for text, sgr in self.text.line(number, self._limit)]
        return [canvas.strip(row, brush.base, brush.mark, brush.mark_style) for row in fold_runs(runs, canvas.room)]


class LineRows:
    """Some lines, one below the other."""

    def __init__(self, lines: TextLines, start: int, end: int) -> None:
        self._lines = lines
        self._first = start
        *self._starts, self.height = accumulate((lines.height(number) for number in range(start, end)), initial=0)

    def row(self, index: int) -> RowStrip:
        """The row at `index`."""
        number = bisect_right(self._starts, index) - 1
        return self._lines.strips(self._first + number)[index - self._starts[number]]
