"""Blocks that run: since when, and which frame of the spinner they are at."""

from collections.abc import Callable, Iterable

from oi_tui.app.engine.core.blocks import Block, CodeBlock
from oi_tui.widgets.timeline.viewport import Viewport

SPIN = 1 / 8
"""Seconds between two frames of a spinner."""


class Runs:
    """Notes when blocks begin to run; moves the spinners of those that can be seen."""

    def __init__(self, view: Viewport, clock: Callable[[], float]) -> None:
        self._view = view
        self._clock = clock
        self._started: dict[str, float] = {}  # id of a running block -> when it was first seen running

    def note(self, block: Block) -> None:
        """A block came or changed."""
        if not isinstance(block, CodeBlock):
            return
        if block.state == "running":
            self._started.setdefault(block.id, self._clock())
        else:
            self._started.pop(block.id, None)

    def forget(self) -> None:
        """Other blocks from now on."""
        self._started.clear()

    def among(self, shown: Iterable[int]) -> list[int]:
        """Indices of those that run, of the blocks on the screen."""
        if not self._started:
            return []
        return [index for index in dict.fromkeys(shown) if self._view.blocks[index].id in self._started]

    def spin(self, indices: Iterable[int]) -> None:
        """Another frame for these."""
        for index in indices:
            elapsed = self._clock() - self._started[self._view.blocks[index].id]
            self._view.cell(index).tick(elapsed, round(elapsed / SPIN))
