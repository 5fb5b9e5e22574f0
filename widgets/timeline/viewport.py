"""Which rows are on the screen: blocks, their heights, and the place in them. Knows no widget.

The place is a block and a row inside it, so that nothing that changes above or below moves what
is read. Blocks that were never near the screen have an estimated height; it is corrected when
they come into view.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from textual.selection import Selection

from oi_tui.app.engine.core.blocks import Block
from oi_tui.app.engine.transcript.block_list import BlockList
from oi_tui.widgets.rows.row import RowStrip, ViewRow
from oi_tui.widgets.rows.selection import selected_text
from oi_tui.widgets.rows.window import RowWindow
from oi_tui.widgets.timeline.cells import BlockCell, BlockCells, estimate
from oi_tui.widgets.timeline.heights import Heights
from oi_tui.widgets.timeline.row_pieces import BlockDisplay, Canvas


class Viewport(RowWindow):
    """A window over any number of blocks."""

    def __init__(self, canvas: Canvas) -> None:
        super().__init__()
        self.canvas = canvas
        self.blocks = BlockList()
        self.behind = False
        """Whether a visible block has more to show than there was time for; the next layout continues."""
        self._heights = Heights()
        self._cells = BlockCells()
        self._displays: dict[str, BlockDisplay] = {}
        self._outdated = range(0)  # blocks whose height was estimated for another width

    @property
    def count(self) -> int:
        """How many blocks there are."""
        return len(self.blocks)

    def height_of(self, item: int) -> int:
        """Rows of a block, which is laid out for that."""
        return self.cell(item).height

    @property
    def total(self) -> int:
        """Rows of all blocks, partly estimated."""
        return self._heights.total

    @property
    def y(self) -> int:
        """Rows above the window, partly estimated."""
        return self._heights.before(self.top[0]) + self.top[1]

    def reset(self, blocks: Sequence[Block]) -> int:
        """Other blocks from now on, shown from the first. Where they end with those that were there, the window stays
        on these; returns how many come before them then, else 0."""
        before = max(0, len(blocks) - len(self.blocks))
        if not (self.blocks and before and blocks[before].id == self.blocks[0].id):
            self._displays.clear()
            self.top, before = (0, 0), 0
        self.blocks = BlockList(blocks)
        self._heights = Heights(estimate(block, self.canvas) for block in blocks)
        self._cells.clear()
        self._outdated = range(0)
        self.top = (self.top[0] + before, self.top[1])
        return before

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
            self.top = (index, int(share * self.height_of(index)) if inside else 0)
            self._outdated = range(len(self.blocks))

    def refine(self, count: int) -> bool:
        """Estimate this many heights again after a change of the width; returns whether more remain.

        The screen is right already; this is for the scroll bar and for jumps.
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

    def rows(self) -> list[ViewRow]:
        """The rows in the window, fewer than its height only where the blocks end."""
        rows: list[ViewRow] = []
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
                ViewRow(cell.row(number), index, number, number == cell.height - 1) for number in range(inside, end)
            ]
            index, inside = index + 1, 0
        return rows

    def thumb(self) -> range:
        """Rows that the scroll bar's thumb covers."""
        height, total = self.height, self.total
        if total <= height:
            return range(0)
        length = max(1, round(height * height / total))
        start = round((height - length) * min(1.0, self.y / (total - height)))
        return range(start, start + length)

    def selected_text(self, selection: Selection) -> str:
        """The selected text from before it was wrapped, without gutters."""

        def rows_of(index: int) -> tuple[int, Callable[[int], RowStrip]]:
            cell = self.cell(index)
            return cell.height, cell.row

        return selected_text(selection, len(self.blocks), rows_of)

    def jump(self, y: int) -> bool:
        """Move to an (estimated) row; returns whether the end is reached."""
        index, inside = self._heights.find(max(0, y))
        self.top = (min(index, len(self.blocks)), inside)
        return self.scroll(0)

    def show(self, index: int, *, at_top: bool = False) -> bool:
        """Bring a block into the window, by its start where it is higher (or `at_top`); returns whether at the end."""
        height = self.height_of(index)
        above = self._distance(index)
        if at_top or above is None or above < 0 or height > self.height:
            self.top = (index, 0)
        elif above + height - 1 > self.height:
            return self.scroll(above + height - 1 - self.height)
        return self.scroll(0)

    def show_row(self, index: int, inside: int) -> bool:
        """Bring one row into the window, a third from its top where it was not; returns whether at the end."""
        above = self._distance(index)
        if above is None or not 0 <= above + inside < self.height:
            self.top = (index, min(inside, self.height_of(index) - 1))
            return self.scroll(-(self.height // 3))
        return self.scroll(0)

    def hidden_rows(self, index: int, side: int) -> int:
        """Rows of a block beyond the upper (`side` < 0) or lower edge, 0 where none of it is in the window."""
        above = self._distance(index)
        if above is None:
            return 0
        height = self.height_of(index) - 1
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
            rows += self.height_of(between)
            if rows > 3 * self.height:
                return None
        return rows
