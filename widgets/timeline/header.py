"""The line about code or a call: what it is, how it went, what it did to files and by which key that is undone.

On a narrow screen what can be seen elsewhere goes first, and the key and the file stay.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.style import Style

from oi_tui.app.engine.core.blocks import ActionBlock, CallBlock, CodeBlock, RerunState
from oi_tui.app.engine.core.outcomes import SYNTAX_ERROR
from oi_tui.app.engine.core.outputs import RunInput, WrittenFiles
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.words import describe_progress, duration, quantity, some_names
from oi_tui.widgets.timeline.ink import Ink
from oi_tui.widgets.timeline.markdown_lines import spaced_line
from oi_tui.widgets.timeline.wrap import Line, TextRun, crop

NAMED = 2
"""Files that a run wrote of which the line about it has the names."""

LEAST_NAME = 12
"""Cells that the names of files keep on a narrow screen."""


class HeaderPart(NamedTuple):
    """A piece of the line. Of those with a `rank`, the greatest goes first where there is no room."""

    text: str
    style: Style
    rank: int = 0
    short: str = ""
    """The same in fewer cells; only that of one file's name is a name too, which is cut at its beginning."""


class HeaderFacts(NamedTuple):
    """What the line says and the block does not know."""

    size: str
    """How long the source is, in words."""
    seconds: float | None
    output_lines: int
    undo: str
    """The key that undoes changes, "" without one."""


def header_line(block: ActionBlock, facts: HeaderFacts, ink: Ink, width: int, *, alone: bool) -> tuple[Line, str]:
    """The line in `width` cells, and the reason of a refusal that it has no room for; `alone`: nothing is shown below
    it, where that could be."""
    parts = [*_facts(block, facts, ink), *_words(block, facts, ink)]
    untold = _reason(block)
    if untold:
        verdict, style = _verdict(block, ink)
        whole = HeaderPart(f"{verdict}: {untold}", style)
        fits = alone or _width([part for part in (*parts, whole) if not part.rank]) <= width
        parts.append(whole if fits else HeaderPart(verdict, style))
        untold = "" if fits else untold
    for rank in sorted({part.rank for part in parts if part.rank}, reverse=True):
        if _width(parts) <= width:
            break
        parts = [part for part in parts if part.rank != rank]
    for number in reversed(range(len(parts))):
        if (beyond := _width(parts) - width) > 0 and parts[number].short:
            parts[number] = _shorten(parts[number], beyond)
    runs: list[TextRun] = [
        run
        for number, part in enumerate(parts)
        for run in [(" · ", ink.dim)] * bool(number) + [(part.text, part.style)]
    ]
    return crop(runs, width), untold


def _reason(block: ActionBlock) -> str:
    """Why it was refused or sent back, as one line; "" if there is no reason."""
    return spaced_line(block.refusal) if block.state == "refused" and block.ending is None else ""


def _width(parts: Sequence[HeaderPart]) -> int:
    return sum(cell_len(part.text) for part in parts) + 3 * (len(parts) - 1)


def _shorten(part: HeaderPart, beyond: int) -> HeaderPart:
    """Several names as their number; one name by its ending, which says what kind of file it is."""
    if part.short != part.text:
        return part._replace(text=part.short)
    verb, _, name = part.text.partition(" ")
    room = max(LEAST_NAME, cell_len(name) - beyond)
    if cell_len(name) <= room:
        return part
    while cell_len(name) >= room:
        name = name[1:]
    return part._replace(text=f"{verb} …{name}")


def _facts(block: ActionBlock, facts: HeaderFacts, ink: Ink) -> Iterator[HeaderPart]:
    yield HeaderPart(spaced_line(block.runs_in), ink.page)
    if facts.size:
        yield HeaderPart(facts.size, ink.dim, 5)
    if facts.seconds is not None:
        yield HeaderPart(duration(facts.seconds), ink.dim, 3)
    if isinstance(block, CallBlock) and block.progress is not None:
        yield HeaderPart(spaced_line(describe_progress(block.progress)), ink.dim)
    if facts.output_lines:
        yield HeaderPart(f"output {quantity(facts.output_lines, 'line')}", ink.dim, 6)


def _words(block: ActionBlock, facts: HeaderFacts, ink: Ink) -> Iterator[HeaderPart]:
    if block.author == "user":
        yield HeaderPart("called by you" if isinstance(block, CallBlock) else "typed by you", ink.dim, 2)
    if block.caller:
        yield HeaderPart("asked for by running code", ink.dim)
    if block.is_edited:
        yield HeaderPart("edited by you", ink.info, 2)
    if block.allowance:
        yield HeaderPart(spaced_line(block.allowance), ink.dim, 4)
    if block.withheld:
        yield HeaderPart(f"{quantity(len(block.withheld), 'secret')} withheld", ink.info)
    if block.exit_code:
        yield HeaderPart(f"exit code {block.exit_code}", ink.error)
    if block.written is not None:
        yield from _wrote(block.written, facts.undo, ink.dim)
    match block.state:
        case "waiting":
            yield HeaderPart("waiting for approval", ink.accent)
        case "refused" if _reason(block):
            pass
        case "refused" | "interrupted" | "cut" | "died":
            yield HeaderPart(*_verdict(block, ink))
        case _:
            pass
    if isinstance(block, CodeBlock) and block.rerun:
        yield HeaderPart(*_rerun(block.rerun, ink))
    if isinstance(block, CodeBlock) and block.is_stale:
        yield HeaderPart(_stale(block.inputs), ink.warning)


def _verdict(block: ActionBlock, ink: Ink) -> tuple[str, Style]:
    """How it ended before its time."""
    if block.ending is not None and block.state != "cut":
        return block.ending.describe(), ink.error if block.state == "died" else ink.warning
    match block.state:
        case "interrupted":
            return "interrupted", ink.warning
        case "cut":
            return "interrupted, not run", ink.warning
        case "died":
            return "the kernel ended", ink.error
        case _:
            return "sent back" if spaced_line(block.refusal).startswith(SYNTAX_ERROR) else "refused", ink.warning


def _wrote(written: WrittenFiles, undo: str, style: Style) -> Iterator[HeaderPart]:
    """The files that a run left, the newest first, and deleted; how many where not all have their names here; the key
    that undoes that, and how many it does not bring back."""
    changed = written.undoable + written.undone + written.lost
    left = tuple(file.name for file in written.files)
    kinds = (("wrote", left, written.more), ("deleted", written.deleted, written.more_deleted))
    if changed and changed != sum(min(len(names), NAMED) for _, names, _ in kinds):
        yield HeaderPart(f"{quantity(changed, 'file')} changed", style, 1)
    for verb, names, others in kinds:
        if names:
            text = f"{verb} {some_names([spaced_line(safe_text(name)) for name in names], NAMED, others)}"
            count = len(names) + others
            yield HeaderPart(text, style, short=text if count == 1 else f"{verb} {quantity(count, 'file')}")
    if written.undone:
        part = f" {written.undone:,} of {changed:,}" if written.undone < changed else ""
        yield HeaderPart(f"undone{part}", style)
    if written.undoable and undo:
        yield HeaderPart(f"{undo} undo", style)
    if written.lost:
        yield HeaderPart(f"{written.lost:,} cannot be undone", style)


def _stale(inputs: Sequence[RunInput]) -> str:
    """The variables it used that have changed since, else those that stale code made."""
    changed = [spaced_line(safe_text(one.name)) for one in inputs if one.stale_by not in ("", one.block_id)]
    old = [spaced_line(safe_text(one.name)) for one in inputs if one.stale_by == one.block_id]
    return f"stale: {some_names(changed or old, NAMED)} {'changed since' if changed else 'is out of date'}"


def _rerun(state: RerunState, ink: Ink) -> tuple[str, Style]:
    """How it went when it was run once more: never by colour alone."""
    match state:
        case "running":
            return "runs again", ink.accent
        case "same":
            return "run again: the same", ink.ok
        case "differs":
            return "run again: ≠ other output", ink.warning
        case _:
            return f"run again: ✗ {state}", ink.error
