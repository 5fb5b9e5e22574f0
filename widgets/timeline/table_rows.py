"""A table at the top level of an answer, as long as it likes: its rows are parsed once and drawn when seen."""

from bisect import bisect_right
from collections.abc import Sequence

from oi_tui.widgets.rows.row import RowStrip
from oi_tui.widgets.timeline.definitions import Definition, Definitions, ReferenceLookup
from oi_tui.widgets.timeline.grammar import outline_parser
from oi_tui.widgets.timeline.row_pieces import BlockDisplay, Canvas, RowPiece
from oi_tui.widgets.timeline.table_layout import Layout, Needs, TableCells, lay_out_table, needs_of, rows_of, runs_of
from oi_tui.widgets.timeline.wrap import window

MOST_DRAWN = 500
"""Rows of a table that are kept drawn."""


class MarkdownTable:
    """A table that may still grow."""

    has_code = False

    def __init__(self, head: Sequence[str]) -> None:
        self._head = list(head)
        self._lines: list[str] = []
        self._unfinished = ""
        self._has_unfinished = False
        self._asked = ReferenceLookup()
        self._known: dict[str, Definition | None] = {}
        self._drawn_for: tuple[Canvas, BlockDisplay] | None = None
        self._parsed = 0  # lines whose cells are in `_rows`
        self._rows: list[TableCells] = []
        self._aligned: list[str] = []
        self._needs: list[Needs] = []
        self._layout: Layout | None = None
        self._starts: list[int] = []
        self.height = 0
        """Number of rows on the screen."""
        self._drawn: dict[int, list[RowStrip]] = {}

    @property
    def open(self) -> set[str]:
        """Labels that it asked for and that may get another meaning."""
        return self._asked.open

    @property
    def beyond(self) -> int:
        """Cells by which it is too wide."""
        if self._layout is None or self._drawn_for is None:
            return 0
        return max(0, self._layout.width - self._drawn_for[0].room)

    def length(self, lines: Sequence[str]) -> int:
        """How many of the following lines belong to the table."""
        tokens = outline_parser().parse("\n".join((*self._head, *lines)))
        assert tokens[0].map is not None
        return tokens[0].map[1] - len(self._head)

    def take(self, lines: Sequence[str]) -> None:
        self._lines += lines

    def show(self, unfinished: str = "") -> None:
        """Let it show a last row that may still grow."""
        self._unfinished = unfinished

    def pieces(self, canvas: Canvas, display: BlockDisplay, definitions: Definitions) -> list[RowPiece]:
        if self._drawn_for is None or self._drawn_for[0] is not canvas or self._is_redefined(definitions):
            self._restart(definitions)
        elif self._drawn_for[1] != display:
            self._drawn.clear()
        self._drawn_for = canvas, display
        self._drop_unfinished()
        if not self._rows or self._parsed < len(self._lines):
            fresh = self._read(self._lines[self._parsed :], canvas)
            self._parsed = len(self._lines)
            self._needs = needs_of(fresh, self._needs or [Needs()] * len(self._aligned))
            self._rows += fresh
        needs = self._needs
        if self._unfinished:
            fresh = self._read([self._unfinished], canvas)
            needs = needs_of(fresh, needs)
            self._rows += fresh
            self._has_unfinished = True
        self._known = {label: definitions.get(label) for label in self._asked.open}
        self._lay_out(lay_out_table(needs, self._aligned, canvas.room, canvas.ink, slides=True))
        return [self]

    # As a piece

    def row(self, index: int) -> RowStrip:
        """The row at `index`."""
        number = bisect_right(self._starts, index) - 1
        drawn = self._drawn.get(number)
        if drawn is None:
            if len(self._drawn) > MOST_DRAWN:
                self._drawn.clear()
            drawn = self._drawn[number] = self._draw(number)
        return drawn[index - self._starts[number]]

    # Parsing and measuring

    def _restart(self, definitions: Definitions) -> None:
        """Forget all but the text."""
        self._asked = ReferenceLookup(definitions)
        self._parsed, self._rows, self._aligned, self._needs = 0, [], [], []
        self._has_unfinished = False
        self._layout = None

    def _is_redefined(self, definitions: Definitions) -> bool:
        return any(definitions.get(label) != known for label, known in self._known.items())

    def _read(self, lines: Sequence[str], canvas: Canvas) -> list[TableCells]:
        """Cells of these lines, behind the header if that was not read yet."""
        text = "\n".join((*self._head, *lines))
        tokens = canvas.markdown.parse(text, {"references": self._asked})
        rows, aligned = rows_of(tokens, canvas.ink, self._asked)
        if self._aligned:
            return rows[1:]
        self._aligned = aligned
        return rows

    def _drop_unfinished(self) -> None:
        if not self._has_unfinished:
            return
        self._has_unfinished = False
        self._rows.pop()
        if len(self._starts) > len(self._rows):
            self.height = self._starts.pop()
            self._drawn.pop(len(self._rows), None)

    def _lay_out(self, layout: Layout) -> None:
        if self._layout is None or layout.widths != self._layout.widths:
            self._layout = layout
            self._starts, self.height = [], 0
            self._drawn.clear()
        for row in self._rows[len(self._starts) :]:
            rule = not self._starts
            self._starts.append(self.height)
            self.height += layout.height(row) + rule

    def _draw(self, number: int) -> list[RowStrip]:
        assert self._layout is not None
        assert self._drawn_for is not None
        canvas, display = self._drawn_for
        lines = self._layout.row(self._rows[number])
        if number == 0:
            lines.append(self._layout.rule())
        if self.beyond:
            lines = [window(runs_of(line), display.shift, canvas.room) for line in lines]
        return [canvas.strip(line, canvas.ink.page) for line in lines]
