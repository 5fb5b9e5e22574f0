"""A frame that is put together from fewer rows is the same frame."""

import random

import pytest
from textual._compositor import Compositor
from textual.app import App, ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.geometry import Region
from textual.widgets import Static

from oi_tui.app.terminal.compositing import FrontCompositor

COLUMNS, ROWS = 40, 16


class Page(App[None]):
    """Widgets side by side, one that scrolls, and one that lies over the others."""

    CSS = """
    Screen { layers: below above; }
    #left { width: 1fr; border: solid red; }
    #right { width: 12; background: blue; height: 20; }
    #over { layer: above; width: 9; height: 5; offset: 8 4; background: green; border: round white; }
    """

    def compose(self) -> ComposeResult:
        with Horizontal():
            with VerticalScroll(id="left"):
                for number in range(9):
                    yield Static(f"row {number}\nmore of it\n")
            yield Static("to the right", id="right")
        yield Static("above", id="over")


async def test_a_frame_is_the_one_that_textual_would_have_made() -> None:
    async with Page().run_test(size=(COLUMNS, ROWS)) as pilot:
        pilot.app.query_one("#left").scroll_to(y=5, animate=False)
        await pilot.pause()
        front = FrontCompositor()
        front.reflow(pilot.app.screen, pilot.app.size)
        chosen = random.Random(1)
        for _ in range(60):
            x, y = chosen.randrange(COLUMNS), chosen.randrange(ROWS)
            crop = Region(x, y, chosen.randrange(1, COLUMNS - x + 1), chosen.randrange(1, ROWS - y + 1))
            rows = {row for row in crop.line_range if chosen.random() < 0.6}
            ours = front._render_chops(crop, rows.__contains__)
            theirs = Compositor._render_chops(front, crop, rows.__contains__)
            for row in rows:
                for cut, part in theirs[row].items():
                    if crop.x <= cut and cut + ours[row][cut].cell_length <= crop.right:  # beside it nobody looks
                        assert list(ours[row][cut]) == list(part), (row, cut)


async def test_what_nobody_sees_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Page().run_test(size=(COLUMNS, ROWS)) as pilot:
        front = FrontCompositor()
        front.reflow(pilot.app.screen, pilot.app.size)
        over = pilot.app.query_one("#over")
        lines = over.render_lines
        drawn: list[Region] = []
        monkeypatch.setattr(over, "render_lines", lambda crop: [*map(drawn.append, [crop]), *lines(crop)][1:])
        front._render_chops(Region(0, 5, COLUMNS, 3), {6}.__contains__)
        assert drawn == [Region(0, 2, 9, 1)]
