"""What the terminal shows, so that only what differs is written to it.

Textual writes every row of a widget that changed, each piece of it with its whole style: eight kilobytes a frame while
an answer scrolls by, which a slow line feels. Here a frame is compared with the one before, cell by cell. Rows that
moved are moved by the terminal itself, which all of them can: a scroll region and line feeds.

A row is known as runs of text in one style. Where it is not known what the terminal shows (at first, after another
program, after a picture was laid over it), everything is written, as Textual does.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby, takewhile
from typing import NamedTuple

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.geometry import Size
from textual.strip import Strip

Run = tuple[str, int]
"""Text, and the number of its style."""

UNKNOWN = -1
"""The style of cells with unknown content."""

GAP = 6
"""Cells between two changes that are written again rather than jumped over: a jump is as long."""

FEWEST = 4
"""Changed rows from which on it is worth looking whether they moved."""

SIGNS = frozenset("‘’“”…‹›•–—")
"""One cell wide as well."""

MOST_STYLES = 4_096
"""Styles that are kept; then all of them are forgotten."""


MOST_STRIPS = 500
"""Strips whose row is known; beyond that all are forgotten."""


class Row(NamedTuple):
    """One row of the terminal."""

    runs: tuple[Run, ...]
    plain: bool
    """Whether every character is one cell wide on every terminal."""

    @property
    def cells(self) -> list[Run]:
        """Each cell with its text; a wide character's second cell has none."""
        if self.plain:
            return [(character, style) for text, style in self.runs for character in text]
        return [cell for text, style in self.runs for cell in _cells(text, style)]


class Piece(NamedTuple):
    """A part of a frame: a strip at its place."""

    y: int
    x: int
    strip: Strip


class Pen(NamedTuple):
    """What a terminal is sent before and after text of one style."""

    codes: str
    link: str


class ScreenCopy:
    """The cells of one terminal as last written."""

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._columns = 0
        self._numbers: dict[Style | None, int] = {}
        self._pens: list[Pen] = []
        self._known: dict[int, tuple[Strip, Row]] = {}
        """The strips of the last frames, by identity, and what they are as rows."""

    def forget(self) -> None:
        """Forget what the terminal shows."""
        self._rows = [_unknown_row(self._columns)] * len(self._rows)

    def write(self, update: CompositorUpdate, console: Console, size: Size) -> str:
        """What to send so that the terminal of this size shows the update."""
        if (self._columns, len(self._rows)) != size or len(self._pens) > MOST_STYLES:
            self._numbers.clear()
            self._pens.clear()
            self._known.clear()
            self._columns = size.width
            self._rows = [_unknown_row(size.width)] * size.height
        fresh: dict[int, Row] = {}
        for piece in pieces_of(update):
            row = self._row_of(piece.strip, console) if 0 <= piece.y < size.height else None
            if row is None:  # a control sequence, or beyond the edge: Textual's own way
                self.forget()
                return update.render_segments(console)
            whole = piece.x == 0 and piece.strip.cell_length == size.width
            below = fresh.get(piece.y, self._rows[piece.y])
            fresh[piece.y] = row if whole else _lay_over(below, piece.x, row, piece.strip.cell_length, size.width)
        return self._show(fresh)

    def _show(self, fresh: dict[int, Row]) -> str:
        parts: list[str] = []
        changed = {y: row for y, row in fresh.items() if row != self._rows[y]}
        if len(changed) >= FEWEST and (moved := self._find_move(changed)) is not None:
            parts.append(self._move(moved, changed))
        style = UNKNOWN
        for y in sorted(changed):
            if changed[y] is self._rows[y] or changed[y] == self._rows[y]:
                continue  # it was moved there
            for x, cells in _differences(self._rows[y], changed[y]):
                parts.append(f"\x1b[{y + 1};{x + 1}H")
                for text, number in cells:
                    if number != style:
                        parts.append(self._change_pen(style, number))
                        style = number
                    parts.append(text)
            self._rows[y] = changed[y]
        if style != UNKNOWN:
            parts.append(self._change_pen(style, UNKNOWN))
        return "".join(parts)

    # -- rows that moved ----------------------------------------------------------------------------------

    def _find_move(self, changed: dict[int, Row]) -> tuple[int, int, int] | None:
        """First and last row of what moved, and by how many rows up; None if too little did."""
        stood: dict[tuple[Run, ...], list[int]] = {}
        for y, row in enumerate(self._rows):
            stood.setdefault(row.runs, []).append(y)
        moves: dict[int, list[int]] = {}
        for y, row in changed.items():
            if row.runs in stood and _says_something(row):
                for before in stood[row.runs]:
                    moves.setdefault(before - y, []).append(y)
        moves.pop(0, None)
        if not moves:
            return None
        # A repeated row could come from several places: assume the shortest move.
        up, rows = max(moves.items(), key=lambda move: (len(move[1]), -abs(move[0])))
        first, last = min(*rows, *(y + up for y in rows)), max(*rows, *(y + up for y in rows))
        worth = len(rows) >= FEWEST - 1 and 2 * len(rows) >= len(changed) and abs(up) <= last - first
        return (first, last, up) if worth else None

    def _move(self, moved: tuple[int, int, int], changed: dict[int, Row]) -> str:
        """Let the terminal scroll them; rows that should have stayed are written again."""
        first, last, up = moved
        for y in range(first, last + 1):
            changed.setdefault(y, self._rows[y])
        bare = [_unknown_row(self._columns)] * abs(up)
        block = self._rows[first : last + 1]
        self._rows[first : last + 1] = [*block[up:], *bare] if up > 0 else [*bare, *block[:up]]
        region = f"\x1b[0m\x1b[{first + 1};{last + 1}r"
        feeds = f"\x1b[{last + 1};1H" + "\n" * up if up > 0 else f"\x1b[{first + 1};1H" + "\x1bM" * -up
        return f"{region}{feeds}\x1b[r"

    # -- styles -------------------------------------------------------------------------------------------

    def _row_of(self, strip: Strip, console: Console) -> Row | None:
        """As `_row`; a strip that was there lately, perhaps at another place, is not looked at again."""
        if (known := self._known.get(id(strip))) is not None:
            return known[1]
        row = self._row(strip, console)
        if row is not None:
            if len(self._known) >= MOST_STRIPS:
                self._known.clear()
            self._known[id(strip)] = strip, row
        return row

    def _row(self, strip: Strip, console: Console) -> Row | None:
        """The strip as a row; None if there is more in it than text."""
        runs: list[Run] = []
        plain = True
        for text, style, control in strip:
            if control or not text.isprintable():
                return None
            if not text:
                continue
            plain = plain and is_plain(text)
            number = self._numbers.get(style)
            if number is None:
                number = self._number(style, console)
            if runs and runs[-1][1] == number:
                runs[-1] = (runs[-1][0] + text, number)
            else:
                runs.append((text, number))
        return Row(tuple(runs), plain)

    def _number(self, style: Style | None, console: Console) -> int:
        codes, link = "", ""
        if style is not None:
            system = console._color_system or ColorSystem.TRUECOLOR
            before = Strip.render_style(style, "\n", system).partition("\n")[0]
            link, _, codes = before.rpartition("\x1b[") if "\x1b[" in before else (before, "", "")
            codes = codes.removesuffix("m")
        self._numbers[style] = len(self._pens)
        self._pens.append(Pen(codes, link))
        return self._numbers[style]

    def _change_pen(self, before: int, after: int) -> str:
        """Change from one style to another; either may be unknown, which means none."""
        old = self._pens[before] if before != UNKNOWN else Pen("", "")
        new = self._pens[after] if after != UNKNOWN else Pen("", "")
        if before == after:
            return ""
        link = "" if old.link == new.link else new.link or "\x1b]8;;\x1b\\"
        return f"{link}\x1b[0{';' if new.codes else ''}{new.codes}m"


class FrameDifference(CompositorUpdate):
    """An update that writes only the difference to a copy."""

    def __init__(self, update: CompositorUpdate, copy: ScreenCopy, size: Size) -> None:
        self._update = update
        self._copy = copy
        self._size = size

    def render_segments(self, console: Console) -> str:
        """Asked for once, when it is written."""
        return self._copy.write(self._update, console, self._size)


def pieces_of(update: CompositorUpdate) -> Iterator[Piece]:
    """The strips of an update, each where Textual would write it."""
    match update:
        case LayoutUpdate():
            for y, line in enumerate(update.strips, update.region.y):
                x = update.region.x
                for strip in line:
                    yield Piece(y, x, strip)
                    x += strip.cell_length
        case ChopsUpdate():
            for y, start, stop in update.spans:
                for end, (x, chop) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
                    if chop is None or x > stop or end <= start:
                        continue
                    yield Piece(y, x, chop if x >= start and end <= stop else chop.crop(0, min(end, stop) - x))


@lru_cache(maxsize=4_096)
def is_plain(text: str) -> bool:
    """Whether every character takes one cell, in every terminal: letters of Latin alphabets, and lines."""
    return text.isascii() or all(
        (character < "\u0250" and character != "\u00ad")
        or "\u2500" <= character < "\u25a0"
        or character in "‘’“”…›‹·•–—"
        for character in text
    )


def _cells(text: str, style: int) -> Iterator[Run]:
    cell = ""
    for character in text:
        width = cell_len(character)
        if width == 0:
            cell += character
            continue
        if cell:
            yield cell, style
            yield from [("", style)] * (cell_len(cell) - 1)
        cell = character
    if cell:
        yield cell, style
        yield from [("", style)] * (cell_len(cell) - 1)


def _lay_over(below: Row, x: int, row: Row, width: int, columns: int) -> Row:
    """The row with a piece laid over it."""
    cells = below.cells
    end = x + width
    # Where half of a wide character is left, terminals show a blank.
    if 0 < x < columns and not cells[x][0]:
        cells[x - 1] = (" ", cells[x - 1][1])
    if end < columns and not cells[end][0]:
        cells[end] = (" ", cells[end][1])
    cells[x:end] = row.cells
    del cells[columns:]
    texts = [("".join(text for text, _ in group), style) for style, group in groupby(cells, key=lambda cell: cell[1])]
    return Row(tuple(texts), below.plain and row.plain)


def _differences(before: Row, after: Row) -> Iterator[tuple[int, list[Run]]]:
    """Where to write which cells, from left to right."""
    # Terminals differ in what is wide, so everything after it may be in another column.
    if not (before.plain and after.plain) or all(style == UNKNOWN for _, style in before.runs):
        if any(style == UNKNOWN for _, style in after.runs):
            yield from _stretches(0, after.cells, None)
        else:
            yield 0, list(after.runs)
        return
    lead = _common_start(before.runs, after.runs)
    tail = sum(len(text) for text, _ in _common_runs(before.runs[::-1], after.runs[::-1]))
    old, new = _cut_cells(before, lead, tail), _cut_cells(after, lead, tail)
    yield from _stretches(lead, new, old)


def _stretches(lead: int, new: list[Run], old: list[Run] | None) -> Iterator[tuple[int, list[Run]]]:
    """Stretches of the new cells that differ from the old ones, all of them without old ones; they begin at `lead`."""
    start = end = -1
    for x, cell in enumerate(new):
        if cell[1] == UNKNOWN:
            if start >= 0:
                yield lead + start, new[start:end]
            start = -1
        elif old is None or x >= len(old) or old[x] != cell:
            if start >= 0 and x - end > GAP:
                yield lead + start, new[start:end]
                start = -1
            if start < 0:
                start = x
            end = x + 1
    if start >= 0:
        yield lead + start, new[start:end]


def _common_runs(one: Iterable[Run], other: Iterable[Run]) -> list[Run]:
    """Runs at the start that both rows have in common."""
    return [run for run, _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))]


def _common_start(one: Sequence[Run], other: Sequence[Run]) -> int:
    """Characters that both begin with, in the same styles."""
    whole = _common_runs(one, other)
    length, number = sum(len(text) for text, _ in whole), len(whole)
    if number < min(len(one), len(other)) and one[number][1] == other[number][1]:
        length += _common_length(one[number][0], other[number][0])
    return length


def _common_length(one: str, other: str) -> int:
    """Characters that both begin with, found by halving."""
    low, high = 0, min(len(one), len(other)) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle)
    return low


def _cut_cells(row: Row, lead: int, tail: int) -> list[Run]:
    """The cells of a row in which every character takes one, without `lead` at the start and `tail` at the end."""
    end = sum(len(text) for text, _ in row.runs) - tail
    cells: list[Run] = []
    x = 0
    for text, style in row.runs:
        if x + len(text) > lead:
            cells += [(character, style) for character in text[max(0, lead - x) : max(0, end - x)]]
        x += len(text)
    return cells


def _says_something(row: Row) -> bool:
    return any(style != UNKNOWN and not text.isspace() for text, style in row.runs)


@lru_cache(maxsize=16)
def _unknown_row(columns: int) -> Row:
    return Row(((" " * columns, UNKNOWN),) if columns else (), plain=True)
