"""A widget that paints a viewport: frames, scrolling, the mouse, and Textual's text selection.

Frames are limited, rows that did not change are not repainted, and content never causes a layout
pass. What the rows mean, and what keys do to them, is the timeline's business.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from textual import events
from textual.color import Color
from textual.filter import LineFilter
from textual.geometry import Region, Size
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from oi_tui.widgets.timeline.gallery import Gallery
from oi_tui.widgets.timeline.graphics import Graphics
from oi_tui.widgets.timeline.graphics_kitty import apply_filters
from oi_tui.widgets.timeline.ink import Ink
from oi_tui.widgets.timeline.painting import add_frame, mark_cells, mark_selection, selected_text, thumb_rows, with_pill
from oi_tui.widgets.timeline.row_pieces import Canvas
from oi_tui.widgets.timeline.viewport import ScreenRow, Viewport

FRAME = 1 / 30
"""Seconds between two frames, at least."""

SCROLL_BAR = 1
"""Cells at the right edge. Drawn here: a scroll bar of its own costs as much as the text."""

REFINED = 1_000
"""Blocks whose height is estimated anew in one go after a resize, which takes about 2 ms."""

LONG_JUMP = 500
"""Rows; further moves trust the estimated heights."""


class Marks(NamedTuple):
    """What is marked in a row."""

    spans: tuple[tuple[int, int], ...] = ()
    """First cell and the one after the last."""
    here: bool = False
    """Whether it is the place that was gone to."""


class Finish(NamedTuple):
    """What the look of a painted row depends on, beside the row itself."""

    filters: Sequence[LineFilter]
    background: Color
    ink: Ink


class Surface(ScrollView):
    """Rows of a viewport on the screen."""

    DEFAULT_CSS = """
    Surface {
        height: 1fr;
        overflow: hidden hidden;
        background: $background;
    }
    """

    follow: reactive[bool] = reactive(True, repaint=False)
    """Whether the view is pinned to the end."""

    unseen: reactive[int] = reactive(0, repaint=False)
    """Blocks that came or changed below the view since it left the end."""

    cursor: reactive[int | None] = reactive(None, repaint=False)
    """Index of the block that the keys act on."""

    def __init__(
        self, canvas: Canvas, *, clock: Callable[[], float] = time.monotonic, id: str | None, classes: str | None
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._gallery = Gallery(self, canvas.graphics, self._want_frame)
        self._view = Viewport(replace(canvas, gallery=self._gallery))
        self._clock = clock
        self._rows: list[ScreenRow] = []
        self._finish = Finish([], Color(0, 0, 0), canvas.ink)
        self._marks: list[Marks] = []
        self._frame_timer: Timer | None = None
        self._last_frame = 0.0
        self._thumb = range(0)

    @property
    def allow_vertical_scroll(self) -> bool:
        """Always: the scroll bar is drawn here, so Textual knows of none."""
        return True

    # Pictures

    def on_mount(self) -> None:
        """Another program may have had the terminal, and with it went what the terminal knew."""
        self.app.app_resume_signal.subscribe(self, self._on_resumed)

    def _on_resumed(self, _: object) -> None:
        self._gallery.forget()
        self._want_frame()  # which sends those again that are looked at

    def on_unmount(self) -> None:
        """The terminal need not remember pictures."""
        self._gallery.close()

    def set_graphics(self, graphics: Graphics) -> None:
        """Another way to show pictures, or cells of another size, from now on."""
        if graphics != self._gallery.graphics:
            self._gallery.use(graphics)
            self._view.redraw(replace(self._view.canvas, graphics=graphics))
            self._rows = []
            self._want_frame()

    # Frames

    def _want_frame(self) -> None:
        if self._frame_timer is None and self.is_attached:
            wait = max(0.001, FRAME - (self._clock() - self._last_frame))
            self._frame_timer = self.set_timer(wait, self._frame)

    def _frame(self) -> None:
        self._frame_timer = None
        self._last_frame = self._clock()
        if not self._view.height:
            return
        if self._is_writing:
            self._want_frame()
            return
        if self.follow:
            self._view.to_end()
        self._show(self._view.rows())
        if self._view.behind:
            self._want_frame()

    @property
    def _is_writing(self) -> bool:
        """Whether earlier frames still wait for the terminal: on a slow line the next one is drawn after them.

        Textual writes in a thread and says nothing of its queue; a driver that has none is never behind.
        """
        queue = getattr(getattr(self.app._driver, "_writer_thread", None), "_queue", None)
        return queue is not None and queue.qsize() > 0

    def _show(self, rows: list[ScreenRow]) -> None:
        """Take the rows over and ask for a repaint of those that are not as they were."""
        before, self._rows = self._rows, rows
        marks, self._marks = self._marks, self._marks_of(rows)
        thumb, self._thumb = self._thumb, thumb_rows(self._view)
        self._publish()
        if len(before) != len(rows):
            self.refresh()
            return
        dirty = [
            y
            for y, (old, new) in enumerate(zip(before, rows, strict=True))
            if old.strip is not new.strip
            or old.block != new.block
            or marks[y] != self._marks[y]
            or (y in thumb) != (y in self._thumb)
        ]
        if 2 * len(dirty) > len(rows):
            self.refresh()
        elif dirty:
            self.refresh(*(Region(0, y, self.size.width, 1) for y in dirty))

    def _marks_of(self, rows: Sequence[ScreenRow]) -> list[Marks]:
        """What is marked in these rows; nothing, where nothing is searched for."""
        return [Marks()] * len(rows)

    def _publish(self) -> None:
        """Tell Textual where we are, without the layout pass that its own setters cause."""
        y = float(self._view.y)
        self.set_reactive(Widget.virtual_size, Size(self.size.width, self._view.total))
        self.set_reactive(Widget.scroll_y, y)
        self.set_reactive(Widget.scroll_target_y, y)

    def watch_unseen(self) -> None:
        """The pill stands in the last row."""
        self.refresh(Region(0, max(0, self.size.height - 1), self.size.width, 1))

    def watch_cursor(self, before: int | None, now: int | None) -> None:
        """The bar in the gutter moves from one block to another."""
        rows = [y for y, row in enumerate(self._rows) if row.block in (before, now)]
        if rows:
            self.refresh(Region(0, rows[0], self.size.width, rows[-1] - rows[0] + 1))

    # Scrolling

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """The wheel, or a selection dragged over the edge, asks for another place."""
        rows = round(new_value) - self._view.y
        if not rows or self.size.height != self._view.height:
            return  # or Textual clamps the place for a new height, which `on_resize` is about to do better
        self.follow = self._view.jump(round(new_value)) if abs(rows) > LONG_JUMP else self._view.scroll(rows)
        self._frame()

    def on_resize(self, event: events.Resize) -> None:
        """Draw at once what is visible; the rest when it comes into view."""
        self._view.resize(event.size.width - SCROLL_BAR, event.size.height)
        self._rows = []
        self._frame()
        self._refine()

    def _refine(self) -> None:
        """While nothing else is to be done: the heights of what is not on the screen."""
        if self._view.refine(REFINED):
            self.set_timer(0.005, self._refine)
        else:
            self._want_frame()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """The scroll bar is grabbed."""
        if event.x >= self._view.canvas.width:
            event.stop()
            self.capture_mouse()
            self._drag_to(event.y)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """The scroll bar is dragged."""
        if self.app.mouse_captured is self:
            self._drag_to(event.y)

    def on_mouse_up(self) -> None:
        """The scroll bar is let go."""
        if self.app.mouse_captured is self:
            self.release_mouse()

    def _drag_to(self, y: int) -> None:
        share = y / max(1, self.size.height - 1)
        self.follow = self._view.jump(round(share * max(0, self._view.total - self._view.height)))
        self._want_frame()

    # Painting

    def render_lines(self, crop: Region) -> list[Strip]:
        """Rows for the compositor; by-passes the box model, which has nothing to add here."""
        finish = Finish(self.get_line_filters(), self.background_colors[1], self._view.canvas.ink)
        if finish != self._finish:
            self._finish = finish
        overlay = self._gallery.overlay
        strips = []
        for y in crop.line_range:
            strips.append(self._finish_row(y).crop(crop.x, crop.x + crop.width))
            if overlay is not None:
                overlay.note_paint(y, self._rows[y].strip if y < len(self._rows) else None)
        return strips

    def render_line(self, y: int) -> Strip:
        """A row with its place in the text, for Textual's selection and styles under the mouse."""
        if y >= len(self._rows):
            return self._view.canvas.blank
        row = self._rows[y]
        return row.strip.apply_offsets(0, row.key)

    def _finish_row(self, y: int) -> Strip:
        """The row as it goes to the terminal. One on which nothing lies is the same object as long as it lives."""
        row = self._rows[y] if y < len(self._rows) else None
        finish = self._finish
        bare = (
            row is not None
            and y not in self._thumb
            and not self._marks[y].spans
            and not self._has_cursor(row)
            and self.text_selection is None
            and not (self.unseen and y == self.size.height - 1)
        )
        if row is not None and bare and row.strip.painted is not None and row.strip.painted[0] is finish:
            return row.strip.painted[1]
        strip = apply_filters(self._paint_row(y), finish.filters, finish.background)
        if row is not None and bare:
            row.strip.painted = finish, strip
        return strip

    def _has_cursor(self, row: ScreenRow) -> bool:
        return row.block == self.cursor and not row.last and self.has_focus

    def _paint_row(self, y: int) -> Strip:
        ink = self._view.canvas.ink
        row = self._rows[y] if y < len(self._rows) else None
        strip: Strip = self._view.canvas.blank if row is None else row.strip
        if row is not None and (marks := self._marks[y]).spans:
            strip = mark_cells(strip, marks.spans, ink.match_here if marks.here else ink.match)
        if row is not None and (selection := self.text_selection) is not None:
            strip = mark_selection(strip, row.strip, selection.get_span(row.key), ink)
        strip = add_frame(strip, ink, cursor=row is not None and self._has_cursor(row), thumb=y in self._thumb)
        if self.unseen and y == self.size.height - 1:
            return with_pill(strip, self.unseen, ink)
        return strip

    # Selecting with the mouse

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected rows as text, without gutters."""
        return selected_text(self._view, selection), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Other cells are selected."""
        self.refresh()
