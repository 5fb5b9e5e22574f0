"""The timeline: one widget that shows any number of blocks and draws only what is on the screen.

Frames are limited, rows that did not change are not repainted, and content never causes a layout pass. Where the
window stands is in `viewport.py`, what blocks look like in the modules named after them.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from textual import events, on
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from oi_tui.app.engine.core.blocks import Block
from oi_tui.themes.loader import load_palette
from oi_tui.themes.palette import Palette
from oi_tui.widgets.rows.frames import Frames
from oi_tui.widgets.rows.painting import PILL_REACH
from oi_tui.widgets.rows.scroll_bar import SCROLL_BAR, ScrollBar
from oi_tui.widgets.rows.view import RowView
from oi_tui.widgets.timeline.displays import DisplayChange, change_display
from oi_tui.widgets.timeline.gallery import Gallery
from oi_tui.widgets.timeline.graphics import IN_CELLS, Graphics
from oi_tui.widgets.timeline.graphics_kitty import apply_filters
from oi_tui.widgets.timeline.ink import Ink
from oi_tui.widgets.timeline.keys import TIMELINE_KEYS
from oi_tui.widgets.timeline.logical import shown_widgets
from oi_tui.widgets.timeline.markdown_lines import HREF
from oi_tui.widgets.timeline.row_pieces import BlockKeys, Canvas
from oi_tui.widgets.timeline.runs import Runs
from oi_tui.widgets.timeline.searching import Searching
from oi_tui.widgets.timeline.viewport import Viewport
from oi_tui.widgets.timeline.walking import Destination, walk

REFINED = 1_000
"""Blocks whose height is estimated again in one go after a resize, which takes about 2 ms."""

LONG_JUMP = 500
"""Rows; further moves trust the estimated heights."""

BlockAction = Literal[
    "copy", "copy_markdown", "copy_output", "view", "edit", "pager", "rerun", "reuse", "undo", "save", "browser",
    "dependents", "zoom", "open_outside", "fork", "rewind", "again", "pin", "leave_out",
    "operate", "keep", "menu",
]  # fmt: skip
"""What a person can want of a block beyond looking at it here."""


RIGHT = 3
"""The mouse's other button."""


class Timeline(ScrollView, can_focus=True, inherit_bindings=False):
    """Blocks, one under the other. A click chooses a block and leaves the keys where they are: who clicks, and then
    types, writes; Tab brings the keys here."""

    FOCUS_ON_CLICK = False

    BINDINGS: ClassVar[list[BindingType]] = TIMELINE_KEYS

    DEFAULT_CSS = """
    Timeline {
        height: 1fr;
        overflow: hidden hidden;
        background: $background;
    }
    """

    follow: reactive[bool] = reactive(True, repaint=False, init=False)
    """Whether the view is pinned to the end."""

    unseen: reactive[int] = reactive(0, repaint=False)
    """Blocks that came or changed below the view since it left the end."""

    allow_vertical_scroll = property(lambda self: True)
    """Always: the scroll bar is drawn here, so Textual knows of none."""

    cursor_screen_offset = property(lambda self: self._shown.place_of(self.cursor))
    """Where on the screen the block begins that the keys act on."""

    cursor: reactive[int | None] = reactive(None, repaint=False)
    """Index of the block that the keys act on."""

    top_block: reactive[int] = reactive(0, repaint=False)
    """Index of the block at the upper edge."""

    matches: reactive[str] = reactive("", repaint=False)
    """What is known of the search that is on, in words; "" without one."""

    extent: reactive[int] = reactive(0, repaint=False)
    """Rows of all blocks, partly estimated."""

    class ActionRequested(Message):
        """The person wants something of a block."""

        def __init__(self, wish: BlockAction, block: Block) -> None:
            super().__init__()
            self.wish, self.block = wish, block

    class LinkClicked(Message):
        """The person clicked a link; nothing was opened."""

        def __init__(self, href: str) -> None:
            super().__init__()
            self.href = href

    @dataclass
    class SearchWanted(Message):
        """The person wants to say what to look for."""

    def __init__(
        self,
        *,
        palette: Palette | None = None,
        graphics: Graphics = IN_CELLS,
        clock: Callable[[], float] = time.monotonic,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        ink = Ink(palette or load_palette())
        self._frames = Frames(self, self._draw, clock)
        self._gallery = Gallery(self, graphics, self._frames.want)
        self._view = Viewport(Canvas(80, ink, graphics, self._gallery))
        self._shown = RowView(self, ink, "page", apply_filters)
        self._bar = ScrollBar(self)
        self._unseen: set[int] = set()
        self._search = Searching(
            self,
            self._view,
            lambda place: self._stand(place[0], self._window.show_row(*place)),
            lambda words: setattr(self, "matches", words),
        )
        self._runs = Runs(self, self._view, clock, lambda: (row.item for row in self._shown.rows), self._frames.want)

    @property
    def _window(self) -> Viewport:
        """The window as it stands: at the end of what has come by now, if that is followed. A move begins there, also
        before the frame that shows it."""
        if self.follow and self._view.height:
            self._view.to_end()
        return self._view

    # What others call

    def reset(self, blocks: Sequence[Block]) -> bool:
        """Show these blocks, from their end. If they end with the current blocks, keep the place and return True."""
        before = self._view.reset(blocks)
        self._runs.forget()
        self.cursor = self.cursor + before if before and self.cursor is not None else None
        for block in blocks:
            self._runs.note(block)
        self.search("")
        if self.is_attached and self.text_selection is not None:
            self.screen.clear_selection()  # it was of the earlier content
        self.follow = self.follow or not before
        if self.has_focus and self.cursor is None:
            self._draw()  # the next key may be here before the frame, and acts on a block
        self._frames.want()
        return before > 0

    def put(self, index: int, block: Block) -> None:
        """Replace the block at `index`, or append it where `index` is the number of blocks."""
        self._view.put(index, block)
        self._runs.note(block)
        self._search.note_change(index)
        if not self.follow and self._shown.rows and index >= self._shown.rows[-1].item:
            self._unseen.add(index)
            self.unseen = len(self._unseen)
        self._frames.want()

    def show_block(self, block_id: str, *, at_top: bool = False) -> None:
        """Put the cursor on this block and bring it into view (`at_top`: to the upper edge), if there is one."""
        index = next((index for index, block in enumerate(self._view.blocks) if block.id == block_id), None)
        if index is not None:
            self._stand(index, self._window.show(index, at_top=at_top))

    def set_look(
        self, *, palette: Palette | None = None, graphics: Graphics | None = None, keys: BlockKeys | None = None
    ) -> None:
        """Use other colours, another way to show pictures (or cells of another size), or other keys."""
        canvas = self._view.canvas
        if palette is not None:
            ink = Ink(palette)
            self._shown.use(ink)
            canvas = replace(canvas, ink=ink)
        if graphics is not None and graphics != self._gallery.graphics:
            self._gallery.use(graphics)
            canvas = replace(canvas, graphics=graphics)
        if keys is not None and keys != canvas.keys:
            canvas = replace(canvas, keys=keys)
        if canvas is not self._view.canvas:
            self._view.redraw(canvas)
            self._shown.forget()
            self._frames.want()

    def search(self, needle: str) -> None:
        """Mark all matches of this text, and count them; "" ends the search."""
        self._search.begin(needle)
        self._frames.want()

    # Life

    def on_mount(self) -> None:
        """Another program may have had the terminal, and with it went what the terminal knew of pictures."""

        def resume(_: object) -> None:
            self._gallery.forget()
            self._frames.want()  # which sends those again that are looked at

        self.app.app_resume_signal.subscribe(self, resume)
        self.watch(self, "unseen", self._shown.tell_unseen)  # the pill in the last row
        self.watch(self, "cursor", self._shown.point)  # the bar in the gutter

    def on_unmount(self) -> None:
        """The terminal need not remember pictures."""
        self._gallery.close()

    def on_resize(self) -> None:
        """Draw at once what is visible; the rest when it comes into view."""
        width, height = self.size.width - SCROLL_BAR, self.size.height
        if (width, height) == (self._view.canvas.width, self._view.height):
            return
        self._view.resize(width, height)
        self._shown.forget()
        self._frames.draw()
        self._frames.idle(lambda: self._view.refine(REFINED))

    def on_focus(self) -> None:
        """The keys act on something that is on the screen, from now on."""
        if not self._shown.rows:
            self._draw()  # as above
        rows = self._shown.rows
        if rows and all(row.item != self.cursor for row in rows):
            self.cursor = rows[-1].item

    def watch_follow(self, follow: bool) -> None:
        """Show the newest rows; then nothing is unseen. The cursor stays."""
        if follow:
            self._unseen.clear()
            self.unseen = 0
            self._frames.want()

    def validate_scroll_y(self, value: float) -> float:
        """Within the present rows. Textual knows the end of the last frame only, and would move the window there at
        each layout."""
        window = self._window
        return min(max(0.0, value), max(0, window.total - window.height))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """The wheel, or a selection dragged over the edge, asks for another place."""
        window = self._window
        rows = round(new_value) - window.y
        if not rows or (self.follow and new_value > old_value):
            return
        self.follow = window.jump(round(new_value)) if abs(rows) > LONG_JUMP else window.scroll(rows)
        self._frames.draw()

    # Drawing

    def _draw(self) -> bool:
        """A frame; returns whether there is more to show than there was time for."""
        view = self._window
        if not view.height:
            return False
        rows = view.rows()
        self.top_block, self.extent = view.top[0], view.total
        self._shown.show(rows, view.thumb(), self._search.marks(rows))
        # Report the place to Textual, without the layout pass that its own setters cause.
        self.set_reactive(Widget.virtual_size, Size(self.size.width, view.total))
        for place in (Widget.scroll_y, Widget.scroll_target_y):
            self.set_reactive(place, float(view.y))
        if self.has_focus and (seen := [row.item for row in rows if not row.last]):
            # What the keys act on can be seen: a cursor that was left behind comes along at the edge.
            self.cursor = seen[-1] if self.cursor is None else min(max(self.cursor, seen[0]), seen[-1])
        self._runs.turn()
        return view.behind

    def render_lines(self, crop: Region) -> list[Strip]:
        """Rows for the compositor."""
        if self._view.height != self.size.height:
            # A Resize event is on its way; but Textual sends none if this became visible right after a list scrolled.
            self.call_next(self.on_resize)
        overlay = self._gallery.overlay
        return self._shown.lines(crop, overlay.note_paint if overlay is not None else None)

    def render_line(self, y: int) -> Strip:
        """A row with its place in the text."""
        return self._shown.line(y)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected rows as text, without gutters."""
        return self._view.selected_text(selection), "\n"

    # Moving

    def _stand(self, cursor: int | None, at_end: bool) -> None:
        self.cursor = cursor
        self.follow = at_end
        self._frames.want()

    def action_go(self, way: Destination, step: int = 1) -> None:
        """Move by blocks, screens, rows, or to the next block of a kind."""
        stand = walk(self._window, self.cursor, way, step)
        if stand is not None:
            self._stand(*stand)
        elif self.cursor is not None:
            self.app.bell()

    @on(events.MouseDown)
    @on(events.MouseMove)
    @on(events.MouseUp)
    def _pull(self, event: events.MouseEvent) -> None:
        if (share := self._bar.pull(event)) is not None:
            self._stand(self.cursor, self._view.jump(round(share * max(0, self._view.total - self.size.height))))

    def action_find(self, step: int = 0) -> None:
        """Go to the next match (1) or the one before (-1), beginning with what is on the screen. Without a step, or
        without a search, ask for the text.
        """
        if not (step and self._search.is_on):
            self.post_message(self.SearchWanted())
            return
        rows = self._shown.rows
        edge = rows[0 if step > 0 else -1] if rows else None
        self._search.find(step, (edge.item, edge.inside) if edge is not None else (0, 0))

    # Acting on a block

    def on_click(self, event: events.Click) -> None:
        """A link, the pill, or the block to act on; twice for more of it."""
        event.prevent_default()  # to Textual, two clicks select all: every block there is would be drawn for that
        if self.screen.get_selected_text():
            return  # the mouse was let go at the end of a selection
        if event.button == RIGHT:
            if event.y < len(self._shown.rows):
                self.cursor = self._shown.rows[event.y].item
                self.action_ask("menu")
            return
        if href := event.style.meta.get(HREF):
            self.post_message(self.LinkClicked(str(href)))
        elif self.unseen and event.y == self.size.height - 1 and event.x >= self.size.width - PILL_REACH:
            self.follow = True
        elif event.x < self._view.canvas.width and event.y < len(self._shown.rows):
            self.cursor = self._shown.rows[event.y].item
            if event.chain == 2 and self._shown.rows[event.y].inside and shown_widgets(self._view.blocks[self.cursor]):
                self.action_ask("operate")
            elif event.chain == 2:
                self.action_display("unfold")

    def action_ask(self, wish: BlockAction) -> None:
        """Ask for something to be done with the block."""
        if self.cursor is not None:
            self.post_message(self.ActionRequested(wish, self._view.blocks[self.cursor]))

    def action_display(self, change: DisplayChange, step: int = 1) -> None:
        """Show more or less of the block, or another part of what is too wide."""
        if (index := self.cursor) is None:
            return
        view = self._window
        view.display(index, change_display(view.display_of(index), view.cell(index), change, step))
        if change != "sideways":
            if view.top[0] >= index:  # it stays in the window, by its start where that is above
                view.top = (index, 0)
            self.follow = view.scroll(0)
        self._frames.want()
