"""Reads a table a window at a time, and knows what to say when it has changed or is gone. No widget."""

from collections.abc import AsyncIterator, Callable, Sequence

from oi_tui.app.engine.core.variable import ColumnFigures, FrameCondition, FramePage
from oi_tui.app.engine.text.words import quantity
from oi_tui.widgets.timeline.search import Search
from oi_tui.widgets.timeline.table_data import TableData
from oi_tui.widgets.viewer.line_index import Step
from oi_tui.widgets.viewer.table_grid import CHUNK_COLUMNS, CHUNK_ROWS, TableGrid
from oi_tui.widgets.viewer.table_source import LoadedTable, NoRows, RowsGone, TableSource

SEARCHED_ROWS = 500
"""Rows that are searched at once."""

CHANGED = "The table has changed since: r reads it again."
CHANGED_BEFORE = "It has changed since it was shown: this is how it is now."

TableWindow = tuple[range, Sequence[int]]
"""Rows and columns that are looked at."""


class TablePager:
    """One table: where it is read from, and what was read of it."""

    def __init__(self, table: TableData, source: TableSource | None, ref: str) -> None:
        """`source` has all rows of the table under the name `ref`; without one there is what has arrived."""
        self._table = table
        self._loaded = LoadedTable(table)
        self.source: TableSource = source or self._loaded
        self.ref = ref
        self.grid = TableGrid(table)
        self.note = ""
        """The note about the table, as a sentence."""
        self.is_frozen = False
        """No more rows can be loaded: the table was changed, or is gone."""

    @property
    def gap(self) -> int | None:
        """Number of the row that marks rows that are not loaded."""
        is_ordered = self.grid.sort is not None or self.grid.where
        return self._loaded.gap if self.source is self._loaded and not is_ordered else None

    def describe_row(self, row: int) -> str:
        """The place of a row, in words."""
        grid, number, total, gap = self.grid, row + 1, self.grid.matching, self.gap
        if gap is not None:
            hidden = self._table.hidden_rows
            if row == gap:
                return f"{hidden:,} rows are not here"
            number, total = (number if row < gap else row + hidden), grid.total
        of = f" ({grid.total:,} in all)" if total != grid.total else ""
        return f"row {number:,} of {total:,}{of}"

    @property
    def left_out(self) -> str:
        """What a file with all rows lacks, as a sentence; "" for nothing."""
        hidden = self._table.hidden_rows if self.source is self._loaded else 0
        return f" {quantity(hidden, 'row')} of the whole are not in it." if hidden > 0 else ""

    async def open(self) -> None:
        """The first rows are there; whether they are still so is asked."""
        grid = self.grid
        numbers = tuple(range(min(CHUNK_COLUMNS, grid.width)))
        try:
            page = await self.source.read(grid.question(self.ref, count=CHUNK_ROWS, columns=numbers))
            if self.source is not self._loaded and grid.differs(page):
                self.note = CHANGED_BEFORE
                grid.forget()
            grid.take(page)
        except RowsGone as error:
            self._fall_back(str(error))
            self.grid.take(await self.source.read(self.grid.question(count=CHUNK_ROWS, columns=numbers)))
        except NoRows as error:
            self.note = str(error)

    def lacks(self, window: TableWindow) -> bool:
        """Whether something of a window can be read."""
        return not self.is_frozen and self.grid.next_question(*window) is not None

    async def load(self, window: Callable[[], TableWindow], tell: Callable[[], None]) -> bool:
        """Read what is missing in the window, wherever that is by now; `tell` is called after each part.

        Returns whether there is more to read: another order could not be had and the one before is wanted again."""
        try:
            while (wanted := self.grid.next_question(*window(), self.ref)) is not None:
                page = await self.source.read(wanted)
                if wanted != self.grid.next_question(*window(), self.ref) and self._order_of(wanted) != self._order:
                    continue  # another order was wanted meanwhile
                if self.grid.mark and page.mark != self.grid.mark:
                    self.note, self.is_frozen = CHANGED, True
                    break
                if not page.cells and page.matching > wanted.first:
                    raise NoRows("The table cannot be read any further.")
                self.grid.take(page)
                tell()
        except RowsGone as error:
            self.note, self.is_frozen = f"{error} What was loaded is still here.", True
        except NoRows as error:
            self.note = str(error)
            return self.grid.take_back()
        return False

    def sort(self, at: int) -> None:
        """Sort by this column, reversed, or in the original order."""
        self._thaw()
        self.grid.reorder(*self.grid.next_order(at), self.grid.where)

    def filter(self, conditions: tuple[FrameCondition, ...]) -> None:
        """Only rows of which all of these hold."""
        self._thaw()
        self.grid.reorder(self.grid.sort, self.grid.descending, conditions)

    def renew(self) -> None:
        """Load the present table again."""
        self._thaw()
        self.grid.mark = ""
        self.grid.reorder(self.grid.sort, self.grid.descending, self.grid.where)

    def _thaw(self) -> None:
        """What was loaded is no longer enough: the table as it is now, or if it is gone, what came with the result."""
        if self.is_frozen and self.note != CHANGED:
            self._fall_back("Of the rows that came with the result:")
        elif self.is_frozen:
            self.is_frozen, self.grid.mark, self.note = False, "", ""
        else:
            self.note = ""

    async def figures(self, column: int) -> ColumnFigures:
        """About a column; `NoRows` where they cannot be had."""
        return await self.source.figures(self.grid.question(self.ref, figures=column))

    async def find(self, search: Search, step: int, row: int, column: int) -> AsyncIterator[Step]:
        """The next cell with a match, row by row; around the end."""
        columns = self.grid.order
        here = row * len(columns) + (columns.index(column) if column in columns else 0)
        starts = range(0, self.grid.matching, SEARCHED_ROWS)
        numbers = tuple(at for at in columns if at >= 0)
        for number in range(len(starts) + 1 if starts else 0):
            start = starts[(row // SEARCHED_ROWS + number * step) % len(starts)]
            question = self.grid.question(self.ref, first=start, count=SEARCHED_ROWS, columns=numbers)
            places = _places(await self.source.read(question), columns, search)
            if number == 0:
                places = [place for place in places if (place - here) * step > 0]
            elif number == len(starts):
                places = [place for place in places if (place - here) * step <= 0]
            if places:
                yield Step(1.0, min(places) if step > 0 else max(places))
                return
            yield Step((number + 1) / (len(starts) + 1))

    @property
    def _order(self) -> tuple[int | None, bool, tuple[FrameCondition, ...]]:
        return self.grid.sort, self.grid.descending, self.grid.where

    @staticmethod
    def _order_of(question: object) -> tuple[object, ...]:
        return tuple(getattr(question, name) for name in ("sort", "descending", "where"))

    def _fall_back(self, why: str) -> None:
        """Show only the rows that came with the result."""
        self.source, self.is_frozen, self.ref = self._loaded, False, ""
        self.note = why
        hidden, self.grid = self.grid.hidden, TableGrid(self._table)
        self.grid.hidden = hidden


def _places(page: FramePage, columns: Sequence[int], search: Search) -> list[int]:
    """Cells with a match, by their numbers in the whole table."""
    order = {column.number: place for place, column in enumerate(page.columns)}
    return [
        (page.first + offset) * len(columns) + place
        for offset, cells in enumerate(page.cells)
        for place, at in enumerate(columns)
        if at in order and search.count(cells[order[at]])
    ]
