"""What the program itself has to say, as rows."""

from oi_tui.app.engine.core.blocks import NoticeBlock
from oi_tui.widgets.timeline.markdown_lines import clean_text
from oi_tui.widgets.timeline.row_pieces import PROSE_WIDTH, BlockDisplay, Canvas, DrawnContent, RowPiece, rows
from oi_tui.widgets.timeline.wrap import Line, wrap

LONGEST_DETAILS = 20_000
"""Characters of opened details; more than a person reads here."""

_SYMBOLS = {"info": "i", "warning": "!", "error": "✗"}


class NoticeRows(DrawnContent):
    """The rows of a `NoticeBlock`."""

    def __init__(self, block: NoticeBlock) -> None:
        self.update(block)

    def update(self, block: NoticeBlock) -> None:
        """A newer version of the block."""
        self._block = block
        self.has_more = bool(block.details)

    def pieces(self, canvas: Canvas, display: BlockDisplay) -> list[RowPiece]:
        """Title, hint, and the details when asked for."""
        ink, block = canvas.ink, self._block
        style = {"info": ink.info, "warning": ink.warning, "error": ink.error}[block.level]
        width = min(canvas.room, PROSE_WIDTH)
        title = wrap([(clean_text(block.title), ink.page)], width)
        pieces: list[RowPiece] = [rows(canvas, title[:1], ink.page, _SYMBOLS[block.level], style)]
        lines: list[Line] = title[1:] if display.fold != "closed" else []
        if display.fold != "closed" and block.hint:
            lines = lines + wrap([(clean_text(block.hint), ink.dim)], width)
        if display.fold == "short" and block.details:
            lines = lines + wrap([(f"details{canvas.keys.to_show}", ink.dim)], width)
        pieces.append(rows(canvas, lines, ink.page))
        if display.fold == "open" and block.details:
            text = clean_text(block.details[:LONGEST_DETAILS])
            if len(block.details) > LONGEST_DETAILS:
                text += f"…\n… {canvas.keys.shows_all}"
            details = wrap([(text, ink.console_dim)], canvas.room)
            pieces.append(rows(canvas, details, ink.console, "│", ink.console_faint))
        return pieces
