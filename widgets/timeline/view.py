"""The timeline: one widget that shows any number of blocks and draws only what is on the screen.

Frames are limited, rows that did not change are not repainted, and content never causes a layout
pass. Where the window stands is `viewport.py`'s business, what blocks look like that of the
modules named after them.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from markdown_it import MarkdownIt
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from oi_tui.app.engine.blocks import Block, CodeBlock
from oi_tui.themes.loader import load_palette
from oi_tui.themes.palette import Palette
from oi_tui.widgets.timeline.ink import Ink
from oi_tui.widgets.timeline.logical import logical_text, output_text
from oi_tui.widgets.timeline.markdown import HREF
from oi_tui.widgets.timeline.painting import PILL_REACH, framed, selected, selected_text, thumb_rows, with_pill
from oi_tui.widgets.timeline.pieces import Canvas
from oi_tui.widgets.timeline.viewport import Row, Viewport

FRAME = 1 / 30
"""Seconds between two frames, at least."""

SPIN = 1 / 10
"""Seconds between two frames of a spinner."""

SCROLL_BAR = 1
"""Cells at the right edge. Drawn here: a scroll bar of its own costs as much as the text."""

LONG_JUMP = 500
"""Rows; further moves trust the estimated heights."""


class Timeline(ScrollView, can_focus=True):
    """Blocks, one under the other."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "cursor(-1)", "Previous block", show=False),
        Binding("down,j", "cursor(1)", "Next block", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home", "start", "Start", show=False),
        Binding("end", "end", "End", show=False),
        Binding("enter", "unfold", "More or less", show=False),
        Binding("space", "close", "Fold", show=False),
        Binding("c,y", "copy", "Copy", show=False),
        Binding("o", "copy_output", "Copy output", show=False),
    ]

    DEFAULT_CSS = """
    Timeline {
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

    @dataclass
    class CopyRequested(Message):
        """The person wants this text in the clipboard."""

        text: str

    @dataclass
    class LinkClicked(Message):
        """The person clicked a link; nothing was opened."""

        href: str

    def __init__(
        self,
        *,
        palette: Palette | None = None,
        images: bool = True,
        clock: Callable[[], float] = time.monotonic,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        markdown = MarkdownIt("commonmark").enable(["table", "strikethrough"])
        self._view = Viewport(Canvas(80, Ink(palette or load_palette()), markdown, images))
        self._clock = clock
        self._rows: list[Row] = []
        self._unseen: set[int] = set()
        self._started: dict[str, float] = {}  # id of a running block -> when it was first seen running
        self._frame_timer: Timer | None = None
        self._spin_timer: Timer | None = None
        self._last_frame = 0.0
        self._ticks = 0
        self._thumb = range(0)

    # What others call

    def reset(self, blocks: Sequence[Block]) -> None:
        """Show these blocks, from their end."""
        self._view.reset(blocks)
        self._started.clear()
        self.cursor = None
        for block in blocks:
            self._watch_run(block)
        self.scroll_to_end()

    def put(self, index: int, block: Block) -> None:
        """Replace the block at `index`, or append it where `index` is the number of blocks."""
        self._view.put(index, block)
        self._watch_run(block)
        if not self.follow and self._rows and index >= self._rows[-1].block:
            self._unseen.add(index)
            self.unseen = len(self._unseen)
        self._want_frame()

    def set_palette(self, palette: Palette) -> None:
        """Other colours from now on."""
        self._view.redraw(replace(self._view.canvas, ink=Ink(palette)))
        self._rows = []
        self._want_frame()

    def scroll_to_end(self) -> None:
        """Show the newest rows and stay with them."""
        self.follow = True
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
        if self.follow:
            self._view.to_end()
        self._repaint(self._view.rows())

    def _repaint(self, rows: list[Row]) -> None:
        """Take the rows over and ask for a repaint of those that are not as they were."""
        before, self._rows = self._rows, rows
        thumb, self._thumb = self._thumb, thumb_rows(self._view)
        self._publish()
        self._spin()
        if len(before) != len(rows):
            self.refresh()
            return
        dirty = [
            y
            for y, (old, new) in enumerate(zip(before, rows, strict=True))
            if old.strip is not new.strip or old.block != new.block or (y in thumb) != (y in self._thumb)
        ]
        if 2 * len(dirty) > len(rows):
            self.refresh()
        elif dirty:
            self.refresh(*(Region(0, y, self.size.width, 1) for y in dirty))

    def _publish(self) -> None:
        """Tell Textual where we are, without the layout pass that its own setters cause."""
        y = float(self._view.y)
        self.set_reactive(Widget.virtual_size, Size(self.size.width, self._view.total))
        self.set_reactive(Widget.scroll_y, y)
        self.set_reactive(Widget.scroll_target_y, y)

    # Running blocks

    def _watch_run(self, block: Block) -> None:
        if not isinstance(block, CodeBlock):
            return
        if block.state == "running":
            self._started.setdefault(block.id, self._clock())
        else:
            self._started.pop(block.id, None)

    def _visible_runs(self) -> list[int]:
        if not self._started:
            return []
        indices = sorted({row.block for row in self._rows})
        return [index for index in indices if self._view.blocks[index].id in self._started]

    def _spin(self) -> None:
        if self._spin_timer is None and self._visible_runs():
            self._spin_timer = self.set_timer(SPIN, self._turn)

    def _turn(self) -> None:
        self._spin_timer = None
        self._ticks += 1
        for index in self._visible_runs():
            elapsed = self._clock() - self._started[self._view.blocks[index].id]
            if (cell := self._view.kept(index)) is not None:
                cell.tick(elapsed, self._ticks)
        self._want_frame()

    # Moving

    @property
    def allow_vertical_scroll(self) -> bool:
        """Always: the scroll bar is drawn here, so Textual knows of none."""
        return True

    def _move(self, rows: int) -> None:
        self.follow = self._view.scroll(rows)
        self._want_frame()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """The wheel, or a selection dragged over the edge, asks for another place."""
        rows = round(new_value) - self._view.y
        if not rows:
            return
        self.follow = self._view.jump(round(new_value)) if abs(rows) > LONG_JUMP else self._view.scroll(rows)
        self._frame()

    def watch_follow(self, follow: bool) -> None:
        """At the end, nothing is unseen."""
        if follow:
            self._unseen.clear()
            self.unseen = 0

    def watch_unseen(self) -> None:
        """The pill stands in the last row."""
        self.refresh(Region(0, max(0, self.size.height - 1), self.size.width, 1))

    def watch_cursor(self, before: int | None, now: int | None) -> None:
        """The bar in the gutter moves."""
        self.refresh()

    def action_cursor(self, step: int) -> None:
        """To the next block, after what of this one lies beyond the edge."""
        if not self._view.blocks:
            return
        if self.cursor is None:
            self.cursor = self._rows[-1].block if self._rows else len(self._view.blocks) - 1
            return
        shown = [row.inside for row in self._rows if row.block == self.cursor]
        last = self._view.cell(self.cursor).height - 2
        page = max(1, self._view.height - 2)
        if shown and step > 0 and shown[-1] < last:
            self._move(min(page, last - shown[-1]))
            return
        if shown and step < 0 and shown[0] > 0:
            self._move(-min(page, shown[0]))
            return
        self.cursor = min(max(0, self.cursor + step), len(self._view.blocks) - 1)
        self.follow = self._view.show(self.cursor)
        self._want_frame()

    def action_page(self, step: int) -> None:
        """A screen up or down, with two rows in common; the cursor comes along."""
        self._move(step * max(1, self._view.height - 2))
        rows = self._view.rows()
        self.cursor = rows[0 if step < 0 else -1].block if rows else None

    def action_start(self) -> None:
        """The first block."""
        self.cursor = 0 if self._view.blocks else None
        self.follow = self._view.jump(0)
        self._want_frame()

    def action_end(self) -> None:
        """The newest rows."""
        self.cursor = len(self._view.blocks) - 1 if self._view.blocks else None
        self.scroll_to_end()

    # Acting on a block

    def action_unfold(self) -> None:
        """Show what is hidden of a block, or hide it again; without anything hidden, fold it."""
        if self.cursor is None:
            return
        match self._view.fold_of(self.cursor):
            case "short":
                more = self._view.cell(self.cursor).has_more
                self._view.fold(self.cursor, "open" if more else "closed")
            case "open" | "closed":
                self._view.fold(self.cursor, "short")
        self._settle()

    def action_close(self) -> None:
        """Fold a block to one line, or unfold it."""
        if self.cursor is not None:
            closed = self._view.fold_of(self.cursor) == "closed"
            self._view.fold(self.cursor, "short" if closed else "closed")
            self._settle()

    def _settle(self) -> None:
        """After a fold the block under the cursor stays on the screen."""
        if self.cursor is not None and self._view.top[0] == self.cursor:
            self._view.top = (self.cursor, 0)
        self.follow = self._view.scroll(0)
        self._want_frame()

    def action_copy(self) -> None:
        """Ask for the text of the block in the clipboard."""
        if self.cursor is not None:
            self.post_message(self.CopyRequested(logical_text(self._view.blocks[self.cursor])))

    def action_copy_output(self) -> None:
        """Ask for what the block printed in the clipboard."""
        if self.cursor is not None and (text := output_text(self._view.blocks[self.cursor])):
            self.post_message(self.CopyRequested(text))

    # What the terminal sends

    def on_resize(self, event: events.Resize) -> None:
        """Draw at once what is visible; the rest when it comes into view."""
        self._view.resize(event.size.width - SCROLL_BAR, event.size.height)
        self._rows = []
        self._frame()

    def on_focus(self) -> None:
        """The keys act on something from now on."""
        if self.cursor is None and self._rows:
            self.cursor = self._rows[-1].block
        self.refresh()

    def on_blur(self) -> None:
        """The bar in the gutter goes."""
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """A link, the pill, or the block to act on."""
        if href := event.style.meta.get(HREF):
            self.post_message(self.LinkClicked(str(href)))
        elif self.unseen and event.y == self.size.height - 1 and event.x >= self.size.width - PILL_REACH:
            self.scroll_to_end()
        elif event.x < self._view.canvas.width and event.y < len(self._rows):
            self.cursor = self._rows[event.y].block

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
        filters, background = self.get_line_filters(), self.background_colors[1]
        strips = []
        for y in crop.line_range:
            strip = self._painted(y)
            for line_filter in filters:
                strip = strip.apply_filter(line_filter, background)
            strips.append(strip.crop(crop.x, crop.x + crop.width))
        return strips

    def render_line(self, y: int) -> Strip:
        """A row with its place in the text, for Textual's selection and styles under the mouse."""
        if y >= len(self._rows):
            return self._view.canvas.blank
        row = self._rows[y]
        return row.strip.apply_offsets(0, row.key)

    def _painted(self, y: int) -> Strip:
        ink = self._view.canvas.ink
        row = self._rows[y] if y < len(self._rows) else None
        strip = self._view.canvas.blank if row is None else row.strip
        if row is not None and (selection := self.text_selection) is not None:
            strip = selected(strip, selection.get_span(row.key), ink)
        last = row is None or row.inside == self._view.cell(row.block).height - 1
        cursor = self.has_focus and row is not None and row.block == self.cursor and not last
        strip = framed(strip, ink, cursor=cursor, thumb=y in self._thumb)
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
