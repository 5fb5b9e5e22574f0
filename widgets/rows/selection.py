"""Mouse selection: only cells with text, and the text from before it was wrapped."""

from collections.abc import Callable

from textual.geometry import Offset
from textual.selection import Selection

from oi_tui.widgets.rows.row import ROW_BITS, RowStrip

_TO_LINE_END = -1

RowsOf = Callable[[int], tuple[int, Callable[[int], RowStrip]]]
"""Of an item, how many rows it has and how to get one of them."""


def selected_text(selection: Selection, count: int, rows_of: RowsOf, *, most: int | None = None) -> str:
    """The selected text of `count` items: no gutters, no indentation of ours, no padding.

    Of more than `most` characters, a part.
    """
    start = selection.start or Offset(0, 0)
    end = selection.end or Offset(0, count << ROW_BITS)
    parts: list[str] = []
    size = 0
    for item in range(start.y >> ROW_BITS, min(end.y >> ROW_BITS, count - 1) + 1):
        height, row_at = rows_of(item)
        first = item << ROW_BITS
        for inside in range(max(0, start.y - first), min(height, end.y - first + 1)):
            if (span := selection.get_span(first | inside)) is None:
                continue
            row = row_at(inside)
            left, right = text_cells(row, span)
            parts += [row.joint if parts else "", row.crop(left, max(left, right)).text]
            size += len(parts[-1]) + 1
        if most is not None and size > most:
            break
    return "".join(parts)


def text_cells(row: RowStrip, span: tuple[int, int]) -> tuple[int, int]:
    """The selected cells of a row that hold text: the first, and the one after the last."""
    start, end = span
    return max(row.lead, start), row.reach if end == _TO_LINE_END else min(end, row.reach)
