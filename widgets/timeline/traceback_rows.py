"""An exception as rows: the message always, the line of the person's own code that led to it, all frames on demand.

What is known of a traceback is what IPython's looks like (a list of parts: a rule, a header, one part for each frame,
the message); of any other one the message is shown, and all of it when opened.
"""

import re
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style

from oi_tui.app.engine.core.outputs import ErrorOutput
from oi_tui.app.engine.text.mime import without_escapes
from oi_tui.widgets.timeline.console import HEAD_LINES, terminal_lines
from oi_tui.widgets.timeline.markdown_lines import clean_text
from oi_tui.widgets.timeline.row_pieces import BlockDisplay, Canvas, DrawnContent, RowPiece, rows
from oi_tui.widgets.timeline.terminal_row import TextLine
from oi_tui.widgets.timeline.wrap import Line, TextRun, fold_runs

_OWN = re.compile(r"\s*(?:Cell In\[|Input In \[|<ipython-input-)(\d+)")
_LIBRARY = re.compile(r"\s*File \S")
_LINE = re.compile(r"\A[^\n]*\bline (\d+)")
_ARROW = re.compile(r"^-+> *(\d+)", re.MULTILINE)
_LINKS = ("The above exception was the direct cause", "During handling of the above exception")
_PLACE = re.compile(r" \(\d+\.py, line \d+\)$")
"""Where a syntax error is: a file that nobody knows, in a line that is shown."""

_GROUP_LINE = re.compile(r'[/\\]ipykernel_\d+[/\\]\d+\.py", line (\d+), in <module>')
"""In the tree of an exception group, which IPython prints on stderr."""


class OwnFrame(NamedTuple):
    """A frame of the person's own code."""

    part: int
    """Which part of the traceback."""
    cell: str
    """Number of the cell, as the kernel counts."""
    line: int | None
    """1-based."""


class ParsedTraceback:
    """What a traceback says."""

    def __init__(self, output: ErrorOutput) -> None:
        self._output = output
        self._plain = [without_escapes(part) for part in output.traceback]

    @cached_property
    def own(self) -> list[OwnFrame]:
        """Frames of the person's own code, the outermost first."""
        frames = []
        for number, part in enumerate(self._plain):
            if found := _OWN.match(part):
                line = _LINE.search(part) or _ARROW.search(part)
                frames.append(OwnFrame(number, found[1], int(line[1]) if line else None))
        return frames

    @property
    def line(self) -> int | None:
        """The line of this cell in which it was raised, or which called what raised it; None if unknown."""
        if not self.own:
            return None
        cell = self.own[0].cell  # the way there begins in the cell that ran
        return [frame.line for frame in self.own if frame.cell == cell][-1]

    @property
    def nearest(self) -> list[str]:
        """Lines of the frame of own code that is nearest to the error, with their colours."""
        if not self.own:
            return []
        lines = self._output.traceback[self.own[-1].part].rstrip("\n").split("\n")
        plain = without_escapes(lines[-1])
        return lines[:-1] if plain.startswith(f"{self._output.name}:") else lines  # a syntax error says it all in one

    @property
    def message(self) -> str:
        """The exception in words, with its notes."""
        value = _PLACE.sub("", self._output.value) if self.own else self._output.value
        message = f"{self._output.name}: {value}" if value else self._output.name
        first = next((n for n in range(len(self._plain) - 1, -1, -1) if self._plain[n].startswith(message)), None)
        notes = self._plain[first + 1 :] if first is not None and self.own else []
        return "\n".join([message, *notes])

    @property
    def before(self) -> list[str]:
        """Messages of the exceptions that came before this one, each with the words that link it to the next."""
        said: list[str] = []
        for number, part in enumerate(self._plain):
            if part.strip().startswith(_LINKS):
                start = number
                while start and not self._is_frame(start - 1):
                    start -= 1
                said += [*self._plain[start:number], part.strip()]
        return said

    def _is_frame(self, number: int) -> bool:
        part = self._plain[number]
        return bool(_OWN.match(part) or _LIBRARY.match(part) or "Traceback (most recent call last)" in part)


class Traceback(DrawnContent):
    """The rows of an `ErrorOutput`."""

    def __init__(self, output: ErrorOutput) -> None:
        self._raised = ParsedTraceback(output)
        self._whole = terminal_lines(shorten_home("\n".join(output.traceback)))
        self._nearest = terminal_lines(shorten_home("\n".join(self._raised.nearest))) if self._raised.nearest else []
        self.line_of_own_code = self._raised.line
        """1-based line of the cell where it was raised, None if unknown."""
        self.line_count = len(self._whole) or 1
        self.has_more = len(self._whole) > len(self._nearest) + 2

    def pieces(self, canvas: Canvas, display: BlockDisplay) -> list[RowPiece]:
        """The frame of own code and the messages, or all."""
        ink = canvas.ink
        if display.fold == "open" and self._whole:
            lines = [row for line in self._whole for row in _row(line, canvas)]
            return [rows(canvas, lines, ink.stderr, "┃", ink.stderr_mark)]
        lines = []
        if self.has_more:
            count = len(self._whole) - len(self._nearest) - 1
            lines.append([Segment(f"… {count} more lines of traceback{canvas.keys.to_show}", ink.stderr_dim)])
        for said in self._raised.before:
            for text in clean_text(said).split("\n")[:HEAD_LINES]:
                lines += fold_runs([(text, ink.stderr_dim)], canvas.room)
        lines += [row for line in self._nearest for row in _row(line, canvas)]
        bold = ink.stderr_mark + Style(bold=True)
        message = clean_text(self._raised.message).split("\n")
        for text in message if display.fold == "open" else message[:HEAD_LINES]:
            lines += fold_runs([(text, bold)], canvas.room)
        return [rows(canvas, lines, ink.stderr, "┃", ink.stderr_mark)]


def line_of_group(text: str) -> int | None:
    """The line of the cell that raised an exception group, from what IPython prints of it; None if unknown."""
    found = _GROUP_LINE.search(text)
    return None if found is None else int(found[1])


def shorten_home(text: str) -> str:
    """The text with `~` for the home folder at the start of paths."""
    home = str(Path.home())
    return re.sub(rf"(?<![\w./~-]){re.escape(home)}(?=/)", "~", text) if len(home) > 1 else text


def _row(line: TextLine, canvas: Canvas) -> list[Line]:
    runs: list[TextRun] = [(text, canvas.ink.sgr(sgr, canvas.ink.stderr)) for text, sgr in line]
    return fold_runs(runs, canvas.room)
