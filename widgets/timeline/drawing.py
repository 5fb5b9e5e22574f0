"""Draws a picture in the way that the terminal knows: what a worker does, away from the screen."""

from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple

from rich.color import Color
from rich.segment import Segment
from rich.style import Style

from oi_tui.widgets.timeline.graphics import Graphics
from oi_tui.widgets.timeline.graphics_kitty import placeholders, transmission
from oi_tui.widgets.timeline.graphics_sixel import Sheet
from oi_tui.widgets.timeline.pixels import PictureSource, PixelBox
from oi_tui.widgets.timeline.wrap import Line

if TYPE_CHECKING:
    from PIL.Image import Image

_HALF_BLOCK_COLOURS = 64
"""Nobody counts them in pixels of that size, and they halve what is written."""

_SIXEL_COLOURS = 128
"""At most: more take longer to write than they are worth."""


class Order(NamedTuple):
    """What is to be drawn, and how large."""

    source: PictureSource
    columns: int
    rows: int
    """Cells that it takes."""
    size: tuple[int, int]
    """Pixels of the picture in these cells, where the terminal shows pixels; it begins in their left upper corner."""
    ground: str
    """Colour that shines through, `#rrggbb`."""
    box: PixelBox | None = None
    """The part that is shown; None for all of it."""
    keep: bool = False
    """Whether further parts of the same picture will be wanted."""


@dataclass(eq=False)
class DrawnPicture:
    """A picture drawn for some cells: rows of text, what to send to the terminal for them, and a Sixel sheet if any."""

    lines: list[Line]
    """The cells, row by row; half blocks also where sixels will be laid over them."""
    sheet: Sheet | None = None
    sending: str = ""
    """What has to be written before the first of the rows."""


def draw(order: Order, graphics: Graphics, number: int) -> DrawnPicture:
    """Do it. `number` is the picture's in the terminal, where that wants one. Raises Unreadable."""
    if graphics.protocol == "kitty":
        return _kitty(order, graphics.cell, number)
    lines = _half_blocks(order)
    return DrawnPicture(lines, sheet=_sheet(order, graphics) if graphics.protocol == "sixel" else None)


def _kitty(order: Order, cell: tuple[int, int], number: int) -> DrawnPicture:
    """Drawn anew as PNG: the terminal's decoder gets nothing that a stranger wrote."""
    from PIL import Image  # heavy, and many sessions never see a picture

    picture = order.source.pixels(order.size, order.box, keep=order.keep)
    whole = (order.columns * cell[0], order.rows * cell[1])
    if picture.size != whole:
        sheet = Image.new("RGBA", whole)
        sheet.paste(picture)
        picture = sheet
    file = BytesIO()
    picture.save(file, "PNG", compress_level=6)
    ground = Style(bgcolor=order.ground)
    lines = [[placeholders(number, row, order.columns, ground)] for row in range(order.rows)]
    return DrawnPicture(lines, sending=transmission(number, file.getvalue(), order.columns, order.rows))


def _half_blocks(order: Order) -> list[Line]:
    """Two pixels in every cell: the upper one is the colour of the character, the lower one that of the ground."""
    columns = order.columns
    picture = _flat(order.source.pixels((columns, order.rows * 2), order.box, keep=order.keep), order.ground)
    raw = _few(picture, _HALF_BLOCK_COLOURS).convert("RGB").tobytes()
    pixels = list(zip(raw[0::3], raw[1::3], raw[2::3], strict=True))
    styles: dict[tuple[tuple[int, int, int], tuple[int, int, int]], Style] = {}
    lines: list[Line] = []
    for row in range(order.rows):
        start = row * 2 * columns
        pairs = zip(pixels[start : start + columns], pixels[start + columns : start + 2 * columns], strict=True)
        line: Line = []
        for pair in pairs:
            style = styles.get(pair)
            if style is None:
                style = styles[pair] = Style(color=Color.from_rgb(*pair[0]), bgcolor=Color.from_rgb(*pair[1]))
            if line and line[-1].style is style:
                line[-1] = Segment(line[-1].text + "▀", style)
            else:
                line.append(Segment("▀", style))
        lines.append(line)
    return lines


def _sheet(order: Order, graphics: Graphics) -> Sheet:
    from PIL import Image  # heavy, as above

    across, down = graphics.cell
    whole = Image.new("RGB", (order.columns * across, order.rows * down), order.ground)
    whole.paste(_flat(order.source.pixels(order.size, order.box, keep=order.keep), order.ground))
    few = _few(whole, min(_SIXEL_COLOURS, graphics.colours))
    flat = few.getpalette() or []
    palette = tuple((flat[at], flat[at + 1], flat[at + 2]) for at in range(0, len(flat), 3))
    return Sheet(whole.width, whole.height, few.tobytes(), palette, graphics.cell)


def _flat(picture: "Image", ground: str) -> "Image":
    """The picture on its ground."""
    from PIL import Image  # heavy, as above

    if picture.mode == "RGB":
        return picture
    below = Image.new("RGBA", picture.size, ground)
    below.alpha_composite(picture)
    return below.convert("RGB")


def _few(picture: "Image", colours: int) -> "Image":
    from PIL import Image  # heavy, as above

    return picture.quantize(colours, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
