"""Themes while the app runs: the picker, the terminal's background, and a file that is edited."""

import os
from pathlib import Path

import pytest

from oi_tui.app.commands.theme_folders import own_themes
from oi_tui.app.engine.core.settings import ScreenSection, Settings
from oi_tui.app.screens.theme_screen import ChosenTheme, ThemeScreen
from oi_tui.app.terminal.probe import TerminalFacts
from oi_tui.app.terminal.probing_driver import TerminalKnown
from oi_tui.themes.loader import load_palette
from oi_tui.widgets.lettering import Words
from support.stage import Play, Stage


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The person's folder of themes."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    own_themes().mkdir(parents=True)
    return own_themes()


def ground(stage: Stage) -> str:
    return stage.app.chat.styles.background.hex.lower()


def page(name: str) -> str:
    return load_palette(name).surfaces.background


async def test_V21_the_picker_shows_each_theme_on_a_conversation_and_escape_returns(play: Play, own: Path) -> None:
    (own / "broken.toml").write_text('[inks]\ntext = "white"\n')
    async with play() as stage:
        await stage.pilot.press(*"/theme", "enter")
        picker = await stage.screen(ThemeScreen)
        await stage.until(lambda: "How cold did it get?" in stage.seen)
        assert "✓" in stage.seen
        await stage.pilot.press("down", "down")
        await stage.until(lambda: stage.app.theme == "nord")
        assert "After Nord" in stage.seen
        assert ground(stage) == page("nord")
        await stage.pilot.press(*"broken", "enter")
        await stage.settle()
        told = str(picker.query_one("#pick-text", Words).visual)
        assert 'broken.toml, line 2: inks.text is "white"' in told
        assert ground(stage) == page("nord")
        await stage.pilot.press("escape")
        await stage.settle()
        assert (stage.app.screen, stage.app.theme, ground(stage)) == (stage.app.chat, "harbour", page("harbour"))
        assert stage.prompt.text == ""

        await stage.pilot.press("ctrl+p", *"theme", "enter")
        await stage.screen(ThemeScreen)
        await stage.pilot.press(*"gruv", "enter")
        await stage.settle()
        assert (stage.app.theme, stage.app.chat.palette.name) == ("gruvbox", "gruvbox")


async def test_V19_V20_a_theme_follows_its_file_and_auto_the_terminal(play: Play, own: Path) -> None:
    mine = own / "mine.toml"
    mine.write_text('base = "nord"\n')
    async with play(settings=Settings(screen=ScreenSection(theme="auto"))) as stage:
        themes = stage.app.themes
        for light, name in ((None, "harbour"), (True, "harbour-light"), (False, "harbour"), (True, "harbour-light")):
            stage.app.post_message(TerminalKnown(TerminalFacts(light=light)))
            await stage.settle()
            assert (stage.app.theme, ground(stage)) == (name, page(name))

        await stage.app.run_action("use_theme('mine')")
        await stage.settle()
        assert ground(stage) == page("nord")
        stage.app.post_message(TerminalKnown(TerminalFacts(light=False)))
        for text, colour in (
            ('[surfaces]\nbackground = "#102030"', "#102030"),
            ('[surfaces]\nbackgroud = "#000000"', "#102030"),
            ("", page("harbour")),
        ):
            mine.write_text(text)
            os.utime(mine, (0, len(text)))
            themes.look_at_file()
            await stage.settle()
            assert (stage.app.theme, ground(stage), stage.app.chat.palette.surfaces.background) == (
                "mine",
                colour,
                colour,
            )
        assert stage.told("mine.toml, line 2: there is no key surfaces.backgroud; did you mean surfaces.background?")
        mine.unlink()
        themes.look_at_file()
        assert ground(stage) == page("harbour")


async def test_V19_what_is_saved_shows_within_two_seconds_without_a_key(play: Play, own: Path) -> None:
    mine = own / "mine.toml"
    mine.write_text('base = "nord"\n')
    async with play(settings=Settings(screen=ScreenSection(theme="mine"))) as stage:
        assert ground(stage) == page("nord")
        mine.write_text('base = "nord"\n[surfaces]\nbackground = "#102030"\n')
        os.utime(mine, (0, 1))
        await stage.until(lambda: ground(stage) == "#102030")


async def test_C18_a_theme_that_breaks_when_it_is_chosen_is_not_written_into_the_settings(
    play: Play, own: Path
) -> None:
    path = own / "mine.toml"
    path.write_text('title = "Mine"\n')
    async with play() as stage:
        before = stage.app.theme
        path.write_text('[inks]\ntext = "white"\n')
        stage.app.themes.finish(ChosenTheme("mine", keep=True))
        await stage.until(lambda: stage.told('inks.text is "white"'))
        await stage.settle()
        assert (stage.app.theme, stage.app.themes.chosen) == (before, before)
        assert not (own.parent / "config.toml").exists()
