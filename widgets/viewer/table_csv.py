"""Parts of a table as comma-separated values, read from where it is, a page at a time."""

import csv
import io
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import NamedTuple

from oi_tui.app.engine.text.words import quantity
from oi_tui.widgets.timeline.table_data import TableData
from oi_tui.widgets.viewer.table_cursor import TableCursor
from oi_tui.widgets.viewer.table_pager import TablePager
from oi_tui.widgets.viewer.table_source import NoRows

MOST_COPIED_CSV = 1_000_000
"""Characters that go to the clipboard at once."""

PAGE = 2_000
"""Rows of one page at most; the source may give fewer."""


class CsvPart(NamedTuple):
    """Some lines of the file."""

    text: str
    rows: int
    """Rows so far."""


def as_csv(table: TableData) -> str:
    """The rows that are here as comma-separated values, with their names."""
    return _csv_text([[column.name for column in table.columns], *table.rows])


async def csv_parts(
    pager: TablePager, rows: range, columns: Sequence[int], *, header: bool = True
) -> AsyncIterator[CsvPart]:
    """The rows in the order of the grid, with the columns in their order; `NoRows` where the source ends first."""
    grid, gap, first = pager.grid, pager.gap, rows.start
    numbers = tuple(at for at in columns if at >= 0)
    mark = grid.mark
    while header or first < rows.stop:
        question = grid.question(
            pager.ref, first=first, count=min(PAGE, rows.stop - first), columns=numbers, exact=True
        )
        page = await pager.source.read(question)
        if mark and page.mark != mark:
            raise NoRows("The table has changed since.")
        if not page.cells and first < rows.stop:
            raise NoRows("The table has fewer rows now.")
        places = {column.number: place for place, column in enumerate(page.columns)}
        order = [places[at] for at in columns]
        lines = [[page.columns[place].name for place in order]] if header else []
        lines += ([cells[place] for place in order] for at, cells in enumerate(page.cells) if first + at != gap)
        first += len(page.cells)
        header = False
        yield CsvPart(_csv_text(lines), first - rows.start)


async def csv_to_copy(pager: TablePager, rows: range, columns: Sequence[int]) -> str | None:
    """The rows with the names of their columns; None where that is too much for a clipboard."""
    parts: list[str] = []
    async for part in csv_parts(pager, rows, columns):
        parts.append(part.text)
        if sum(map(len, parts)) > MOST_COPIED_CSV:
            return None
    return "".join(parts)


async def text_of_cells(pager: TablePager, cursor: TableCursor, *, whole_row: bool = False) -> tuple[str, str] | None:
    """What to copy, and what it is: what is selected, else the cell of the cursor, or its row; None for nothing or too
    much. `NoRows` where it cannot be read."""
    grid, selected = pager.grid, cursor.selection(pager.grid)
    if cursor.row >= grid.matching or (selected is None and cursor.row == pager.gap):
        return None
    if selected is None and not whole_row:
        numbers = (cursor.column,) if cursor.column >= 0 else ()
        page = await pager.source.read(grid.question(pager.ref, first=cursor.row, count=1, columns=numbers, exact=True))
        place = next(at for at, column in enumerate(page.columns) if column.number == cursor.column)
        return (page.cells[0][place], "the cell") if page.cells else None
    rows, columns = range(cursor.row, cursor.row + 1), grid.order
    if selected is not None and not whole_row:
        rows, columns = selected.rows, [at for at in columns if at in selected.columns]
    text = await csv_to_copy(pager, rows, columns)
    return None if text is None else (text, f"{quantity(len(rows), 'row')} × {quantity(len(columns), 'column')} as CSV")


def _csv_text(rows: Iterable[Sequence[str]]) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue()
