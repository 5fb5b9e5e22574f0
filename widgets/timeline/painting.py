"""What is laid over rows when they are painted: cursor, scroll bar, selection, the pill."""

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Offset
from textual.selection import Selection
from textual.strip import Strip

from oi_tui.widgets.timeline.ink import Ink
from oi_tui.widgets.timeline.row_pieces import RowStrip
from oi_tui.widgets.timeline.viewport import BLOCK_ROW_BITS, Viewport

PILL_REACH = 16
"""Cells at the right of the last row where a click means the pill."""

_TO_LINE_END = -1


def add_frame(strip: Strip, ink: Ink, *, cursor: bool, thumb: bool) -> Strip:
    """The row with the cursor bar at its left and the scroll bar at its right."""
    segments = list(strip)
    if cursor and segments:
        first = segments[0]
        segments[:1] = [Segment("▌", (first.style or ink.page) + ink.cursor), Segment(first.text[1:], first.style)]
    segments.append(Segment("▐", ink.thumb) if thumb else Segment(" ", ink.page))
    return Strip(segments, strip.cell_length + 1)


def thumb_rows(view: Viewport) -> range:
    """Rows of the screen that the scroll bar's thumb covers."""
    height, total = view.height, view.total
    if total <= height:
        return range(0)
    length = max(1, round(height * height / total))
    start = round((height - length) * min(1.0, view.y / (total - height)))
    return range(start, start + length)


def with_pill(strip: Strip, unseen: int, ink: Ink) -> Strip:
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


def mark_selection(strip: Strip, row: RowStrip, span: tuple[int, int] | None, ink: Ink) -> Strip:
    """The row with the selected cells marked: only those that hold text."""
    if span is None:
        return strip
    start, end = _text_cells(row, span)
    if end <= start:
        return strip
    marked = Strip([Segment(text, (style or ink.page) + ink.selection) for text, style, _ in strip.crop(start, end)])
    return Strip.join([strip.crop(0, start), marked, strip.crop(end)])


def selected_text(view: Viewport, selection: Selection) -> str:
    """The selected text as it was before it was broken into rows: no gutters, no indentation of ours, no padding."""
    start = selection.start or Offset(0, 0)
    end = selection.end or Offset(0, len(view.blocks) << BLOCK_ROW_BITS)
    parts: list[str] = []
    for index in range(start.y >> BLOCK_ROW_BITS, min(end.y >> BLOCK_ROW_BITS, len(view.blocks) - 1) + 1):
        cell = view.cell(index)
        first = index << BLOCK_ROW_BITS
        for inside in range(max(0, start.y - first), min(cell.height, end.y - first + 1)):
            span = selection.get_span(first | inside)
            if span is None:
                continue
            row = cell.row(inside)
            left, right = _text_cells(row, span)
            parts += [row.joint if parts else "", row.crop(left, max(left, right)).text]
    return "".join(parts)


def _text_cells(row: RowStrip, span: tuple[int, int]) -> tuple[int, int]:
    start, end = span
    return max(row.lead, start), row.reach if end == _TO_LINE_END else min(end, row.reach)
