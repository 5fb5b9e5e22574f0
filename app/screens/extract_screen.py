"""An extraction while it runs: how far it is, what it costs, the newest results as a table, and what failed.

Who comes here has begun one, or wonders how far it is. They look at the first results and stop it if the fields come
out wrong, pause it while they need the model for something else, and at the end open the output as a table. Leaving
the screen stops nothing.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

from rich.cells import cell_len, set_cell_size
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen

from oi_tui.app.engine.core.extractions import ChangeExtraction, ExtractedRow, ExtractionFound, FindExtraction
from oi_tui.app.engine.core.verbs import AnyVerb, Run
from oi_tui.app.engine.text.words import duration, one_line, quantity
from oi_tui.widgets.keyrow import Hint, KeyRow, key_labels
from oi_tui.widgets.lettering import Words, lettering

BAR = 24
"""Cells of the bar."""

SOURCE = 12
"""Cells of the column that says where a result comes from."""

WIDEST = 28
"""Cells of another column."""

FAILURES = 5
"""Failures above the results: all of them are in a file at the end."""


class ExtractScreen(ModalScreen[str]):
    """Dismissed with `new` for another extraction, else with nothing."""

    CSS_PATH = "extract_screen.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Hint("p", "pause", "Pause, or continue", id="extract.pause", label="pause"),
        Hint("s", "stop", "Stop after the records in progress; again: at once", id="extract.stop", label="stop"),
        Hint("o", "open", "Open the output as a table: pandas reads it in the kernel", id="extract.open",
             label="open as a table", short="table"),
        Hint("n", "begin_new", "Other records or fields", id="extract.new", label="new"),
        Hint("escape,q", "dismiss('')", "Back: it continues", id="extract.back", label="back"),
    ]  # fmt: skip

    def __init__(self, found: ExtractionFound, send: Callable[[AnyVerb], None]) -> None:
        """`send` asks the engine."""
        super().__init__()
        self._found, self._send = found, send
        self._is_built = False
        """Whether there is where to show it."""

    def compose(self) -> ComposeResult:
        """What it is, how far it is, results, failures, and the keys."""
        yield Words(id="extraction-title")
        yield Words(id="extraction-progress")
        with VerticalScroll(id="extraction-scroll", can_focus=True):
            yield Words(id="extraction-failures")
            yield Words(id="extraction-results")
        yield KeyRow(id="extraction-keys")

    def on_mount(self) -> None:
        self._is_built = True
        self.query_one("#extraction-scroll").focus()
        self._show()

    def on_resize(self) -> None:
        """The tables have another width."""
        self._show()

    def on_unmount(self) -> None:
        """Nobody looks any more."""
        self._send(FindExtraction(on=False))

    def take(self, found: ExtractionFound) -> None:
        """Show its present state."""
        self._found = found
        self._show()

    def _show(self) -> None:
        if not self._is_built:
            return
        found = self._found
        width = max(20, self.size.width - 2)
        asked = found.asked
        what = f"{asked.source} → {asked.output}" if asked is not None else "No extraction"
        by = f" · {found.model}" if found.model else ""
        self.query_one("#extraction-title", Words).update(f"{what}{by}")
        self.query_one("#extraction-progress", Words).update(lettering(*_progress(found)))
        results = "\n".join(results_table(found.newest, width)) or (
            "No results yet." if found.is_open else "No results."
        )
        self.query_one("#extraction-results", Words).update(results)
        failures = "\n".join(_failures(found.failures, found.failed, width))
        told = self.query_one("#extraction-failures", Words)
        told.update(failures)
        told.display = bool(failures)
        self._show_keys()

    @property
    def runs(self) -> bool:
        """Whether it continues without being looked at."""
        return self._found.is_open

    @property
    def wrong(self) -> str:
        """The field of the form that it could not begin with, "" if none."""
        return self._found.wrong

    def action_pause(self) -> None:
        """Or continue, also one that was stopped or failed."""
        if self._found.state == "running":
            self._send(ChangeExtraction(change="pause"))
        elif self._found.state in ("paused", "stopped", "failed") or self._found.failed:
            self._send(ChangeExtraction(change="continue"))

    def action_stop(self) -> None:
        """What is done stays."""
        if self._found.is_open:
            self._send(ChangeExtraction(change="stop"))

    def action_open(self) -> None:
        """Open the output by code of the person's own, so that it is a table like any other."""
        if self._found.state == "done" and self._found.asked is not None:
            self._send(Run(language="python", source=reading_code(self._found.asked.output)))
            self.dismiss("")

    def action_begin_new(self) -> None:
        """One at a time."""
        if not self._found.is_open:
            self.dismiss("new")

    def _show_keys(self) -> None:
        state, is_open = self._found.state, self._found.is_open
        off = {"p"} if state in ("starting", "stopping") or (state == "done" and not self._found.failed) else set()
        off |= {"n"} if is_open else {"s"}
        off |= set() if state == "done" else {"o"}
        word = "pause" if state in ("running", "starting") else "try again" if state == "done" else "continue"
        stop = "stop now" if state == "stopping" else "stop"
        words = {"p": (word, word), "s": (stop, stop)}
        self.query_one(KeyRow).labels = key_labels(self, words=words, off=tuple(off))


def reading_code(output: str) -> str:
    """Python that shows the output as a table."""
    read = f"read_csv({output!r})" if output.lower().endswith(".csv") else f"read_json({output!r}, lines=True)"
    return f"import pandas as pd\npd.{read}"


def _progress(found: ExtractionFound) -> Iterator[str | tuple[str, str]]:
    ended, total = found.ended_count, max(found.total, found.ended_count)
    filled = BAR * ended // total if total else 0
    yield ("█" * filled, "$accent")
    yield ("░" * (BAR - filled), "$dim")
    if total:
        yield f" {ended:,} of {total:,}"
    elif found.is_open:
        yield " counting records …"
    if found.failed:
        yield (f" · {found.failed:,} failed", "$error")
    if found.cost is None:
        yield " · price not known"
    elif found.cost:
        yield f" · ${found.cost:.4g}"
    yield f" · {_state(found)}" if total or found.is_open else f" {_state(found)}"
    if found.skipped:
        yield f"\n{quantity(found.skipped, 'record')} were done before."
    if found.cut:
        yield f"\nOf {quantity(found.cut, 'record')} only the beginning was read: too long."
    if found.why:
        yield (f"\n{one_line(found.why)}", "$warning")


def _state(found: ExtractionFound) -> str:
    fresh = found.ended_count - found.skipped
    match found.state:
        case "running" if fresh and found.total:
            left = (found.total - found.ended_count) * found.seconds / fresh
            return f"{duration(left)} left"
        case "stopping":
            return "stopping: records in progress are finished"
        case "done":
            return f"done in {duration(found.seconds)}"
        case other:
            return other


def results_table(rows: Sequence[ExtractedRow], width: int) -> Iterator[str]:
    """The newest first, a column for each field, as lines of at most `width` cells."""
    values = [_value(row.text) for row in rows]
    names = list(dict.fromkeys(name for value in values for name in value))
    cells = [
        [one_line(row.source), *(one_line(_cell(value.get(name))) for name in names)]
        for row, value in zip(rows, values, strict=True)
    ]
    if not cells:
        return
    table = [["", *map(one_line, names)], *reversed(cells)]
    longest = [max(cell_len(line[place]) for line in table) for place in range(len(names) + 1)]
    widths = [min(WIDEST if place else SOURCE, size) for place, size in enumerate(longest)]
    for line in table:
        text = "  ".join(_fit(cell, size) for cell, size in zip(line, widths, strict=True))
        yield _fit(text, width).rstrip()


def _failures(rows: Sequence[ExtractedRow], count: int, width: int) -> Iterator[str]:
    if not rows:
        return
    last = rows[-FAILURES:]
    yield f"Failed: {count:,}" + (f", the last {len(last)}:" if count > len(last) else "")
    for row in reversed(last):
        yield _fit(f"✗ {_fit(one_line(row.source), SOURCE)}  {one_line(row.text)}", width).rstrip()


def _value(text: str) -> dict[str, Any]:
    """The fields of a result; what is no object, or was cut, has one without a name."""
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    return value if isinstance(value, dict) else {"": value}


def _cell(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _fit(text: str, width: int) -> str:
    return set_cell_size(text, width) if cell_len(text) <= width else set_cell_size(text, width - 1) + "…"
