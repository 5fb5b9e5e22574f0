"""Markdown results: drawn as prose is."""

from rich.segment import Segment

from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.widgets.timeline.markdown_lines import MarkdownLines, clean_text
from oi_tui.widgets.timeline.outputs.layout import fold_lines, is_folded
from oi_tui.widgets.timeline.row_pieces import BlockDisplay, Canvas, DrawnContent, RowPiece, rows
from oi_tui.widgets.timeline.wrap import Line

MOST_CHARACTERS = 100_000
"""Drawn at once; a longer text is no report, and it is parsed as a whole."""


class MarkdownText(DrawnContent):
    """A `text/markdown` result, drawn as prose."""

    def __init__(self, text: str) -> None:
        self._text = clean_text(text[:MOST_CHARACTERS])
        self.line_count = self._text.count("\n") + 1
        self._missing = len(text) - MOST_CHARACTERS
        self._canvas: Canvas | None = None
        self._lines: list[Line] = []

    @classmethod
    def of(cls, output: RichOutput) -> "MarkdownText | None":
        """The text, if it is one."""
        text = output.data.get("text/markdown")
        return cls(text) if isinstance(text, str) and text.strip() else None

    def pieces(self, canvas: Canvas, display: BlockDisplay) -> list[RowPiece]:
        """The lines, or the first and last of them."""
        ink = canvas.ink
        if self._canvas is not canvas:
            self._canvas = canvas
            self._lines = MarkdownLines(canvas).draw(canvas.markdown.parse(self._text))
            self.has_more = is_folded(len(self._lines))
        drawn: list[RowPiece] = [
            rows(canvas, fold_lines(self._lines, display.fold, ink.dim, canvas.keys), ink.page, "│", ink.faint)
        ]
        if self._missing > 0:
            from_here: Line = [Segment(f"… {self._missing:,} more characters are left out here", ink.dim)]
            drawn.append(rows(canvas, [from_here], ink.page, "│", ink.faint))
        return drawn
