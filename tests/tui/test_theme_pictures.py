"""Row V18: ten themes as they look, at two sizes: a conversation with code, output and an error beside the list."""

from pathlib import Path

import pytest
from textual.widgets import Input, OptionList

from oi_tui.app.screens.theme_screen import ThemeScreen
from support.snapshot import Snap
from support.stage import Play, Stage

SHOWN = ("harbour", "harbour-light")
"""In each check; the others in `make check-all`."""

OTHERS = (
    *("clear", "clear-light", "contrast", "contrast-light"),
    *("gruvbox", "nord", "solarized-light", "terminal"),
)


async def wait_for_theme(stage: Stage, name: str) -> None:
    await stage.until(lambda: stage.app.theme == name)
    await stage.settle()


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
@pytest.mark.parametrize("names", [SHOWN, pytest.param(OTHERS, marks=pytest.mark.thorough)], ids=["default", "others"])
async def test_V18_each_theme_looks_like_its_picture(
    play: Play,
    snap: Snap,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    names: tuple[str, ...],
    size: tuple[int, int],
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    async with play(size) as stage:
        await stage.pilot.press(*"/theme", "enter")
        picker = await stage.screen(ThemeScreen)
        await stage.until(lambda: "How cold did it get?" in stage.seen)
        picker.query_one(Input).cursor_blink = False
        rows = picker.query_one(OptionList)
        for name in names:
            rows.highlighted = picker.names.index(name)
            await wait_for_theme(stage, name)
            await snap(stage.pilot, f"{name}-{size[0]}x{size[1]}")
