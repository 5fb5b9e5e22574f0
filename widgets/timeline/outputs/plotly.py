"""Plotly figures without a browser: what they are about, and how to get pictures of them."""

from rich.style import Style

from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.text.plotly_svg import PLOTLY_TYPE, plotly_summary
from oi_tui.widgets.timeline.markdown_lines import spaced_line
from oi_tui.widgets.timeline.row_pieces import BlockDisplay, Canvas, DrawnContent, RowPiece, rows
from oi_tui.widgets.timeline.wrap import Line, wrap

ADVICE = (
    "interactive figure · for pictures of such figures: pip install kaleido, "
    "then plotly.io.renderers.default = 'plotly_mimetype+png'"
)


class PlotlySummary(DrawnContent):
    """Title, axes, and a line about each trace."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = [spaced_line(line) for line in lines]

    @classmethod
    def of(cls, output: RichOutput) -> "PlotlySummary | None":
        """What a figure shows. (Where the kernel made a picture as well, that one is drawn, by `picture.py`.)"""
        lines = plotly_summary(output.data.get(PLOTLY_TYPE))
        return cls(lines) if lines else None

    def pieces(self, canvas: Canvas, display: BlockDisplay) -> list[RowPiece]:
        """The lines, and a remark."""
        ink = canvas.ink
        first = ink.console + Style(bold=True)
        lines: list[Line] = []
        for number, line in enumerate(self._lines):
            lines += wrap([(line, ink.console if number else first)], canvas.room)
        lines += wrap([(ADVICE, ink.console_dim)], canvas.room)
        return [rows(canvas, lines, ink.console, "│", ink.console_faint)]
