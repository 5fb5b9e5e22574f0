"""Code or a call as rows: one line about it, its source, what came of it."""

from collections.abc import Iterator, Sequence

from rich.style import Style

from oi_tui.app.engine.core.blocks import ActionBlock, CallBlock, CodeBlock, RerunState
from oi_tui.app.engine.core.outcomes import SYNTAX_ERROR
from oi_tui.app.engine.core.outputs import (
    ErrorOutput,
    Output,
    RichOutput,
    RunInput,
    StreamOutput,
    WholeOutput,
    WrittenFiles,
)
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.words import describe_progress, duration, quantity
from oi_tui.widgets.timeline.console import ConsoleStream, note
from oi_tui.widgets.timeline.highlighted_source import HighlightedSource, SourceRows
from oi_tui.widgets.timeline.ink import Ink
from oi_tui.widgets.timeline.markdown_lines import spaced_line
from oi_tui.widgets.timeline.outputs.registry import OutputContent, content_of
from oi_tui.widgets.timeline.row_pieces import BlockDisplay, Canvas, RowPiece, rows
from oi_tui.widgets.timeline.traceback_rows import Traceback, line_of_group
from oi_tui.widgets.timeline.wrap import TextRun, crop

HEADER = 1
"""Rows above the source."""

NAMED = 2
"""Files that a run wrote of which the line about it has the names."""

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


class Shown:
    """An output and the pieces that were drawn of it."""

    def __init__(self, output: Output, content: OutputContent, whole: WholeOutput | None = None) -> None:
        self.output = output
        self.content = content
        self.whole = whole
        self._drawn_for: tuple[Canvas, BlockDisplay] | None = None
        self._pieces: list[RowPiece] = []

    @property
    def behind(self) -> bool:
        """Whether there was more to read than a frame has time for."""
        return isinstance(self.content, ConsoleStream) and self.content.behind

    def pieces(self, canvas: Canvas, display: BlockDisplay) -> list[RowPiece]:
        """The rows, drawn once: a spinner that turns above them costs nothing here."""
        if self._drawn_for != (canvas, display) or self.behind:
            self._drawn_for = canvas, display
            self._pieces = self.content.pieces(canvas, display)
        return self._pieces


class Code:
    """The rows of code or of a call."""

    def __init__(self, block: ActionBlock) -> None:
        self._block = block
        self._source = HighlightedSource(block.written_in, reveals=True)
        self._source.update(block.source, complete=block.state != "streaming")
        self._rows: SourceRows | None = None
        self._rows_for: tuple[Canvas, bool] | None = None
        self._outputs: list[Shown] = []
        self._take_outputs()
        self.elapsed: float | None = None
        """Seconds since it was first seen running, None before the first frame of the spinner."""
        self.tick = 0
        """Frame of the spinner."""
        self.behind = False
        """Whether the next layout must read output that this one had no time for."""

    def update(self, block: ActionBlock) -> None:
        """A newer version of the block."""
        self._block = block
        changed = self._source.update(block.source, complete=block.state != "streaming")
        if self._rows is not None:
            self._rows.invalidate(changed)
            if self._rows.active_line != self._active_line:
                self._rows.activate(self._active_line)
        self._take_outputs()
        if self._rows is not None:
            self._rows.blame(self.error_line)

    @property
    def language(self) -> str:
        """What the source is written in; it never changes."""
        return self._source.language

    @property
    def has_more(self) -> bool:
        """Whether something is hidden until asked for."""
        return self._is_asked_about or any(shown.content.has_more for shown in self._outputs)

    @property
    def beyond(self) -> int:
        """Cells by which the widest row of an output is too wide; as of the last layout."""
        return max((shown.content.beyond for shown in self._outputs), default=0)

    @property
    def error_line(self) -> int | None:
        """1-based line of the source that raised the error, None if there is none or it is not known."""
        for shown in reversed(self._outputs):
            if isinstance(shown.content, Traceback):
                return self._in_source(shown.content.line_of_own_code)
        if self._block.state == "error" and self._block.written_in == "python":
            for shown in reversed(self._outputs):
                if isinstance(shown.output, StreamOutput) and shown.output.name == "stderr":
                    return self._in_source(line_of_group(shown.output.text))
        return None

    @property
    def error_row(self) -> int | None:
        """Row of that line, as of the last layout; None where the source is not shown."""
        line = self.error_line
        return HEADER + self._rows.first_row(line) if line is not None and self._rows is not None else None

    @property
    def _is_asked_about(self) -> bool:
        """The question below shows the source; twice on one small screen it would only push the answer away."""
        return self._block.state == "waiting"

    def pieces(self, canvas: Canvas, display: BlockDisplay) -> list[RowPiece]:
        if display.fold == "closed" or (display.fold == "short" and self._is_asked_about):
            self.behind, self._rows = False, None
            return [self._header(canvas)]
        if self._rows is None or self._rows_for != (canvas, display.numbers):
            self._rows_for = canvas, display.numbers
            self._rows = SourceRows(self._source, canvas, self._active_line, numbers=display.numbers)
            self._rows.blame(self.error_line)
        outputs = [piece for shown in self._outputs for piece in shown.pieces(canvas, display)]
        # Only now: to draw an output may be to read on in it, and the header counts its lines.
        pieces: list[RowPiece] = [self._header(canvas), self._rows, *outputs]
        self.behind = any(shown.behind for shown in self._outputs)
        if self._block.dropped:
            pieces.append(note(canvas, f"… {self._block.dropped:,} more characters were not kept"))
        return pieces

    @property
    def _active_line(self) -> int | None:
        block = self._block
        return block.active_line if isinstance(block, CodeBlock) and block.state == "running" else None

    def _take_outputs(self) -> None:
        kept = self._outputs
        self._outputs = [
            _renew(kept[number] if number < len(kept) else None, output, self._block.whole)
            for number, output in enumerate(self._block.outputs)
        ]

    def _in_source(self, line: int | None) -> int | None:
        return line if line is not None and 1 <= line <= len(self._source.lines) else None

    def _header(self, canvas: Canvas) -> RowPiece:
        ink, block = canvas.ink, self._block
        symbol, style = self._symbol(ink)
        facts = [quantity(len(self._source.lines), "line")]
        if (seconds := self.elapsed if block.state == "running" else block.duration) is not None:
            facts.append(duration(seconds))
        if isinstance(block, CallBlock) and block.progress is not None:
            facts.append(spaced_line(describe_progress(block.progress)))
        if lines := sum(shown.content.line_count for shown in self._outputs):
            facts.append(f"output {quantity(lines, 'line')}")
        runs: list[TextRun] = [
            (spaced_line(block.runs_in), ink.page),
            *((f" · {fact}", ink.dim) for fact in facts),
            *(run for word, word_style in self._words(ink) for run in ((" · ", ink.dim), (word, word_style))),
        ]
        return rows(canvas, [crop(runs, canvas.room)], ink.page, symbol, style)

    def _symbol(self, ink: Ink) -> tuple[str, Style]:
        match self._block.state:
            case "streaming":
                return "○", ink.dim
            case "proposed":
                return "○", ink.dim
            case "waiting":
                return "◆", ink.accent
            case "running":
                return SPINNER[self.tick % len(SPINNER)] if self.tick >= 0 else "●", ink.accent
            case "ok":
                return ("✎" if self._block.is_edited else "✓"), ink.ok
            case "error" | "died":
                return "✗", ink.error
            case "interrupted" | "cut":
                return "■", ink.warning
            case "refused":
                return "⊘", ink.warning

    def _words(self, ink: Ink) -> list[tuple[str, Style]]:
        block = self._block
        words: list[tuple[str, Style]] = []
        if block.author == "user":
            words.append(("called by you" if isinstance(block, CallBlock) else "typed by you", ink.dim))
        if block.caller:
            words.append(("asked for by running code", ink.dim))
        if block.is_edited:
            words.append(("edited by you", ink.info))
        if block.allowance:
            words.append((spaced_line(block.allowance), ink.dim))
        if block.withheld:
            words.append((f"{quantity(len(block.withheld), 'secret')} withheld", ink.info))
        if block.exit_code:
            words.append((f"exit code {block.exit_code}", ink.error))
        if block.written is not None:
            words += [(told, ink.dim) for told in _wrote(block.written)]
        match block.state:
            case "waiting":
                words.append(("waiting for approval", ink.accent))
            case "refused" | "interrupted" | "died" if block.ending is not None:
                words.append((block.ending.describe(), ink.error if block.state == "died" else ink.warning))
            case "refused":
                reason = spaced_line(block.refusal)
                verdict = "sent back" if reason.startswith(SYNTAX_ERROR) else "refused"
                words.append((f"{verdict}: {reason}" if reason else verdict, ink.warning))
            case "interrupted":
                words.append(("interrupted", ink.warning))
            case "cut":
                words.append(("interrupted, not run", ink.warning))
            case "died":
                words.append(("the kernel ended", ink.error))
            case _:
                pass
        if isinstance(block, CodeBlock) and block.rerun:
            words.append(_rerun(block.rerun, ink))
        if isinstance(block, CodeBlock) and block.is_stale:
            words.append((_stale(block.inputs), ink.warning))
        return words


def _wrote(written: WrittenFiles) -> Iterator[str]:
    """How many files a run changed and whether that can be undone; which it left, the newest first, and deleted."""
    if changed := written.undoable + written.lost:
        yield f"{quantity(changed, 'file')} changed"
    if written.undoable:
        yield "u undo"
    if written.lost:
        yield f"{written.lost:,} cannot be undone"
    files = tuple(file.name for file in written.files)
    for verb, names, others in (("wrote", files, written.more), ("deleted", written.deleted, written.more_deleted)):
        shown = [spaced_line(safe_text(name)) for name in names[:NAMED]]
        more = len(names) - len(shown) + others
        if shown:
            yield f"{verb} {', '.join(shown)}{f' and {more} more' if more else ''}"


def _stale(inputs: Sequence[RunInput]) -> str:
    """Which variables it used that are others now, else those that stale code made."""
    changed = [spaced_line(safe_text(one.name)) for one in inputs if one.stale_by not in ("", one.block_id)]
    old = [spaced_line(safe_text(one.name)) for one in inputs if one.stale_by == one.block_id]
    more = f" and {len(changed or old) - NAMED} more" if len(changed or old) > NAMED else ""
    return f"stale: {', '.join((changed or old)[:NAMED])}{more} {'changed since' if changed else 'is out of date'}"


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


def _renew(before: Shown | None, output: Output, whole: WholeOutput | None) -> Shown:
    if before is not None and before.output is output and (before.whole == whole or not _is_stream(output)):
        return before
    match output, before:
        case StreamOutput(), Shown(output=StreamOutput(name=name), content=ConsoleStream() as stream) if (
            name == output.name
        ):
            stream.update(output, whole)
            return Shown(output, stream, whole)
        case StreamOutput(), _:
            return Shown(output, ConsoleStream(output, whole), whole)
        case ErrorOutput(), _:
            return Shown(output, Traceback(output))
        case RichOutput(), _:
            return Shown(output, content_of(output))


def _is_stream(output: Output) -> bool:
    return isinstance(output, StreamOutput)
