"""Pictures of every kind of block at three widths, dark and light: what a change does to them is seen."""

import asyncio

import pytest
from textual.app import App, ComposeResult

from oi_tui.themes.loader import load_palette
from oi_tui.widgets.timeline.logical import has_picture
from oi_tui.widgets.timeline.view import Timeline
from support.gallery import PAGES
from support.snapshot import Snap

WIDTHS = (60, 80, 140)
ROWS = 96
"""More than any page has at any of these widths."""


class Page(App[None]):
    """A page of the gallery."""

    def __init__(self, page: str, theme: str) -> None:
        super().__init__()
        # The picture is left to tests of its own: its pixels are another library's.
        self._blocks = [block for block in PAGES[page]() if not has_picture(block)]
        self._palette = load_palette(theme)

    def compose(self) -> ComposeResult:
        yield Timeline(palette=self._palette, clock=lambda: 100.0)

    def on_mount(self) -> None:
        timeline = self.query_one(Timeline)
        timeline.reset(self._blocks)
        timeline.action_go("start")


def ticked(timeline: Timeline, page: str) -> bool:
    """Whether the block that runs tells since when; it does from the first turn of its spinner on."""
    return page != "cells" or any("0.00 s" in row.strip.text for row in timeline._shown.rows)


@pytest.mark.parametrize("theme", ["harbour", "harbour-light"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("page", PAGES)
async def test_the_blocks_look_like_their_pictures(snap: Snap, page: str, width: int, theme: str) -> None:
    app = Page(page, theme)
    async with app.run_test(size=(width, ROWS)) as pilot:
        timeline = app.query_one(Timeline)
        async with asyncio.timeout(10):
            while timeline._frames.waiting or not timeline._shown.rows or not ticked(timeline, page):
                await pilot.pause()
        assert timeline._view.total <= ROWS
        await snap(pilot)
