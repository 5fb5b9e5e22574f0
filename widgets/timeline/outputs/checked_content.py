"""What a plugin draws, looked at before it comes on the screen."""

from typing import Any

from oi_tui.widgets.timeline.console import MOST_LINES
from oi_tui.widgets.timeline.row_pieces import BlockDisplay, Canvas, RowPiece, Rows


class CheckedContent:
    """Content of somebody else's making. All its rows are made at once, so that what fails fails in `pieces`."""

    def __init__(self, content: Any) -> None:
        self._content = content

    @property
    def line_count(self) -> int:
        """Lines of text when all is shown, as far as it says so."""
        return self._number("line_count")

    @property
    def has_more(self) -> bool:
        """Whether something is hidden."""
        return bool(self._number("has_more"))

    @property
    def beyond(self) -> int:
        """Cells by which it is too wide."""
        return self._number("beyond")

    def pieces(self, canvas: Canvas, display: BlockDisplay) -> list[RowPiece]:
        """Its rows; ValueError where they do not fit the canvas, and whatever it raises itself."""
        strips: list[Any] = []
        for piece in self._content.pieces(canvas, display):
            strips += [piece.row(number) for number in range(min(piece.height, MOST_LINES - len(strips)))]
        if not all(map(canvas.is_row, strips)):
            raise ValueError(f"a row is no RowStrip of {canvas.width} cells")
        return [Rows(strips)]

    def _number(self, name: str) -> int:
        """Its own count; called in the middle of a layout, which must not raise."""
        try:
            return max(0, int(getattr(self._content, name, 0)))
        except Exception:
            # The boundary to a plugin's own properties.
            return 0
