"""The drawn form of blocks: one cell for each block that is or was lately on the screen."""

from collections import OrderedDict

from oi_tui.app.engine.core.blocks import Action, Block, NoticeBlock, ProseBlock, SummaryBlock, ThoughtBlock, UserBlock
from oi_tui.app.engine.core.outputs import StreamOutput
from oi_tui.widgets.rows.row import RowStrip
from oi_tui.widgets.timeline.code import Code
from oi_tui.widgets.timeline.notice import NoticeRows
from oi_tui.widgets.timeline.prose import Prose
from oi_tui.widgets.timeline.row_pieces import BlockDisplay, Canvas, Stack, rows
from oi_tui.widgets.timeline.summary import SummaryRows
from oi_tui.widgets.timeline.thought import ThoughtRows
from oi_tui.widgets.timeline.user import User
from oi_tui.widgets.timeline.wrap import crop

MOST_ROWS = 6_000
"""Rows of all kept cells together; the ones not seen for longest go first."""

FEWEST_CELLS = 100
"""Cells that are kept however high they are: more than fit on a screen."""


MARKS = {"pinned": "pinned · always sent to the model", "left out": "left out · the model is not sent this"}
"""The words below a marked block."""


class BlockCell:
    """A block, its renderer, and the rows that came out."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self._content = _content(block)
        self._canvas: Canvas | None = None
        self._display = BlockDisplay()
        self._stale = True
        self._stack = Stack()
        self.height = 0
        """Rows, with the empty one that parts it from the next block."""

    @property
    def has_more(self) -> bool:
        """Whether something is hidden until asked for."""
        return self._content.has_more

    @property
    def beyond(self) -> int:
        """Cells by which its widest row is too wide and can be moved sideways."""
        return self._content.beyond

    @property
    def error_row(self) -> int | None:
        """Row of the line of source that raised the error, None where there is none to see."""
        return self._content.error_row if isinstance(self._content, Code) else None

    @property
    def behind(self) -> bool:
        """Whether another layout has more to show, although nothing changed."""
        return isinstance(self._content, Code) and self._content.behind

    def layout(self, block: Block, canvas: Canvas, display: BlockDisplay) -> int:
        """Bring the rows up to date; returns the height."""
        if block is not self._block:
            self._take(block)
        elif canvas is self._canvas and display == self._display and not self._stale and not self.behind:
            return self.height
        self._canvas, self._display, self._stale = canvas, display, False
        self._stack = Stack(self._content.pieces(canvas, display))
        if isinstance(block, UserBlock | ProseBlock | Action) and block.mark:
            key, does = (canvas.keys.pin, "unpins") if block.mark == "pinned" else (canvas.keys.leave_out, "undoes")
            words = crop([(MARKS[block.mark] + f" · {key} {does}" * bool(key), canvas.ink.dim)], canvas.room)
            self._stack.append(rows(canvas, [words], canvas.ink.page, "·", canvas.ink.accent))
        self.height = self._stack.height + 1
        return self.height

    def tick(self, elapsed: float, tick: int) -> None:
        """Another frame of the spinner of a running cell."""
        if isinstance(self._content, Code):
            self._content.elapsed, self._content.tick = elapsed, tick
            self._stale = True

    def row(self, index: int) -> RowStrip:
        """The row at `index`, after `layout`."""
        assert self._canvas is not None
        return self._stack.row(index) if index < self._stack.height else self._canvas.blank

    def _take(self, block: Block) -> None:
        match self._content, block:
            case (User() as user, UserBlock()):
                user.update(block)
            case (Prose() as prose, ProseBlock()):
                prose.update(block)
            case (SummaryRows() as summary, SummaryBlock()):
                summary.update(block)
            case (ThoughtRows() as thought, ThoughtBlock()):
                thought.update(block)
            case (Code() as code, Action()) if code.language == block.written_in:
                code.update(block)
            case (NoticeRows() as notice, NoticeBlock()):
                notice.update(block)
            case _:
                self._content = _content(block)
        self._block = block


class BlockCells:
    """Cells by the index of their block, with a bound on what they hold."""

    def __init__(self) -> None:
        self._cells: OrderedDict[int, BlockCell] = OrderedDict()
        self._rows = 0

    def __len__(self) -> int:
        return len(self._cells)

    def layout(self, index: int, block: Block, canvas: Canvas, display: BlockDisplay) -> BlockCell:
        """The cell of a block, up to date."""
        cell = self._cells.get(index)
        if cell is None:
            cell = self._cells[index] = BlockCell(block)
        else:
            self._cells.move_to_end(index)
        before = cell.height
        self._rows += cell.layout(block, canvas, display) - before
        while self._rows > MOST_ROWS and len(self._cells) > FEWEST_CELLS:
            _, oldest = self._cells.popitem(last=False)
            self._rows -= oldest.height
        return cell

    def __contains__(self, index: int) -> bool:
        return index in self._cells

    def clear(self) -> None:
        self._cells.clear()
        self._rows = 0


def estimate(block: Block, canvas: Canvas) -> int:
    """Rows that a block may need, without drawing it."""
    match block:
        case UserBlock() | ProseBlock():
            return _text_rows(block.text, min(canvas.room, 100)) + 1
        case ThoughtBlock() | SummaryBlock():
            return 2
        case NoticeBlock():
            return 3 if block.hint else 2
        case Action():
            outputs = sum(
                min(21, output.text.count("\n") + 1) if isinstance(output, StreamOutput) else 5
                for output in block.outputs
            )
            return 2 + block.source.count("\n") + 1 + outputs


def _text_rows(text: str, width: int) -> int:
    return len(text) // width + text.count("\n") + 1


def _content(block: Block) -> User | Prose | ThoughtRows | SummaryRows | Code | NoticeRows:
    match block:
        case UserBlock():
            return User(block)
        case ProseBlock():
            return Prose(block)
        case ThoughtBlock():
            return ThoughtRows(block)
        case SummaryBlock():
            return SummaryRows(block)
        case Action():
            return Code(block)
        case NoticeBlock():
            return NoticeRows(block)
