"""A search that is on: all matches marked and counted, the next one a key away, the keyboard never kept waiting."""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from textual.widget import Widget

from oi_tui.app.engine.text.words import quantity
from oi_tui.widgets.rows.frames import call_after
from oi_tui.widgets.rows.row import Marks, ViewRow
from oi_tui.widgets.timeline.finding import Finder, MatchPlace
from oi_tui.widgets.timeline.search import Search
from oi_tui.widgets.timeline.viewport import Viewport

SLICE = 0.004
"""Seconds of work for a search between two looks at the keyboard."""

PAUSE = 0.001
"""Seconds between two slices. Only one is ever waited for: of several, one would come right after the other."""

RECOUNT = 0.25
"""Seconds after which a changed block is counted again; one that is being written changes with every frame."""

_NOTHING: Iterator[None] = iter(())


class Searching:
    """The search in the blocks of a window. `go` is called with the place that was found, `tell` with what is known."""

    def __init__(
        self, host: Widget, view: Viewport, go: Callable[[MatchPlace], object], tell: Callable[[str], object]
    ) -> None:
        self._host = host
        self._view = view
        self._go = go
        self._tell = tell
        self._finder: Finder | None = None
        self._counting: Iterator[None] = _NOTHING
        self._hunt: Iterator[MatchPlace | None] = _NOTHING
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_on(self) -> bool:
        """Whether something is looked for."""
        return self._finder is not None

    def begin(self, needle: str) -> None:
        """Look for this from now on; "" ends the search."""
        self._finder = Finder(self._view, Search(needle)) if needle else None
        self._hunt = _NOTHING
        self._counting = self._finder.count() if self._finder is not None else _NOTHING
        self._work()

    def find(self, step: int, start: MatchPlace) -> None:
        """Go to the next match, beginning with `start`."""
        if self._finder is not None:
            self._hunt = self._finder.next(step, start)
            self._work()

    def note_change(self, index: int) -> None:
        """A block came or changed: during a search it is counted again a little later, since it may change further."""
        if self._finder is None:
            return
        self._finder.change(index)
        if self._finder.counted:
            self._counting = self._finder.count()
        if self._timer is None:
            self._timer = call_after(self._host, RECOUNT, self._work)

    def marks(self, rows: Sequence[ViewRow]) -> list[Marks] | None:
        """What to mark in these consecutive rows; None without a search."""
        return self._finder.marks(rows) if self._finder is not None else None

    def _work(self) -> None:
        """A slice of the work: the way to the next match comes first, then the count."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        deadline = time.monotonic() + SLICE
        place: MatchPlace | None = None
        for found in chain(self._hunt, self._counting):
            place = found or place
            if time.monotonic() > deadline:
                self._timer = call_after(self._host, PAUSE, self._work)
                break
        if place is not None:
            self._go(place)
        self._tell(self._words())

    def _words(self) -> str:
        if (finder := self._finder) is None:
            return ""
        if not finder.counted:
            return f"{finder.total:,} matches so far"
        if (ordinal := finder.ordinal) is not None:
            return f"{ordinal:,} of {finder.total:,}"
        return quantity(finder.total, "match", "matches")
