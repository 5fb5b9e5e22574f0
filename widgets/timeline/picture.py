"""Pictures as rows: as sharp as the terminal can show them, over a caption that says what can be done with them.

Nothing is decoded before it is on the screen, nothing large is decoded at all, and never where it would hold up
the screen: a picture is a file from a stranger.
"""

from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.widgets.rows.row import RowStrip
from oi_tui.widgets.timeline.drawing import DrawnPicture, Order, draw
from oi_tui.widgets.timeline.figure_words import FigureWords, figure_words
from oi_tui.widgets.timeline.graphics import IN_CELLS
from oi_tui.widgets.timeline.graphics_kitty import MOST_PICTURE_CELLS
from oi_tui.widgets.timeline.overlay import PictureStrip
from oi_tui.widgets.timeline.pixels import PictureSource, PixelBox, Unreadable, fit_picture
from oi_tui.widgets.timeline.row_pieces import GUTTER, BlockDisplay, Canvas, DrawnContent, RowPiece, rows
from oi_tui.widgets.timeline.wrap import Line, crop

PICTURE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")

_FEW_ROWS = 20
_MORE_ROWS = 30
"""Where the picture is made of characters: a wide window has room for more of them."""

_STRETCHED = 1.8
"""How much wider a figure may be drawn whose proportions mean nothing: its words are text, which needs the width."""

_MOST_ROWS = 120
"""Rows of a picture that was opened: no screen is higher."""


class Picture(DrawnContent):
    """One picture and its caption."""

    def __init__(self, output: RichOutput) -> None:
        mime = picture_type(output)
        self._source = PictureSource(output.data[mime] if mime else b"")
        self._figure = figure_words(output)
        self._words = "figure"

    @classmethod
    def of(cls, data: bytes | PictureSource, caption: str) -> "Picture":
        """A picture that we drew ourselves, of an SVG for example; `caption` begins the line below it."""
        picture = cls(RichOutput(data={}))
        picture._source, picture._words = data if isinstance(data, PictureSource) else PictureSource(data), caption
        return picture

    def pieces(self, canvas: Canvas, display: BlockDisplay) -> list[RowPiece]:
        """The picture, if it can be shown, over its caption."""
        size = self._source.size
        if size is None:
            return [self._caption(canvas, [self._words, "this picture cannot be read"])]
        facts = [self._words, f"{size[0]}×{size[1]}"]
        if canvas.graphics.protocol == "none":
            return [self._caption(canvas, [*facts, "s save"])]
        caption = self._caption(canvas, [*facts, "z zoom", "o open", "s save"])
        few = _FEW_ROWS if canvas.graphics.protocol != "cells" else max(_FEW_ROWS, min(_MORE_ROWS, canvas.room // 4))
        whole = make_order(self._source, size, (canvas.room, _MOST_ROWS), canvas, figure=self._figure)
        order = whole
        if display.fold != "open":
            order = make_order(self._source, size, (canvas.room, few), canvas, figure=self._figure)
        self.has_more = whole.rows > few
        return [PictureRows(order, canvas), caption]

    def _caption(self, canvas: Canvas, words: list[str]) -> RowPiece:
        ink = canvas.ink
        text = " · ".join(words)
        return rows(canvas, [crop([(text, ink.console_dim)], canvas.room)], ink.console, "│", ink.console_faint)


class PictureRows:
    """The rows of a picture, drawn when one of them comes into view; empty ones until that is done."""

    def __init__(self, order: Order, canvas: Canvas) -> None:
        self._order = order
        self._canvas = canvas
        self._drawn: DrawnPicture | None = None
        self._strips: list[RowStrip] = []

    @property
    def height(self) -> int:
        return self._order.rows

    def row(self, index: int) -> RowStrip:
        """The row at `index`."""
        drawn = self._look()
        if drawn is not self._drawn or not self._strips:
            self._drawn = drawn
            self._strips = [self._strip(number, drawn) for number in range(self._order.rows)]
        return self._strips[index]

    def _look(self) -> DrawnPicture | None:
        gallery = self._canvas.gallery
        try:
            if gallery is not None:
                return gallery.look(self._order)
            return self._drawn or draw(self._order, IN_CELLS, 0)
        except Unreadable:
            return self._drawn if self._drawn is not None else self._complaint()

    def _complaint(self) -> DrawnPicture:
        """Its head could be read; what follows is broken."""
        words = crop([("this picture is broken", self._canvas.ink.console_dim)], self._canvas.room)
        return DrawnPicture([words, *([] for _ in range(self._order.rows - 1))])

    def _strip(self, number: int, drawn: DrawnPicture | None) -> RowStrip:
        ink = self._canvas.ink
        line: Line = drawn.lines[number] if drawn is not None else []
        # None of its cells is text: only the text around it is copied.
        lead = sum(segment.cell_length for segment in line)
        strip = self._canvas.strip(line, ink.console, "│", ink.console_faint, lead=lead)
        return strip if drawn is None or drawn.sheet is None else PictureStrip(strip, drawn.sheet, number, GUTTER)


def make_order(
    source: PictureSource,
    size: tuple[int, int],
    room: tuple[int, int],
    canvas: Canvas,
    box: PixelBox | None = None,
    *,
    figure: FigureWords | None = None,
) -> Order:
    """How to draw a picture (or a part of it, of `size` pixels) in this many columns and rows."""
    room = min(room[0], MOST_PICTURE_CELLS), min(room[1], MOST_PICTURE_CELLS)
    ground = canvas.ink.palette.picture_ground
    across, down = canvas.graphics.cell
    if canvas.graphics.protocol == "cells":
        # No part of a cell can stay empty, so it is rounded to whole ones.
        fit = fit_picture(size, room, (1.0, down / across))
        columns, rows = (
            round(pixels * fit.scale / unit) for pixels, unit in zip(size, (1, down / across), strict=True)
        )
        if figure is not None and figure.can_stretch:
            columns = min(room[0], round(columns * _STRETCHED))
        columns, rows = max(1, columns), max(1, rows)
        across, down = canvas.graphics.parts
        return Order(source, columns, rows, (columns * across, rows * down), ground, box, words=figure)
    fit = fit_picture(size, room, canvas.graphics.cell)
    shown = tuple(max(1, round(pixels * fit.scale)) for pixels in size)
    return Order(source, fit.columns, fit.rows, (shown[0], shown[1]), ground, box)


def picture_type(output: RichOutput) -> str | None:
    """Mime type under which the result holds a picture that can be drawn."""
    return next((mime for mime in PICTURE_TYPES if isinstance(output.data.get(mime), str)), None)


def original_of(output: RichOutput) -> tuple[bytes, str] | None:
    """The bytes of the picture in a result, as they came, and their mime type; None where it holds none."""
    mime = picture_type(output)
    data = PictureSource(output.data[mime]).data if mime else b""
    return (data, mime) if mime and data else None
