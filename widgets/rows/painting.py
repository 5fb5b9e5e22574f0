"""What is laid over rows when they are painted: cursor, scroll bar, matches, selection, the pill."""

from collections.abc import Sequence
from typing import Protocol

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from oi_tui.widgets.rows.row import RowStrip
from oi_tui.widgets.rows.selection import text_cells

PILL_REACH = 16
"""Cells at the right of the last row where a click means the pill."""


class RowInk(Protocol):
    """Styles of what is drawn over rows, and of empty rows."""

    page: Style
    console: Style
    cursor: Style
    thumb: Style
    pill: Style
    match: Style
    match_here: Style
    selection: Style


def add_frame(strip: Strip, ink: RowInk, *, cursor: bool, thumb: bool) -> Strip:
    """The row with the cursor bar at its left and the scroll bar at its right."""
    segments = list(strip)
    if cursor and segments:
        first = segments[0]
        segments[:1] = [Segment("▌", (first.style or ink.page) + ink.cursor), Segment(first.text[1:], first.style)]
    segments.append(Segment("▐", ink.thumb) if thumb else Segment(" ", ink.page))
    return Strip(segments, strip.cell_length + 1)


def with_pill(strip: Strip, unseen: int, ink: RowInk) -> Strip:
    """The row with the count of what is below laid over its right end."""
    pill = Segment(f" ↓ {unseen:,} new ", ink.pill)
    end = strip.cell_length - 2
    start = max(0, end - pill.cell_length)
    return Strip.join([strip.crop(0, start), Strip([pill]), strip.crop(end)])


def mark_cells(strip: Strip, spans: Sequence[tuple[int, int]], style: Style) -> Strip:
    """The row with these cells in another style."""
    cuts = [cut for span in spans for cut in span]
    parts = strip.divide([*cuts, strip.cell_length])
    return Strip.join(
        Strip([Segment(text, (own or style) + style) for text, own, _ in part]) if number % 2 else part
        for number, part in enumerate(parts)
    )


def mark_selection(strip: Strip, row: RowStrip, span: tuple[int, int] | None, ink: RowInk) -> Strip:
    """The row with the selected cells marked: only those that hold text."""
    if span is None:
        return strip
    start, end = text_cells(row, span)
    if end <= start:
        return strip
    marked = Strip([Segment(text, (style or ink.page) + ink.selection) for text, style, _ in strip.crop(start, end)])
    return Strip.join([strip.crop(0, start), marked, strip.crop(end)])
