"""The Kitty graphics protocol with Unicode placeholders: a picture is sent once and then is part of the text.

https://sw.kovidgoyal.net/kitty/graphics-protocol/#unicode-placeholders

Every cell of a picture is a character of its own that encodes its row and column, so the picture scrolls and is cropped
and covered like text, and the code that paints text needs no special case. The number of the picture is the colour of
the character: 8 bits of a palette colour, and 8 more in a third mark. A palette colour survives terminals with 256
colours, and blending colours gives a number that no picture has.
"""

import base64
from collections.abc import Iterator, Sequence
from itertools import count, groupby
from typing import Literal

from rich.color import Color, ColorType
from rich.segment import Segment
from rich.style import Style
from textual.color import Color as TextualColor
from textual.filter import LineFilter
from textual.strip import Strip

PLACEHOLDER = "\U0010eeee"

KITTY_CHUNK = 4096
"""Bytes of base64 in one escape sequence, at most: a rule of the protocol."""

_MARKS = """
305 30d-30e 310 312 33d-33f 346 34a-34c 350-352 357 35b 363-36f 483-487 592-595 597-599 59c-5a1 5a8-5a9 5ab-5ac 5af 5c4
610-617 657-65b 65d-65e 6d6-6dc 6df-6e2 6e4 6e7-6e8 6eb-6ec 730 732-733 735-736 73a 73d 73f-741 743 745 747 749-74a
7eb-7f1 7f3 816-819 81b-823 825-827 829-82d 951 953-954 f82-f83 f86-f87 135d-135f 17dd 193a 1a17 1a75-1a7c 1b6b
1b6d-1b73 1cd0-1cd2 1cda-1cdb 1ce0 1dc0-1dc1 1dc3-1dc9 1dcb-1dcc 1dd1-1de6 1dfe 20d0-20d1 20d4-20d7 20db-20dc 20e1
20e7 20e9 20f0 2cef-2cf1 2de0-2dff a66f a67c-a67d a6f0-a6f1 a8e0-a8f1 aab0 aab2-aab3 aab7-aab8 aabe-aabf aac1
fe20-fe26 10a0f 10a38 1d185-1d189 1d1aa-1d1ad 1d242-1d244"""
"""The marks that mean 0, 1, 2 ...: combining marks above letters of Unicode 6.0 that are never composed with them."""


def _marks() -> Iterator[str]:
    for span in _MARKS.split():
        first, _, last = span.partition("-")
        yield from map(chr, range(int(first, 16), int(last or first, 16) + 1))


DIACRITICS = tuple(_marks())
MOST_PICTURE_CELLS = len(DIACRITICS)
"""Rows or columns of one picture."""

_COLOURS = range(16, 256)
"""Palette colours that say a number; those below are written in another way, which themes replace."""


def numbers(realm: Literal[0, 1], start: int = 0) -> Iterator[int]:
    """Numbers for pictures: the colour in the lowest byte, never 0 in the highest.

    What lives at the same time in one terminal must not share numbers: it takes another realm, or starts elsewhere.
    """
    for high in count(start):
        for colour in _COLOURS:
            yield (high % 127 * 2 + realm + 1) << 24 | colour


def transmission(number: int, png: bytes, columns: int, rows: int) -> str:
    """Send a picture and say how many cells it takes; the terminal answers nothing."""
    encoded = base64.b64encode(png).decode()
    first = f"a=T,U=1,f=100,t=d,i={number},c={columns},r={rows},q=2,"
    parts = [encoded[start : start + KITTY_CHUNK] for start in range(0, len(encoded), KITTY_CHUNK)]
    return "".join(
        f"\x1b_G{'' if place else first}{'q=2,' if place else ''}m={int(place < len(parts) - 1)};{part}\x1b\\"
        for place, part in enumerate(parts)
    )


def deletion(number: int) -> str:
    """Forget a picture and free its memory."""
    return f"\x1b_Ga=d,d=I,i={number},q=2\x1b\\"


def placeholders(number: int, row: int, columns: int, ground: Style) -> Segment:
    """The cells of one row. Each says all it needs: what covers a part of the row must not move the rest."""
    mark, high = DIACRITICS[row], DIACRITICS[number >> 24]
    text = "".join(f"{PLACEHOLDER}{mark}{DIACRITICS[column]}{high}" for column in range(columns))
    colour = number & 0xFF
    return Segment(text, ground + Style(color=Color(f"color({colour})", ColorType.EIGHT_BIT, number=colour)))


def apply_filters(strip: Strip, filters: Sequence[LineFilter], background: TextualColor) -> Strip:
    """The row as Textual's filters want it (no colours, for example), but for the colours that are numbers."""
    if not filters:
        return strip
    segments: list[Segment] = []
    for is_picture, parts in groupby(strip, key=lambda segment: segment.text.startswith(PLACEHOLDER)):
        line = list(parts)
        if not is_picture:
            for line_filter in filters:
                line = line_filter.apply(line, background)
        segments += line
    return Strip(segments, strip.cell_length)
