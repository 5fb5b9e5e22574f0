"""Rows on the screen of one widget. Those that did not change are neither repainted nor made into bytes again."""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from textual.color import Color
from textual.filter import LineFilter
from textual.geometry import Offset, Region
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from oi_tui.widgets.rows.painting import RowInk, add_frame, mark_cells, mark_selection, with_pill
from oi_tui.widgets.rows.row import UNMARKED, Marks, RowStrip, ViewRow

Filtered = Callable[[Strip, Sequence[LineFilter], Color], Strip]


class Finish(NamedTuple):
    """What the look of a painted row depends on, beside the row itself."""

    filters: Sequence[LineFilter]
    background: Color
    ink: RowInk


class RowView:
    """The rows that one widget shows, and what is drawn over them: matches, selection, cursor, scroll bar, pill."""

    def __init__(self, host: Widget, ink: RowInk, ground: Literal["page", "console"], filtered: Filtered) -> None:
        """`ground` is the colour where there are no rows; `filtered` gives a row as Textual's filters want it."""
        self._host = host
        self._ink = ink
        self._ground = ground
        self._filtered = filtered
        self.rows: Sequence[ViewRow] = ()
        """From the upper edge."""
        self._marks: Sequence[Marks] = ()
        self._thumb = range(0)
        self._cursor: int | None = None
        self._unseen = 0
        self._finish = Finish([], Color(0, 0, 0), ink)

    def place_of(self, item: int | None) -> Offset:
        """Where this item begins on the screen, or its first row that can be seen; the upper edge if none can."""
        row = next((y for y, row in enumerate(self.rows) if row.item == item), 0)
        return self._host.region.offset + Offset(0, row)

    def show(self, rows: Sequence[ViewRow], thumb: range, marks: Sequence[Marks] | None = None) -> None:
        """Take these rows over and ask for a repaint of those that are not as they were."""
        before, marks_before, thumb_before = self.rows, self._marks, self._thumb
        self.rows, self._thumb = rows, thumb
        self._marks = [UNMARKED] * len(rows) if marks is None else marks
        if len(before) != len(rows):
            self._host.refresh()
            return
        dirty = [
            y
            for y, (old, new) in enumerate(zip(before, rows, strict=True))
            if old.strip is not new.strip
            or old.item != new.item
            or marks_before[y] != self._marks[y]
            or (y in thumb_before) != (y in thumb)
        ]
        if 2 * len(dirty) > len(rows):
            self._host.refresh()
        elif dirty:
            width = self._host.size.width
            self._host.refresh(*(Region(0, y, width, 1) for y in dirty))

    def forget(self) -> None:
        """Forget all rows: they depend on the size, the theme, or the way to show pictures."""
        self.rows, self._marks = (), ()

    def use(self, ink: RowInk) -> None:
        """Other colours from now on."""
        self._ink = ink

    def point(self, item: int | None) -> None:
        """The bar in the gutter moves to this item; it is seen while the widget has the keys."""
        ends = (self._cursor, item)
        self._cursor = item
        if found := [y for y, row in enumerate(self.rows) if row.item in ends]:
            self._host.refresh(Region(0, found[0], self._host.size.width, found[-1] - found[0] + 1))

    def tell_unseen(self, count: int) -> None:
        """This many items arrived below; the last row says so."""
        self._unseen = count
        self._host.refresh(Region(0, max(0, self._host.size.height - 1), self._host.size.width, 1))

    # Painting

    def lines(self, crop: Region, painted: Callable[[int, RowStrip | None], object] | None = None) -> list[Strip]:
        """Rows for the compositor, by-passing the box model, which has nothing to add. `painted` is called for each."""
        host = self._host
        filters, background = host.get_line_filters(), host.background_colors[1]
        if (
            filters != self._finish.filters
            or background != self._finish.background
            or self._ink is not self._finish.ink
        ):
            self._finish = Finish(filters, background, self._ink)
        selection = host.text_selection
        cursor = self._cursor if host.has_focus else None
        strips = []
        for y in crop.line_range:
            strips.append(self._finish_row(y, cursor, selection).crop(crop.x, crop.right))
            if painted is not None:
                painted(y, self.rows[y].strip if y < len(self.rows) else None)
        return strips

    def line(self, y: int) -> Strip:
        """A row with its place in the text, for Textual's selection and styles under the mouse."""
        if y >= len(self.rows):
            return self._blank
        row = self.rows[y]
        return row.strip.apply_offsets(0, row.key)

    @property
    def _blank(self) -> Strip:
        return Strip.blank(self._host.size.width, self._ink.page if self._ground == "page" else self._ink.console)

    def _finish_row(self, y: int, cursor: int | None, selection: Selection | None) -> Strip:
        """The row as it goes to the terminal. A row that has nothing but the thumb on it stays the same object."""
        finish = self._finish
        if y >= len(self.rows):
            return self._filtered(self._blank, finish.filters, finish.background)
        row, marks, thumb = self.rows[y], self._marks[y], y in self._thumb
        has_cursor = cursor is not None and row.item == cursor and not row.last
        bare = not (marks.spans or has_cursor or selection is not None or self._has_pill(y))
        known = row.strip.painted
        if known is None or known[0] is not finish:
            known = row.strip.painted = finish, [None, None]
        if bare and (painted := known[1][thumb]) is not None:
            return painted
        strip: Strip = row.strip
        if marks.spans:
            strip = mark_cells(strip, marks.spans, self._ink.match_here if marks.here else self._ink.match)
        if selection is not None:
            strip = mark_selection(strip, row.strip, selection.get_span(row.key), self._ink)
        strip = add_frame(strip, self._ink, cursor=has_cursor, thumb=thumb)
        if self._has_pill(y):
            strip = with_pill(strip, self._unseen, self._ink)
        strip = self._filtered(strip, finish.filters, finish.background)
        if bare:
            known[1][thumb] = strip
        return strip

    def _has_pill(self, y: int) -> bool:
        return bool(self._unseen) and y == self._host.size.height - 1
