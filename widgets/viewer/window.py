"""Which rows of a text are on the screen, and what they look like. Knows no widget.

The place is a line and a row inside it: how many rows there are above is known to nobody, since only what is looked
at is ever wrapped.
"""

from collections.abc import Callable, Sequence

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.selection import Selection

from oi_tui.widgets.rows.row import RowStrip, ViewRow
from oi_tui.widgets.rows.selection import selected_text
from oi_tui.widgets.rows.window import RowWindow
from oi_tui.widgets.timeline.ink import Ink
from oi_tui.widgets.timeline.search import Search
from oi_tui.widgets.timeline.wrap import Continuation, Line, TextRun, cells, window, wrap
from oi_tui.widgets.viewer.line_index import LineIndex

MOST_COPIED = 1_000_000
"""Characters that go to the clipboard at once, at most."""

_KEPT = 400
_DIGITS = 3


class TextWindow(RowWindow):
    """A window of a size over lines."""

    def __init__(self, lines: LineIndex, ink: Ink) -> None:
        super().__init__()
        self.lines = lines
        self.ink = ink
        self.width = 0
        """Cells of a row."""
        self.wraps = self.numbered = False
        self.shift = 0
        """Cells that lines are moved to the left."""
        self._drawn: dict[int, list[RowStrip]] = {}
        self._digits = _DIGITS
        self._marks: tuple[Search | None, dict[int, list[list[tuple[int, int]]]]] = (None, {})

    @property
    def count(self) -> int:
        """Number of lines counted so far."""
        return self.lines.count

    def height_of(self, item: int) -> int:
        """Rows of a line."""
        return len(self._draw(item)) if self.wraps and self.lines.reach(item) else 1

    def reaches(self, item: int) -> bool:
        """Whether there is such a line."""
        return self.lines.reach(item)

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
        self.top = (self.top[0], min(self.top[1], self.height_of(self.top[0]) - 1) if self.wraps else 0)
        self.scroll(0)

    def redraw(self) -> None:
        """Drop the drawn rows."""
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
        spans = self._marks[1].get(row.item)
        if spans is None:
            if len(self._marks[1]) > _KEPT:
                self._marks[1].clear()
            spans = self._marks[1][row.item] = search.spans(self._draw(row.item))
        return spans[row.inside]

    # Moving

    def to(self, line: int) -> None:
        """Bring a line into the window, where it is not, with some of what is above it."""
        if not any(row.item == line for row in self.rows()[: max(1, self.height - 1)]):
            self.top = (line, 0)
            self.scroll(-(self.height // 3))

    def to_start(self) -> None:
        self.top, self.shift = (0, 0), 0
        self.redraw()

    def sideways(self, step: int) -> None:
        """Half a window to the right or left, as far as there is text in it."""
        if self.wraps:
            return
        widest = max((self._width_of(row.item) for row in self.rows()), default=0)
        self.shift = max(0, min(self.shift + step * max(4, self.room // 2), widest - self.room))
        self.redraw()

    def thumb(self) -> range:
        """Rows that the scroll bar's thumb covers, as the share of the bytes that is shown."""
        rows = self.rows()
        size = self.lines.size
        if not rows or (rows[-1].item == self.lines.count - 1 and self.top == (0, 0)):
            return range(0)
        above = self.lines.start(rows[0].item) / size
        shown = (self.lines.start(rows[-1].item) - self.lines.start(rows[0].item)) / size
        length = max(1, round(self.height * shown))
        start = min(self.height - length, round(self.height * above))
        return range(start, start + length)

    def to_share(self, share: float) -> None:
        """Where so much of the text is above, as far as it has been counted."""
        self.top = (self.lines.at(round(share * self.lines.size)), 0)
        self.scroll(0)

    # Copying

    def selected_text(self, selection: Selection) -> str:
        """The selected text from before it was wrapped, without line numbers; a long one is truncated."""

        def rows_of(line: int) -> tuple[int, Callable[[int], RowStrip]]:
            drawn = self._draw(line)
            return len(drawn), drawn.__getitem__

        return selected_text(selection, self.lines.count, rows_of, most=MOST_COPIED)

    def line_text(self, line: int) -> str:
        """A line as shown, without colours."""
        return "".join(text for text, _ in self.lines.styled_line(line))

    # Inside

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
            broken = wrap(runs, self.room)
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
    """The runs up to this many characters."""
    kept: list[TextRun] = []
    for text, style in runs:
        if count <= 0:
            break
        kept.append((text[:count], style))
        count -= len(text)
    return kept
