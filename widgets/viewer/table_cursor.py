"""The cursor of a table, and the cells that are selected with it. Knows no widget."""

from oi_tui.widgets.viewer.table_grid import TableGrid
from oi_tui.widgets.viewer.table_view import SelectedCells


class TableCursor:
    """One cell of a grid, and the cell in which a selection began."""

    def __init__(self, grid: TableGrid) -> None:
        self.row = 0
        self.column = 0 if grid.width else -grid.levels
        """Its number."""
        self._anchor: tuple[int, int] | None = None

    def to(self, grid: TableGrid, row: int, column: int | None = None) -> None:
        """Move to a cell, or the nearest one that exists."""
        self.row = max(0, min(row, grid.matching - 1))
        shown = grid.shown_columns
        self.column = self.column if column is None else column
        if self.column >= 0 and self.column not in shown and shown:
            self.column = min(shown, key=lambda at: abs(at - self.column))

    def move(self, grid: TableGrid, rows: int, columns: int) -> None:
        """So many rows and columns further."""
        places = grid.order
        here = places.index(self.column) if self.column in places else 0
        column = places[max(0, min(here + columns, len(places) - 1))] if places else self.column
        self.to(grid, self.row + rows, column)

    def extend(self, grid: TableGrid, rows: int, columns: int) -> None:
        """Select up to a cell further."""
        self._anchor = self._anchor or (self.row, self.column)
        self.move(grid, rows, columns)

    def anchor(self) -> None:
        """Select from here on; the second time no longer."""
        self._anchor = (self.row, self.column) if self._anchor is None else None

    def drop_selection(self) -> None:
        self._anchor = None

    def select_all(self, grid: TableGrid) -> None:
        """Select from the first cell to the last."""
        if grid.order and grid.matching:
            self._anchor = (0, grid.order[0])
            self.to(grid, grid.matching - 1, grid.order[-1])

    def selection(self, grid: TableGrid) -> SelectedCells | None:
        """The selected cells, None if there are none."""
        if self._anchor is None:
            return None
        first, last = sorted((self._anchor[0], self.row))
        ends = sorted(grid.order.index(at) for at in (self._anchor[1], self.column) if at in grid.order) or [0]
        return SelectedCells(range(first, last + 1), frozenset(grid.order[ends[0] : ends[-1] + 1]))
