"""What the person asked, as rows."""

from rich.segment import Segment

from oi_tui.app.engine.core.blocks import UserBlock
from oi_tui.app.engine.text.attached import attached_file
from oi_tui.widgets.timeline.console import (
    HEAD_LINES,
    LINE_CHARACTERS,
    LONGEST_OPEN_LINE,
    SHORT_LINES,
    TAIL_LINES,
    fold_note,
    shown_lines,
)
from oi_tui.widgets.timeline.markdown_lines import clean_text, spaced_line
from oi_tui.widgets.timeline.row_pieces import (
    PROSE_WIDTH,
    BlockDisplay,
    Canvas,
    DrawnContent,
    FoldState,
    RowPiece,
    Rows,
)
from oi_tui.widgets.timeline.wrap import Line, crop, wrap


class User(DrawnContent):
    """The rows of a `UserBlock`."""

    def __init__(self, block: UserBlock) -> None:
        self.update(block)

    def update(self, block: UserBlock) -> None:
        """A newer version of the block."""
        self._lines = clean_text(block.text).split("\n")
        self._command = spaced_line(block.command)
        self._files = [spaced_line(attached_file(written).chip) for written in block.files]
        if self._command and block.origins:
            self._command += f" · written by {spaced_line(', '.join(block.origins))}"
        else:
            self._files += map(spaced_line, block.origins)
        longest = max(map(len, self._lines))
        self.has_more = len(self._lines) > SHORT_LINES or longest > LINE_CHARACTERS

    def pieces(self, canvas: Canvas, display: BlockDisplay) -> list[RowPiece]:
        """The text, and the files that came with it."""
        ink = canvas.ink
        named = [(f"{self._command} · ", ink.user_dim)] if self._command else []
        closed = [crop([*named, (self._lines[0], ink.user)], canvas.room)]
        lines = closed if display.fold == "closed" else self._draw(canvas, display.fold)
        marks = ["›", *" " * (len(lines) - 1)]
        return [
            Rows([canvas.strip(line, ink.user, mark, ink.user_mark) for line, mark in zip(lines, marks, strict=True)])
        ]

    def _draw(self, canvas: Canvas, fold: FoldState) -> list[Line]:
        ink = canvas.ink
        lines: list[Line] = []
        if self._command:
            lines.append(crop([(self._command, ink.user_dim)], canvas.room))
        for number in shown_lines(len(self._lines), fold):
            if number is None:
                lines.append(
                    [Segment(fold_note(len(self._lines) - HEAD_LINES - TAIL_LINES, fold, canvas.keys), ink.user_dim)]
                )
                continue
            text = self._lines[number]
            if len(text) > (most := LONGEST_OPEN_LINE if fold == "open" else LINE_CHARACTERS):
                text = text[:most] + (f"… {canvas.keys.shows_all}" if fold == "open" else "…")
            lines += wrap([(text, ink.user)], min(canvas.room, PROSE_WIDTH))
        if self._files:
            lines += wrap([("with " + ", ".join(self._files), ink.user_dim)], min(canvas.room, PROSE_WIDTH))
        return lines
