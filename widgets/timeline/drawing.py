"""Draws a picture in the way that the terminal knows: what a worker does, away from the screen."""

from dataclasses import dataclass
from io import BytesIO
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from rich.color import Color
from rich.segment import Segment
from rich.style import Style

from oi_tui.widgets.timeline.cell_pixels import Rgb, cell_lines
from oi_tui.widgets.timeline.figure_words import FigureWord, FigureWords, PlacedWord, place_words
from oi_tui.widgets.timeline.graphics import CellParts, Graphics
from oi_tui.widgets.timeline.graphics_kitty import placeholders, transmission
from oi_tui.widgets.timeline.graphics_sixel import Sheet
from oi_tui.widgets.timeline.pixels import PictureSource, PixelBox
from oi_tui.widgets.timeline.wrap import Line, cells

if TYPE_CHECKING:
    from PIL.Image import Image

_FINER = 8
"""Pixels, for each that is drawn in the end, of the picture from which a figure's words are wiped off."""

_BOLD = 0.6
"""How far a pixel of a drawing moves from the mean of its source pixels to the most prominent one."""

_READABLE = 3.0
"""Contrast of a text with its ground, at least."""

_SIXEL_COLOURS = 128
"""At most: more take longer to write than they are worth."""


class Order(NamedTuple):
    """The picture to draw, and its size."""

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
    words: FigureWords | None = None
    """What is written as text where the picture is made of characters."""


@dataclass(eq=False)
class DrawnPicture:
    """A picture drawn for some cells: rows of text, what to send to the terminal for them, and a Sixel sheet if any."""

    lines: list[Line]
    """The cells, row by row; characters also where sixels will be laid over them."""
    sheet: Sheet | None = None
    sending: str = ""
    """The data to send before the first of the rows."""


def draw(order: Order, graphics: Graphics, number: int) -> DrawnPicture:
    """Do it. `number` is the picture's in the terminal, where that wants one. Raises Unreadable."""
    if graphics.protocol == "kitty":
        return _kitty(order, graphics.cell, number)
    lines = _in_cells(order, graphics.parts)
    return DrawnPicture(lines, sheet=_sheet(order, graphics) if graphics.protocol == "sixel" else None)


def _kitty(order: Order, cell: tuple[int, int], number: int) -> DrawnPicture:
    """Encoded again as PNG: the terminal's decoder gets no bytes of a stranger."""
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


def _in_cells(order: Order, parts: CellParts) -> list[Line]:
    """Characters of a few pixels each, and the words of a figure over them."""
    size = order.columns * parts[0], order.rows * parts[1]
    if order.words is None or order.box is not None:
        return cell_lines(_flat(order.source.pixels(size, order.box, keep=order.keep), order.ground), parts)
    fine = tuple(min(whole, _FINER * pixels) for whole, pixels in zip(order.source.size or size, size, strict=True))
    picture = _flat(order.source.pixels((fine[0], fine[1]), keep=order.keep), order.ground)
    grounds = _wipe_words(picture, order.words)
    lines = cell_lines(_bold(picture, size), parts)
    for placed in place_words(order.words, order.columns, order.rows):
        lines[placed.row] = _write_word(lines[placed.row], placed, grounds[placed.word])
    return lines


def _bold(picture: "Image", size: tuple[int, int]) -> "Image":
    """A drawing in fewer pixels. Thin lines do not fade: pixels that differ from the background count more than
    others."""
    from PIL import Image, ImageChops, ImageStat  # heavy, as above

    mean = picture.resize(size, Image.Resampling.BOX)
    is_light = ImageStat.Stat(mean.convert("L")).median[0] > 127
    stand_out = ImageChops.darker if is_light else ImageChops.lighter
    across, down = picture.width / size[0], picture.height / size[1]
    extreme = mean
    for column in range(ceil(across)):
        for row in range(ceil(down)):
            # From the middle of a pixel here to one of its source pixels.
            x, y = min(column + 0.5, across - 0.01) - across / 2, min(row + 0.5, down - 0.01) - down / 2
            shift = (across, 0, x, 0, down, y)
            extreme = stand_out(
                extreme, picture.transform(size, Image.Transform.AFFINE, shift, Image.Resampling.NEAREST)
            )
    return Image.blend(mean, extreme, _BOLD)


def _wipe_words(picture: "Image", words: FigureWords) -> dict[FigureWord, Rgb]:
    """Paint each with the colour that is most common around its letters; what that was."""
    grounds: dict[FigureWord, Rgb] = {}
    for word in words.words:
        left, top, right, bottom = word.box
        box = (
            int(left * picture.width),
            int(top * picture.height),
            ceil(right * picture.width),
            ceil(bottom * picture.height),
        )
        part = picture.crop(box)
        ground = max(part.getcolors(part.width * part.height) or [(0, (0, 0, 0))])[1]
        assert isinstance(ground, tuple)
        grounds[word] = red, green, blue = int(ground[0]), int(ground[1]), int(ground[2])
        picture.paste((red, green, blue), box)
    return grounds


def _write_word(line: Line, placed: PlacedWord, ground: Rgb) -> Line:
    """The row with a text over some of its cells."""
    style = Style(color=_readable_on(placed.word.colour, ground), bgcolor=Color.from_rgb(*ground))
    end = placed.column + cell_len(placed.text)
    before, _, after = Segment.divide(line, [placed.column, end, cells(line)])
    return [*before, Segment(placed.text, style), *after]


def _readable_on(colour: str, ground: Rgb) -> Color:
    """The colour of a text, or black or white where it is hardly to be seen on its ground."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    light, dark = sorted((_luminance((red, green, blue)), _luminance(ground)), reverse=True)
    if (light + 0.05) / (dark + 0.05) >= _READABLE:
        return Color.from_rgb(red, green, blue)
    return Color.from_rgb(0, 0, 0) if _luminance(ground) > 0.18 else Color.from_rgb(255, 255, 255)


def _luminance(colour: Rgb) -> float:
    """Between 0 and 1, as WCAG counts it."""
    red, green, blue = (part / 255 / 12.92 if part <= 10 else ((part / 255 + 0.055) / 1.055) ** 2.4 for part in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


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
