"""The place of a window among items of some rows each. Knows no widget.

The place is an item and a row inside it, so that nothing that changes above or below moves what is read.
"""

from abc import ABC, abstractmethod


class RowWindow(ABC):
    """A window over any number of items; of most of them the height is never asked."""

    def __init__(self) -> None:
        self.height = 0
        """Rows of the window."""
        self.top = (0, 0)
        """Item at the upper edge and the row inside it."""

    @property
    @abstractmethod
    def count(self) -> int:
        """How many items there are, as far as is known."""

    @abstractmethod
    def height_of(self, item: int) -> int:
        """Rows of an item, at least one."""

    def reaches(self, item: int) -> bool:
        """Whether there is such an item; `count` is more than it from then on."""
        return item < self.count

    def scroll(self, rows: int) -> bool:
        """Move down (or, negative, up) by this many rows, not beyond the ends; returns whether the end is reached."""
        item, inside = self.top
        inside += rows
        while inside < 0 and item > 0:
            item -= 1
            inside += self.height_of(item)
        inside = max(0, inside)
        while self.reaches(item) and inside >= (height := self.height_of(item)):
            item, inside = item + 1, inside - height
        self.reaches(item + self.height)
        last = self.last_top()
        self.top = min((item, inside), last)
        return self.top == last

    def to_end(self) -> None:
        """Show the last rows of what is known."""
        self.top = self.last_top()

    def last_top(self) -> tuple[int, int]:
        """Where the upper edge is when the last row is at the lower one."""
        item, rows = self.count, 0
        while item > 0 and rows < self.height:
            item -= 1
            rows += self.height_of(item)
        return item, max(0, rows - self.height)
