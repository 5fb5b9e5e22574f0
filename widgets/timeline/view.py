"""The timeline: one widget that shows any number of blocks and draws only what is on the screen.

Here is what others call and what keys do. How rows reach the screen is in `surface.py`, where the
window stands in `viewport.py`, what blocks look like in the modules named after them.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.timer import Timer

from oi_tui.app.engine.core.blocks import Block, CodeBlock, NoticeBlock, UserBlock
from oi_tui.themes.loader import load_palette
from oi_tui.themes.palette import Palette
from oi_tui.widgets.timeline.graphics import HALF_BLOCKS, Graphics
from oi_tui.widgets.timeline.ink import Ink
from oi_tui.widgets.timeline.logical import has_picture
from oi_tui.widgets.timeline.markdown_lines import HREF
from oi_tui.widgets.timeline.painting import PILL_REACH
from oi_tui.widgets.timeline.row_pieces import Canvas, FoldState
from oi_tui.widgets.timeline.runs import SPIN, Runs
from oi_tui.widgets.timeline.searching import Searchable

SIDEWAYS = 16
"""Cells that wide content moves at one press."""

BlockAction = Literal[
    "copy", "copy_markdown", "copy_output", "view", "edit", "pager", "rerun", "reuse", "save", "browser",
    "zoom", "fork", "rewind", "again",
]  # fmt: skip
"""What a person can want of a block beyond looking at it here."""

_KINDS: dict[str, Callable[[Block], bool]] = {
    "prompt": lambda block: isinstance(block, UserBlock),
    "error": lambda block: (
        (isinstance(block, CodeBlock) and block.state in ("error", "died"))
        or (isinstance(block, NoticeBlock) and block.level == "error")
    ),
    "picture": has_picture,
}
"""What one can jump to."""


class Timeline(Searchable, can_focus=True, inherit_bindings=False):
    """Blocks, one under the other."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "cursor(-1)", "Previous block"),
        Binding("down,j", "cursor(1)", "Next block"),
        Binding("pageup", "page(-1)", "Page up"),
        Binding("pagedown,ctrl+f", "page(1)", "Page down", key_display="pagedown"),
        Binding("ctrl+u", "half(-1)", "Half a page up"),
        Binding("ctrl+d", "half(1)", "Half a page down"),
        Binding("ctrl+y", "row(-1)", "A row up"),
        Binding("ctrl+e", "row(1)", "A row down"),
        Binding("home,g", "start", "Start"),
        Binding("end,G", "end", "End; what comes is followed", key_display="end, G"),
        Binding("left,h", "sideways(-1)", "Wide tables and results to the left"),
        Binding("right,l", "sideways(1)", "Wide tables and results to the right"),
        Binding("enter", "unfold", "More or less of the block"),
        Binding("space", "close", "Fold the block to one line"),
        Binding("number_sign", "numbers", "Line numbers", key_display="#"),
        Binding("left_square_bracket", "seek('prompt', -1)", "Previous prompt", key_display="["),
        Binding("right_square_bracket", "seek('prompt', 1)", "Next prompt", key_display="]"),
        Binding("x", "seek('error', -1)", "The error before; X the next one", key_display="x"),
        Binding("X", "seek('error', 1)", "", show=False),
        Binding("i", "seek('picture', -1)", "The picture before; I the next one", key_display="i"),
        Binding("I", "seek('picture', 1)", "", show=False),
        Binding("t", "to_error", "To the line that raised the error"),
        Binding("slash", "search", "Search", key_display="/"),
        Binding("n", "find(1)", "Next match"),
        Binding("N", "find(-1)", "Match before"),
        Binding("c,y", "ask('copy')", "Copy: the source, the text"),
        Binding("o", "ask('copy_output')", "Copy what it printed"),
        Binding("m", "ask('copy_markdown')", "Copy as Markdown, outputs too"),
        Binding("v", "ask('view')", "View the whole: text, table, tree"),
        Binding("z", "ask('zoom')", "Zoom into the picture"),
        Binding("p", "ask('pager')", "Open in $PAGER"),
        Binding("ctrl+g", "ask('edit')", "Open a copy in $EDITOR"),
        Binding("b", "ask('browser')", "Open HTML in the browser; asks first"),
        Binding("s", "ask('save')", "Save to a file"),
        Binding("r,e", "ask('rerun')", "Run the code again, as it is or changed; it is shown first"),
        Binding("u", "ask('reuse')", "Use the text as a prompt"),
        Binding("F", "ask('fork')", "Fork: go on from here on a new branch", key_display="F"),
        Binding(
            "E", "ask('rewind')", "Change the prompt of this block: go on from there on a new branch", key_display="E"
        ),
        Binding(
            "R",
            "ask('again')",
            "Ask the prompt of this block again, on a new branch",
            key_display="R",
        ),
    ]

    @dataclass
    class Wanted(Message):
        """The person wants something of a block."""

        wish: BlockAction
        block: Block

    @dataclass
    class LinkClicked(Message):
        """The person clicked a link; nothing was opened."""

        href: str

    def __init__(
        self,
        *,
        palette: Palette | None = None,
        graphics: Graphics = HALF_BLOCKS,
        clock: Callable[[], float] = time.monotonic,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        canvas = Canvas(80, Ink(palette or load_palette()), graphics)
        super().__init__(canvas, clock=clock, id=id, classes=classes)
        self._unseen: set[int] = set()
        self._runs = Runs(self._view, clock)
        self._spin_timer: Timer | None = None

    # What others call

    def reset(self, blocks: Sequence[Block]) -> None:
        """Show these blocks, from their end."""
        self._view.reset(blocks)
        self._runs.forget()
        self.cursor = None
        for block in blocks:
            self._runs.note(block)
        self.search("")
        if self.is_attached and self.text_selection is not None:
            self.screen.clear_selection()  # it was of what stood there before
        self.scroll_to_end()

    def put(self, index: int, block: Block) -> None:
        """Replace the block at `index`, or append it where `index` is the number of blocks."""
        self._view.put(index, block)
        self._runs.note(block)
        self._note_change(index)
        if not self.follow and self._rows and index >= self._rows[-1].block:
            self._unseen.add(index)
            self.unseen = len(self._unseen)
        self._want_frame()

    def show_block(self, block_id: str) -> None:
        """Put the cursor on this block and bring it into view, if there is such a block."""
        index = next((index for index, block in enumerate(self._view.blocks) if block.id == block_id), None)
        if index is not None:
            self._go(index)

    def set_palette(self, palette: Palette) -> None:
        """Other colours from now on."""
        self._view.redraw(replace(self._view.canvas, ink=Ink(palette)))
        self._rows = []
        self._want_frame()

    def scroll_to_end(self) -> None:
        """Show the newest rows and stay with them."""
        self.follow = True
        self._want_frame()

    def watch_follow(self, follow: bool) -> None:
        """At the end, nothing is unseen."""
        if follow:
            self._unseen.clear()
            self.unseen = 0

    # Frames

    def _frame(self) -> None:
        super()._frame()
        if self.has_focus and (seen := [row.block for row in self._rows if not row.last]):
            # What the keys act on can be seen: a cursor that was left behind comes along at the edge.
            self.cursor = seen[-1] if self.cursor is None else min(max(self.cursor, seen[0]), seen[-1])
        if self._spin_timer is None and self._runs.among(row.block for row in self._rows):
            self._spin_timer = self.set_timer(SPIN, self._spin)

    def _spin(self) -> None:
        """Move the spinners that are on the screen; none turns where nobody looks."""
        self._spin_timer = None
        self._runs.spin(self._runs.among(row.block for row in self._rows))
        self._want_frame()

    # Moving

    def _move(self, rows: int) -> None:
        self.follow = self._view.scroll(rows)
        self._want_frame()

    def action_cursor(self, step: int) -> None:
        """To the next block, after what of this one lies beyond the edge."""
        if self.cursor is None:
            return
        if hidden := self._view.hidden_rows(self.cursor, step):
            page = max(1, self._view.height - 2)
            self._move(step * min(page, hidden))
            return
        self._go(min(max(0, self.cursor + step), len(self._view.blocks) - 1))

    def action_seek(self, kind: str, step: int) -> None:
        """To the next block of a kind, if there is one."""
        if self.cursor is None:
            return
        blocks, is_one = self._view.blocks, _KINDS[kind]
        found = range(self.cursor + 1, len(blocks)) if step > 0 else range(self.cursor - 1, -1, -1)
        index = next((index for index in found if is_one(blocks[index])), None)
        if index is None:
            self.app.bell()
        else:
            self._go(index)

    def _go(self, index: int) -> None:
        self.cursor = index
        self.follow = self._view.show(index)
        self._want_frame()

    def action_page(self, step: int) -> None:
        """A screen up or down, with two rows in common; the cursor comes along."""
        self._move(step * max(1, self._view.height - 2))
        rows = self._view.rows()
        self.cursor = rows[0 if step < 0 else -1].block if rows else None

    def action_half(self, step: int) -> None:
        """Half a screen up or down."""
        self._move(step * max(1, self._view.height // 2))

    def action_row(self, step: int) -> None:
        """One row up or down."""
        self._move(step)

    def action_start(self) -> None:
        """The first block."""
        self.cursor = 0 if self._view.blocks else None
        self.follow = self._view.jump(0)
        self._want_frame()

    def action_end(self) -> None:
        """The newest rows."""
        self.cursor = len(self._view.blocks) - 1 if self._view.blocks else None
        self.scroll_to_end()

    def on_focus(self) -> None:
        """The keys act on something that is on the screen, from now on."""
        if self._rows and all(row.block != self.cursor for row in self._rows):
            self.cursor = self._rows[-1].block
        self.refresh()

    def on_blur(self) -> None:
        """The bar in the gutter goes."""
        self.refresh()

    # Acting on a block

    def on_click(self, event: events.Click) -> None:
        """A link, the pill, or the block to act on; twice for more of it."""
        event.prevent_default()  # to Textual, two clicks select all: every block there is would be drawn for that
        if self.screen.get_selected_text():
            return  # the mouse was let go at the end of a selection
        if href := event.style.meta.get(HREF):
            self.post_message(self.LinkClicked(str(href)))
        elif self.unseen and event.y == self.size.height - 1 and event.x >= self.size.width - PILL_REACH:
            self.scroll_to_end()
        elif event.x < self._view.canvas.width and event.y < len(self._rows):
            self.cursor = self._rows[event.y].block
            if event.chain == 2:
                self.action_unfold()

    def action_ask(self, wish: BlockAction) -> None:
        """Ask for something to be done with the block."""
        if self.cursor is not None:
            self.post_message(self.Wanted(wish, self._view.blocks[self.cursor]))

    def action_to_error(self) -> None:
        """Show the line of the source that raised the error."""
        if self.cursor is None:
            return
        row = self._view.cell(self.cursor).error_row
        if row is None:
            self.app.bell()
            return
        self.follow = self._view.show_row(self.cursor, row)
        self._want_frame()

    def action_unfold(self) -> None:
        """Show what is hidden of a block, or hide it again; without anything hidden, fold it."""
        if self.cursor is not None:
            more = self._view.cell(self.cursor).has_more
            self._refold(("open" if more else "closed") if self._fold == "short" else "short")

    def action_close(self) -> None:
        """Fold a block to one line, or unfold it."""
        if self.cursor is not None:
            self._refold("short" if self._fold == "closed" else "closed")

    def action_sideways(self, step: int) -> None:
        """Move what is too wide of a block."""
        if self.cursor is not None:
            display, beyond = self._view.display_of(self.cursor), self._view.cell(self.cursor).beyond
            shift = min(max(0, display.shift + step * SIDEWAYS), max(0, beyond))
            self._view.display(self.cursor, display._replace(shift=shift))
            self._want_frame()

    def action_numbers(self) -> None:
        """Number the lines of a source, or no more."""
        if self.cursor is not None:
            display = self._view.display_of(self.cursor)
            self._view.display(self.cursor, display._replace(numbers=not display.numbers))
            self._settle()

    @property
    def _fold(self) -> FoldState:
        return "short" if self.cursor is None else self._view.display_of(self.cursor).fold

    def _refold(self, fold: FoldState) -> None:
        assert self.cursor is not None
        self._view.display(self.cursor, self._view.display_of(self.cursor)._replace(fold=fold))
        self._settle()

    def _settle(self) -> None:
        """After a fold the block stays on the screen, by its start where that is above."""
        if self.cursor is not None and self._view.top[0] >= self.cursor:
            self._view.top = (self.cursor, 0)
        self.follow = self._view.scroll(0)
        self._want_frame()
