"""LaTeX results: formulas as Unicode."""

from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.text.rich_text import says_something
from oi_tui.widgets.timeline.markdown_lines import clean_text
from oi_tui.widgets.timeline.math import readable_math
from oi_tui.widgets.timeline.outputs.layout import fold_lines, is_folded, sideways
from oi_tui.widgets.timeline.row_pieces import BlockDisplay, Canvas, DrawnContent, RowPiece, rows
from oi_tui.widgets.timeline.wrap import TextRun


class Formula(DrawnContent):
    """A `text/latex` form. What is in lines stays in lines: fractions and matrices are pictures of text."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self.line_count = len(self._lines)
        self.has_more = is_folded(self.line_count)

    @classmethod
    def of(cls, output: RichOutput) -> "Formula | None":
        """The formula, unless it cannot be read and there is a text that says more."""
        latex = output.data.get("text/latex")
        if not isinstance(latex, str) or not latex.strip():
            return None
        text = clean_text(readable_math(latex)).strip("\n")
        if not text or ("\\" in text and says_something(output.data.get("text/plain"))):
            return None
        return cls(text)

    def pieces(self, canvas: Canvas, display: BlockDisplay) -> list[RowPiece]:
        """The lines, moved sideways where they are wider than the room."""
        ink = canvas.ink
        runs: list[list[TextRun]] = [[(line, ink.console)] for line in self._lines]
        lines, self.beyond = sideways(runs, display.shift, canvas.room)
        return [
            rows(
                canvas,
                fold_lines(lines, display.fold, ink.console_dim, canvas.keys),
                ink.console,
                "│",
                ink.console_faint,
            )
        ]
