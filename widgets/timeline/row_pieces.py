"""What a block is drawn from: runs of rows that know their number and give a row when asked.

Rows are finished strips of the full width. A row that has not changed is the same object as
before: the timeline repaints by identity.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from oi_tui.widgets.rows.row import RowStrip
from oi_tui.widgets.timeline.drawing import DrawnPicture, Order
from oi_tui.widgets.timeline.grammar import parser
from oi_tui.widgets.timeline.graphics import IN_CELLS, Graphics
from oi_tui.widgets.timeline.ink import Ink
from oi_tui.widgets.timeline.wrap import Continuation, Line, cells

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

GUTTER = 3
"""Cells left of the content: the cursor, the mark, a space."""

PROSE_WIDTH = 100
"""Widest line of prose, in cells."""

MADE_ROWS = 500
"""Rows that are kept, so that one with the same text is not made again; then all of them are forgotten."""

FoldState = Literal["short", "open", "closed"]
"""How much of a block is shown: what matters, all, one line."""


class PictureCache(Protocol):
    """Draws pictures for rows and keeps what it drew."""

    def look(self, order: Order) -> DrawnPicture | None:
        """The drawing for this order, None while it is in progress; Unreadable if it fails."""
        ...


class BlockDisplay(NamedTuple):
    """How the person wants to see a block."""

    fold: FoldState = "short"
    shift: int = 0
    """Cells that wide content, which is not wrapped, is moved to the left."""
    numbers: bool = False
    """Whether source has line numbers."""


class RowPiece(Protocol):
    """Some rows, one below the other."""

    @property
    def height(self) -> int:
        """Number of rows, at least until the next layout."""

    def row(self, index: int) -> RowStrip:
        """The row at `index`, counted from 0."""


class DrawnContent:
    """What a block or an output reports beside its rows; each kind overrides what differs."""

    line_count = 0
    """Lines of text when all is shown, 0 for what has no lines or has others at every width."""
    has_more = False
    """Whether something is hidden until asked for; as of the last layout."""
    beyond = 0
    """Cells by which its widest row is too wide and can be moved sideways; as of the last layout."""


class BlockKeys(NamedTuple):
    """Keys that rows name, as they are bound now; "" is none."""

    unfold: str = "enter"
    view: str = "v"
    undo: str = "u"
    run_again: str = "r"
    pin: str = "P"
    leave_out: str = "L"

    @property
    def to_show(self) -> str:
        """What shows more, for the end of a remark."""
        return f" · {self.unfold} to show" if self.unfold else ""

    @property
    def shows_all(self) -> str:
        """What shows all of it, for the end of a remark."""
        return f"{self.view} shows all" if self.view else "there is more"


DECLARED_KEYS = BlockKeys()
"""As they are declared."""


@dataclass(frozen=True, eq=False)
class Canvas:
    """Where and with what a block is drawn; a new one for every width, theme or setting."""

    width: int
    """Cells of a row, gutter included."""
    ink: Ink
    graphics: Graphics = IN_CELLS
    gallery: "PictureCache | None" = None
    """Who draws pictures when they come into view; without one they are drawn at once."""
    keys: BlockKeys = DECLARED_KEYS

    @property
    def room(self) -> int:
        """Cells for content: what the gutter and a margin at the right leave."""
        return max(4, self.width - GUTTER - 1)

    @cached_property
    def markdown(self) -> "MarkdownIt":
        """The parser; made when it is first needed."""
        return parser()

    def strip(
        self, line: Line, base: Style, mark: str = " ", mark_style: Style | None = None, *, lead: int = 0
    ) -> RowStrip:
        """A row of content behind its gutter, padded with `base` to the full width.

        The first `lead` cells of it are no text: a line number, a mark. A row that was made lately is the same object.
        """
        joint, fill = "\n", 0
        if isinstance(line, Continuation):
            joint, lead, fill = line.joint, lead + line.lead, line.fill
        key = (*line, base, mark, mark_style, joint, lead, fill)
        if (made := self._recent_rows.get(key)) is None:
            if len(self._recent_rows) >= MADE_ROWS:
                self._recent_rows.clear()
            made = self._recent_rows[key] = self._row_of(line, base, mark, mark_style, joint, lead, fill)
        return made

    def _row_of(
        self, line: Line, base: Style, mark: str, mark_style: Style | None, joint: str, lead: int, fill: int
    ) -> RowStrip:
        segments = [Segment(f" {mark} ", mark_style or base), *line]
        reach = GUTTER + cells(line)
        if reach > self.width:
            segments, reach = list(Strip(segments).adjust_cell_length(self.width, base)), self.width
        elif reach < self.width:
            segments.append(Segment(" " * (self.width - reach), base))
        reach -= fill
        return RowStrip(segments, self.width, joint, min(GUTTER + lead, reach), reach)

    @cached_property
    def _recent_rows(self) -> dict[tuple[object, ...], RowStrip]:
        """Rows of the last calls: a growing paragraph is wrapped with each frame, into the same rows."""
        return {}

    @cached_property
    def blank(self) -> RowStrip:
        """An empty row of the page."""
        return self.strip([], self.ink.page)


class Rows:
    """Rows that are there already."""

    def __init__(self, strips: Sequence[RowStrip]) -> None:
        self._strips = strips

    @property
    def height(self) -> int:
        return len(self._strips)

    def row(self, index: int) -> RowStrip:
        """The row at `index`."""
        return self._strips[index]


class Stack:
    """Pieces one under the other, as one; further ones can be put under them."""

    def __init__(self, pieces: Iterable[RowPiece] = ()) -> None:
        self.height = 0
        self._pieces: list[RowPiece] = []
        self._starts: list[int] = []
        for piece in pieces:
            self.append(piece)

    def append(self, piece: RowPiece) -> None:
        """Put a piece under the others; its height must not change any more."""
        if piece.height:
            self._pieces.append(piece)
            self._starts.append(self.height)
            self.height += piece.height

    def row(self, index: int) -> RowStrip:
        """The row at `index`."""
        number = bisect_right(self._starts, index) - 1
        return self._pieces[number].row(index - self._starts[number])


def rows(canvas: Canvas, lines: Iterable[Line], base: Style, mark: str = " ", mark_style: Style | None = None) -> Rows:
    """Lines of content as rows; each has the mark in its gutter."""
    return Rows([canvas.strip(line, base, mark, mark_style) for line in lines])
