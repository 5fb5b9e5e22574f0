"""A table with a cursor: as much of it as the kernel sent, filled in while it is looked at already."""

import asyncio
import csv
import io
from collections.abc import Iterator
from typing import ClassVar

from rich.cells import cell_len
from rich.console import JustifyMethod
from rich.style import Style
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import DataTable

from oi_tui.app.engine.text.safe import safe_text
from oi_tui.themes.palette import Palette
from oi_tui.widgets.timeline.ink import Ink
from oi_tui.widgets.timeline.search import Search
from oi_tui.widgets.timeline.table_data import TableData
from oi_tui.widgets.viewer.line_index import Step

WIDEST = 48
"""Cells of a column; what is longer is seen by copying it."""

CELLS_AT_ONCE = 2_000
"""Cells that are put into the table before the keys get their turn."""


class TablePane(DataTable[Text]):
    """Rows and columns; the keys of a table, and what the viewer asks of what it shows."""

    DEFAULT_CSS = """
    TablePane { height: 1fr; background: $surface-console; scrollbar-size: 1 1; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "cursor_up", "Up", id="viewer.up", show=False),
        Binding("down,j", "cursor_down", "Down", id="viewer.down", show=False),
        Binding("pageup,b", "page_up", "Page up", id="viewer.page_up", show=False),
        Binding("pagedown,f", "page_down", "Page down", id="viewer.page_down", show=False),
        Binding("left,h", "cursor_left", "Left", id="table.left", show=False),
        Binding("right,l", "cursor_right", "Right", id="table.right", show=False),
        Binding("home", "scroll_home", "First column", id="table.first", show=False),
        Binding("end", "scroll_end", "Last column", id="table.last", show=False),
        Binding("ctrl+home,g", "scroll_top", "First row", id="table.start", show=False),
        Binding("ctrl+end,G", "scroll_bottom", "Last row", id="table.end", show=False),
    ]

    class Moved(Message):
        """The cursor is somewhere else."""

    def __init__(self, table: TableData, palette: Palette, *, id: str | None = None) -> None:
        super().__init__(id=id, fixed_columns=table.index, cursor_type="cell", zebra_stripes=False)
        self._table = table
        self._dim = Ink(palette).console_dim
        self._gap = table.head if table.hidden_rows > 0 else None

    async def on_mount(self) -> None:
        """The columns, the first rows, and the others while the program is idle."""
        typed = any(column.kind for column in self._table.columns)
        self.header_height = 2 if typed else 1
        for number, column in enumerate(self._table.columns):
            label = Text(safe_text(column.name), justify="right" if column.is_number else "left")
            if typed:
                label.append(f"\n{column.kind}", Style(color=self._dim.color))
            cells = [row[number] for row in self._table.rows]
            width = max([cell_len(column.name), cell_len(column.kind), *map(cell_len, cells)])
            self.add_column(label, width=max(1, min(width, WIDEST)))
        self.run_worker(self._fill(), name="fill table")

    async def _fill(self) -> None:
        at_once = max(1, CELLS_AT_ONCE // max(1, len(self._table.columns)))
        for number, row in enumerate(self._table.rows):
            if number == self._gap:
                self.add_row(*(Text("…", self._dim) for _ in row))
            self.add_row(*self._styled_cells(row))
            if number % at_once == at_once - 1:
                await asyncio.sleep(0)
        if self._gap == len(self._table.rows):
            self.add_row(*(Text("…", self._dim) for _ in self._table.columns))

    def _styled_cells(self, row: tuple[str, ...]) -> Iterator[Text]:
        for cell, column in zip(row, self._table.columns, strict=True):
            side: JustifyMethod = "right" if column.is_number else "left"
            yield Text(safe_text(cell), justify=side, no_wrap=True, overflow="ellipsis")

    # What the screen asks

    @property
    def position(self) -> str:
        """The row and column of the cursor."""
        table = self._table
        if not table.rows:
            return "no rows"
        row = self._row_of(self.cursor_row)
        if row is None:
            return f"{table.hidden_rows:,} rows are not here"
        number = row if row < table.head else row + table.hidden_rows
        return f"row {number + 1:,} of {table.total_rows:,} · {table.columns[self.cursor_column].name}"

    def text_to_copy(self) -> tuple[str, str] | None:
        """The cell under the cursor."""
        row = self._row_of(self.cursor_row)
        if row is None or not 0 <= row < len(self._table.rows):
            return None
        return self._table.rows[row][self.cursor_column], "the cell"

    def find(self, search: Search, step: int) -> Iterator[Step]:
        """The next cell with a match, row by row; around the end."""
        table = self._table
        width = len(table.columns)
        here = (self._row_of(self.cursor_row) or 0) * width + self.cursor_column
        count = len(table.rows) * width
        for distance in range(1, count + 1):
            place = (here + step * distance) % count
            if search.count(table.rows[place // width][place % width]):
                yield Step(distance / count, place)
            elif distance % CELLS_AT_ONCE == 0:
                yield Step(distance / count)

    def mark(self, search: Search | None, line: int | None = None) -> None:
        """Go to the cell with this number."""
        if line is not None:
            row, column = divmod(line, len(self._table.columns))
            self.move_cursor(row=row + (self._gap is not None and row >= self._gap), column=column)

    def on_data_table_cell_highlighted(self, event: DataTable.CellHighlighted) -> None:
        """The position is another."""
        event.stop()
        self.post_message(self.Moved())

    def _row_of(self, shown: int) -> int | None:
        """The row of the table in a row of the screen; None for the gap."""
        if self._gap is None or shown < self._gap:
            return shown
        return None if shown == self._gap else shown - 1


def as_csv(table: TableData) -> str:
    """The rows that are here as comma-separated values, with their names."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([column.name for column in table.columns])
    writer.writerows(table.rows)
    return file.getvalue()
