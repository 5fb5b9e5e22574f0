"""Lines as a program prints them: a rich result in a form that is text, and what a plugin draws."""

from collections.abc import Sequence
from itertools import islice

from rich.segment import Segment

from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.text.rich_text import best_text
from oi_tui.plugins.screen_values import Drawing
from oi_tui.widgets.timeline.console import (
    HEAD_LINES,
    MOST_LINES,
    SHORT_LINES,
    TAIL_LINES,
    fold_note,
    shown_lines,
    terminal_lines,
)
from oi_tui.widgets.timeline.row_pieces import BlockDisplay, Canvas, DrawnContent, RowPiece, rows
from oi_tui.widgets.timeline.terminal_row import TextLine
from oi_tui.widgets.timeline.wrap import Line, cells, window

MOST_TEXT = 1_000_000
"""Characters of what a plugin draws."""


class PrintedLines(DrawnContent):
    """Tables of a program keep their columns, so lines are moved sideways, not wrapped."""

    def _rows(self, printed: Sequence[TextLine], canvas: Canvas, display: BlockDisplay) -> list[RowPiece]:
        """The lines, or the first and last of them, moved sideways where they are wider than the room."""
        self.line_count = len(printed)
        self.has_more = self.line_count > SHORT_LINES
        ink, fold = canvas.ink, display.fold
        lines: list[Line] = []
        self.beyond = 0
        for number in shown_lines(len(printed), fold):
            if number is None:
                lines.append(
                    [Segment(fold_note(len(printed) - HEAD_LINES - TAIL_LINES, fold, canvas.keys), ink.console_dim)]
                )
                continue
            runs = [(text, ink.sgr(sgr, ink.console)) for text, sgr in printed[number]]
            lines.append(window(runs, display.shift, canvas.room))
            self.beyond = max(self.beyond, cells([Segment(text) for text, _ in runs]) - canvas.room)
        return [rows(canvas, lines, ink.console, "│", ink.console_faint)]


class PlainText(PrintedLines):
    """The way to draw what has no better form."""

    def __init__(self, output: RichOutput) -> None:
        self._lines = terminal_lines(best_text(output.data))
        self.line_count = len(self._lines)
        self.has_more = self.line_count > SHORT_LINES

    def pieces(self, canvas: Canvas, display: BlockDisplay) -> list[RowPiece]:
        """All of them, or head and tail."""
        return self._rows(self._lines, canvas, display)


class DrawnLines(PrintedLines):
    """What a plugin draws, made safe; whatever it raises, and TypeError for what is no text, comes from `pieces`."""

    def __init__(self, drawing: Drawing) -> None:
        self._drawing = drawing
        self._at: tuple[int, Sequence[TextLine]] | None = None

    def pieces(self, canvas: Canvas, display: BlockDisplay) -> list[RowPiece]:
        """Its lines at this width."""
        if self._at is None or self._at[0] != canvas.room:
            self._at = canvas.room, terminal_lines(self._text(canvas.room))
        return self._rows(self._at[1], canvas, display)

    def _text(self, room: int) -> str:
        return "\n".join(islice(self._drawing.lines(room), MOST_LINES))[:MOST_TEXT]
