"""Which rows are on the screen: blocks, their heights, and the place in them. Knows no widget.

The place is a block and a row inside it, so that nothing that changes above or below moves what
is read. Blocks that were never near the screen have an estimated height; it is corrected when
they come into view.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from oi_tui.app.engine.core.blocks import Block
from oi_tui.widgets.timeline.cells import BlockCell, BlockCells, estimate
from oi_tui.widgets.timeline.heights import Heights
from oi_tui.widgets.timeline.row_pieces import BlockDisplay, Canvas, RowStrip

BLOCK_ROW_BITS = 20
"""Bits for the row inside a block in the key of a row."""


class ScreenRow(NamedTuple):
    """One row of the screen."""

    strip: RowStrip
    block: int
    """Index of its block."""
    inside: int
    """Row inside the block."""
    last: bool
    """Whether it is the empty one that parts the block from the next."""

    @property
    def key(self) -> int:
        """Ordered like the text, whatever is on the screen."""
        return self.block << BLOCK_ROW_BITS | self.inside


class Viewport:
    """A window over any number of blocks."""

    def __init__(self, canvas: Canvas) -> None:
        self.canvas = canvas
        self.height = 0
        """Rows of the window."""
        self.blocks: list[Block] = []
        self.top = (0, 0)
        """Block at the upper edge and the row inside it."""
        self.behind = False
        """Whether something in the window had more to show than there was time for; another look goes on."""
        self._heights = Heights()
        self._cells = BlockCells()
        self._displays: dict[str, BlockDisplay] = {}
        self._outdated = range(0)  # blocks whose height was estimated for another width

    @property
    def total(self) -> int:
        """Rows of all blocks, partly estimated."""
        return self._heights.total

    @property
    def y(self) -> int:
        """Rows above the window, partly estimated."""
        return self._heights.before(self.top[0]) + self.top[1]

    def reset(self, blocks: Sequence[Block]) -> None:
        """Other blocks from now on."""
        self.blocks = list(blocks)
        self._heights = Heights(estimate(block, self.canvas) for block in blocks)
        self._cells.clear()
        self._displays.clear()
        self._outdated = range(0)
        self.top = (0, 0)

    def put(self, index: int, block: Block) -> None:
        """Replace a block, or append one."""
        if index == len(self.blocks):
            self.blocks.append(block)
            self._heights.append(estimate(block, self.canvas))
            return
        self.blocks[index] = block
        if index not in self._cells:
            self._heights[index] = estimate(block, self.canvas)

    def resize(self, width: int, height: int) -> None:
        """Another size; the block at the upper edge stays there."""
        self.height = height
        if width != self.canvas.width:
            index, inside = self.top
            share = inside / self._heights[index] if inside else 0.0
            self.redraw(replace(self.canvas, width=width))
            self.top = (index, int(share * self._height_of(index)) if inside else 0)
            self._outdated = range(len(self.blocks))

    def refine(self, count: int) -> bool:
        """Estimate so many heights anew after a change of the width; returns whether there are more to do.

        What is on the screen is right already; this is for the scroll bar and for jumps.
        """
        now, self._outdated = self._outdated[:count], self._outdated[count:]
        for index in now:
            if index not in self._cells:
                self._heights[index] = estimate(self.blocks[index], self.canvas)
        return bool(self._outdated)

    def redraw(self, canvas: Canvas) -> None:
        """Draw on another canvas. Heights are kept as estimates until a block is seen."""
        self.canvas = canvas
        self._cells.clear()

    def cell(self, index: int) -> BlockCell:
        """The cell of a block, laid out; its height is exact from now on."""
        block = self.blocks[index]
        cell = self._cells.layout(index, block, self.canvas, self._displays.get(block.id, BlockDisplay()))
        self._heights[index] = cell.height
        return cell

    def display(self, index: int, display: BlockDisplay) -> None:
        """Show a block otherwise."""
        self._displays[self.blocks[index].id] = display

    def display_of(self, index: int) -> BlockDisplay:
        """How a block is shown."""
        return self._displays.get(self.blocks[index].id, BlockDisplay())

    def rows(self) -> list[ScreenRow]:
        """The rows in the window, fewer than its height only where the blocks end."""
        rows: list[ScreenRow] = []
        self.behind = False
        index, inside = self.top
        while index < len(self.blocks) and len(rows) < self.height:
            cell = self.cell(index)
            self.behind = self.behind or cell.behind
            if not rows:
                inside = min(inside, cell.height - 1)
                self.top = (index, inside)
            end = min(cell.height, inside + self.height - len(rows))
            rows += [
                ScreenRow(cell.row(number), index, number, number == cell.height - 1) for number in range(inside, end)
            ]
            index, inside = index + 1, 0
        return rows

    def to_end(self) -> None:
        """Show the last rows."""
        self.top = self._last_top()

    def scroll(self, rows: int) -> bool:
        """Move down (or, negative, up) by so many rows; returns whether the end is reached."""
        index, inside = self.top
        inside += rows
        while inside < 0 and index > 0:
            index -= 1
            inside += self._height_of(index)
        inside = max(0, inside)
        while index < len(self.blocks) and inside >= (height := self._height_of(index)):
            index, inside = index + 1, inside - height
        last = self._last_top()
        self.top = min((index, inside), last)
        return self.top == last

    def jump(self, y: int) -> bool:
        """Move to an (estimated) row; returns whether the end is reached."""
        index, inside = self._heights.find(max(0, y))
        self.top = (min(index, len(self.blocks)), inside)
        return self.scroll(0)

    def show(self, index: int) -> bool:
        """Bring a block into the window, by its start where it is higher; returns whether at the end."""
        height = self._height_of(index)
        above = self._distance(index)
        if above is None or above < 0 or height > self.height:
            self.top = (index, 0)
        elif above + height - 1 > self.height:
            return self.scroll(above + height - 1 - self.height)
        return self.scroll(0)

    def show_row(self, index: int, inside: int) -> bool:
        """Bring one row into the window, a third from its top where it was not; returns whether at the end."""
        above = self._distance(index)
        if above is None or not 0 <= above + inside < self.height:
            self.top = (index, min(inside, self._height_of(index) - 1))
            return self.scroll(-(self.height // 3))
        return self.scroll(0)

    def hidden_rows(self, index: int, side: int) -> int:
        """Rows of a block beyond the upper (`side` < 0) or lower edge, 0 where none of it is in the window."""
        above = self._distance(index)
        if above is None:
            return 0
        height = self._height_of(index) - 1
        if above >= self.height or above + height <= 0:
            return 0
        return max(0, -above if side < 0 else above + height - self.height)

    def _distance(self, index: int) -> int | None:
        """Rows from the upper edge to the start of a block, None if it is above or far below."""
        top, inside = self.top
        if index < top:
            return None
        rows = -inside
        for between in range(top, index):
            rows += self._height_of(between)
            if rows > 3 * self.height:
                return None
        return rows

    def _last_top(self) -> tuple[int, int]:
        index, rows = len(self.blocks), 0
        while index > 0 and rows < self.height:
            index -= 1
            rows += self._height_of(index)
        return index, max(0, rows - self.height)

    def _height_of(self, index: int) -> int:
        return self.cell(index).height
