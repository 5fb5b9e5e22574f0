"""What is known of a table that is looked at: the parts that were loaded, and what is to be loaded next. No widget."""

from collections.abc import Iterable, Sequence

import msgspec
from rich.cells import cell_len

from oi_tui.app.engine.core.variable import FrameColumn, FrameCondition, FramePage, FrameQuestion
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.widgets.timeline.table_data import TableData

CHUNK_ROWS, CHUNK_COLUMNS = 100, 20
"""Rows and columns that are loaded at once."""

KEPT_CHUNKS = 200
"""Parts that are kept; those that were looked at longest ago go."""

WIDEST_CELL = 48
"""Cells of the screen that a column has; what is longer is seen by copying it."""

UNSEEN_WIDTH = 10
"""Of a column that was not loaded yet."""

_OWN_WORDS = ("object", "list", "struct", "array", "map")
"""Types whose values are described in other words where their own code must not run."""

_INDEX = -1
"""Number of the chunk that has the index."""

Row = tuple[str, ...]

_Chunks = dict[tuple[int, int], list[Row | None]]

_Loaded = tuple[int | None, bool, tuple[FrameCondition, ...], int, _Chunks]
"""An order, how many rows there are in it, and those that were loaded."""


class TableGrid:
    """The loaded parts of a table in one order."""

    def __init__(self, table: TableData) -> None:
        """`table` is what came with the result: both ends of it."""
        self.levels = table.index
        """Columns of the index; their numbers are below 0."""
        self.width = table.total_columns
        self.total = table.total_rows
        self.matching = table.total_rows
        self.columns: dict[int, FrameColumn] = {}
        """Those that are known, by number."""
        self.hidden: set[int] = set()
        self.sort: int | None = None
        self.descending = False
        self.where: tuple[FrameCondition, ...] = ()
        self.mark = ""
        """Of the frame when it was asked first; "" before."""
        self._before: _Loaded | None = None
        """The order before, and what was loaded in it, as long as nothing is in the newer one."""
        self._widths: dict[int, int] = {}
        self._chunks: _Chunks = {}
        self._describe(
            FrameColumn(number=at - table.index, name=name, kind=kind, is_number=is_number)
            for at, (name, kind, is_number) in enumerate(table.columns)
        )
        self._seed(table)

    # -- what is shown -------------------------------------------------------------------------------------------

    @property
    def index(self) -> range:
        """Numbers of the columns of the index."""
        return range(-self.levels, 0)

    @property
    def shown_columns(self) -> list[int]:
        """Numbers of the others that are not hidden."""
        return [at for at in range(self.width) if at not in self.hidden]

    @property
    def order(self) -> list[int]:
        """The columns in their order, those of the index first."""
        return [*self.index, *self.shown_columns]

    def cell(self, row: int, at: int) -> str | None:
        """The text of a cell, None if it is not loaded."""
        chunk = self._chunks.get((row // CHUNK_ROWS, _INDEX if at < 0 else at // CHUNK_COLUMNS))
        cells = chunk[row % CHUNK_ROWS] if chunk is not None and row % CHUNK_ROWS < len(chunk) else None
        if cells is None:
            return None
        return cells[at + self.levels if at < 0 else at % CHUNK_COLUMNS]

    def name(self, at: int) -> str:
        """The name of a column; its number while it is not known."""
        column = self.columns.get(at)
        return safe_text(column.name) if column is not None else f"column {at + 1:,}"

    def cells_of(self, at: int) -> int:
        """How wide a column is: as what was seen of it."""
        return self._widths.get(at, UNSEEN_WIDTH)

    # -- what is loaded ------------------------------------------------------------------------------------------

    def question(self, ref: str = "", **window: object) -> FrameQuestion:
        """A question about the table in this order."""
        asked = FrameQuestion(ref=ref, sort=self.sort, descending=self.descending, where=self.where)
        return msgspec.structs.replace(asked, **window)

    def next_question(self, rows: range, columns: Sequence[int], ref: str = "") -> FrameQuestion | None:
        """The part to load for a window; None if it is complete."""
        bands = range(rows.start // CHUNK_ROWS, -(-min(rows.stop, self.matching) // CHUNK_ROWS))
        wanted = dict.fromkeys(at // CHUNK_COLUMNS for at in columns if at >= 0) or {0: None}
        for band in bands:
            start, stop = band * CHUNK_ROWS, min(self.matching, (band + 1) * CHUNK_ROWS)
            for group in wanted:
                chunk = self._chunks.get((band, group if self.width else _INDEX), [])
                there = next((number for number, row in enumerate(chunk) if row is None), len(chunk))
                if start + there < stop:
                    numbers = range(group * CHUNK_COLUMNS, min(self.width, (group + 1) * CHUNK_COLUMNS))
                    return self.question(ref, first=start + there, count=stop - start - there, columns=tuple(numbers))
        return None

    def take(self, page: FramePage) -> None:
        """Keep a part that was loaded."""
        self.total, self.matching, self.width = page.rows, page.matching, page.width
        self.mark, self._before = page.mark, None
        self._describe(page.columns)
        numbers = [column.number for column in page.columns]
        levels = sum(number < 0 for number in numbers)
        if levels != self.levels:  # it has another index by now
            self.forget()
            self.levels = levels
        for offset, cells in enumerate(page.cells):
            row = page.first + offset
            self._put((row // CHUNK_ROWS, _INDEX), row % CHUNK_ROWS, cells[:levels])
            if numbers[levels:]:
                self._put((row // CHUNK_ROWS, numbers[levels] // CHUNK_COLUMNS), row % CHUNK_ROWS, cells[levels:])
        self._measure(numbers, page.cells)
        while len(self._chunks) > KEPT_CHUNKS:
            del self._chunks[next(iter(self._chunks))]

    def differs(self, page: FramePage) -> bool:
        """Whether what is loaded of the same rows says something else."""
        if (page.rows, page.width) != (self.total, self.width):
            return True
        for offset, cells in enumerate(page.cells):
            for column, cell in zip(page.columns, cells, strict=True):
                if column.kind.lower().startswith(_OWN_WORDS):
                    continue
                known = self.cell(page.first + offset, column.number)
                if known is not None and known != cell:
                    return True
        return False

    def forget(self) -> None:
        """What was loaded does not hold any more."""
        self._chunks.clear()

    def reorder(self, sort: int | None, descending: bool, where: tuple[FrameCondition, ...]) -> None:
        """Other rows, or in another order; what was loaded comes back with `take_back`, until the first of them are
        there."""
        if self._before is None:
            self._before = (self.sort, self.descending, self.where, self.matching, self._chunks)
        self.sort, self.descending, self.where = sort, descending, where
        self.matching, self._chunks = self.total, {}

    def take_back(self) -> bool:
        """The order before, if the newer one could not be had yet."""
        if self._before is None:
            return False
        self.sort, self.descending, self.where, self.matching, self._chunks = self._before
        self._before = None
        return True

    def next_order(self, at: int) -> tuple[int | None, bool]:
        """The order by this column; the second time reversed, the third time the original one."""
        if self.sort != at:
            return at, False
        return (None, False) if self.descending else (at, True)

    def _describe(self, columns: Iterable[FrameColumn]) -> None:
        for column in columns:
            if self.columns.get(column.number) != column:
                self.columns[column.number] = column
                kind = cell_len(safe_text(column.kind)) if column.number >= 0 or column.name else 0
                width = max(cell_len(safe_text(column.name)) + 2, kind)
                self._widths[column.number] = min(WIDEST_CELL, width)

    def _seed(self, table: TableData) -> None:
        numbers = [at - table.index for at in range(len(table.columns))]
        for row, cells in enumerate(table.rows[: table.head]):
            self._put((row // CHUNK_ROWS, _INDEX), row % CHUNK_ROWS, cells[: table.index])
            for start in range(table.index, len(cells), CHUNK_COLUMNS):
                group = cells[start : start + CHUNK_COLUMNS]
                if len(group) == min(CHUNK_COLUMNS, self.width - (start - table.index)):
                    self._put((row // CHUNK_ROWS, (start - table.index) // CHUNK_COLUMNS), row % CHUNK_ROWS, group)
        self._measure(numbers, table.rows)

    def _put(self, key: tuple[int, int], place: int, cells: Row) -> None:
        chunk = self._chunks.pop(key, [])
        chunk += [None] * (place + 1 - len(chunk))
        chunk[place] = cells
        self._chunks[key] = chunk

    def _measure(self, numbers: Sequence[int], rows: Iterable[Row]) -> None:
        for cells in rows:
            for at, cell in zip(numbers, cells, strict=True):
                if len(cell) > self._widths.get(at, 0) or not cell.isascii():
                    self._widths[at] = min(WIDEST_CELL, max(self._widths.get(at, 1), cell_len(cell)))
