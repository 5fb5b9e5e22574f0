"""What a terminal would show of a program's output, as lines of styled text.

Colours are kept; carriage return, backspace, erase-line and moving up (progress bars) are obeyed
within the output; everything else that a terminal obeys is dropped. Text that continues what was
there costs only what is new.
"""

import re
from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter

from oi_tui.app.engine.text import safe_text
from oi_tui.widgets.timeline.ink import Sgr

Cell = tuple[str, Sgr]
TextLine = list[Cell]
"""Pieces of text with their colours."""

TAB = 8
_FARTHEST = 1_000
"""Rows or columns that one sequence may move."""

_TOKEN = re.compile(
    r"\x1b\[(?P<numbers>[0-9;:?]*)(?P<final>[A-Za-z])"
    r"|(?P<control>[\n\r\b])"
    r"|(?P<text>[^\x1b\n\r\b]+)"
    r"|\x1b[\]PX^_][^\n\x07\x18\x1a\x1b]*(?:\x07|\x1b\\)?"
    r"|\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b[ -/]*[0-Z\\^-~]"
    r"|\x1b"
)
_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\n\x07\x18\x1a\x1b]*|[ -/]*)?$")
_LONGEST_UNFINISHED = 4_096

_ATTRIBUTES = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "reverse", 9: "strike"}
_ENDS = {21: ("bold",), 22: ("bold", "dim"), 23: ("italic",), 24: ("underline",), 27: ("reverse",), 29: ("strike",)}


class TerminalText:
    """The lines of a growing output."""

    def __init__(self) -> None:
        self._clear("")

    def update(self, text: str) -> int:
        """Take a newer text; returns the first line that is not as it was."""
        if not text.startswith(self._taken):
            self._clear("")
        self._first_changed = len(self._lines) - 1
        fresh = text[len(self._taken) :]
        open_sequence = _UNFINISHED.search(fresh, max(0, len(fresh) - _LONGEST_UNFINISHED))
        if open_sequence is not None:
            fresh = fresh[: open_sequence.start()]
        self._feed(fresh)
        self._taken += fresh
        return self._first_changed

    @property
    def count(self) -> int:
        """Number of lines; an empty one at the end does not count."""
        return len(self._lines) if self._lines[-1] else len(self._lines) - 1

    def line(self, number: int, limit: int | None = None) -> TextLine:
        """A line, safe to show, with `…` in the place of what is beyond `limit` characters.

        It is cleaned here and not when it came, since a character may come in two pieces.
        """
        line = self._lines[number]
        if limit is not None and sum(len(text) for text, _ in line) > limit:
            line = [*_part(line, 0, limit), ("…", Sgr())]
        runs = groupby(line, key=itemgetter(1))
        return [(safe_text("".join(text for text, _ in run)), sgr) for sgr, run in runs]

    def all_lines(self) -> list[TextLine]:
        """All lines, safe to show."""
        return [self.line(number) for number in range(self.count)]

    def plain(self) -> str:
        """The text without colours."""
        return "\n".join("".join(text for text, _ in line) for line in self.all_lines())

    def _clear(self, taken: str) -> None:
        self._lines: list[TextLine] = [[]]
        self._taken = taken
        self._row = self._column = 0
        self._sgr = Sgr()
        self._first_changed = 0
        self.widest = 0
        """Characters of the longest line so far."""

    def _feed(self, text: str) -> None:
        for token in _TOKEN.finditer(text):
            match token.lastgroup:
                case "text":
                    self._write(token.group())
                case "control":
                    self._control(token.group())
                case "final":
                    self._sequence(token["final"], token["numbers"])
                case _:
                    pass

    def _control(self, character: str) -> None:
        match character:
            case "\n":
                self._row += 1
                self._column = 0
                if self._row == len(self._lines):
                    self._lines.append([])
            case "\r":
                self._column = 0
            case _:
                self._column = max(0, self._column - 1)

    def _sequence(self, final: str, numbers: str) -> None:
        if final == "m":
            self._sgr = _colours(self._sgr, numbers)
            return
        first = numbers.partition(";")[0]
        count = min(int(first), _FARTHEST) if first.isdecimal() and first.isascii() and len(first) < 6 else 0
        match final:
            case "A" | "F":
                self._row = max(0, self._row - max(1, count))
                self._column = 0 if final == "F" else self._column
            case "B" | "E":
                self._row = min(len(self._lines) - 1, self._row + max(1, count))
                self._column = 0 if final == "E" else self._column
            case "C":
                self._column += max(1, count)
            case "D":
                self._column = max(0, self._column - max(1, count))
            case "G":
                self._column = max(0, count - 1)
            case "K":
                self._erase(count)
            case "J" if count == 0:
                self._touch()
                del self._lines[self._row + 1 :]
                self._erase(0)
            case _:
                pass

    def _touch(self) -> TextLine:
        self._first_changed = min(self._first_changed, self._row)
        return self._lines[self._row]

    def _write(self, text: str) -> None:
        line = self._touch()
        length = sum(len(part) for part, _ in line)
        if "\t" in text:
            text = (" " * min(self._column, length) + text).expandtabs(TAB)[min(self._column, length) :]
        if self._column == 0 and len(text) >= length:
            line[:] = [(text, self._sgr)]
        elif self._column >= length:
            if self._column > length:
                line.append((" " * (self._column - length), Sgr()))
            if line and line[-1][1] == self._sgr:
                line[-1] = line[-1][0] + text, self._sgr
            else:
                line.append((text, self._sgr))
        else:
            after = _part(line, self._column + len(text), length)
            line[:] = [*_part(line, 0, self._column), (text, self._sgr), *after]
        self._column += len(text)
        self.widest = max(self.widest, self._column)

    def _erase(self, how: int) -> None:
        line = self._touch()
        length = sum(len(part) for part, _ in line)
        match how:
            case 0:
                line[:] = _part(line, 0, self._column)
            case 1:
                line[:] = [(" " * min(self._column, length), Sgr()), *_part(line, self._column, length)]
            case 2:
                line.clear()
            case _:
                pass


def _part(line: Iterable[Cell], start: int, end: int) -> TextLine:
    part: TextLine = []
    offset = 0
    for text, sgr in line:
        if piece := text[max(0, start - offset) : max(0, end - offset)]:
            part.append((piece, sgr))
        offset += len(text)
    return part


def _colours(state: Sgr, numbers: str) -> Sgr:
    codes = [
        int(code) if code.isdecimal() and code.isascii() and len(code) < 5 else 0 for code in re.split("[;:]", numbers)
    ]
    while codes:
        code = codes.pop(0)
        match code:
            case 0:
                state = Sgr()
            case 1 | 2 | 3 | 4 | 7 | 9:
                state = state._replace(attributes=state.attributes | {_ATTRIBUTES[code]})
            case 21 | 22 | 23 | 24 | 27 | 29:
                state = state._replace(attributes=state.attributes.difference(_ENDS[code]))
            case 38:
                state = state._replace(foreground=_extended(codes))
            case 48:
                state = state._replace(background=_extended(codes))
            case 39:
                state = state._replace(foreground=None)
            case 49:
                state = state._replace(background=None)
            case _ if 30 <= code <= 37 or 90 <= code <= 97:
                state = state._replace(foreground=code - 30 if code < 40 else code - 82)
            case _ if 40 <= code <= 47 or 100 <= code <= 107:
                state = state._replace(background=code - 40 if code < 50 else code - 92)
            case _:
                pass
    return state


def _extended(codes: list[int]) -> int | str | None:
    match codes:
        case [5, number, *_] if number < 256:
            del codes[:2]
            return number
        case [2, red, green, blue, *_] if max(red, green, blue) < 256:
            del codes[:4]
            return f"#{red:02x}{green:02x}{blue:02x}"
        case _:
            codes.clear()
            return None
