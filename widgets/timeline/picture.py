"""Pictures in half blocks: two pixels in every cell, in any terminal with colours.

Nothing is decoded before it is on the screen, and nothing large is decoded at all: a picture is a
file from a stranger.
"""

import base64
import binascii
from io import BytesIO
from typing import Any

from rich.color import Color
from rich.segment import Segment
from rich.style import Style

from oi_tui.app.engine.outputs import RichOutput
from oi_tui.widgets.timeline.pieces import Canvas, Display, Piece, RowStrip, rows
from oi_tui.widgets.timeline.wrap import crop

PICTURE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
_MOST_PIXELS = 40_000_000
_MOST_BYTES = 30_000_000
_MOST_ROWS = 20


class Picture:
    """One picture and its caption."""

    def __init__(self, output: RichOutput) -> None:
        self._data = _decoded(output)
        self._size = _size(self._data)

    @property
    def line_count(self) -> int:
        """Pictures have no lines."""
        return 0

    @property
    def has_more(self) -> bool:
        """Nothing is hidden."""
        return False

    @property
    def beyond(self) -> int:
        """A picture is made to fit."""
        return 0

    def pieces(self, canvas: Canvas, display: Display) -> list[Piece]:
        """The picture, if it can be shown, over its caption."""
        if self._size is None:
            return [self._caption(canvas, "figure · this picture cannot be read")]
        width, height = self._size
        caption = self._caption(canvas, f"figure · {width}×{height}")
        return (
            [HalfBlocks(self._data, self._size, canvas), caption] if canvas.graphics.protocol != "none" else [caption]
        )

    def _caption(self, canvas: Canvas, text: str) -> Piece:
        ink = canvas.ink
        return rows(canvas, [crop([(text, ink.console_dim)], canvas.room)], ink.console, "│", ink.console_faint)


class HalfBlocks:
    """The rows of a picture, decoded when the first of them is painted."""

    def __init__(self, data: bytes, size: tuple[int, int], canvas: Canvas) -> None:
        self._data = data
        self._canvas = canvas
        self._columns, self._height = _fitted(size, canvas.room)
        self._strips: list[RowStrip] | None = None

    @property
    def height(self) -> int:
        """Number of rows."""
        return self._height

    def row(self, index: int) -> RowStrip:
        """The row at `index`."""
        if self._strips is None:
            self._strips = self._draw()
        return self._strips[index]

    def _draw(self) -> list[RowStrip]:
        canvas, ink = self._canvas, self._canvas.ink
        pixels = _pixels(self._data, (self._columns, self._height * 2), canvas.ink.palette.surfaces.surface_console)
        styles: dict[tuple[Any, Any], Style] = {}
        strips = []
        for row in range(self._height):
            line: list[Segment] = []
            for column in range(self._columns):
                upper, lower = (pixels[(row * 2 + half) * self._columns + column] for half in (0, 1))
                style = styles.get((upper, lower))
                if style is None:
                    style = Style(color=Color.from_rgb(*upper), bgcolor=Color.from_rgb(*lower))
                    styles[upper, lower] = style
                if line and line[-1].style is style:
                    line[-1] = Segment(line[-1].text + "▀", style)
                else:
                    line.append(Segment("▀", style))
            strips.append(canvas.strip(line, ink.console, "│", ink.console_faint))
        return strips


def picture_type(output: RichOutput) -> str | None:
    """Mime type under which the result holds a picture that can be drawn."""
    return next((mime for mime in PICTURE_TYPES if isinstance(output.data.get(mime), str)), None)


def _decoded(output: RichOutput) -> bytes:
    mime = picture_type(output)
    encoded = output.data[mime] if mime else ""
    if len(encoded) > _MOST_BYTES:
        return b""
    try:
        return base64.b64decode(encoded)
    except (binascii.Error, ValueError):
        return b""


def _size(data: bytes) -> tuple[int, int] | None:
    from PIL import Image  # heavy, and many sessions never see a picture

    try:
        with Image.open(BytesIO(data), formats=_FORMATS) as image:
            width, height = image.size
    except Exception:
        # The boundary to a decoder fed by strangers: it raises OSError, ValueError, SyntaxError, struct.error ...
        return None
    return (width, height) if 0 < width * height <= _MOST_PIXELS else None


def _fitted(size: tuple[int, int], room: int) -> tuple[int, int]:
    """Columns and rows; a cell is about twice as high as wide, and nothing is enlarged."""
    width, height = size
    scale = min(1.0, room / width, _MOST_ROWS * 2 / height)
    return max(1, round(width * scale)), max(1, round(height * scale / 2))


def _pixels(data: bytes, size: tuple[int, int], background: str) -> list[tuple[int, int, int]]:
    from PIL import Image  # heavy, and many sessions never see a picture

    try:
        with Image.open(BytesIO(data), formats=_FORMATS) as image:
            image.draft("RGB", (size[0] * 2, size[1] * 2))
            picture = image.convert("RGBA").resize(size, Image.Resampling.BOX)
    except Exception:
        # As above: a picture that breaks in the middle is drawn as nothing.
        picture = Image.new("RGBA", size)
    ground = Image.new("RGBA", size, background)
    ground.alpha_composite(picture)
    raw = ground.convert("RGB").tobytes()
    return list(zip(raw[0::3], raw[1::3], raw[2::3], strict=True))
