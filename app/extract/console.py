"""What a person sees of an extraction on stderr: one line that moves, and a table of failures at the end."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from oi_tui.app.engine.core.chat_model import Model
from oi_tui.app.engine.extraction.extraction import Extraction, ExtractionPlan, Tally
from oi_tui.app.engine.extraction.journal import JournalLine
from oi_tui.app.engine.extraction.whole_run import extract_all
from oi_tui.app.engine.secrets.redaction import Redactor
from oi_tui.app.engine.text.words import one_line, quantity

EXIT_CODES = {"": 0, "model": 3, "budget": 8}
"""By why it stopped; 9 where records failed."""

INTERVAL = 0.2
"""Seconds between two looks of the line."""


class ProgressLine:
    """On a terminal only: elsewhere nothing moves."""

    def __init__(self, err: TextIO) -> None:
        self._err = err
        self._begun, self._shown = time.monotonic(), False

    async def follow(self, tally: Tally) -> None:
        """Show it as often as can be read, until this is cancelled."""
        while self._err.isatty():
            self._show(tally)
            await asyncio.sleep(INTERVAL)

    def _show(self, tally: Tally) -> None:
        now, self._shown = time.monotonic(), True
        done = tally.done + tally.failed
        fresh = done - tally.skipped
        left = (tally.total - done) * (now - self._begun) / fresh if fresh else 0.0
        bar = "█" * (20 * done // max(1, tally.total))
        failed = f" · {tally.failed:,} failed" if tally.failed else ""
        self._err.write(f"\r\x1b[K{bar:░<20} {done:,} of {tally.total:,}{failed}{_cost(tally)} · {_time_left(left)}")
        self._err.flush()

    def clear(self) -> None:
        """The line is gone."""
        if self._shown:
            self._err.write("\r\x1b[K")
            self._err.flush()


async def extract_on_console(
    path: Path, output: Path, plan: ExtractionPlan, model: Model, redactor: Redactor, *, err: TextIO
) -> int:
    """Do it, and say what came of it; the exit code. SettingsError for what cannot be."""
    line, following = ProgressLine(err), set[asyncio.Task[None]]()

    def begin(extraction: Extraction) -> None:
        following.add(asyncio.create_task(line.follow(extraction.tally)))

    try:
        done = await extract_all(path, output, plan, model, redactor, begun=begin, counts=err.isatty())
    finally:
        for task in following:
            task.cancel()
        line.clear()
    for said in (*failures_table(done.failures, done.tally.failed), *run_summary(done.tally)):
        err.write(f"{said}\n")
    err.flush()
    return EXIT_CODES[done.tally.stop] or (9 if done.tally.failed else 0)


def run_summary(tally: Tally) -> Iterator[str]:
    """What came of it, as lines."""
    done = f"{quantity(tally.done, 'record')} extracted"
    before = f", {tally.skipped:,} of them before" if tally.skipped else ""
    failed = f", {tally.failed:,} failed" if tally.failed else ""
    yield f"{done}{before}{failed}{_cost(tally)}"
    if tally.cut:
        yield f"Of {quantity(tally.cut, 'record')} only the beginning was read: too long."
    if tally.why:
        yield f"Stopped: {one_line(tally.why)}"


def failures_table(failures: Sequence[JournalLine], count: int) -> Iterator[str]:
    """The first failures, and how many more there are."""
    width = min(30, max((len(line.source) for line in failures), default=0))
    for line in failures:
        yield f"✗ {one_line(line.source)[:30]:<{width}}  {one_line(line.problems[0])[:200]}"
    if count > len(failures) > 0:
        yield f"… and {count - len(failures):,} more"


def _cost(tally: Tally) -> str:
    if tally.cost is None:
        return " · price not known"
    return f" · ${tally.cost:.4g}" if tally.cost else ""


def _time_left(seconds: float) -> str:
    return f"{seconds / 60:.0f} min left" if seconds >= 90 else f"{seconds:.0f} s left"
