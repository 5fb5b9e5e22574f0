"""The output streams of code, as rows.

Long output shows its head and its tail; the rest is a key away. stderr has a tinted background and a heavier mark, so
it differs without colour too.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from oi_tui.app.engine.core.outputs import StreamOutput, Tail, WholeOutput
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.widgets.rows.row import RowStrip
from oi_tui.widgets.timeline.row_pieces import BlockDisplay, BlockKeys, Canvas, FoldState, RowPiece, Rows, rows
from oi_tui.widgets.timeline.terminal import TerminalText
from oi_tui.widgets.timeline.terminal_row import TextLine
from oi_tui.widgets.timeline.text_lines import Brush, LineRows, TextLines
from oi_tui.widgets.timeline.wrap import cells, crop

HEAD_LINES = 10
TAIL_LINES = 10
"""Lines of a long output that are shown at once."""

SHORT_LINES = HEAD_LINES + TAIL_LINES + 3
"""Lines of an output that is shown whole: to hide fewer than four is not worth the line that says so."""

LINE_CHARACTERS = 2_000
"""Characters of a line that are shown at once."""

MOST_LINES = 5_000
"""Lines drawn of an opened output; more than a person reads in one go."""

OPEN_TAIL = 500
"""Of those, lines of the end of an output that is not here as a whole."""

LONGEST_OPEN_LINE = 20_000
"""Characters of a line that are shown of an opened output."""

BUDGET = 2_000
"""Units of about a microsecond that one output may spend on new text in a frame; the next frame continues."""

MEASURED_LINES = 500
"""Lines of an opened output that one frame may measure."""


class Extent(NamedTuple):
    """The visible part of a stream: this many lines from its start and from its end, and the gap."""

    first: int
    last: int
    lines: int
    """Not shown."""
    characters: int = 0
    """Not shown, of those that are not here."""


class ConsoleStream:
    """stdout or stderr: all that is here of it, or its beginning and its newest end."""

    beyond = 0
    """Whether long lines wrap."""

    def __init__(self, output: StreamOutput, whole: WholeOutput | None = None) -> None:
        self._error = output.name == "stderr"
        self._head = TerminalText()
        self._tail = TerminalText()
        self._gap: Tail | None = None
        self._whole = whole
        self._drawn_for: tuple[Canvas, FoldState] | None = None
        self._lines: tuple[TextLines, TextLines] | None = None
        self._gap_row: tuple[str, RowStrip] | None = None
        self._opening = False
        """Whether more lines are visible than are measured yet."""
        self.update(output, whole)

    def update(self, output: StreamOutput, whole: WholeOutput | None = None) -> None:
        """A newer version of the output; `whole` is the file with all of it."""
        tail, self._whole = output.tail, whole
        if tail is not None and tail.left_out_characters:
            text, end, self._gap = output.text, tail.text, tail
        else:
            text, end, self._gap = output.text + (tail.text if tail is not None else ""), "", None
        changes = self._head.update(text, BUDGET), self._tail.update(end, BUDGET)
        self._redraw(changes)

    @property
    def line_count(self) -> int:
        """Lines that the program wrote."""
        if self._gap is None:
            return self._head.count
        return self._head.count + self._gap.left_out_lines + self._tail.count

    @property
    def has_more(self) -> bool:
        """Whether lines are hidden until asked for."""
        return (
            self._gap is not None
            or self.line_count > SHORT_LINES
            or max(self._head.widest, self._tail.widest) > LINE_CHARACTERS
        )

    @property
    def behind(self) -> bool:
        """Whether the next layout must continue reading."""
        return self._head.behind or self._tail.behind or self._opening

    def pieces(self, canvas: Canvas, display: BlockDisplay) -> list[RowPiece]:
        """The lines, or the first and last of them."""
        fold = display.fold
        if self._head.behind or self._tail.behind:
            self._redraw((self._head.advance(BUDGET), self._tail.advance(BUDGET)))
        brush = Brush(canvas, error=self._error)
        if self._lines is None or self._drawn_for != (canvas, fold):
            limit = LONGEST_OPEN_LINE if fold == "open" else LINE_CHARACTERS
            self._drawn_for, self._gap_row = (canvas, fold), None
            self._lines = TextLines(self._head, brush, limit), TextLines(self._tail, brush, limit)
        head, end = self._lines
        extent = self._extent(fold)
        ready = head.measured_count + MEASURED_LINES
        self._opening = extent.first > ready
        if self._opening:
            extent = extent._replace(first=ready, lines=extent.lines + extent.first - ready)
        if self._gap is None:
            end = head
        pieces: list[RowPiece] = [LineRows(head, 0, extent.first)]
        if extent.lines or extent.characters:
            pieces.append(Rows([self._gap_strip(cut_note(extent, fold, self._whole, canvas.keys), brush)]))
        return [*pieces, LineRows(end, end.text.count - extent.last, end.text.count)]

    def _extent(self, fold: FoldState) -> Extent:
        count = self._head.count
        if self._gap is None:
            most, end = (MOST_LINES, TAIL_LINES) if fold == "open" else (SHORT_LINES, TAIL_LINES)
            if count <= most:
                return Extent(count, 0, 0)
            first = MOST_LINES - TAIL_LINES if fold == "open" else HEAD_LINES
            return Extent(first, end, count - first - end)
        first = min(count, MOST_LINES - OPEN_TAIL if fold == "open" else HEAD_LINES)
        last = min(self._tail.count, OPEN_TAIL if fold == "open" else TAIL_LINES)
        hidden = self.line_count - first - last
        return Extent(first, last, hidden, self._gap.left_out_characters)

    def _gap_strip(self, text: str, brush: Brush) -> RowStrip:
        if self._gap_row is None or self._gap_row[0] != text:
            canvas = brush.canvas
            line = crop([(text, brush.dim)], canvas.room)
            strip = canvas.strip(line, brush.base, brush.mark, brush.mark_style, lead=cells(line))
            self._gap_row = text, strip
        return self._gap_row[1]

    def _redraw(self, changes: tuple[int, int]) -> None:
        for lines, first in zip(self._lines or (), changes, strict=False):
            lines.invalidate(first)


def cut_note(extent: Extent, fold: FoldState, whole: WholeOutput | None, keys: BlockKeys) -> str:
    """The note instead of the lines that are not drawn, and the key that shows them."""
    count = f"{extent.lines:,} more lines" if extent.lines else f"{extent.characters:,} more characters"
    if fold != "open":
        return f"… {count}{keys.to_show}"
    if whole is None:
        return f"… {count} · {keys.shows_all}" if not extent.characters else f"… {count} were not kept"
    if not whole.path:
        return f"… {count} were not kept: {safe_text(whole.missing)}"
    missing = f" · {safe_text(whole.missing)}" if whole.missing else ""
    return f"… {count} in the file · {keys.shows_all}{missing}"


def shown_lines(count: int, fold: FoldState) -> Iterable[int | None]:
    """Numbers of the lines to draw; None where lines are left out."""
    if fold == "open" and count > MOST_LINES:
        return [*range(MOST_LINES - TAIL_LINES), None, *range(count - TAIL_LINES, count)]
    if fold == "open" or count <= SHORT_LINES:
        return range(count)
    return [*range(HEAD_LINES), None, *range(count - TAIL_LINES, count)]


def fold_note(count: int, fold: FoldState, keys: BlockKeys) -> str:
    """The note instead of omitted lines."""
    if fold == "open":
        return f"… {count + HEAD_LINES + TAIL_LINES - MOST_LINES:,} more lines are left out here"
    return f"… {count:,} more lines{keys.to_show}"


def note(canvas: Canvas, text: str) -> Rows:
    """A dim remark of ours in the console."""
    line = crop([(safe_text(text), canvas.ink.console_dim)], canvas.room)
    return rows(canvas, [line], canvas.ink.console, "│", canvas.ink.console_faint)


def terminal_lines(text: str) -> Sequence[TextLine]:
    """The lines that a terminal would show of a finished text."""
    terminal = TerminalText()
    terminal.update(text)
    return terminal.all_lines()
