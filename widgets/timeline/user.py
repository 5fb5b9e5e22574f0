"""What the person asked, as rows."""

from rich.segment import Segment

from oi_tui.app.engine.core.blocks import UserBlock
from oi_tui.widgets.timeline.console import HEAD, LONGEST_LINE, LONGEST_OPEN_LINE, TAIL, hidden, shown
from oi_tui.widgets.timeline.markdown import clean, one_line
from oi_tui.widgets.timeline.pieces import PROSE_WIDTH, Canvas, Display, Fold, Piece, Rows
from oi_tui.widgets.timeline.wrap import Line, crop, wrap


class User:
    """The rows of a `UserBlock`."""

    def __init__(self, block: UserBlock) -> None:
        self.update(block)

    def update(self, block: UserBlock) -> None:
        """A newer version of the block."""
        self._lines = clean(block.text).split("\n")
        self._files = [one_line(file) for file in block.files]

    @property
    def has_more(self) -> bool:
        """Whether lines of a long paste are hidden."""
        return len(self._lines) > HEAD + TAIL + 1 or max(map(len, self._lines)) > LONGEST_LINE

    @property
    def beyond(self) -> int:
        """Nothing is too wide: all is wrapped."""
        return 0

    def pieces(self, canvas: Canvas, display: Display) -> list[Piece]:
        """The text, and the files that came with it."""
        ink = canvas.ink
        closed = [crop([(self._lines[0], ink.user)], canvas.room)]
        lines = closed if display.fold == "closed" else self._drawn(canvas, display.fold)
        marks = ["›", *" " * (len(lines) - 1)]
        return [
            Rows([canvas.strip(line, ink.user, mark, ink.user_mark) for line, mark in zip(lines, marks, strict=True)])
        ]

    def _drawn(self, canvas: Canvas, fold: Fold) -> list[Line]:
        ink = canvas.ink
        lines: list[Line] = []
        for number in shown(len(self._lines), fold):
            if number is None:
                lines.append([Segment(hidden(len(self._lines) - HEAD - TAIL, fold), ink.user_dim)])
                continue
            text = self._lines[number]
            if len(text) > (most := LONGEST_OPEN_LINE if fold == "open" else LONGEST_LINE):
                text = text[:most] + ("… v shows all" if fold == "open" else "…")
            lines += wrap([(text, ink.user)], min(canvas.room, PROSE_WIDTH))
        if self._files:
            lines += wrap([("with " + ", ".join(self._files), ink.user_dim)], min(canvas.room, PROSE_WIDTH))
        return lines
