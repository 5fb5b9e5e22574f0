"""SVG drawings: as pictures where cairosvg is installed (the extra `svg`), else as a line about them."""

import os
import subprocess
import sys
from functools import cached_property
from importlib.util import find_spec

from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.text.plotly_svg import SVG_TYPE, SvgSummary, svg_summary
from oi_tui.widgets.timeline import svg_worker
from oi_tui.widgets.timeline.console import note
from oi_tui.widgets.timeline.picture import Picture
from oi_tui.widgets.timeline.pixels import PictureSource
from oi_tui.widgets.timeline.row_pieces import BlockDisplay, Canvas, DrawnContent, RowPiece

MOST_CHARACTERS = 8_000_000
LARGEST_RASTER = 1600
"""Pixels of the longer side that are drawn; a drawing has no pixels of its own."""
USUAL = (640, 480)
"""Pixels of a drawing that does not say how large it is."""
SMALLEST = 200
"""Pixels of the longer side: what is smaller is an icon, and it is drawn larger, for it does not get coarse."""

_ENVIRON = ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH")
"""What it takes to find the library and fonts; no keys."""


class SvgSource(PictureSource):
    """The picture of an SVG. It is drawn when its pixels are wanted, which is in a worker and may take a while."""

    def __init__(self, svg: str) -> None:
        self._svg = svg
        self._pixels = raster_size(svg_summary(svg).size or USUAL)
        super().__init__(b"")

    @cached_property
    def data(self) -> bytes:
        """A PNG; empty where it cannot be drawn."""
        return png_of(self._svg, self._pixels)

    def _measure(self) -> tuple[int, int] | None:
        return self._pixels


class SvgLine(DrawnContent):
    """The note about a drawing that cannot be shown."""

    def __init__(self, drawing: SvgSummary, why: str) -> None:
        self._text = f"{drawing.text} · {why}"

    def pieces(self, canvas: Canvas, display: BlockDisplay) -> list[RowPiece]:
        return [note(canvas, self._text)]


def svg_content(output: RichOutput) -> Picture | SvgLine | None:
    """What is drawn of a result that is an SVG."""
    svg = output.data.get(SVG_TYPE)
    if not isinstance(svg, str) or "<" not in svg:
        return None
    drawing = svg_summary(svg)
    if len(svg) > MOST_CHARACTERS:
        return SvgLine(drawing, "too long to be drawn here")
    if not can_draw():
        return SvgLine(drawing, "to see such drawings here: pip install cairosvg")
    return Picture.of(SvgSource(svg), f"drawing · {drawing.title}" if drawing.title else "drawing")


def can_draw() -> bool:
    """Whether cairosvg is installed."""
    return find_spec("cairosvg") is not None


def png_of(svg: str, size: tuple[int, int]) -> bytes:
    """The drawing at this size, rendered in a process of its own; empty if that fails."""
    environ = {name: value for name, value in os.environ.items() if name in _ENVIRON}
    command = [sys.executable, "-I", "-m", svg_worker.__name__, *map(str, size)]
    try:
        finished = subprocess.run(
            command,
            input=svg.encode("utf-8", "replace"),
            capture_output=True,
            timeout=2 * svg_worker.SECONDS,
            env=environ,
        )
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return finished.stdout if finished.returncode == 0 else b""


def raster_size(size: tuple[int, int]) -> tuple[int, int]:
    """Pixels to draw: of its own size, where that is neither tiny nor huge."""
    longest = max(size)
    scale = min(LARGEST_RASTER, max(SMALLEST, longest)) / longest
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))
