"""A canvas to draw on, and blocks drawn on it."""

from collections.abc import Callable

import pytest

from oi_tui.app.engine.core.blocks import Block
from oi_tui.themes.loader import load_palette
from oi_tui.widgets.timeline.cells import BlockCell
from oi_tui.widgets.timeline.ink import Ink
from oi_tui.widgets.timeline.row_pieces import BlockDisplay, Canvas, FoldState


@pytest.fixture(scope="session")
def canvas_of() -> Callable[[int], Canvas]:
    """Makes a canvas of a width."""
    ink = Ink(load_palette())
    return lambda width: Canvas(width, ink)


@pytest.fixture(scope="session")
def drawn(canvas_of: Callable[[int], Canvas]) -> Callable[..., list[str]]:
    """Draws a block at once and gives its rows as text, without the padding at their end."""

    def draw(block: Block, width: int = 60, fold: FoldState = "short") -> list[str]:
        cell = BlockCell(block)
        height = cell.layout(block, canvas_of(width), BlockDisplay(fold))
        return [cell.row(number).text.rstrip() for number in range(height - 1)]

    return draw
