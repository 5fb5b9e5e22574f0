"""Pixels as characters: each cell has equal parts in one of two colours."""

from functools import lru_cache
from typing import TYPE_CHECKING

from rich.color import Color
from rich.segment import Segment
from rich.style import Style

from oi_tui.widgets.timeline.graphics import CellParts
from oi_tui.widgets.timeline.wrap import Line

if TYPE_CHECKING:
    from PIL.Image import Image

_COLOURS = 64
"""Nobody counts them in pixels of that size, and they halve what is written."""

Rgb = tuple[int, int, int]

_HALVES = " ▀▄█"
_QUADRANTS = " ▘▝▀▖▌▞▛▗▚▐▜▄▙▟█"
_SEXTANT = 0x1FB00
"""Where Unicode has sextants, but for those that were there before: empty, left half, right half, full."""


def cell_lines(picture: "Image", parts: CellParts) -> list[Line]:
    """The rows of an RGB picture whose sides are whole numbers of cells of `parts` pixels (across, down)."""
    from PIL import Image  # heavy, and many sessions never see a picture

    few = picture.quantize(_COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    flat = few.getpalette() or []
    palette = [(flat[at], flat[at + 1], flat[at + 2]) for at in range(0, len(flat), 3)]
    pixels, width = few.tobytes(), few.width
    across, down = parts
    known: dict[bytes, tuple[str, Style]] = {}
    lines: list[Line] = []
    for top in range(0, few.height, down):
        texts: list[tuple[list[str], Style]] = []
        for left in range(0, width, across):
            cell = b"".join(pixels[at : at + across] for at in range(top * width + left, (top + down) * width, width))
            drawn = known.get(cell)
            if drawn is None:
                drawn = known[cell] = _draw_cell([palette[pixel] for pixel in cell], parts)
            if texts and texts[-1][1] is drawn[1]:
                texts[-1][0].append(drawn[0])
            else:
                texts.append(([drawn[0]], drawn[1]))
        lines.append([Segment("".join(text), style) for text, style in texts])
    return lines


def _draw_cell(pixels: list[Rgb], parts: CellParts) -> tuple[str, Style]:
    """The character whose parts come nearest to these pixels, and its colours."""
    colours = list(dict.fromkeys(pixels))
    if len(colours) == 1:
        return "▀", _style(colours[0], colours[0])
    ends = max(
        ((one, other) for at, one in enumerate(colours) for other in colours[at + 1 :]),
        key=lambda pair: _distance(*pair),
    )
    above = [_distance(pixel, ends[1]) < _distance(pixel, ends[0]) for pixel in pixels]
    if not above[0]:  # one way to draw it, so that neighbours that look the same are the same
        above = [not part for part in above]
    ground = _mean([pixel for pixel, part in zip(pixels, above, strict=True) if not part])
    colour = _mean([pixel for pixel, part in zip(pixels, above, strict=True) if part])
    return _character(sum(1 << at for at, part in enumerate(above) if part), parts), _style(colour, ground)


def _character(bits: int, parts: CellParts) -> str:
    """The character whose foreground covers these parts, counted in rows from the upper left one."""
    match parts:
        case (1, 2):
            return _HALVES[bits]
        case (2, 2):
            return _QUADRANTS[bits]
        case _ if bits in (0, 63):
            return " █"[bits // 63]
        case _ if bits in (21, 42):
            return "▌" if bits == 21 else "▐"
        case _:
            return chr(_SEXTANT + bits - 1 - (bits > 21) - (bits > 42))


@lru_cache(4096)
def _style(colour: Rgb, ground: Rgb) -> Style:
    return Style(color=Color.from_rgb(*colour), bgcolor=Color.from_rgb(*ground))


def _distance(one: Rgb, other: Rgb) -> int:
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))


def _mean(pixels: list[Rgb]) -> Rgb:
    red, green, blue = (sum(part) // len(pixels) for part in zip(*pixels, strict=True))
    return red, green, blue
