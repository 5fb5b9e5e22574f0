"""Blocks that run: since when, and which frame of the spinner they are at."""

import asyncio
from collections.abc import Callable, Iterable

from textual.widget import Widget

from oi_tui.app.engine.core.blocks import Action, Block
from oi_tui.widgets.rows.frames import call_after
from oi_tui.widgets.timeline.viewport import Viewport

SPIN = 1 / 8
"""Seconds between two frames of a spinner."""

STILL = -1
"""In place of a frame, where nothing is to move: then only the seconds change."""


class Runs:
    """Notes when blocks begin to run; turns the spinners of those that can be seen. None turns where nobody looks.

    `shown` tells which blocks are on the screen; `changed` is called after their rows did.
    """

    def __init__(
        self,
        host: Widget,
        view: Viewport,
        clock: Callable[[], float],
        shown: Callable[[], Iterable[int]],
        changed: Callable[[], object],
    ) -> None:
        self._host = host
        self._view = view
        self._clock = clock
        self._shown = shown
        self._changed = changed
        self._timer: asyncio.TimerHandle | None = None
        self._started: dict[str, float] = {}  # id of a running block -> when it was first seen running

    def note(self, block: Block) -> None:
        """A block came or changed."""
        if not isinstance(block, Action):
            return
        if block.state == "running":
            self._started.setdefault(block.id, self._clock())
        else:
            self._started.pop(block.id, None)

    def forget(self) -> None:
        """Other blocks from now on."""
        self._started.clear()

    def turn(self) -> None:
        """Let the spinners turn that are on the screen now."""
        if self._timer is None and self._running_on_screen():
            self._timer = call_after(self._host, 1.0 if self._is_without_motion else SPIN, self._spin)

    @property
    def _is_without_motion(self) -> bool:
        return self._host.app.animation_level == "none"

    def _running_on_screen(self) -> list[int]:
        """Indices of those that run, of the blocks on the screen."""
        if not self._started:
            return []
        return [index for index in dict.fromkeys(self._shown()) if self._view.blocks[index].id in self._started]

    def _spin(self) -> None:
        self._timer = None
        for index in self._running_on_screen():
            elapsed = self._clock() - self._started[self._view.blocks[index].id]
            self._view.cell(index).tick(elapsed, STILL if self._is_without_motion else round(elapsed / SPIN))
        self._changed()
