"""The screen of keys: found by words or by pressing one, bound anew in place, sets looked at before they are used."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input

from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.engine.core.verbs import Decide
from oi_tui.app.screens.keys_screen import KeysScreen
from oi_tui.app.screens.palette_screen import PaletteScreen
from oi_tui.widgets.composer import Composer
from oi_tui.widgets.lettering import Options, Words
from support.stage import Play, Stage


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The person's own settings are in a folder of the test."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path


def written(folder: Path) -> dict[str, Any]:
    file = folder / "oi-tui" / "config.toml"
    return tomllib.loads(file.read_text()) if file.exists() else {}


async def opened(stage: Stage) -> KeysScreen:
    await stage.until(lambda: stage.app.chat.complete.is_set())
    await stage.app.chat.run_action("screen.part('keys')")
    screen = await stage.screen(KeysScreen)
    await stage.settle()
    return screen


def rows(screen: KeysScreen) -> list[str]:
    options = screen.query_one(Options)
    found = [str(options.get_option_at_index(index).prompt) for index in range(options.option_count)]
    return [" ".join(row.replace("▸", "").split()) for row in found]


def said(screen: KeysScreen) -> str:
    return str(screen.query_one("#pick-text", Words).content)


async def test_C20_a_command_is_found_and_bound_anew_at_once(play: Play, own_folder: Path) -> None:
    async with play(size=(100, 30)) as stage:
        screen = await opened(stage)
        await stage.pilot.press(*"palette", "enter", "f9", "enter")
        await stage.settle()
        assert said(screen) == "✓ palette: f9"
        assert written(own_folder) == {"keys": {"palette": "f9"}}
        assert rows(screen) == ["Commands the main screen f9"]
        await stage.pilot.press("ctrl+a", "ctrl+x", "ctrl+p", "enter")
        await stage.settle()
        assert "Taken" in said(screen), "ctrl+x is a key of the prompt"
        await stage.pilot.press("escape")
        await stage.pilot.press("ctrl+a", "f10", "x", "enter")
        await stage.settle()
        assert written(own_folder) == {"keys": {"palette": "f9,f10 x"}}
        await stage.pilot.press("escape")
        await stage.settle()
        assert stage.app.chat.query_one(Composer).hint == "f9 commands · F1 help"
        await stage.pilot.press("f10", "x")
        await stage.settle()
        await stage.screen(PaletteScreen)


async def test_C20_places_are_whole_on_a_narrow_screen(play: Play) -> None:
    async with play(size=(80, 24)) as stage:
        await opened(stage)
        await stage.pilot.press(*"skills")
        await stage.settle()
        assert "skills and kept functions" in stage.seen


async def test_C20_keys_of_the_screen_are_found_by_words_that_follow_the_command(play: Play) -> None:
    async with play(size=(100, 30)) as stage:
        await stage.until(lambda: stage.app.chat.complete.is_set())
        await stage.pilot.press(*"/keys palette", "enter")
        screen = await stage.screen(KeysScreen)
        await stage.settle()
        assert rows(screen) == ["Commands the main screen ctrl+p"]


async def test_C20_a_conflict_is_shown_first_and_can_be_taken_over(play: Play, own_folder: Path) -> None:
    async with play(size=(100, 30)) as stage:
        screen = await opened(stage)
        screen.query_one(Input).value = "timeline.start"
        await stage.settle()
        await stage.pilot.press("enter", "x", "enter")
        await stage.settle()
        assert said(screen) == "Taken. x: “The error before”, the timeline. enter takes it over; escape leaves it."
        assert written(own_folder) == {}
        await stage.pilot.press("enter")
        await stage.settle()
        assert written(own_folder) == {"keys": {"timeline.start": "x", "timeline.error_before": "none"}}
        await stage.pilot.press("ctrl+r")
        await stage.settle()
        assert written(own_folder) == {"keys": {"timeline.error_before": "none"}}
        await stage.pilot.press("delete")
        await stage.settle()
        assert rows(screen) == ["Start the timeline"]


async def test_C20_pressing_a_key_shows_what_it_does_in_each_place(play: Play) -> None:
    async with play(size=(100, 30)) as stage:
        screen = await opened(stage)
        await stage.pilot.press("tab", "ctrl+q")
        await stage.settle()
        assert rows(screen) == ["Quit everywhere ctrl+q"]
        await stage.pilot.press("ctrl+e")
        await stage.settle()
        places = ("the prompt ctrl+e, end", "editing that code ctrl+e, end")
        assert rows(screen) == [*(f"End of the line {place}" for place in places), "A row down the timeline ctrl+e"]
        await stage.pilot.press("escape")
        await stage.settle()
        assert any(row.startswith("Interrupt") for row in rows(screen))
        await stage.pilot.press("escape")
        await stage.settle()
        assert len(rows(screen)) > 200


async def test_C20_a_set_is_looked_at_before_it_is_used(play: Play, own_folder: Path) -> None:
    async with play(size=(100, 30)) as stage:
        screen = await opened(stage)
        screen.query_one(Input).value = "timeline.start"
        await stage.pilot.press("ctrl+t")
        await stage.settle()
        assert rows(screen) == ["Start the timeline home, g g"]
        assert written(own_folder) == {}
        await stage.pilot.press("escape")
        await stage.settle()
        assert rows(screen) == ["Start the timeline g, home"]
        await stage.pilot.press("ctrl+t", "enter")
        await stage.settle()
        assert written(own_folder) == {"screen": {"keys": "vim"}}
        await stage.pilot.press("escape")
        await stage.until(lambda: stage.app.chat.query_one(Composer).mode == "insert")


async def test_C4_the_screen_of_keys_lets_nothing_weaken_an_approval(play: Play, own_folder: Path) -> None:
    async with play(settings=Settings(), size=(100, 30)) as stage:
        screen = await opened(stage)
        screen.query_one(Input).value = "approval.run"
        await stage.settle()
        for keys in (("enter",), ("space",), ("r", "r")):
            await stage.pilot.press("enter", *keys, "enter")
            await stage.settle()
            assert "cannot answer a question about code" in said(screen), keys
        assert written(own_folder) == {}
        assert not [verb for verb in stage.engine.verbs if isinstance(verb, Decide)]
