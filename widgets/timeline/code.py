"""Code or a call as rows: one line about it, its source, what came of it."""

from rich.style import Style

from oi_tui.app.engine.core.blocks import ActionBlock, CallBlock, CodeBlock
from oi_tui.app.engine.core.outputs import ErrorOutput, Output, RichOutput, StreamOutput, WholeOutput
from oi_tui.app.engine.text.words import call_size, quantity
from oi_tui.widgets.timeline.console import ConsoleStream, note
from oi_tui.widgets.timeline.header import HeaderFacts, header_line
from oi_tui.widgets.timeline.highlighted_source import HighlightedSource, SourceRows
from oi_tui.widgets.timeline.ink import Ink
from oi_tui.widgets.timeline.outputs.registry import OutputContent, content_of
from oi_tui.widgets.timeline.row_pieces import PROSE_WIDTH, BlockDisplay, Canvas, RowPiece, rows
from oi_tui.widgets.timeline.traceback_rows import Traceback, line_of_group
from oi_tui.widgets.timeline.wrap import wrap

HEADER = 1
"""Rows above the source."""

SHOWN_BY_OUTPUT = ("plan",)
"""Tools of ours whose output shows all that is in their arguments: these are for who unfolds the call."""

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
        self._sized: tuple[str, str] | None = None
        """The arguments of a call, and how many they are."""
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
        return (
            self._is_asked_about or self._is_shown_by_output or any(shown.content.has_more for shown in self._outputs)
        )

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

    @property
    def _is_shown_by_output(self) -> bool:
        block = self._block
        return isinstance(block, CallBlock) and block.tool in SHOWN_BY_OUTPUT and not block.origin

    def pieces(self, canvas: Canvas, display: BlockDisplay) -> list[RowPiece]:
        if display.fold == "closed" or (display.fold == "short" and self._is_asked_about):
            self.behind, self._rows = False, None
            return [self._header(canvas, alone=True)[0]]
        if self._is_shown_by_output and display.fold == "short":
            self._rows = None
        elif self._rows is None or self._rows_for != (canvas, display.numbers):
            self._rows_for = canvas, display.numbers
            self._rows = SourceRows(self._source, canvas, self._active_line, numbers=display.numbers)
            self._rows.blame(self.error_line)
        outputs = [piece for shown in self._outputs for piece in shown.pieces(canvas, display)]
        # Only now: to draw an output may be to read on in it, and the header counts its lines.
        header, untold = self._header(canvas)
        pieces: list[RowPiece] = [header, *([] if self._rows is None else [self._rows]), *outputs]
        self.behind = any(shown.behind for shown in self._outputs)
        if untold:
            ink, width = canvas.ink, min(canvas.room, PROSE_WIDTH)
            pieces.append(rows(canvas, wrap([(untold, ink.warning)], width), ink.page, "│", ink.faint))
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

    def _header(self, canvas: Canvas, *, alone: bool = False) -> tuple[RowPiece, str]:
        """The line about it, and the reason of a refusal that it has no room for."""
        block = self._block
        facts = HeaderFacts(
            size=self._size(),
            seconds=self.elapsed if block.state == "running" else block.duration,
            output_lines=sum(shown.content.line_count for shown in self._outputs),
            undo=canvas.keys.undo,
        )
        line, untold = header_line(block, facts, canvas.ink, canvas.room, alone=alone)
        return rows(canvas, [line], canvas.ink.page, *self._symbol(canvas.ink)), untold

    def _size(self) -> str:
        block = self._block
        if not isinstance(block, CallBlock):
            return quantity(len(self._source.lines), "line")
        if block.state == "streaming":
            return ""  # half an object
        if self._sized is None or self._sized[0] is not block.source:
            self._sized = block.source, call_size(block.source)
        return self._sized[1]

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
