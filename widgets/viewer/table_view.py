"""A window of a table as rows of the screen: which columns fit, and what each row looks like. Knows no widget."""

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from oi_tui.app.engine.text.safe import safe_text
from oi_tui.themes.palette import Palette
from oi_tui.widgets.timeline.ink import Ink
from oi_tui.widgets.viewer.table_grid import TableGrid
from oi_tui.widgets.viewer.table_source import MISSING

BETWEEN = 2
"""Cells between two columns."""

NOT_LOADED = "·"

MORE = " ›"
"""At the end of the names: there are more columns."""


class PlacedColumn(NamedTuple):
    """A column that is on the screen."""

    number: int
    start: int
    """Its first cell."""
    width: int


class SelectedCells(NamedTuple):
    """A rectangle of cells."""

    rows: range
    columns: frozenset[int]


class TableView:
    """The window that a grid is seen through."""

    def __init__(self, grid: TableGrid, palette: Palette) -> None:
        self.grid = grid
        self.top = 0
        """First row below the header."""
        self.left = 0
        """How many columns are left of the window."""
        self.width = self.height = 0
        self.placed: list[PlacedColumn] = []
        self.moving: list[int] = []
        """Columns that move sideways, in their order."""
        self.fixed = 0
        """How many do not."""
        self._ink = Ink(palette)
        surface = palette.surfaces.surface
        self._head = Style(color=palette.inks.text, bgcolor=surface, bold=True)
        self._head_here = Style(color=palette.inks.accent, bgcolor=surface, bold=True)
        self._kind = Style(color=palette.inks.dim, bgcolor=surface)

    @property
    def header(self) -> int:
        """Rows of names and types."""
        return 2 if any(column.kind for column in self.grid.columns.values()) else 1

    @property
    def rows(self) -> range:
        """The rows of the table that are in the window."""
        return range(self.top, min(self.grid.matching, self.top + max(1, self.height - self.header)))

    def change(self, grid: TableGrid) -> None:
        """See another table from its start."""
        if grid is not self.grid:
            self.grid, self.top, self.left = grid, 0, 0

    def arrange(self) -> None:
        """Place the columns: labels of rows stay at the left, if they leave room for what they are the labels of."""
        grid = self.grid
        labels = sum(grid.cells_of(at) + BETWEEN for at in grid.index)
        fixed = list(grid.index) if labels <= self.width // 2 else []
        self.moving = [*(grid.index if not fixed else ()), *grid.shown_columns]
        self.left = max(0, min(self.left, len(self.moving) - 1))
        self.placed, start, self.fixed = [], 0, len(fixed)
        for at in (*fixed, *self.moving[self.left :]):
            width = grid.cells_of(at)
            if start + width > self.width - len(MORE) and len(self.placed) > len(fixed):
                break  # half a number would be another number
            self.placed.append(PlacedColumn(at, start, width))
            start += width + BETWEEN

    def scroll_to(self, row: int, column: int) -> None:
        """Bring a cell into the window."""
        seen = max(1, self.height - self.header)
        self.top = max(min(self.top, row), row - seen + 1, 0)
        self.top = max(0, min(self.top, self.grid.matching - 1))
        self.arrange()
        if column not in self.moving:
            return
        place = self.moving.index(column)
        if place < self.left:
            self.left = place
            self.arrange()
        while not self._is_whole(column) and self.left < place:
            self.left += 1
            self.arrange()

    def scroll(self, rows: int) -> None:
        """The window up or down, without the cursor."""
        seen = max(1, self.height - self.header)
        self.top = max(0, min(self.top + rows, self.grid.matching - seen))

    def to_share(self, share: float) -> None:
        """Where so much of the table is above."""
        self.top = 0
        self.scroll(round(share * self.grid.matching))

    def column_at(self, x: int) -> int | None:
        """The column at a cell of the screen."""
        return next((one.number for one in self.placed if one.start <= x < one.start + one.width + BETWEEN), None)

    def _is_whole(self, column: int) -> bool:
        found = next((one for one in self.placed if one.number == column), None)
        return found is not None and found.start + found.width <= self.width

    # -- rows ----------------------------------------------------------------------------------------------------

    def strip(self, y: int, cursor: tuple[int, int], selected: SelectedCells | None) -> Strip:
        """A row of the screen."""
        header = self.header
        if y < header:
            line = self._names(cursor[1]) if y == 0 else self._kinds()
            fill = self._kind
        else:
            row = self.top + y - header
            line = self._cells(row, cursor, selected) if row < self.grid.matching else []
            fill = self._ink.console
        strip = Strip(line).adjust_cell_length(self.width, fill)
        if y == 0 and self.left + len(self.placed) < len(self.moving) + self.fixed:
            strip = Strip([*strip.crop(0, self.width - len(MORE)), Segment(MORE, self._kind)])
        thumb = y - header in self._thumb()
        return Strip([*strip, Segment("▐" if thumb else " ", self._ink.thumb if thumb else self._ink.page)])

    def _thumb(self) -> range:
        seen, count = max(1, self.height - self.header), self.grid.matching
        if count <= seen:
            return range(0)
        length = max(1, round(seen * seen / count))
        start = round((seen - length) * self.top / max(1, count - seen))
        return range(start, start + length)

    def _names(self, here: int) -> list[Segment]:
        line: list[Segment] = []
        for one in self.placed:
            name = self.grid.name(one.number)
            if self.grid.sort == one.number:
                name = f"{fit(name, one.width - 2)} {'▼' if self.grid.descending else '▲'}"
            style = self._head_here if one.number == here else self._head
            line += self._piece(name, one, style, self._head)
        return line

    def _kinds(self) -> list[Segment]:
        known = self.grid.columns
        says = {number for number, column in known.items() if number >= 0 or column.name}
        texts = ((safe_text(known[one.number].kind) if one.number in says else "", one) for one in self.placed)
        return [segment for text, one in texts for segment in self._piece(text, one, self._kind, self._kind)]

    def _cells(self, row: int, cursor: tuple[int, int], selected: SelectedCells | None) -> list[Segment]:
        ink = self._ink
        line: list[Segment] = []
        for one in self.placed:
            text = self.grid.cell(row, one.number)
            style = ink.console_dim if one.number < 0 or text is None or text in MISSING else ink.console
            if (row, one.number) == cursor:
                style += Style(bgcolor=ink.selection.bgcolor, underline=True)
            elif selected is not None and row in selected.rows and one.number in selected.columns:
                style += ink.selection
            line += self._piece(NOT_LOADED if text is None else text, one, style, ink.console)
        return line

    def _piece(self, text: str, place: PlacedColumn, style: Style, gap: Style) -> Sequence[Segment]:
        column = self.grid.columns.get(place.number)
        text = fit(text, place.width)
        padding = " " * (place.width - cell_len(text))
        text = padding + text if column is not None and column.is_number else text + padding
        return Segment(text, style), Segment(" " * BETWEEN, gap)


def fit(text: str, width: int) -> str:
    """The text in this many cells at most."""
    if (len(text) <= width and text.isascii()) or cell_len(text) <= width:
        return text
    return set_cell_size(text, max(0, width - 1)).rstrip() + "…"
