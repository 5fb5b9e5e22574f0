"""The timeline: one widget that shows any number of blocks and draws only what is on the screen.

Here is what others call and what keys do. How rows reach the screen is in `surface.py`, where the
window stands in `viewport.py`, what blocks look like in the modules named after them.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.timer import Timer

from oi_tui.app.engine.blocks import Block, CodeBlock
from oi_tui.themes.loader import load_palette
from oi_tui.themes.palette import Palette
from oi_tui.widgets.timeline.ink import Ink
from oi_tui.widgets.timeline.logical import logical_text, output_text
from oi_tui.widgets.timeline.markdown import HREF
from oi_tui.widgets.timeline.painting import PILL_REACH
from oi_tui.widgets.timeline.pieces import HALF_BLOCKS, Canvas, Fold, Graphics
from oi_tui.widgets.timeline.surface import Surface

SPIN = 1 / 8
"""Seconds between two frames of a spinner."""


class Timeline(Surface, can_focus=True, inherit_bindings=False):
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
        graphics: Graphics = HALF_BLOCKS,
        clock: Callable[[], float] = time.monotonic,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        canvas = Canvas(80, Ink(palette or load_palette()), graphics)
        super().__init__(canvas, clock=clock, id=id, classes=classes)
        self._unseen: set[int] = set()
        self._started: dict[str, float] = {}  # id of a running block -> when it was first seen running
        self._spin_timer: Timer | None = None

    # What others call

    def reset(self, blocks: Sequence[Block]) -> None:
        """Show these blocks, from their end."""
        self._view.reset(blocks)
        self._started.clear()
        self.cursor = None
        for block in blocks:
            self._note_run(block)
        self.scroll_to_end()

    def put(self, index: int, block: Block) -> None:
        """Replace the block at `index`, or append it where `index` is the number of blocks."""
        self._view.put(index, block)
        self._note_run(block)
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

    def watch_follow(self, follow: bool) -> None:
        """At the end, nothing is unseen."""
        if follow:
            self._unseen.clear()
            self.unseen = 0

    # Running blocks

    def _note_run(self, block: Block) -> None:
        if not isinstance(block, CodeBlock):
            return
        if block.state != "running":
            self._started.pop(block.id, None)
            return
        self._started.setdefault(block.id, self._clock())

    def _visible_runs(self) -> list[int]:
        if not self._started:
            return []
        shown = dict.fromkeys(row.block for row in self._rows)
        return [index for index in shown if self._view.blocks[index].id in self._started]

    def _frame(self) -> None:
        super()._frame()
        self._place_cursor()
        if self._spin_timer is None and self._visible_runs():
            self._spin_timer = self.set_timer(SPIN, self._spin)

    def _spin(self) -> None:
        """Move the spinners that are on the screen; none turns where nobody looks."""
        self._spin_timer = None
        for index in self._visible_runs():
            elapsed = self._clock() - self._started[self._view.blocks[index].id]
            self._view.cell(index).tick(elapsed, round(elapsed / SPIN))
        self._want_frame()

    # Moving

    def _move(self, rows: int) -> None:
        self.follow = self._view.scroll(rows)
        self._want_frame()

    def action_cursor(self, step: int) -> None:
        """To the next block, after what of this one lies beyond the edge."""
        if self.cursor is None:
            return
        if hidden := self._view.hidden(self.cursor, step):
            page = max(1, self._view.height - 2)
            self._move(step * min(page, hidden))
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

    def on_focus(self) -> None:
        """The keys act on something that is on the screen, from now on."""
        if self._rows and all(row.block != self.cursor for row in self._rows):
            self.cursor = self._rows[-1].block
        self.refresh()

    def _place_cursor(self) -> None:
        if self.has_focus and self.cursor is None and self._rows:
            self.cursor = self._rows[-1].block

    def on_blur(self) -> None:
        """The bar in the gutter goes."""
        self.refresh()

    # Acting on a block

    def on_click(self, event: events.Click) -> None:
        """A link, the pill, or the block to act on."""
        if href := event.style.meta.get(HREF):
            self.post_message(self.LinkClicked(str(href)))
        elif self.unseen and event.y == self.size.height - 1 and event.x >= self.size.width - PILL_REACH:
            self.scroll_to_end()
        elif event.x < self._view.canvas.width and event.y < len(self._rows):
            self.cursor = self._rows[event.y].block

    def action_unfold(self) -> None:
        """Show what is hidden of a block, or hide it again; without anything hidden, fold it."""
        if self.cursor is None:
            return
        more = self._view.cell(self.cursor).has_more
        self._refold(("open" if more else "closed") if self._fold == "short" else "short")

    def action_close(self) -> None:
        """Fold a block to one line, or unfold it."""
        if self.cursor is not None:
            self._refold("short" if self._fold == "closed" else "closed")

    @property
    def _fold(self) -> Fold:
        return "short" if self.cursor is None else self._view.display_of(self.cursor).fold

    def _refold(self, fold: Fold) -> None:
        assert self.cursor is not None
        self._view.display(self.cursor, self._view.display_of(self.cursor)._replace(fold=fold))
        self._settle()

    def _settle(self) -> None:
        """After a fold the block stays on the screen, by its start where that is above."""
        if self.cursor is not None and self._view.top[0] >= self.cursor:
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
