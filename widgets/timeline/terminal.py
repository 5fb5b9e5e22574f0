"""A program's output as a terminal would show it, as lines of styled text.

Colours are kept; carriage return, backspace, erase-line and moving the cursor (progress bars) are obeyed within the
output; all other control sequences are dropped. Columns are cells, as in a terminal.

Lines in which nothing moves the cursor are stored verbatim and parsed when they are drawn: a flood costs little more
than finding its line ends. Appended text costs only what is new, and no more at once than the caller's budget.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby, repeat
from operator import itemgetter
from typing import NamedTuple

from oi_tui.app.engine.text.safe import safe_text
from oi_tui.widgets.timeline.ink import Sgr
from oi_tui.widgets.timeline.sgr import INTRODUCERS, SGR, apply_sgr
from oi_tui.widgets.timeline.terminal_row import (
    LONGEST_ROW,
    TerminalCell,
    TerminalRow,
    TextLine,
    expand_tabs,
    text_width,
)

SLICE = 65_536
"""Characters that are looked at in one go."""

CHEAP = 100
"""Characters of text in which nothing moves that cost a unit of work; a token costs one, about a microsecond."""

_FARTHEST = 1_000
"""Rows or columns that one sequence may move."""

_TEXT = 512
"""Characters of text that are written into a line in one go: those at the end of an output are written again when it
grows, since a character may come in two pieces."""

_TOKEN = re.compile(
    r"(?:\x1b\[|\x9b)(?P<numbers>[0-9;:?]{0,256})(?P<final>[A-Za-z])"
    r"|(?P<control>[\n\r\b])"
    rf"|(?P<text>[^\n\r\b{INTRODUCERS}]{{1,{_TEXT}}})"
    r"|(?P<string>(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\n\x07\x18\x1a\x1b\x9c]*)(?P<ended>[\x07\x18\x1a\x9c])?"
    r"|(?:\x1b\[|\x9b)[0-?]{0,256}[ -/]{0,8}[@-~]"
    r"|\x1b[ -/]{0,8}[0-~]"
    r"|[\x1b\x9b]"
)
"""Sequences end where they do in `safe.py`: a C1 control begins one as ESC does, and none reaches over the end of a
line."""

_STRING_END = re.compile(r"[\x07\x18\x1a\x9c]|(?=[\n\x1b])")
_MOVES = re.compile(rf"[\r\b{INTRODUCERS}](?:(?<=[^\r\x1b])|(?<=\r)(?!\n)|(?<=\x1b)(?!\[[0-9;:]{{0,256}}m))")
"""What moves the cursor, or may: everything but text, line ends and colours."""

_UNFINISHED = re.compile(r"\r\Z|(?:\x1b\[|\x9b)[0-?]{0,256}[ -/]{0,8}\Z|\x1b[ -/]{0,8}\Z")
_LONGEST_UNFINISHED = 2 + 256 + 8


class _OpenText(NamedTuple):
    """The text at the end of what was taken, and the line and column before it: the output may continue it."""

    start: int
    row: TerminalRow
    parts: TextLine
    cells: int
    column: int


class TerminalText:
    """The lines of a growing output."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._text = ""
        self._taken = self._end = 0
        """Characters of it that are in the lines, and that can be: a sequence may not be complete."""
        self._lines: list[str | TerminalRow] = [""]
        self._states: list[Sgr] = [Sgr()]
        """What is set where a line begins."""
        self._row = 0
        self._column: int | None = None
        """None behind the last line, where that is text."""
        self._sgr = Sgr()
        self._in_string = False
        """Within a sequence that extends to its end or to the end of the line."""
        self._open_text: _OpenText | None = None
        self._first_changed = 0
        self._work = 0
        self._budget: int | None = None
        self.widest = 0
        """Characters of the longest line so far, exact where it matters: up to `LONGEST_ROW`."""

    def update(self, text: str, budget: int | None = None) -> int:
        """Take a newer text; returns the first line that is not as it was.

        With a `budget`, in units of about a microsecond, the rest is left for `advance`.
        """
        grown = text.startswith(self._text)
        if not grown:
            self._clear()
        self._text = text
        self._end = self._safe_end(self._taken, len(text))
        changed = self.advance(budget)
        return changed if grown else 0

    def advance(self, budget: int | None = None) -> int:
        """Process more of the text; returns the first line that changed."""
        self._first_changed = len(self._lines) - 1
        self._work = 0
        self._budget = budget
        while self.behind and not self._is_spent:
            end = min(self._end, self._taken + SLICE)
            end = end if end == self._end else self._safe_end(self._taken, end)
            while self._taken < end and not self._is_spent:
                self._taken = self._take(self._taken, end)
        return self._first_changed

    @property
    def behind(self) -> bool:
        """Whether a part of the text is still to be taken."""
        return self._taken < self._end

    @property
    def count(self) -> int:
        """Number of lines; an empty one at the end does not count."""
        last = self._lines[-1]
        shows = last.parts if isinstance(last, TerminalRow) else SGR.sub("", last[:_LONGEST_UNFINISHED])
        return len(self._lines) if shows else len(self._lines) - 1

    def line(self, number: int, limit: int | None = None) -> TextLine:
        """A line, safe to show, with `…` for what is beyond `limit` characters.

        It is made safe as a whole too: its pieces together may pile up marks.
        """
        line = self._lines[number]
        parts = line.parts if isinstance(line, TerminalRow) else _read(line, self._states[number])
        runs = groupby(parts if limit is None else _limit(parts, limit), key=itemgetter(1))
        return [(safe_text("".join(text for text, _ in run)), sgr) for sgr, run in runs]

    def plain_line(self, number: int, limit: int | None = None) -> str:
        """The text of `line`."""
        line = self._lines[number]
        if isinstance(line, str):
            raw = SGR.sub("", line) if "\x1b" in line else line
            if (limit is None or len(raw) <= limit) and raw.isascii() and raw.isprintable():
                return raw
        return "".join(text for text, _ in self.line(number, limit))

    def all_lines(self) -> list[TextLine]:
        """All lines, safe to show."""
        return [self.line(number) for number in range(self.count)]

    def plain(self) -> str:
        """The text without colours."""
        return "\n".join(self.plain_line(number) for number in range(self.count))

    @property
    def _is_spent(self) -> bool:
        return self._budget is not None and self._work >= self._budget

    def _safe_end(self, start: int, end: int) -> int:
        """Where to stop at the latest so that no sequence is cut in two."""
        unfinished = _UNFINISHED.search(self._text, max(start, end - _LONGEST_UNFINISHED), end)
        return end if unfinished is None else unfinished.start()

    def _take(self, start: int, end: int) -> int:
        """Take text from `start`, to `end` at most; returns where it stopped."""
        if self._column is not None:
            start = self._reopen_text(start)
            return self._walk(start, self._text.find("\n", start, end) + 1 or end)
        self._work += 1
        moves = _MOVES.search(self._text, start, end)
        calm = end if moves is None else self._text.rfind("\n", start, moves.start()) + 1
        if moves is None or calm > start:
            self._append(self._text[start:calm])
            return calm
        self._lines[-1], self._sgr = "", self._states[-1]  # the line is read again, as if it had come in one piece
        start = self._text.rfind("\n", 0, start) + 1
        return self._walk(start, self._text.find("\n", moves.start(), end) + 1 or end)

    # Text in which nothing moves

    def _append(self, text: str) -> None:
        """Lines behind the last one."""
        if "\r" in text:
            text = text.replace("\r\n", "\n")
        first, *more = text.split("\n")
        last = self._lines[-1]
        assert isinstance(last, str)
        first = last + first
        self._note_width(max((first, *more), key=len))
        self._lines[-1:] = first, *more
        self._row = len(self._lines) - 1
        self._work += len(text) // CHEAP + len(more) // 8
        if "\x1b" not in text:
            self._states += repeat(self._sgr, len(more))
            return
        self._work += len(more)
        self._sgr = self._after(first[len(last) :])
        for line in more:
            self._states.append(self._sgr)
            self._sgr = self._after(line)

    def _after(self, line: str) -> Sgr:
        """What is set behind the line."""
        if "\x1b" not in line:
            return self._sgr
        if line.endswith("\x1b[0m"):
            return Sgr()
        sgr = self._sgr
        for sequence in SGR.finditer(line):
            self._work += 1
            sgr = apply_sgr(sgr, sequence[1])
        return sgr

    def _note_width(self, longest: str) -> None:
        if len(longest) > self.widest and self.widest < LONGEST_ROW:
            self.widest = max(self.widest, len(SGR.sub("", longest[: 4 * LONGEST_ROW])))

    # A cursor that moves

    def _walk(self, start: int, end: int) -> int:
        """Obey the text token by token; returns where the budget or the text ended."""
        if self._in_string:
            ended = _STRING_END.search(self._text, start, end)
            if ended is None:
                return end
            self._in_string, start = False, ended.end()
        for token in _TOKEN.finditer(self._text, start, end):
            self._work += 1
            if token[0] != "\n":
                self._touch()
            match token.lastgroup:
                case "text":
                    self._write(token[0], token.start() if token.end() == end else None)
                case "control":
                    self._control(token[0])
                case "final":
                    self._sequence(token["final"], token["numbers"])
                case "string":
                    self._in_string = token.end() == end
                case _:
                    pass
            if self._is_spent:
                return token.end()
        return end

    def _write(self, text: str, open_at: int | None) -> None:
        """Text at the cursor; with `open_at`, where it begins, the output may continue it."""
        row, column = self._touch(), self._place()
        if open_at is not None:
            self._open_text = _OpenText(open_at, row, [*row.parts], row.cells, column)
        if 0 < column < row.cells:
            self._work += len(row.parts) // 8 + row.cells // 200
        self._column = row.write(column, text, self._sgr)
        self.widest = max(self.widest, row.cells)

    def _reopen_text(self, start: int) -> int:
        """Take back the text that was at the end, if any; returns where to read on."""
        if (text := self._open_text) is None:
            return start
        self._open_text = None
        self._touch()
        text.row.parts, text.row.cells, self._column = text.parts, text.cells, text.column
        return text.start

    def _place(self) -> int:
        """The column, known from now on."""
        if self._column is None:
            self._column = self._touch().cells
        return self._column

    def _touch(self) -> TerminalRow:
        """The line with the cursor, which is about to change."""
        self._first_changed = min(self._first_changed, self._row)
        line = self._lines[self._row]
        if isinstance(line, TerminalRow):
            return line
        row = TerminalRow()
        for text, sgr in _runs(line, self._states[self._row]):
            for start in range(0, len(text), _TEXT):
                row.write(row.cells, text[start : start + _TEXT], sgr)
        if self._column is None:
            self._column = row.cells
        self._lines[self._row] = row
        return row

    def _control(self, character: str) -> None:
        match character:
            case "\n":
                self._row += 1
                self._column = 0
                if self._row == len(self._lines):
                    self._lines.append("")
                    self._states.append(self._sgr)
                    self._column = None
            case "\r":
                self._column = 0
            case _:
                self._column = max(0, self._place() - 1)

    def _sequence(self, final: str, numbers: str) -> None:
        if final not in "ABCDEFGJKm" or numbers.startswith("?"):
            return
        if final == "m":
            self._sgr = apply_sgr(self._sgr, numbers)
            return
        first = numbers.partition(";")[0]
        count = min(int(first), _FARTHEST) if first.isdecimal() and len(first) < 6 else 0
        column = self._place()
        match final:
            case "A" | "F":
                self._row = max(0, self._row - max(1, count))
                self._column = 0 if final == "F" else column
            case "B" | "E":
                self._row = min(len(self._lines) - 1, self._row + max(1, count))
                self._column = 0 if final == "E" else column
            case "C":
                self._column = min(LONGEST_ROW, column + max(1, count))
            case "D":
                self._column = max(0, column - max(1, count))
            case "G":
                self._column = max(0, count - 1)
            case "K":
                self._touch().erase(column, count)
            case "J" if count == 0:
                self._touch().erase(column, 0)
                del self._lines[self._row + 1 :], self._states[self._row + 1 :]
            case _:
                pass


def _runs(raw: str, sgr: Sgr) -> Iterator[TerminalCell]:
    """The text of a line in which nothing moves, between its colours."""
    start = 0
    for sequence in SGR.finditer(raw) if "\x1b" in raw else ():
        if sequence.start() > start:
            yield raw[start : sequence.start()], sgr
        sgr, start = apply_sgr(sgr, sequence[1]), sequence.end()
    if len(raw) > start:
        yield raw[start:], sgr


def _read(raw: str, sgr: Sgr) -> Iterator[TerminalCell]:
    """The same, as it is drawn."""
    column = 0
    for text, run_sgr in _runs(raw, sgr):
        if shown := expand_tabs(safe_text(text), column):
            column += text_width(shown)
            yield shown, run_sgr


def _limit(parts: Iterable[TerminalCell], limit: int) -> Iterator[TerminalCell]:
    for text, sgr in parts:
        yield text[:limit], sgr
        limit -= len(text)
        if limit < 0:
            yield "…", Sgr()
            return
