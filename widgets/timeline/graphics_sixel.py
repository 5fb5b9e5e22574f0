"""Sixel: pixels in columns of six, as in the VT340's manual, for xterm, foot, WezTerm, mlterm, Konsole and others.

https://vt100.net/docs/vt3xx-gp/chapter14.html

A picture is held as palette indexes, and any run of its text rows can be written out, because what is on the
screen of it changes with every scroll.
"""

import re
from dataclasses import dataclass, field
from functools import cache

BAND = 6
"""Rows of pixels in one line of sixels."""

_KEPT = 4
"""Written out runs that are kept: the view goes back and forth."""

_REPEATED = re.compile(rb"([?-~])\1{3,}")


@dataclass(eq=False)
class Sheet:
    """A picture of few colours, as large as its cells."""

    width: int
    height: int
    """Pixels."""
    indexes: bytes
    """A byte for each pixel, row by row: its place in the palette."""
    palette: tuple[tuple[int, int, int], ...]
    """Red, green, blue, 0 to 255."""
    cell: tuple[int, int]
    """Width and height of a cell."""
    _written: dict[tuple[int, int], str] = field(default_factory=dict)

    @property
    def columns(self) -> int:
        """Cells of a row."""
        return self.width // self.cell[0]

    def sixels(self, first: int, last: int) -> str:
        """The text rows from `first` to before `last`, as one sequence to be written where they begin."""
        key = first, last
        written = self._written.pop(key, None)
        if written is None:
            written = self._encode(first * self.cell[1], min(self.height, last * self.cell[1]))
        self._written[key] = written
        while len(self._written) > _KEPT:
            del self._written[next(iter(self._written))]
        return written

    def _encode(self, top: int, bottom: int) -> str:
        bands: list[bytes] = []
        used: set[int] = set()
        for start in range(top, bottom, BAND):
            lines = [self._line(y) for y in range(start, min(start + BAND, bottom))]
            colours = set().union(*lines)
            used |= colours
            bands.append(b"$".join(b"#%d%b" % (colour, _sixels(lines, colour)) for colour in sorted(colours)))
        registers = "".join(f"#{colour};2;{_percent(self.palette[colour])}" for colour in sorted(used))
        # P2 = 1: pixels that are not drawn stay the same, or the last line of sixels would blacken the text below.
        return f'\x1bP0;1;0q"1;1;{self.width};{bottom - top}{registers}{b"-".join(bands).decode()}\x1b\\'

    def _line(self, y: int) -> bytes:
        return self.indexes[y * self.width : (y + 1) * self.width]


def _percent(colour: tuple[int, int, int]) -> str:
    return ";".join(str(round(part * 100 / 255)) for part in colour)


def _sixels(lines: list[bytes], colour: int) -> bytes:
    """One line of sixels in one colour: six rows of bytes become one by arithmetic on very long numbers."""
    width = len(lines[0])
    table = _only(colour)
    total = 0
    for bit, line in enumerate(lines):
        if colour in line:
            total |= int.from_bytes(line.translate(table), "big") << bit
    total += int.from_bytes(b"?" * width, "big")  # bits 0 to 63 are written as the characters from `?`
    sixels = total.to_bytes(width, "big").rstrip(b"?")
    return _REPEATED.sub(lambda run: b"!%d%b" % (len(run[0]), run[1]), sixels)


@cache
def _only(colour: int) -> bytes:
    """The table that makes this index 1 and the others 0."""
    return bytes(index == colour for index in range(256))
