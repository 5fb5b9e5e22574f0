"""What is laid over rows when they are painted: cursor, scroll bar, selection, the pill."""

from rich.segment import Segment
from textual.geometry import Offset
from textual.selection import Selection
from textual.strip import Strip

from oi_tui.widgets.timeline.ink import Ink
from oi_tui.widgets.timeline.pieces import GUTTER
from oi_tui.widgets.timeline.viewport import ROW_BITS, Viewport

PILL_REACH = 16
"""Cells at the right of the last row where a click means the pill."""

_TO_LINE_END = -1


def framed(strip: Strip, ink: Ink, *, cursor: bool, thumb: bool) -> Strip:
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


def selected(strip: Strip, span: tuple[int, int] | None, ink: Ink) -> Strip:
    """The row with the selected cells marked; never the gutter."""
    if span is None:
        return strip
    start, end = span
    start = max(GUTTER, start)
    end = _width(strip) if end == _TO_LINE_END else end
    if end <= start:
        return strip
    marked = Strip([Segment(text, (style or ink.page) + ink.selection) for text, style, _ in strip.crop(start, end)])
    return Strip.join([strip.crop(0, start), marked, strip.crop(end)])


def selected_text(view: Viewport, selection: Selection) -> str:
    """The text of the selected rows, each without its gutter and padding."""
    start = selection.start or Offset(0, 0)
    end = selection.end or Offset(0, len(view.blocks) << ROW_BITS)
    lines: list[str] = []
    for index in range(start.y >> ROW_BITS, min(end.y >> ROW_BITS, len(view.blocks) - 1) + 1):
        cell = view.cell(index)
        for inside in range(cell.height):
            span = selection.get_span(index << ROW_BITS | inside)
            if start.y <= index << ROW_BITS | inside <= end.y and span is not None:
                strip = cell.row(inside)
                left, right = max(GUTTER, span[0]), strip.cell_length if span[1] == _TO_LINE_END else span[1]
                lines.append(strip.crop(left, max(left, right)).text.rstrip())
    return "\n".join(lines)


def _width(strip: Strip) -> int:
    return Strip([Segment(strip.text.rstrip())]).cell_length
