"""A rich result in a form that is text: the way to draw what has no better one."""

from rich.segment import Segment

from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.text.rich_text import best_text
from oi_tui.widgets.timeline.console import HEAD_LINES, SHORT_LINES, TAIL_LINES, fold_note, shown_lines, terminal_lines
from oi_tui.widgets.timeline.row_pieces import BlockDisplay, Canvas, DrawnContent, RowPiece, rows
from oi_tui.widgets.timeline.wrap import Line, cells, window


class PlainText(DrawnContent):
    """Tables of a program keep their columns, so lines are moved sideways, not wrapped."""

    def __init__(self, output: RichOutput) -> None:
        self._lines = terminal_lines(best_text(output.data))
        self.line_count = len(self._lines)
        self.has_more = self.line_count > SHORT_LINES

    def pieces(self, canvas: Canvas, display: BlockDisplay) -> list[RowPiece]:
        """The lines, or the first and last of them, moved sideways where they are wider than the room."""
        ink, fold = canvas.ink, display.fold
        lines: list[Line] = []
        self.beyond = 0
        for number in shown_lines(len(self._lines), fold):
            if number is None:
                lines.append([Segment(fold_note(len(self._lines) - HEAD_LINES - TAIL_LINES, fold), ink.console_dim)])
                continue
            runs = [(text, ink.sgr(sgr, ink.console)) for text, sgr in self._lines[number]]
            lines.append(window(runs, display.shift, canvas.room))
            self.beyond = max(self.beyond, cells([Segment(text) for text, _ in runs]) - canvas.room)
        return [rows(canvas, lines, ink.console, "│", ink.console_faint)]
