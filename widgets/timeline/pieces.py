"""What a block is drawn from: runs of rows that know their number and give a row when asked.

Rows are finished strips of the full width. A row that has not changed is the same object as
before: the timeline repaints by identity.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Protocol

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from oi_tui.widgets.timeline.ink import Ink
from oi_tui.widgets.timeline.wrap import Line, cells

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

GUTTER = 3
"""Cells left of the content: the cursor, the mark, a space."""

PROSE_WIDTH = 100
"""Widest line of prose, in cells."""

Fold = Literal["short", "open", "closed"]
"""How much of a block is shown: what matters, all, one line."""


class Piece(Protocol):
    """Some rows, one under the other."""

    @property
    def height(self) -> int:
        """Number of rows, at least until the next layout."""

    def row(self, index: int) -> Strip:
        """The row at `index`, counted from 0."""


@dataclass(frozen=True, eq=False)
class Canvas:
    """Where and with what a block is drawn; a new one for every width, theme or setting."""

    width: int
    """Cells of a row, gutter included."""
    ink: Ink
    images: bool = True

    @property
    def room(self) -> int:
        """Cells for content: what the gutter and a margin at the right leave."""
        return max(4, self.width - GUTTER - 1)

    @cached_property
    def markdown(self) -> "MarkdownIt":
        """The parser. Tables and strike-through, nothing that a model does not write."""
        from markdown_it import MarkdownIt  # heavy: after the first frame, which rarely needs it

        return MarkdownIt("commonmark").enable(["table", "strikethrough"])

    def strip(self, line: Line, base: Style, mark: str = " ", mark_style: Style | None = None) -> Strip:
        """A row of content behind its gutter, padded with `base` to the full width."""
        gutter = Segment(f" {mark} ", mark_style or base)
        rest = self.width - GUTTER - cells(line)
        if rest < 0:
            return Strip([gutter, *line]).adjust_cell_length(self.width, base)
        return Strip([gutter, *line, Segment(" " * rest, base)], self.width)

    @cached_property
    def blank(self) -> Strip:
        """An empty row of the page."""
        return self.strip([], self.ink.page)


class Rows:
    """Rows that are there already."""

    def __init__(self, strips: Sequence[Strip]) -> None:
        self._strips = strips

    @property
    def height(self) -> int:
        """Number of rows."""
        return len(self._strips)

    def row(self, index: int) -> Strip:
        """The row at `index`."""
        return self._strips[index]


class Stack:
    """Pieces one under the other, as one; further ones can be put under them."""

    def __init__(self, pieces: Iterable[Piece] = ()) -> None:
        self.height = 0
        self._pieces: list[Piece] = []
        self._starts: list[int] = []
        for piece in pieces:
            self.append(piece)

    def append(self, piece: Piece) -> None:
        """Put a piece under the others; its height must not change any more."""
        if piece.height:
            self._pieces.append(piece)
            self._starts.append(self.height)
            self.height += piece.height

    def row(self, index: int) -> Strip:
        """The row at `index`."""
        number = bisect_right(self._starts, index) - 1
        return self._pieces[number].row(index - self._starts[number])


def rows(canvas: Canvas, lines: Iterable[Line], base: Style, mark: str = " ", mark_style: Style | None = None) -> Rows:
    """Lines of content as rows; the mark stands in the gutter of every one."""
    return Rows([canvas.strip(line, base, mark, mark_style) for line in lines])
