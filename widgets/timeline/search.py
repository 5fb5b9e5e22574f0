"""Looking for words in blocks and in rows: plain text, no patterns, never over the end of a line.

In blocks it searches the text for the clipboard, in rows the drawn text. A needle without capitals ignores case. A
search may be long: it yields `None` now and then, so that the caller can handle keys.
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from rich.cells import split_graphemes

from oi_tui.app.engine.core.blocks import Action, Block
from oi_tui.app.engine.core.outputs import ErrorOutput, Output, RichOutput, StreamOutput
from oi_tui.app.engine.text.rich_text import best_text
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.widgets.rows.row import RowStrip
from oi_tui.widgets.timeline.logical import logical_text
from oi_tui.widgets.timeline.sgr import INTRODUCERS, SGR
from oi_tui.widgets.timeline.terminal import TerminalText
from oi_tui.widgets.timeline.terminal_row import TAB_STOP

SEARCH_SLICE = 0.002
"""Seconds of work after which a search yields."""

PORTION = 64 * 1024
"""Characters that are looked at between two looks at the clock."""

LINES = 500
"""Lines of an output that are taken from a terminal at once."""

_SEQUENCE = re.compile(f"[{INTRODUCERS}]")
_NOT_A_CELL = re.compile(r"[^\r\n\t -~]")


class _Character(NamedTuple):
    """The place of one character of a logical line on the screen."""

    row: int
    start: int
    end: int
    """Cells of its row; an empty range for what a break swallowed."""


class Search:
    """A search for one needle through the blocks, in slices."""

    def __init__(self, needle: str, *, clock: Callable[[], float] = time.perf_counter) -> None:
        self.needle = needle
        self.ignores_case = fold_case(needle) == needle
        self._findable = bool(needle) and "\n" not in needle
        self._clock = clock

    def in_text(self, text: str) -> Iterator[int]:
        """Offsets of the matches in a text, from its start, none inside another."""
        if not self._findable:
            return
        searched = fold_case(text) if self.ignores_case else text
        at = searched.find(self.needle)
        while at >= 0:
            yield at
            at = searched.find(self.needle, at + len(self.needle))

    def count(self, text: str) -> int:
        """How many matches there are in a text."""
        if not self._findable:
            return 0
        return (fold_case(text) if self.ignores_case else text).count(self.needle)

    def matches_in(self, block: Block) -> int:
        """How many matches there are in what a person could copy of the block."""
        return sum(self.counts(block))

    def counts(self, block: Block) -> Iterator[int]:
        """`matches_in` piece by piece: a long block is too much to be counted in one go."""
        return (self.count(portion) for portion in _portions(block))

    def find(self, blocks: Sequence[Block], start: int, step: int) -> Iterator[int | None]:
        """Indexes of the blocks with matches, from `start` on and around to where it began; None between slices.

        `step` is 1 or -1. Blocks that arrive during the search are not searched.
        """
        if not self._findable:
            return
        count, began = len(blocks), self._clock()
        for distance in range(count):
            index = (start + step * distance) % count
            for portion in _portions(blocks[index]):
                if self.count(portion):
                    yield index
                    began = self._clock()
                    break
                if self._clock() - began >= SEARCH_SLICE:
                    yield None
                    began = self._clock()

    def spans(self, rows: Sequence[RowStrip]) -> list[list[tuple[int, int]]]:
        """For each row the cells that belong to matches: the first, and the one after the last.

        A match that continues in the next row of its line has a part in each. Cells count from the left edge of the
        row, its gutter included.
        """
        spans: list[list[tuple[int, int]]] = [[] for _ in rows]
        if not self._findable:
            return spans
        first = 0
        for number in range(1, len(rows) + 1):
            if number == len(rows) or "\n" in rows[number].joint:
                self._mark(rows, range(first, number), spans)
                first = number
        return spans

    def _mark(self, rows: Sequence[RowStrip], line: range, spans: list[list[tuple[int, int]]]) -> None:
        """Note the matches in the rows of one line."""
        text, characters = _line(rows, line)
        for at in self.in_text(text):
            for number, part in groupby(characters[at : at + len(self.needle)], key=attrgetter("row")):
                cells = list(part)
                row = spans[number]
                start = max(cells[0].start, row[-1][1] if row else 0)
                if start < (end := cells[-1].end):
                    row.append((start, end))


def fold_case(text: str) -> str:
    """The text in small letters, every character in its place.

    `str.lower` alone makes two characters of one letter, and takes the capital sigma at the end of a word for another.
    """
    if text.isascii():
        return text.lower()
    return text.replace("\u0130", "i").replace("\N{GREEK CAPITAL LETTER SIGMA}", "σ").lower()


def _line(rows: Sequence[RowStrip], line: range) -> tuple[str, list[_Character]]:
    """The text of a line before it was wrapped into rows, and the places of its characters."""
    parts: list[str] = []
    characters: list[_Character] = []
    for number in line:
        row = rows[number]
        if number > line.start:
            # The spaces at the line break were at the end of the row above, in no cell.
            parts.append(row.joint)
            end = rows[number - 1].reach
            characters += [_Character(number - 1, end, end)] * len(row.joint)
        cell = row.lead
        for segment in row.crop(row.lead, row.reach):
            text = segment.text
            parts.append(text)
            if text.isascii():
                characters += [_Character(number, at, at + 1) for at in range(cell, cell + len(text))]
                cell += len(text)
                continue
            for begin, end, width in split_graphemes(text)[0]:
                characters += [_Character(number, cell, cell + width)] * (end - begin)
                cell += width
    return "".join(parts), characters


def _portions(block: Block) -> Iterator[str]:
    """What a person could copy of the block, in pieces that end where lines end, each cheap to search."""
    yield from _cut(logical_text(block))
    if isinstance(block, Action):
        for output in block.outputs:
            yield from _terminal_text(_output_text(output))
            if isinstance(output, StreamOutput) and output.tail is not None:
                yield from _terminal_text(output.tail.text)


def _output_text(output: Output) -> str:
    match output:
        case StreamOutput():
            return output.text
        case ErrorOutput():
            return "\n".join(output.traceback) or f"{output.name}: {output.value}"
        case RichOutput():
            return best_text(output.data)


def _terminal_text(text: str) -> Iterator[str]:
    """What a terminal shows of the text. Only where cursors are moved, a terminal is needed to know."""
    for portion in _cut(text):
        if _moves(portion):
            yield from _replay_terminal(text)
            return
        yield ""
    for portion in _cut(text):
        plain = portion.replace("\r\n", "\n").expandtabs(TAB_STOP)
        yield safe_text(SGR.sub("", plain) if "\x1b" in plain else plain)


def _moves(text: str) -> bool:
    """Whether it holds what a terminal obeys, beyond colours and the ends of lines."""
    if "\b" in text or ("\r" in text and text.count("\r") != text.count("\r\n")):
        return True
    if "\t" in text and _NOT_A_CELL.search(text):
        return True  # a tab reaches to a cell, and these are no cell, or two
    return _SEQUENCE.search(SGR.sub("", text) if "\x1b" in text else text) is not None


def _replay_terminal(text: str) -> Iterator[str]:
    terminal = TerminalText()
    for end in range(PORTION, len(text) + PORTION, PORTION):
        terminal.update(text[:end])
        yield ""
    for first in range(0, terminal.count, LINES):
        numbers = range(first, min(first + LINES, terminal.count))
        yield "\n".join("".join(part for part, _ in terminal.line(number)) for number in numbers)


def _cut(text: str) -> Iterator[str]:
    """Pieces of about `PORTION` characters; only a line that is longer makes a longer one."""
    start = 0
    while start < len(text):
        end = text.find("\n", start + PORTION)
        end = len(text) if end < 0 else end + 1
        yield text[start:end]
        start = end
