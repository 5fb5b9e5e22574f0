"""What the model thinks, as rows: its last lines while it arrives, one line afterwards, all of it when asked for."""

from oi_tui.app.engine.core.blocks import ThoughtBlock
from oi_tui.app.engine.text.thoughts import thought_title
from oi_tui.widgets.timeline.markdown_lines import clean_text
from oi_tui.widgets.timeline.row_pieces import PROSE_WIDTH, BlockDisplay, Canvas, DrawnContent, RowPiece, rows
from oi_tui.widgets.timeline.wrap import Line, crop, wrap

LATEST = 4
"""Rows of a thought that is still growing."""

LONGEST_THOUGHT = 100_000
"""Characters that are drawn of an opened one."""


class ThoughtRows(DrawnContent):
    """The rows of a `ThoughtBlock`."""

    has_more = True

    def __init__(self, block: ThoughtBlock) -> None:
        self.update(block)

    def update(self, block: ThoughtBlock) -> None:
        """A newer version of the block."""
        self._block = block

    def pieces(self, canvas: Canvas, display: BlockDisplay) -> list[RowPiece]:
        """A line with the duration, and below it the visible part."""
        ink, block = canvas.ink, self._block
        streams = block.state == "streaming"
        hint = "" if display.fold == "open" or streams else canvas.keys.to_show
        title = crop([(thought_title(block) + hint, ink.dim)], canvas.room)
        pieces: list[RowPiece] = [rows(canvas, [title], ink.page, "~", ink.faint)]
        lines = self._all(canvas) if display.fold == "open" else self._latest(canvas) if streams else []
        pieces.append(rows(canvas, lines, ink.page, "│", ink.faint))
        return pieces

    def _all(self, canvas: Canvas) -> list[Line]:
        text = clean_text(self._block.text[:LONGEST_THOUGHT]).strip()
        if len(self._block.text) > LONGEST_THOUGHT:
            text += f"…\n… {canvas.keys.shows_all}"
        return wrap([(text, canvas.ink.dim)], min(canvas.room, PROSE_WIDTH))

    def _latest(self, canvas: Canvas) -> list[Line]:
        """The end of a thought, however long it is."""
        width = min(canvas.room, PROSE_WIDTH)
        text = clean_text(self._block.text[-(LATEST + 1) * width :]).strip()
        return wrap([(text, canvas.ink.faint)], width)[-LATEST:]
