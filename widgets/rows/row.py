"""One row: what it consists of, where it is on the screen, what is marked in it."""

from collections.abc import Iterable
from typing import NamedTuple

from rich.segment import Segment
from textual.strip import Strip

ROW_BITS = 20
"""Bits for the row inside an item in the key of a row."""


class RowStrip(Strip):
    """A finished row that knows its text: what a person means who copies it or searches in it."""

    __slots__ = ["joint", "lead", "painted", "reach"]

    def __init__(self, segments: Iterable[Segment], width: int, joint: str, lead: int, reach: int) -> None:
        super().__init__(segments, width)
        self.joint = joint
        """The text between the row above and this one: a newline, or what a soft wrap removed."""
        self.lead = lead
        """Cells before the text: gutter, indentation of a continued row, line number."""
        self.reach = reach
        """Cell after the last one of the text; what follows only fills the row."""
        self.painted: tuple[object, list[Strip | None]] | None = None
        """The key of its look, and the painted row, without and with the scroll bar's thumb over it: cached, so that it
        is painted once. The same row may appear at several places."""


class ViewRow(NamedTuple):
    """One row of the screen."""

    strip: RowStrip
    item: int
    """Index of the block of a timeline, or of the line of a text, that it belongs to."""
    inside: int
    """Row inside the item."""
    last: bool = False
    """Whether it is the empty one that parts a block from the next."""

    @property
    def key(self) -> int:
        """Ordered like the text, whatever is on the screen."""
        return self.item << ROW_BITS | self.inside


class Marks(NamedTuple):
    """What is marked in a row."""

    spans: tuple[tuple[int, int], ...] = ()
    """First cell and the one after the last."""
    here: bool = False
    """Whether it is the place that was gone to."""


UNMARKED = Marks()
