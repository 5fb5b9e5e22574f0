"""A table as lines: columns as wide as what is shown of them; labels stay while the rest moves sideways."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style

from oi_tui.app.engine.text.words import quantity
from oi_tui.widgets.timeline.console import MOST_LINES
from oi_tui.widgets.timeline.ink import Ink
from oi_tui.widgets.timeline.row_pieces import BlockDisplay, BlockKeys, FoldState
from oi_tui.widgets.timeline.table_data import TableData
from oi_tui.widgets.timeline.wrap import Line, TextRun, crop, fold_offsets, window

HEAD, TAIL = 8, 2
"""Rows of a long table that are shown at once."""

SHORT_TABLE = HEAD + TAIL + 3
"""Rows of a table that is shown whole."""

WIDEST, WIDEST_OPEN = 40, 120
"""Cells of a column."""

GAP = 2
"""Cells between two columns."""

_MISSING = frozenset(("NaN", "NaT", "None", "<NA>", "null", ""))


RunRow = list[TextRun]
"""A cell of each column, with the gap at its right."""


class DrawnTable(NamedTuple):
    """The lines of a table."""

    lines: list[Line]
    beyond: int
    """Cells by which they are too wide."""


def has_more(table: TableData) -> bool:
    """Whether rows are here that are not shown at once."""
    return len(table.rows) > SHORT_TABLE


def table_lines(table: TableData, ink: Ink, room: int, display: BlockDisplay, keys: BlockKeys) -> DrawnTable:
    """Names, types and rows, and a remark where rows or columns are left out.

    The type of an index without a name says nothing that anybody wants to know.
    """
    numbers = list(_shown_rows(table, display.fold))
    widest = WIDEST_OPEN if display.fold == "open" else WIDEST
    kinds = [column.kind if column.name or at >= table.index else "" for at, column in enumerate(table.columns)]
    widths = _widths(table, kinds, [number for number in numbers if number is not None], widest)
    bold, dim = ink.console + Style(bold=True), ink.console_dim
    rows: list[RunRow | str] = []
    if any(column.name for column in table.columns):
        rows.append(_row(table, (column.name for column in table.columns), widths, [bold] * len(widths)))
    if any(kinds):
        rows.append(_row(table, kinds, widths, [dim] * len(widths)))
    for number in numbers:
        if number is None:
            rows.append(_cut_note(table, display.fold, keys))
            continue
        cells = table.rows[number]
        styles = [dim if at < table.index or cell in _MISSING else ink.console for at, cell in enumerate(cells)]
        rows.append(_row(table, cells, widths, styles))
    return _place_columns(table, rows, widths, ink, room, display.shift)


def _place_columns(
    table: TableData, rows: list[RunRow | str], widths: list[int], ink: Ink, room: int, shift: int
) -> DrawnTable:
    """Labels at their place, the other columns shifted by scrolling."""
    labels = sum(widths[: table.index]) + GAP * table.index
    if labels > room // 2 or labels == sum(widths) + GAP * len(widths):
        labels = 0  # they would leave no room for what they are the labels of, so they move too
    inner = max(1, room - labels)
    moving = widths[table.index :] if labels else widths
    starts = [0, *accumulate(width + GAP for width in moving[:-1])]
    is_split = max(moving) > inner - 2  # a text longer than the room is read in pieces
    beyond = max(0, starts[-1] + moving[-1] - inner)
    if beyond and not is_split:
        beyond = starts[-1]
    lines: list[Line] = []
    for row in rows:
        if isinstance(row, str):
            lines.append(crop([(row, ink.console_dim)], room))
            continue
        fixed = row[: table.index] if labels else []
        free = row[table.index :] if labels else row
        if not beyond:
            line = [Segment(*run) for run in free]
        elif is_split:
            line = window(free, shift, inner)
        else:
            line = _shift_row(free, moving, bisect_right(starts, shift) - 1, inner, ink.console_dim)
        lines.append([*(Segment(*run) for run in fixed), *line])
    if beyond or table.hidden_columns or table.hidden_rows:
        lines.append(crop([(_size(table, beyond), ink.console_dim)], room))
    return DrawnTable(lines, beyond)


def _shift_row(row: RunRow, widths: list[int], first: int, inner: int, dim: Style) -> Line:
    """Whole columns from the `first` on: half a number would be another number."""
    line: Line = [Segment("‹", dim)] if first else []
    used = len(line)
    for at in range(first, len(widths)):
        is_last = at == len(widths) - 1
        if used + widths[at] + (0 if is_last else 1) > inner:
            return [*line, Segment(" " * (inner - 1 - used), dim), Segment("›", dim)]
        text, style = row[at]
        gap = 0 if is_last else min(GAP, inner - 1 - used - widths[at])
        text = text if is_last else text[: len(text) - GAP + gap]
        line.append(Segment(text, style))
        used += widths[at] + gap
    return line


def _size(table: TableData, beyond: int) -> str:
    """How large the whole is, and how to see what is beyond the edge."""
    here = len(table.columns) - table.index
    said = f"{quantity(table.total_rows, 'row')} × {quantity(table.total_columns, 'column')}"
    if table.hidden_columns:
        said += f" ({here:,} here)"
    return said + " · → more columns" if beyond else said


def _shown_rows(table: TableData, fold: FoldState) -> Iterator[int | None]:
    """Numbers of rows; None where some are left out."""
    count = len(table.rows)
    if fold != "open" and count > SHORT_TABLE:
        yield from (*range(HEAD), None, *range(count - TAIL, count))
        return
    for number in range(min(count, MOST_LINES)):
        if number == table.head and table.hidden_rows:
            yield None
        yield number
    if (table.hidden_rows and table.head >= count) or count > MOST_LINES:
        yield None


def _cut_note(table: TableData, fold: FoldState, keys: BlockKeys) -> str:
    if fold != "open" and has_more(table):
        return f"… {table.total_rows - HEAD - TAIL:,} more rows{keys.to_show}"
    missing = table.total_rows - min(len(table.rows), MOST_LINES)
    return f"… {quantity(missing, 'more row')} are not kept here"


def _widths(table: TableData, kinds: Iterable[str], numbers: Iterable[int], widest: int) -> list[int]:
    widths = [max(_cells(column.name), _cells(kind)) for column, kind in zip(table.columns, kinds, strict=True)]
    for number in numbers:
        for at, cell in enumerate(table.rows[number]):
            if len(cell) > widths[at] or not cell.isascii():
                widths[at] = max(widths[at], _cells(cell))
    return [max(1, min(width, widest)) for width in widths]


def _row(table: TableData, cells: Iterable[str], widths: list[int], styles: list[Style]) -> RunRow:
    row = []
    last = len(widths) - 1
    for at, (cell, width, style) in enumerate(zip(cells, widths, styles, strict=True)):
        text = _fit(cell, width)
        padding = " " * (width - _cells(text))
        text = padding + text if table.columns[at].is_number else text + padding
        row.append((text if at == last else text + " " * GAP, style))
    return row


def _fit(text: str, width: int) -> str:
    if len(text) <= width and text.isascii():
        return text
    if cell_len(text) <= width:
        return text
    return text[: fold_offsets(text, width - 1)[1]] + "…" if width > 2 else set_cell_size(text, width)


def _cells(text: str) -> int:
    return len(text) if text.isascii() else cell_len(text)
