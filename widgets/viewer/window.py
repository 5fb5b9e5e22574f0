"""Which rows of a text are on the screen, and what they look like. Knows no widget.

The place is a line and a row inside it: how many rows there are above is known to nobody, since only what is looked
at is ever wrapped.
"""

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Offset
from textual.selection import Selection

from oi_tui.widgets.timeline.ink import Ink
from oi_tui.widgets.timeline.row_pieces import RowStrip
from oi_tui.widgets.timeline.search import Search
from oi_tui.widgets.timeline.wrap import Continuation, Line, TextRun, cells, fold_runs, window
from oi_tui.widgets.viewer.line_index import LineIndex

ROW_BITS = 18
"""Bits for the row inside a line in the key of a row; the longest line has fewer characters than that."""

MOST_COPIED = 1_000_000
"""Characters that go to the clipboard at once, at most."""

_KEPT = 400
_DIGITS = 3


class ViewRow(NamedTuple):
    """One row of the screen."""

    strip: RowStrip
    line: int
    inside: int
    """Row inside the line."""

    @property
    def key(self) -> int:
        """Ordered like the text, whatever is on the screen."""
        return self.line << ROW_BITS | self.inside


class TextWindow:
    """A window of a size over lines."""

    def __init__(self, lines: LineIndex, ink: Ink) -> None:
        self.lines = lines
        self.ink = ink
        self.width = self.height = 0
        """Cells and rows."""
        self.wraps = self.numbered = False
        self.shift = 0
        """Cells that lines are moved to the left."""
        self.top = (0, 0)
        """Line at the upper edge and the row inside it."""
        self._drawn: dict[int, list[RowStrip]] = {}
        self._digits = _DIGITS
        self._marks: tuple[Search | None, dict[int, list[list[tuple[int, int]]]]] = (None, {})

    @property
    def lead(self) -> int:
        """Cells before the text."""
        return self._digits + 3 if self.numbered else 2

    @property
    def room(self) -> int:
        """Cells for the text."""
        return max(4, self.width - self.lead - 1)

    def change(
        self, *, size: tuple[int, int] | None = None, wraps: bool | None = None, numbered: bool | None = None
    ) -> None:
        """Another size or another look; the line at the upper edge stays there."""
        if size is not None:
            self.width, self.height = size
        self.wraps = self.wraps if wraps is None else wraps
        self.numbered = self.numbered if numbered is None else numbered
        self.shift = 0 if self.wraps else self.shift
        self.redraw()
        self.top = (self.top[0], min(self.top[1], self._height_of(self.top[0]) - 1) if self.wraps else 0)
        self.scroll(0)

    def redraw(self) -> None:
        """Forget what was drawn."""
        self._drawn.clear()
        self._marks[1].clear()

    def rows(self) -> list[ViewRow]:
        """The rows in the window, fewer than its height only where the text ends."""
        if len(str(self.lines.count)) > self._digits:
            self._digits = len(str(self.lines.count))
            self.redraw()
        shown: list[ViewRow] = []
        line, inside = self.top
        while len(shown) < self.height and self.lines.reach(line):
            drawn = self._draw(line)
            needed = self.height - len(shown)
            shown += [ViewRow(strip, line, inside + at) for at, strip in enumerate(drawn[inside : inside + needed])]
            line, inside = line + 1, 0
        return shown

    def marks(self, row: ViewRow, search: Search) -> list[tuple[int, int]]:
        """The cells of a row that belong to matches."""
        if self._marks[0] is not search:
            self._marks = (search, {})
        spans = self._marks[1].get(row.line)
        if spans is None:
            if len(self._marks[1]) > _KEPT:
                self._marks[1].clear()
            spans = self._marks[1][row.line] = search.spans(self._draw(row.line))
        return spans[row.inside]

    # Moving

    def scroll(self, rows: int) -> None:
        """Move down (or, negative, up) by so many rows, not beyond the ends."""
        line, inside = self.top
        if not self.wraps:
            line, inside = max(0, line + rows), 0
        else:
            inside += rows
            while inside < 0 and line > 0:
                line -= 1
                inside += self._height_of(line)
            inside = max(0, inside)
            while self.lines.reach(line) and inside >= (height := self._height_of(line)):
                line, inside = line + 1, inside - height
        self.lines.reach(line + self.height)
        self.top = min((line, inside), self._last_top())

    def to(self, line: int) -> None:
        """Bring a line into the window, where it is not, with some of what is above it."""
        if not any(row.line == line for row in self.rows()[: max(1, self.height - 1)]):
            self.top = (line, 0)
            self.scroll(-(self.height // 3))

    def to_start(self) -> None:
        """The first row."""
        self.top, self.shift = (0, 0), 0
        self.redraw()

    def to_end(self) -> None:
        """The last rows; all lines must have been counted."""
        self.top = self._last_top()

    def sideways(self, step: int) -> None:
        """Half a window to the right or left, as far as there is text in it."""
        if self.wraps:
            return
        widest = max((self._width_of(row.line) for row in self.rows()), default=0)
        self.shift = max(0, min(self.shift + step * max(4, self.room // 2), widest - self.room))
        self.redraw()

    def thumb(self) -> range:
        """Rows that the scroll bar's thumb covers, as the share of the bytes that is shown."""
        rows = self.rows()
        size = self.lines.size
        if not rows or (rows[-1].line == self.lines.count - 1 and self.top == (0, 0)):
            return range(0)
        above = self.lines.start(rows[0].line) / size
        shown = (self.lines.start(rows[-1].line) - self.lines.start(rows[0].line)) / size
        length = max(1, round(self.height * shown))
        start = min(self.height - length, round(self.height * above))
        return range(start, start + length)

    def to_share(self, share: float) -> None:
        """Where so much of the text is above, as far as it has been counted."""
        self.top = (self.lines.at(round(share * self.lines.size)), 0)
        self.scroll(0)

    # Copying

    def selected_text(self, selection: Selection) -> str:
        """The selected text as it was before it was broken into rows, without line numbers; a part of much."""
        start = selection.start or Offset(0, 0)
        end = selection.end or Offset(0, self.lines.count << ROW_BITS)
        parts: list[str] = []
        size = 0
        for line in range(start.y >> ROW_BITS, min(end.y >> ROW_BITS, self.lines.count - 1) + 1):
            for inside, row in enumerate(self._draw(line)):
                span = selection.get_span(line << ROW_BITS | inside)
                if span is None:
                    continue
                left, right = max(row.lead, span[0]), row.reach if span[1] < 0 else min(span[1], row.reach)
                parts += [row.joint if parts else "", row.crop(left, max(left, right)).text]
                size += len(parts[-1]) + 1
            if size > MOST_COPIED:
                break
        return "".join(parts)

    def line_text(self, line: int) -> str:
        """A line as it is shown, without colours."""
        return "".join(text for text, _ in self.lines.styled_line(line))

    # Inside

    def _last_top(self) -> tuple[int, int]:
        line, rows = self.lines.count, 0
        while line > 0 and rows < self.height:
            line -= 1
            rows += self._height_of(line)
        return line, max(0, rows - self.height)

    def _height_of(self, line: int) -> int:
        return len(self._draw(line)) if self.wraps and self.lines.reach(line) else 1

    def _width_of(self, line: int) -> int:
        return cell_len(self.line_text(line))

    def _draw(self, line: int) -> list[RowStrip]:
        drawn = self._drawn.get(line)
        if drawn is None:
            if len(self._drawn) > _KEPT:
                self._drawn.clear()
            drawn = self._drawn[line] = self._rows_of(line)
        return drawn

    def _rows_of(self, line: int) -> list[RowStrip]:
        ink = self.ink
        runs: list[TextRun] = [(text, ink.sgr(sgr, ink.console)) for text, sgr in self.lines.styled_line(line)]
        number = self.lines.number(line)
        if self.wraps:
            broken = fold_runs(runs, self.room)
        else:
            # More than can be seen, whatever the width of the letters.
            broken = [window(_first(runs, 4 * (self.shift + self.room)), self.shift, self.room)]
        strips = []
        for inside, content in enumerate(broken):
            goes_on = inside > 0 or number is None
            label = "↪" if goes_on else str(number if self.numbered else "")
            strips.append(self._strip(content, label, "" if goes_on else "\n", ink.console))
        return strips

    def _strip(self, content: Line, label: str, joint: str, base: Style) -> RowStrip:
        lead, width = self.lead, cells(content)
        reach = min(lead + width, self.width)
        if isinstance(content, Continuation):
            joint = content.joint
        segments = [Segment(f"{label:>{lead - 1}} ", self.ink.console_dim), *content]
        segments.append(Segment(" " * max(0, self.width - lead - width), base))
        begun = bool(self.shift and content)
        more = len(content) > 1 and content[-1].text == "›"
        return RowStrip(segments, max(self.width, lead + width), joint, min(lead + begun, reach), reach - more)


def _first(runs: Sequence[TextRun], count: int) -> list[TextRun]:
    """The runs as far as to so many characters."""
    kept: list[TextRun] = []
    for text, style in runs:
        if count <= 0:
            break
        kept.append((text[:count], style))
        count -= len(text)
    return kept
