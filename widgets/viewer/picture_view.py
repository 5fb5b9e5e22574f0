"""One picture as large as the widget, a part of it where it is looked at closely."""

from math import ceil
from typing import ClassVar, Literal

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from oi_tui.themes.palette import Palette, rich_palette
from oi_tui.widgets.keyrow import Hint
from oi_tui.widgets.rows.row import RowStrip
from oi_tui.widgets.timeline.drawing import DrawnPicture, Order
from oi_tui.widgets.timeline.figure_words import FigureWords
from oi_tui.widgets.timeline.gallery import Gallery
from oi_tui.widgets.timeline.graphics import Graphics
from oi_tui.widgets.timeline.graphics_kitty import MOST_PICTURE_CELLS, apply_filters
from oi_tui.widgets.timeline.overlay import PictureStrip
from oi_tui.widgets.timeline.pixels import PictureSource, PixelBox, Unreadable

_STEP = 2**0.5
"""How much larger a step makes it."""

_MOST_ENLARGED = 16
"""Shown pixels for one of the picture: each is seen as a square by then."""

_PAN = 0.25
"""Share of what is seen that a step moves."""


class PictureView(Widget, can_focus=True):
    """Zoom and move; `Looked` says what is seen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Hint(
            "plus,equals_sign", "zoom(1)", "Zoom in", id="picture.zoom_in", key_display="+", label="closer", short="+"
        ),
        Hint("minus", "zoom(-1)", "Zoom out", id="picture.zoom_out", key_display="-", label="farther", short="−"),
        Hint("0", "zoom(0)", "The whole picture", id="picture.whole", label="all of it", short="all"),
        Binding("left,h", "pan(-1, 0)", "To the left", id="picture.left"),
        Binding("right,l", "pan(1, 0)", "To the right", id="picture.right"),
        Binding("up,k", "pan(0, -1)", "Up", id="picture.up"),
        Binding("down,j", "pan(0, 1)", "Down", id="picture.down"),
    ]

    class Looked(Message):
        """Another part, or another size."""

        def __init__(self, scale: float) -> None:
            super().__init__()
            self.scale = scale
            """Shown pixels for one of the picture."""

    def __init__(
        self,
        source: PictureSource,
        graphics: Graphics,
        palette: Palette,
        *,
        words: FigureWords | None = None,
        id: str | None = None,
    ) -> None:
        """`words` are written over all of it, where it is made of characters."""
        super().__init__(id=id)
        self._words = words
        self._source = source
        self._palette = rich_palette(palette)
        self._gallery = Gallery(self, graphics, self.refresh, realm=1)
        self._steps = 0
        self._centre = (0.5, 0.5)
        """In shares of the picture."""
        self._ground = Style(bgcolor=self._palette.surfaces.surface_console)
        self._order: Order | None = None
        self._drawn: tuple[Order, DrawnPicture] | None = None
        self._is_broken = source.size is None

    @property
    def _cell(self) -> tuple[float, float]:
        """Pixels in a cell: real ones, or those that are drawn of it."""
        across, down = self._gallery.graphics.cell
        return (across, down) if self._gallery.graphics.protocol in ("kitty", "sixel") else (1.0, down / across)

    def on_mount(self) -> None:
        """Another program may have had the terminal."""
        self.app.app_resume_signal.subscribe(self, lambda _: self._gallery.forget())

    def on_unmount(self) -> None:
        """Nothing of it is needed any more."""
        self._gallery.close()
        self._source.let_go()

    def on_resize(self, event: events.Resize) -> None:
        self._look()

    def action_zoom(self, step: Literal[-1, 0, 1]) -> None:
        """Larger, smaller, or all of it."""
        before = self._steps
        self._steps = max(0, before + step) if step else 0
        if step > 0 and self._scale > _MOST_ENLARGED:
            self._steps = before
        self._look()

    def action_pan(self, across: int, down: int) -> None:
        """Move what is seen."""
        if (box := self._box) is not None and (size := self._source.size) is not None:
            x, y = self._centre
            self._centre = (
                x + across * _PAN * (box[2] - box[0]) / size[0],
                y + down * _PAN * (box[3] - box[1]) / size[1],
            )
            self._look()

    @property
    def _scale(self) -> float:
        if self._source.size is None:
            return 1.0
        (width, height), (room_across, room_down) = self._source.size, self._room
        return min(1.0, room_across / width, room_down / height) * float(_STEP**self._steps)

    @property
    def _room(self) -> tuple[float, float]:
        """Pixels of the widget."""
        columns, rows = min(self.size.width, MOST_PICTURE_CELLS), min(self.size.height, MOST_PICTURE_CELLS)
        return max(1, columns) * self._cell[0], max(1, rows) * self._cell[1]

    @property
    def _box(self) -> PixelBox | None:
        """The visible part, None for all of it. Moves the centre back inside the picture."""
        if self._source.size is None:
            return None
        starts: list[float] = []
        ends: list[float] = []
        centre: list[float] = []
        for whole, room, middle in zip(self._source.size, self._room, self._centre, strict=True):
            seen = min(1.0, room / self._scale / whole)
            middle = min(max(middle, seen / 2), 1 - seen / 2)
            centre.append(middle)
            starts.append((middle - seen / 2) * whole)
            ends.append((middle + seen / 2) * whole)
        self._centre = (centre[0], centre[1])
        return (starts[0], starts[1], ends[0], ends[1]) if self._steps else None

    def _look(self) -> None:
        size = self._source.size
        if size is None or not self.size:
            return
        box = self._box
        width, height = (size[0], size[1]) if box is None else (box[2] - box[0], box[3] - box[1])
        shown = max(1, round(width * self._scale)), max(1, round(height * self._scale))
        columns, rows = (max(1, ceil(pixels / unit - 0.01)) for pixels, unit in zip(shown, self._cell, strict=True))
        ground = self._palette.picture_ground
        columns, rows = min(columns, self.size.width), min(rows, self.size.height)
        words = self._words if box is None else None
        self._order = Order(self._source, columns, rows, shown, ground, box, keep=True, words=words)
        self.post_message(self.Looked(self._scale))
        self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Rows for the compositor, and where sixels go over them."""
        filters, background, overlay = self.get_line_filters(), self.background_colors[1], self._gallery.overlay
        drawn = self._newest()
        strips = []
        for y in crop.line_range:
            row = self._row(y, drawn)
            strips.append(apply_filters(row, filters, background).crop(crop.x, crop.x + crop.width))
            if overlay is not None:
                overlay.note_paint(y, row)
        return strips

    def _newest(self) -> tuple[Order, DrawnPicture] | None:
        """The last drawing: it stays while a new part is drawn."""
        if self._order is not None and not self._is_broken:
            try:
                drawn = self._gallery.look(self._order)
            except Unreadable:
                self._is_broken = True
            else:
                if drawn is not None:
                    self._drawn = self._order, drawn
        return self._drawn

    def _row(self, y: int, drawn: tuple[Order, DrawnPicture] | None) -> RowStrip:
        width = self.size.width
        line: list[Segment] = []
        left, number = 0, -1
        if drawn is not None and not self._is_broken:
            order, picture = drawn
            left = max(0, (width - order.columns) // 2)
            number = y - max(0, (self.size.height - order.rows) // 2)
            if 0 <= number < order.rows:
                line = [Segment(" " * left, self._ground), *picture.lines[number]]
        elif self._is_broken and y == self.size.height // 2:
            line = [Segment(" This picture cannot be read.", self._ground + Style(color=self._palette.inks.dim))]
        row = RowStrip(Strip(line).adjust_cell_length(width, self._ground), width, "\n", 0, 0)
        if line and drawn is not None and drawn[1].sheet is not None and not self._is_broken:
            return PictureStrip(row, drawn[1].sheet, number, left)
        return row
