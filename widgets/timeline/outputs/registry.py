"""Which renderer draws a rich result: the first one that can, of those registered for its mime types."""

from collections.abc import Callable
from typing import Protocol

from oi_tui.app.engine.outputs import RichOutput
from oi_tui.widgets.timeline.outputs.plain import PlainText
from oi_tui.widgets.timeline.picture import PICTURE_TYPES, Picture
from oi_tui.widgets.timeline.pieces import Canvas, Display, Piece


class OutputContent(Protocol):
    """What is drawn of one output."""

    @property
    def line_count(self) -> int:
        """Lines of text when all is shown, 0 for what has no lines."""

    @property
    def has_more(self) -> bool:
        """Whether something is hidden until asked for."""

    @property
    def beyond(self) -> int:
        """Cells by which its widest row is too wide and can be moved sideways; as of the last layout."""

    def pieces(self, canvas: Canvas, display: Display) -> list[Piece]:
        """Its rows."""


Renderer = Callable[[RichOutput], OutputContent | None]
"""Makes the content of a result; None where this one is not in a form that it can draw."""

_renderers: list[tuple[str, Renderer]] = [(mime, Picture) for mime in PICTURE_TYPES]


def register(mime: str, renderer: Renderer) -> None:
    """Draw results that have this mime type with `renderer`, before all that were registered earlier."""
    _renderers.insert(0, (mime, renderer))


def content_of(output: RichOutput) -> OutputContent:
    """The content of a result; text where nothing better can be drawn."""
    for mime, renderer in _renderers:
        if mime in output.data and (content := renderer(output)) is not None:
            return content
    return PlainText(output)
