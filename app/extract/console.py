"""What a person sees of an extraction on stderr: one line that moves, and a table of failures at the end."""

import time
from collections.abc import Iterator
from typing import TextIO

from oi_tui.app.engine.text.words import one_line, quantity
from oi_tui.app.extract.extraction import Tally
from oi_tui.app.extract.journal import Journal, JournalLine

SHOWN = 20
"""Failures in the table."""

INTERVAL = 0.2
"""Seconds between two looks of the line."""


class ProgressLine:
    """On a terminal only: elsewhere nothing moves."""

    def __init__(self, err: TextIO, journal: Journal, total: int) -> None:
        self._err, self._journal, self._total = err, journal, total
        self._begun, self._last = time.monotonic(), 0.0
        self._shown = False

    def show(self, tally: Tally) -> None:
        """As it is now; not more often than can be read."""
        now = time.monotonic()
        if not self._err.isatty() or now - self._last < INTERVAL:
            return
        self._last, self._shown = now, True
        done = tally.done + tally.failed
        fresh = done - tally.skipped
        left = (self._total - done) * (now - self._begun) / fresh if fresh else 0.0
        bar = "█" * (20 * done // max(1, self._total))
        failed = f" · {tally.failed:,} failed" if tally.failed else ""
        self._err.write(
            f"\r\x1b[K{bar:░<20} {done:,} of {self._total:,}{failed}{_cost(self._journal)} · {_time_left(left)}"
        )
        self._err.flush()

    def clear(self) -> None:
        """The line is gone."""
        if self._shown:
            self._err.write("\r\x1b[K")
            self._err.flush()


def run_summary(tally: Tally, journal: Journal) -> Iterator[str]:
    """What came of it, as lines."""
    done = f"{quantity(tally.done, 'record')} extracted"
    before = f", {tally.skipped:,} of them before" if tally.skipped else ""
    failed = f", {tally.failed:,} failed" if tally.failed else ""
    yield f"{done}{before}{failed}{_cost(journal)}"
    if tally.cut:
        yield f"Of {quantity(tally.cut, 'record')} only the beginning was read: too long."
    if tally.why:
        yield f"Stopped: {one_line(tally.why)}"


def failures_table(failures: list[JournalLine], count: int) -> Iterator[str]:
    """The first failures, and how many more there are."""
    width = min(30, max((len(line.source) for line in failures), default=0))
    for line in failures[:SHOWN]:
        yield f"✗ {one_line(line.source)[:30]:<{width}}  {one_line(line.problems[0])[:200]}"
    if count > SHOWN:
        yield f"… and {count - SHOWN:,} more"


def _cost(journal: Journal) -> str:
    if journal.cost is None:
        return " · price not known"
    return f" · ${journal.cost:.4g}" if journal.cost else ""


def _time_left(seconds: float) -> str:
    return f"{seconds / 60:.0f} min left" if seconds >= 90 else f"{seconds:.0f} s left"
