"""Pictures in the timeline and on a screen of their own, as they reach the terminal."""

import base64
import re
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from textual.app import App, ComposeResult
from textual.drivers.headless_driver import HeadlessDriver
from textual.pilot import Pilot
from textual.widgets import Input

from oi_tui.app.engine.core.blocks import CodeBlock, ProseBlock
from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.screens.picture_screen import PictureScreen
from oi_tui.themes.loader import load_palette, textual_theme
from oi_tui.widgets.timeline.drawing import Order
from oi_tui.widgets.timeline.gallery import MOST_PICTURES
from oi_tui.widgets.timeline.graphics import Graphics
from oi_tui.widgets.timeline.graphics_kitty import DIACRITICS, PLACEHOLDER
from oi_tui.widgets.timeline.view import Timeline
from oi_tui.widgets.viewer.picture_view import PictureView
from support.kinds import narrow

CELL = (9, 19)


def png(width: int, height: int, colour: str = "red") -> bytes:
    file = BytesIO()
    Image.new("RGB", (width, height), colour).save(file, "PNG")
    return file.getvalue()


def figure(number: int, width: int = 180, height: int = 190) -> CodeBlock:
    data = base64.b64encode(png(width, height)).decode()
    output = RichOutput(data={"image/png": data})
    return CodeBlock(id=f"c{number}", language="python", source="plot()", state="ok", outputs=(output,))


class Shown(App[None]):
    """A timeline, and what would be written to the terminal beside the frames."""

    def __init__(self, protocol: str) -> None:
        super().__init__()
        self.palette = load_palette("harbour")
        self.register_theme(textual_theme(self.palette))
        self.theme = self.palette.name
        self.graphics = Graphics(protocol, CELL)  # type: ignore[arg-type]  # parametrised by name

    def compose(self) -> ComposeResult:
        yield Timeline(palette=self.palette, graphics=self.graphics, id="timeline")
        yield Input(id="below")

    @property
    def timeline(self) -> Timeline:
        return self.query_one(Timeline)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the driver was given; Textual's headless one throws it away."""
    pieces: list[str] = []
    monkeypatch.setattr(HeadlessDriver, "write", lambda _, data: pieces.append(data))
    return pieces


def is_drawn(app: Shown, block: int) -> bool:
    return any(row.item == block and PLACEHOLDER in row.strip.text for row in app.timeline._shown.rows)


async def until(pilot: Pilot[None], condition: Callable[[], bool]) -> None:
    for _ in range(400):
        if condition():
            return
        await pilot.pause(0.01)
    raise AssertionError("it did not come to pass")


def text_of(app: Shown, y: int) -> str:
    rows = app.timeline._shown.rows
    return rows[y].strip.text if y < len(rows) else ""


def cells(text: str) -> list[tuple[int, ...]]:
    return [tuple(map(DIACRITICS.index, marks)) for marks in re.findall(f"{PLACEHOLDER}(.)(.)(.)", text)]


async def test_a_picture_for_kitty_is_sent_before_its_rows_and_once(written: list[str]) -> None:
    app = Shown("kitty")
    async with app.run_test(size=(60, 30)) as pilot:
        app.timeline.reset([figure(1)])
        await until(pilot, lambda: PLACEHOLDER in text_of(app, 3))

        sent = [piece for piece in written if "a=T,U=1" in piece]
        assert len(sent) == 1
        number = int(re.findall(r"i=(\d+)", sent[0])[0])
        assert cells(text_of(app, 2)) == [(0, column, number >> 24) for column in range(20)]
        assert cells(text_of(app, 11)) == [(9, column, number >> 24) for column in range(20)]

    assert f"\x1b_Ga=d,d=I,i={number},q=2\x1b\\" in "".join(written), "the terminal keeps it after the end"


async def test_a_picture_is_sent_again_after_another_program_had_the_terminal(written: list[str]) -> None:
    app = Shown("kitty")
    async with app.run_test(size=(60, 30)) as pilot:
        app.timeline.reset([figure(1)])
        await until(pilot, lambda: PLACEHOLDER in text_of(app, 3))
        app.app_resume_signal.publish(app)
        await until(pilot, lambda: len([piece for piece in written if "a=T,U=1" in piece]) == 2)
        await until(pilot, lambda: PLACEHOLDER in text_of(app, 3))


async def test_while_scrolling_the_rows_of_a_picture_move_like_text(written: list[str]) -> None:
    app = Shown("kitty")
    async with app.run_test(size=(60, 10)) as pilot:
        app.timeline.reset([figure(1), ProseBlock(id="p", text="end\n\n" * 20)])
        app.timeline.focus()
        await pilot.press("home")
        await until(pilot, lambda: PLACEHOLDER in text_of(app, 3))
        await until(pilot, lambda: [row[0] for row in cells(text_of(app, 2))] == [0] * 20)
        app.timeline.action_go("row", 1)
        await until(pilot, lambda: [row[0] for row in cells(text_of(app, 2))] == [1] * 20)
        app.timeline.action_go("row", 4)
        await until(pilot, lambda: [row[0] for row in cells(text_of(app, 0))] == [3] * 20)
        assert len([piece for piece in written if "a=T" in piece]) == 1


async def test_sixels_are_laid_when_the_screen_rests_and_only_over_what_is_seen(written: list[str]) -> None:
    app = Shown("sixel")
    async with app.run_test(size=(60, 10)) as pilot:
        app.timeline.reset([figure(1), ProseBlock(id="p", text="end\n\n" * 20)])
        app.timeline.focus()
        await pilot.press("home")
        await until(pilot, lambda: any("\x1bP" in piece for piece in written))
        height = app.timeline.size.height
        place = r'\x1b7\x1b\[(\d+);(\d+)H\x1bP0;1;0q"1;1;(\d+);(\d+)'
        assert re.findall(place, written[-1]) == [("3", "4", "180", str((height - 2) * 19))]

        written.clear()
        app.timeline.action_go("row", 5)
        await until(pilot, lambda: any("\x1bP" in piece for piece in written))
        assert re.findall(place, written[-1]) == [("1", "4", "180", str(height * 19 if height < 7 else 7 * 19))]
        assert written[-1].endswith("\x1b8")


async def test_no_sixels_are_laid_over_another_screen(written: list[str]) -> None:
    app = Shown("sixel")
    async with app.run_test(size=(60, 30)) as pilot:
        app.timeline.reset([figure(1)])
        await until(pilot, lambda: any("\x1bP" in piece for piece in written))
        overlay = app.timeline._gallery.overlay
        app.push_screen(PictureScreen(png(8, 8), "image/png", Graphics("cells", CELL), app.palette))
        await pilot.pause()
        written.clear()
        app.timeline.refresh()
        assert overlay is not None
        await until(pilot, lambda: overlay._timer is None)
        assert not written
        app.pop_screen()
        await until(pilot, lambda: any("\x1bP" in piece for piece in written))


async def test_pictures_that_were_long_out_of_sight_are_forgotten(written: list[str]) -> None:
    app = Shown("kitty")
    many = MOST_PICTURES + 4
    async with app.run_test(size=(60, 16)) as pilot:
        app.timeline.reset([figure(number, height=200 + number) for number in range(many)])
        app.timeline.focus()
        await pilot.press("home")
        for number in range(many):
            app.timeline.show_block(app.timeline._view.blocks[number].id)
            await until(pilot, partial(is_drawn, app, number))
        assert len(app.timeline._gallery._drawn) <= MOST_PICTURES
        assert any("a=d,d=I" in piece for piece in written)


async def test_another_way_to_show_pictures_is_taken_up_at_once(written: list[str]) -> None:
    app = Shown("half")
    async with app.run_test(size=(60, 30)) as pilot:
        app.timeline.reset([figure(1)])
        await until(pilot, lambda: "▀" in text_of(app, 3))
        app.timeline.set_look(graphics=Graphics("kitty", CELL))
        await until(pilot, lambda: bool(app.timeline._shown.rows) and PLACEHOLDER in text_of(app, 3))
        app.timeline.set_look(graphics=Graphics("none", CELL))
        await until(pilot, lambda: bool(app.timeline._shown.rows) and "s save" in text_of(app, 2))


async def test_a_picture_is_looked_at_closely_moved_and_saved(tmp_path: Path) -> None:
    app, data = Shown("half"), png(400, 300)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = PictureScreen(
            data, "image/png", Graphics("kitty", CELL), app.palette, name="plot.png", folder=tmp_path
        )
        app.push_screen(screen)
        await until(pilot, lambda: bool(screen.query(PictureView)))
        view = screen.query_one(PictureView)
        await until(pilot, lambda: view._drawn is not None)
        assert narrow(view._order, Order).box is None

        await pilot.press("plus", "plus", "plus", "right", "right", "right", "right", "down")
        box = narrow(view._order, Order).box
        assert box is not None
        assert box[2] == pytest.approx(400), "it ends where the picture ends"
        assert 0 < box[0] < box[2]
        assert 0 < box[1] < box[3] < 300
        await until(pilot, lambda: view._drawn is not None and view._drawn[0] == view._order)
        await pilot.press("0")
        assert narrow(view._order, Order).box is None

        await pilot.press("s")
        await pilot.pause()
        await pilot.press("enter")
        await until(pilot, (tmp_path / "plot.png").exists)
        assert (tmp_path / "plot.png").read_bytes() == data
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is not screen)


async def test_a_broken_picture_is_said_to_be_broken_on_its_own_screen() -> None:
    app = Shown("half")
    async with app.run_test(size=(60, 12)) as pilot:
        screen = PictureScreen(png(50, 50)[:60], "image/png", Graphics("kitty", CELL), app.palette)
        app.push_screen(screen)
        await until(pilot, lambda: bool(screen.query(PictureView)))
        view = screen.query_one(PictureView)
        await until(pilot, lambda: view._is_broken)
        await pilot.press("plus", "left", "minus", "escape")
