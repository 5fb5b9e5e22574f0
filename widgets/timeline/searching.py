"""A surface that can be searched: all matches marked, the next one a key away, the keyboard never kept waiting."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from textual.message import Message
from textual.reactive import reactive
from textual.timer import Timer

from oi_tui.widgets.timeline.finding import Finder, MatchPlace
from oi_tui.widgets.timeline.search import Search
from oi_tui.widgets.timeline.surface import Marks, Surface
from oi_tui.widgets.timeline.viewport import ScreenRow

SLICE = 0.004
"""Seconds of work for a search between two looks at the keyboard."""

PAUSE = 0.001
"""Seconds between two slices. Only one is ever waited for: of several, one would come right after the other."""

RECOUNT = 0.25
"""Seconds after which a block that changed is counted anew; one that is being written changes with every frame."""

_NOTHING: Iterator[None] = iter(())


class Searchable(Surface):
    """Rows in which a text can be looked for."""

    matches: reactive[str] = reactive("", repaint=False)
    """What is known of the search that is on, in words; "" without one."""

    @dataclass
    class SearchWanted(Message):
        """The person wants to say what to look for."""

    _finder: Finder | None = None
    _counting: Iterator[None] = _NOTHING
    _hunt: Iterator[MatchPlace | None] = _NOTHING
    _work_timer: Timer | None = None

    @property
    def searching(self) -> bool:
        """Whether a search is on."""
        return self._finder is not None

    def search(self, needle: str) -> None:
        """Mark all places where this text stands, and count them; "" ends the search."""
        self._finder = Finder(self._view, Search(needle)) if needle else None
        self._hunt = _NOTHING
        self._counting = self._finder.count() if self._finder is not None else _NOTHING
        self._work()
        self._want_frame()

    def action_search(self) -> None:
        """Ask for what to look for."""
        self.post_message(self.SearchWanted())

    def action_find(self, step: int) -> None:
        """To the next place where the text stands, beginning with what is on the screen."""
        if self._finder is None:
            self.action_search()
            return
        edge = self._rows[0 if step > 0 else -1] if self._rows else None
        self._hunt = self._finder.next(step, (edge.block, edge.inside) if edge is not None else (0, 0))
        self._work()

    def _note_change(self, index: int) -> None:
        """A block came or changed: while a search is on it is counted anew, a little later, for it may change again."""
        if self._finder is None:
            return
        self._finder.change(index)
        if self._finder.counted:
            self._counting = self._finder.count()
        if self._work_timer is None:
            self._work_timer = self.set_timer(RECOUNT, self._work)

    def _work(self) -> None:
        """A slice of what a search has to do: the way to the next match comes first, then the count."""
        if self._work_timer is not None:
            self._work_timer.stop()
            self._work_timer = None
        deadline = time.monotonic() + SLICE
        place: MatchPlace | None = None
        for found in chain(self._hunt, self._counting):
            place = found or place
            if time.monotonic() > deadline:
                self._work_timer = self.set_timer(PAUSE, self._work)
                break
        if place is not None:
            self.cursor = place[0]
            self.follow = self._view.show_row(*place)
            self._want_frame()
        self._tell()

    def _tell(self) -> None:
        if (finder := self._finder) is None:
            self.matches = ""
        elif not finder.counted:
            self.matches = f"{finder.total:,} matches so far"
        else:
            self.matches = f"{finder.total:,} match{'' if finder.total == 1 else 'es'}"

    def _marks_of(self, rows: Sequence[ScreenRow]) -> list[Marks]:
        return self._finder.marks(rows) if self._finder is not None else super()._marks_of(rows)
