"""What running code printed, as rows: streams and tracebacks.

Long output shows its head and its tail; the rest is a key away. stderr stands on a tinted ground
behind a heavier mark, so that it is told apart without colour too.
"""

from collections.abc import Iterable, Sequence

from rich.segment import Segment
from rich.style import Style

from oi_tui.app.engine.outputs import ErrorOutput, StreamOutput
from oi_tui.app.engine.text import safe_text
from oi_tui.widgets.timeline.markdown import clean
from oi_tui.widgets.timeline.pieces import Canvas, Display, Fold, Piece, Rows, RowStrip, rows
from oi_tui.widgets.timeline.terminal import TerminalText, TextLine
from oi_tui.widgets.timeline.wrap import Line, Run, crop, fold_runs

HEAD = 10
TAIL = 10
"""Lines of a long output that are shown at once."""

LONGEST_LINE = 2_000
"""Characters of a line that are shown at once."""

LONGEST = 5_000
"""Lines drawn of an opened output; more than a person reads in one go."""


class Stream:
    """stdout or stderr."""

    def __init__(self, output: StreamOutput) -> None:
        self._error = output.name == "stderr"
        self._terminal = TerminalText()
        self._terminal.update(output.text)
        self._drawn_for: tuple[Canvas, Fold] | None = None
        self._drawn: dict[int, list[RowStrip]] = {}

    def update(self, output: StreamOutput) -> None:
        """A newer version of the output."""
        changed = self._terminal.update(output.text)
        self._drawn = {number: lines for number, lines in self._drawn.items() if number < changed}

    @property
    def line_count(self) -> int:
        """Lines that the program wrote."""
        return self._terminal.count

    @property
    def has_more(self) -> bool:
        """Whether lines are hidden until asked for."""
        return self.line_count > HEAD + TAIL + 1 or self._terminal.widest > LONGEST_LINE

    @property
    def beyond(self) -> int:
        """Long lines go on in the next row."""
        return 0

    def pieces(self, canvas: Canvas, display: Display) -> list[Piece]:
        """The lines, or the first and last of them."""
        fold = display.fold
        if self._drawn_for != (canvas, fold):
            self._drawn_for, self._drawn = (canvas, fold), {}
        base = canvas.ink.stderr if self._error else canvas.ink.console
        dim = canvas.ink.stderr_dim if self._error else canvas.ink.console_dim
        mark, mark_style = ("┃", canvas.ink.stderr_mark) if self._error else ("│", canvas.ink.console_faint)
        strips: list[RowStrip] = []
        for number in shown(self.line_count, fold):
            if number is None:
                gap = [Segment(hidden(self.line_count - HEAD - TAIL, fold), dim)]
                strips.append(canvas.strip(gap, base, mark, mark_style))
                continue
            if number not in self._drawn:
                cells = self._terminal.line(number, None if fold == "open" else LONGEST_LINE)
                runs = [(text, canvas.ink.sgr(sgr, base)) for text, sgr in cells]
                folded = fold_runs(runs, canvas.room)
                self._drawn[number] = [canvas.strip(line, base, mark, mark_style) for line in folded]
            strips += self._drawn[number]
        return [Rows(strips)]


class Traceback:
    """An exception: the message and where it was raised; the way there on demand."""

    def __init__(self, output: ErrorOutput) -> None:
        self._output = output
        self._whole = terminal_lines("\n".join(output.traceback))
        self._last = terminal_lines(output.traceback[-2]) if len(output.traceback) > 2 else []

    @property
    def line_count(self) -> int:
        """Lines when all is shown."""
        return len(self._whole) or 1

    @property
    def has_more(self) -> bool:
        """Whether frames are hidden."""
        return len(self._whole) > len(self._last) + 2

    @property
    def beyond(self) -> int:
        """Long lines go on in the next row."""
        return 0

    def pieces(self, canvas: Canvas, display: Display) -> list[Piece]:
        """The last frame and the message, or all."""
        ink, fold = canvas.ink, display.fold
        lines: list[Line] = []
        if fold == "open" and self._whole:
            lines = [row for line in self._whole for row in self._row(line, canvas)]
            return [rows(canvas, lines, ink.stderr, "┃", ink.stderr_mark)]
        if self.has_more:
            count = len(self._whole) - len(self._last) - 1
            lines.append([Segment(f"… {count} lines of traceback before · enter to show", ink.stderr_dim)])
        lines += [row for line in self._last for row in self._row(line, canvas)]
        message = clean(f"{self._output.name}: {self._output.value}" if self._output.value else self._output.name)
        bold = ink.stderr_mark + Style(bold=True)
        for line in message.split("\n")[: HEAD if fold != "open" else None]:
            lines += fold_runs([(line, bold)], canvas.room)
        return [rows(canvas, lines, ink.stderr, "┃", ink.stderr_mark)]

    def _row(self, line: TextLine, canvas: Canvas) -> list[Line]:
        runs: list[Run] = [(text, canvas.ink.sgr(sgr, canvas.ink.stderr)) for text, sgr in line]
        return fold_runs(runs, canvas.room)


def shown(count: int, fold: Fold) -> Iterable[int | None]:
    """Numbers of the lines to draw; None where lines are left out."""
    if fold == "open" and count > LONGEST:
        return [*range(LONGEST - TAIL), None, *range(count - TAIL, count)]
    if fold == "open" or count <= HEAD + TAIL + 1:
        return range(count)
    return [*range(HEAD), None, *range(count - TAIL, count)]


def hidden(count: int, fold: Fold) -> str:
    """What stands in the place of left-out lines."""
    if fold == "open":
        return f"… {count + HEAD + TAIL - LONGEST:,} more lines are left out here"
    return f"… {count:,} more lines · enter to show"


def note(canvas: Canvas, text: str) -> Rows:
    """A dim remark of ours in the console."""
    line = crop([(safe_text(text), canvas.ink.console_dim)], canvas.room)
    return rows(canvas, [line], canvas.ink.console, "│", canvas.ink.console_faint)


def terminal_lines(text: str) -> Sequence[TextLine]:
    """The lines that a terminal would show of a finished text."""
    terminal = TerminalText()
    terminal.update(text)
    return terminal.all_lines()
