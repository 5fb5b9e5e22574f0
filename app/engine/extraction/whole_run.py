"""One extraction from its records to its output, for a command or a session."""

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from oi_tui.app.engine.core.chat_model import Model
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.extractions import PART
from oi_tui.app.engine.extraction.extraction import Extraction, ExtractionPlan, Tally
from oi_tui.app.engine.extraction.journal import Journal, JournalLine
from oi_tui.app.engine.extraction.output import SOURCE, require_output, write_lines, write_output
from oi_tui.app.engine.extraction.records import read_records
from oi_tui.app.engine.secrets.redaction import Redactor

SHOWN = 20
"""Failures of a result."""


class ExtractionResult(NamedTuple):
    """The results of all records."""

    tally: Tally
    failures: tuple[JournalLine, ...] = ()
    """The first ones; all of them are in a file beside the output."""


async def extract_all(
    source: Path,
    output: Path,
    plan: ExtractionPlan,
    model: Model,
    redactor: Redactor,
    *,
    begun: Callable[[Extraction], None] = lambda extraction: None,
    progress: Callable[[Tally], None] = lambda tally: None,
    counts: bool = False,
) -> ExtractionResult:
    """Do it. `begun` is given what can be paused and stopped; with `counts` the tally has the number of all records.
    SettingsError for what cannot be, StoreError where it cannot be written."""
    if plan.max_cost and not model.tells_price:
        raise SettingsError(
            f"The price of {model.name} is not known, so its cost cannot be limited.",
            hint="Set model.input_price and model.output_price (0 if it costs nothing).",
        )
    plan = replace(plan, model=model.name)
    part = part_of(output)
    require_output(output, part)
    total = await asyncio.to_thread(lambda: sum(1 for _ in read_records(source))) if counts else 0
    records = read_records(source)
    with Journal(part, plan.digest) as journal:
        extraction = Extraction(plan, model, journal, redactor, progress)
        extraction.tally.total = total
        begun(extraction)
        tally = await extraction.run(records)
        if tally.stop:
            return ExtractionResult(tally)
        failures = _write_failures(output, tally, journal)
        write_output(output, _values(tally, journal), columns_of(plan))
        if not tally.failed:
            journal.remove()
        return ExtractionResult(tally, failures)


def part_of(output: Path) -> Path:
    """The journal of this output."""
    return output.with_name(f"{output.name}{PART}")


def failures_of(output: Path) -> Path:
    """The file with all records of this output that failed; there only if some did."""
    return output.with_name(f"{output.name}.failures.jsonl")


def columns_of(plan: ExtractionPlan) -> tuple[str, ...]:
    """Names of the fields of each answer; () where it is no object."""
    return tuple(plan.schema.schema.get("properties", {}))


def _values(tally: Tally, journal: Journal) -> Iterator[tuple[str, Any]]:
    for digest in tally.order:
        if (line := journal.find(digest)) is not None and not line.problems:
            yield line.source, line.value


def _write_failures(output: Path, tally: Tally, journal: Journal) -> tuple[JournalLine, ...]:
    beside = failures_of(output)
    beside.unlink(missing_ok=True)
    if not tally.failed:
        return ()

    def find_failures() -> Iterator[JournalLine]:
        for digest in tally.order:
            if (line := journal.find(digest)) is not None and line.problems:
                yield line

    write_lines(beside, (_failure_line(line) for line in find_failures()))
    return tuple(line for line, _ in zip(find_failures(), range(SHOWN), strict=False))


def _failure_line(line: JournalLine) -> bytes:
    told = {SOURCE: line.source, "problems": line.problems, "last_answer": line.last}
    return json.dumps(msgspec.to_builtins(told), ensure_ascii=False).encode(errors="replace") + b"\n"
