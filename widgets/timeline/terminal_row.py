"""A line of a terminal in which the cursor moves: text over text, in columns."""

from collections.abc import Iterable

from rich.cells import cell_len, split_graphemes

from oi_tui.app.engine.text.safe import safe_text
from oi_tui.widgets.timeline.ink import Sgr

TerminalCell = tuple[str, Sgr]
TextLine = list[TerminalCell]
"""Pieces of text with their colours."""

TAB_STOP = 8
LONGEST_ROW = 10_000
"""Cells of a line in which the cursor moves; a terminal would end it at its right edge."""


class TerminalRow:
    """A line in which the cursor moved."""

    __slots__ = ("cells", "parts")

    def __init__(self) -> None:
        self.parts: TextLine = []
        self.cells = 0

    def write(self, column: int, text: str, sgr: Sgr) -> int:
        """Overwrite text; returns the column after it."""
        if column >= LONGEST_ROW or not (text := safe_text(text)):
            return column
        text, width = _crop(expand_tabs(text, column), LONGEST_ROW - column)
        if column == 0 and width >= self.cells:
            self.parts = [(text, sgr)]
        elif column >= self.cells:
            if column > self.cells:
                self.parts.append((" " * (column - self.cells), Sgr()))
            if self.parts and self.parts[-1][1] == sgr:
                self.parts[-1] = self.parts[-1][0] + text, sgr
            else:
                self.parts.append((text, sgr))
        else:
            after = _part(self.parts, column + width, self.cells)
            self.parts = [*_part(self.parts, 0, column), (text, sgr), *after]
        self.cells = max(self.cells, column + width)
        return column + width

    def erase(self, column: int, how: int) -> None:
        """Erase to the end, from the start to the cursor, or all of it."""
        match how:
            case 0:
                self.parts, self.cells = _part(self.parts, 0, column), min(column, self.cells)
            case 1:
                blank = min(column + 1, self.cells)
                self.parts = [(" " * blank, Sgr()), *_part(self.parts, blank, self.cells)]
            case 2:
                self.parts, self.cells = [], 0
            case _:
                pass


def _part(parts: Iterable[TerminalCell], start: int, end: int) -> TextLine:
    """The text in these columns."""
    kept: TextLine = []
    offset = 0
    for text, sgr in parts:
        width = text_width(text)
        if offset < end and offset + width > start and (piece := _cut(text, width, start - offset, end - offset)):
            kept.append((piece, sgr))
        offset += width
    return kept


def _cut(text: str, width: int, start: int, end: int) -> str:
    """The cells from `start` to `end`; of a wide character that is cut in two, a blank is left."""
    if start <= 0 and end >= width:
        return text
    if width == len(text) and text.isascii():
        return text[max(0, start) : end]
    kept: list[str] = []
    offset = 0
    for first, last, cells in split_graphemes(text)[0]:
        inside = min(offset + cells, end) - max(offset, start)
        if inside >= cells and (cells or start < offset < end):
            kept.append(text[first:last])
        elif inside > 0:
            kept.append(" " * inside)
        offset += cells
    return "".join(kept)


def _crop(text: str, room: int) -> tuple[str, int]:
    """The part of the text that fits in this many cells, and its width."""
    text = text[: 4 * room]  # more only if hardly anything of it can be seen
    width = text_width(text)
    if width <= room:
        return text, width
    text = _cut(text, width, 0, room)
    return text, text_width(text)


def text_width(text: str) -> int:
    """Cells of the text."""
    return len(text) if text.isascii() and text.isprintable() else cell_len(text)


def expand_tabs(text: str, column: int) -> str:
    """Replace tabs by spaces, for a text that begins in this column."""
    if "\t" not in text:
        return text
    *before, last = text.split("\t")
    parts: list[str] = []
    for piece in before:
        column += text_width(piece)
        parts += [piece, " " * (TAB_STOP - column % TAB_STOP)]
        column += TAB_STOP - column % TAB_STOP
    return "".join((*parts, last))
