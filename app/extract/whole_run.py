"""One command from its records to its output."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

import msgspec

from oi_tui.app.engine.core.chat_model import Model
from oi_tui.app.engine.secrets.redaction import Redactor
from oi_tui.app.extract.console import SHOWN, ProgressLine, failures_table, run_summary
from oi_tui.app.extract.extraction import Extraction, ExtractionPlan, Tally
from oi_tui.app.extract.journal import Journal, JournalLine
from oi_tui.app.extract.output import SOURCE, require_output, write_lines, write_output
from oi_tui.app.extract.records import read_records

EXIT_CODES = {"": 0, "model": 3, "budget": 8}
"""By why it stopped; 9 where records failed."""


async def extract_all(
    path: Path, output: Path, plan: ExtractionPlan, model: Model, redactor: Redactor, *, err: TextIO
) -> int:
    """Do it, and say what came of it; the exit code. SettingsError for what cannot be."""
    plan = replace(plan, model=model.name)
    part = output.with_name(f"{output.name}.part")
    require_output(output, part)
    total = sum(1 for _ in read_records(path)) if err.isatty() else 0
    records = read_records(path)
    with Journal(part, plan.digest) as journal:
        line = ProgressLine(err, journal, total)
        try:
            tally = await Extraction(plan, model, journal, redactor, line.show).run(records)
        finally:
            line.clear()
        failures = _failures(output, tally, journal) if not tally.stop else []
        if not tally.stop:
            columns = plan.schema.schema.get("properties", {})
            write_output(output, _values(tally, journal), columns)
            if not tally.failed:
                journal.remove()
        for said in (*failures_table(failures, tally.failed), *run_summary(tally, journal)):
            err.write(f"{said}\n")
        err.flush()
    return EXIT_CODES[tally.stop] or (9 if tally.failed else 0)


def _values(tally: Tally, journal: Journal) -> Iterator[tuple[str, Any]]:
    for digest in tally.order:
        if (line := journal.find(digest)) is not None and not line.problems:
            yield line.source, line.value


def _failures(output: Path, tally: Tally, journal: Journal) -> list[JournalLine]:
    """The first ones; all of them are in a file, which is there only if there are some."""
    beside = output.with_name(f"{output.name}.failures.jsonl")
    beside.unlink(missing_ok=True)
    if not tally.failed:
        return []

    def find_failures() -> Iterator[JournalLine]:
        for digest in tally.order:
            if (line := journal.find(digest)) is not None and line.problems:
                yield line

    write_lines(beside, (_failure_line(line) for line in find_failures()))
    return [line for line, _ in zip(find_failures(), range(SHOWN), strict=False)]


def _failure_line(line: JournalLine) -> bytes:
    told = {SOURCE: line.source, "problems": line.problems, "last_answer": line.last}
    return json.dumps(msgspec.to_builtins(told), ensure_ascii=False).encode(errors="replace") + b"\n"
