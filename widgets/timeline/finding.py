"""Searching the transcript: how often a text occurs, the way to the next place, and what to mark on the screen.

Whatever takes longer than a moment comes as a generator of small steps, so that a search through a hundred
thousand blocks never keeps the keyboard waiting.
"""

from collections.abc import Iterator, Sequence
from itertools import chain

from oi_tui.widgets.rows.row import Marks, RowStrip, ViewRow
from oi_tui.widgets.timeline.search import Search
from oi_tui.widgets.timeline.viewport import Viewport

ROWS_A_STEP = 100
"""Rows that are looked at between two pauses."""

ROWS_NUMBERED = 2_000
"""Rows of a block, at most, in which it is counted which match one is at."""

MatchPlace = tuple[int, int]
"""A block and a row inside it."""


class Finder:
    """One search in the blocks of a window."""

    def __init__(self, view: Viewport, search: Search) -> None:
        self._view = view
        self._search = search
        self._counts: dict[int, int] = {}
        self._changed: dict[int, None] = {}
        """Blocks to count again, in order."""
        self._begun = False
        self.total = 0
        """Matches that were counted so far."""
        self.counted = False
        """Whether the count has come to its end; what changes after that needs another `count`."""
        self.place: MatchPlace | None = None
        """Where the last step of the search led."""

    def count(self) -> Iterator[None]:
        """Count all matches, or after that those in what has changed, in small steps."""
        self.counted = False
        if not self._begun:
            self._begun = True
            for index in self._search.find(self._view.blocks, 0, 1):
                if index is None:
                    yield
                else:
                    yield from self._count_in(index)
        while self._changed:
            index = next(iter(self._changed))
            del self._changed[index]
            yield from self._count_in(index)
        self.counted = True

    def change(self, index: int) -> None:
        """This block is new or another now: it is still to be counted."""
        self._changed[index] = None

    def next(self, step: int, start: MatchPlace) -> Iterator[MatchPlace | None]:
        """Look for the next row with a match after (or, with `step` -1, before) a place, around the ends as well.

        The first time, the row at `start` counts too. Yields None between small steps, then the place, and ends.
        """
        if not self._view.blocks:
            return
        here, row = self.place or start
        beyond: int | None = row if self.place is not None else row - step
        for index in chain([here], self._search.find(self._view.blocks, here + step, step)):
            if index is None:
                yield None
                continue
            for inside in self._rows_in(index, step, beyond):
                if inside is None:
                    yield None
                    continue
                self.place = index, inside
                yield self.place
                return
            beyond = None

    @property
    def ordinal(self) -> int | None:
        """Which of the matches `place` is, from 1; None without a place, and where that would take long to count."""
        if self.place is None or not self.counted:
            return None
        index, inside = self.place
        cell = self._view.cell(index)
        if cell.height > ROWS_NUMBERED:
            return None
        rows = [ViewRow(cell.row(number), index, number) for number in range(inside)]
        before = sum(count for other, count in self._counts.items() if other < index)
        return min(self.total, before + sum(map(len, self._spans(rows))) + 1)

    def marks(self, rows: Sequence[ViewRow]) -> list[Marks]:
        """What to mark in each of these consecutive rows of the window."""
        return [
            Marks(tuple(spans), here=(row.item, row.inside) == self.place)
            for row, spans in zip(rows, self._spans(rows), strict=True)
        ]

    # -- inside ------------------------------------------------------------------------------------------------

    def _count_in(self, index: int) -> Iterator[None]:
        count = 0
        for matches in self._search.counts(self._view.blocks[index]):
            count += matches
            yield
        self.total += count - self._counts.get(index, 0)
        self._counts[index] = count

    def _spans(self, rows: Sequence[ViewRow]) -> list[list[tuple[int, int]]]:
        if not rows:
            return []
        before, after = self._reach(rows[0], -1), self._reach(rows[-1], 1)
        lines = [*before, *(row.strip for row in rows), *after]
        return self._search.spans(lines)[len(before) : len(lines) - len(after)]

    def _reach(self, row: ViewRow, side: int) -> list[RowStrip]:
        """Rows beyond this one that belong to the same line of text, a few at most."""
        cell = self._view.cell(row.item)
        reached: list[RowStrip] = []
        inside = row.inside
        for _ in range(3):
            if side < 0 and cell.row(inside).joint == "\n":
                break
            inside += side
            if not 0 <= inside < cell.height or (side > 0 and cell.row(inside).joint == "\n"):
                break
            reached.append(cell.row(inside))
        return reached[::side]

    def _rows_in(self, index: int, step: int, beyond: int | None) -> Iterator[int | None]:
        """Rows of a block with a match, after `beyond`; it is opened where the match is hidden."""
        view = self._view
        if beyond is not None:
            for matches in self._search.counts(view.blocks[index]):
                if matches:
                    break
                yield None
            else:
                return
        found = False
        for inside in self._row_numbers(index, step, beyond):
            found = found or inside is not None
            yield inside
        if found or beyond is not None:
            return
        before = view.display_of(index)
        if before.fold != "open":
            view.display(index, before._replace(fold="open"))
            for inside in self._row_numbers(index, step, None):
                found = found or inside is not None
                yield inside
        if not found:  # in text that a row does not show verbatim: Markdown marks, a picture's text
            view.display(index, before)
            yield 0

    def _row_numbers(self, index: int, step: int, beyond: int | None) -> Iterator[int | None]:
        while (cell := self._view.cell(index)).behind:
            yield None  # a long output that was just opened is read and measured in steps
        numbers = range(cell.height) if step > 0 else range(cell.height - 1, -1, -1)
        looked = 0
        for inside in numbers:
            if beyond is not None and (inside - beyond) * step <= 0:
                continue
            looked += 1
            if looked % ROWS_A_STEP == 0:
                yield None
            row = ViewRow(cell.row(inside), index, inside, last=inside == cell.height - 1)
            if self._spans([row])[0]:
                yield inside
