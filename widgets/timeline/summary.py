"""The summary that the model reads instead of old turns, as rows: one line, and the text below it if it is open."""

from oi_tui.app.engine.core.blocks import SummaryBlock
from oi_tui.app.engine.text.summaries import summary_title
from oi_tui.widgets.timeline.markdown_lines import clean_text
from oi_tui.widgets.timeline.row_pieces import PROSE_WIDTH, BlockDisplay, Canvas, DrawnContent, RowPiece, rows
from oi_tui.widgets.timeline.wrap import crop, wrap


class SummaryRows(DrawnContent):
    """The rows of a `SummaryBlock`."""

    has_more = True

    def __init__(self, block: SummaryBlock) -> None:
        self.update(block)

    def update(self, block: SummaryBlock) -> None:
        """A newer version of the block."""
        self._block = block
        self.has_more = bool(block.text)

    def pieces(self, canvas: Canvas, display: BlockDisplay) -> list[RowPiece]:
        """What it covers and how long it is; opened, all of it."""
        ink, block = canvas.ink, self._block
        is_open = display.fold == "open" and self.has_more
        undo = canvas.keys.undo
        if not block.used:
            keys = f"{undo} uses it again" if undo else "not used"
        elif is_open or not block.text:
            keys = f"{undo} undoes" if undo else ""
        else:
            keys = f"{canvas.keys.unfold} opens"
        if is_open and canvas.keys.run_again:
            keys = f"{canvas.keys.run_again} edits · {keys}".removesuffix(" · ")
        title = crop([(summary_title(block), ink.dim), (f" · {keys}" if keys else "", ink.faint)], canvas.room)
        pieces: list[RowPiece] = [rows(canvas, [title], ink.page, "≡", ink.accent if block.used else ink.faint)]
        if is_open:
            text = clean_text(block.text).strip()
            pieces.append(
                rows(canvas, wrap([(text, ink.page)], min(canvas.room, PROSE_WIDTH)), ink.page, "│", ink.faint)
            )
        return pieces
