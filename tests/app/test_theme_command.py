"""`oi-tui theme`: what it lists, and what it writes."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from oi_tui.app.cli import program
from oi_tui.app.commands.own_theme import themes_in_words
from oi_tui.app.commands.theme_folders import own_themes, theme_folders
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.hooks.calling import Hooks
from oi_tui.app.engine.hooks.specs import hookimpl
from oi_tui.plugins import host
from oi_tui.plugins.screen_specs import ScreenHooks
from oi_tui.themes.loader import ThemeError, choose_palette, load_palette


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path


def call(*words: str) -> Result:
    return CliRunner().invoke(program, ["theme", *words])


def test_V19_a_new_theme_has_the_colours_it_was_begun_with_and_is_listed() -> None:
    assert call("new", "dusk", "--from", "solarized-light").exit_code == 0
    dusk = load_palette("dusk", theme_folders())
    assert (dusk.inks, dusk.dark, dusk.title) == (load_palette("solarized-light").inks, False, "dusk")
    (own_themes() / "torn.toml").write_text("[inks")

    listed = call().output.splitlines()
    assert [line for line in listed if "dusk " in line] == [
        f"  dusk              light  dusk  {own_themes() / 'dusk.toml'}"
    ]
    assert next(line for line in listed if "torn" in line).startswith("✗ torn              torn.toml, line 1: ")
    assert listed == call("list").output.splitlines()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["dusk"], "There is a theme 'dusk' already."),
        (["auto"], "'auto' is not a theme name."),
        (["../x"], "'../x' is not a theme name."),
        (["x", "--from", "nrod"], "did you mean nord?"),
    ],
)
def test_V19_a_theme_that_cannot_be_written_says_why_and_changes_nothing(words: list[str], said: str) -> None:
    call("new", "dusk")
    before = (own_themes() / "dusk.toml").read_bytes()
    error = call("new", *words).exception
    assert isinstance(error, SettingsError)
    assert said in error.title
    assert [(file.name, file.read_bytes()) for file in own_themes().iterdir()] == [("dusk.toml", before)]


def test_V19_a_plugin_brings_themes_and_replaces_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("nord", "reef"):
        (tmp_path / f"{name}.toml").write_text('title = "Of a plugin"')

    class Reef:
        @hookimpl
        def register_themes(self) -> Path:
            return tmp_path

    hooks = Hooks(ScreenHooks, [("reef", Reef())])
    monkeypatch.setattr(host, "screen_hooks", lambda: hooks)
    assert load_palette("reef", theme_folders()).title == "Of a plugin"
    assert load_palette("nord", theme_folders()).title == "After Nord"


def test_V19_a_theme_of_a_plugin_with_a_mistake_is_named_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "reef.toml").write_text('title = "Reef"\n\n[inks]\nacent = "#00ffaa"\n')
    (tmp_path / "tide.toml").write_text('title = "Tide"\n')

    class Reef:
        @hookimpl
        def register_themes(self) -> Path:
            return tmp_path

    hooks = Hooks(ScreenHooks, [("reef", Reef())])
    monkeypatch.setattr(host, "screen_hooks", lambda: hooks)
    wrong = "reef.toml, line 4: there is no key inks.acent; did you mean inks.accent?"
    with pytest.raises(ThemeError, match=re.escape(wrong)):
        load_palette("reef", theme_folders())
    listed = "\n".join(themes_in_words())
    assert wrong in listed
    assert "tide" in listed
    palette, why = choose_palette("reef", theme_folders())
    assert (palette.name, why) == ("harbour", f"Using the theme harbour: {wrong}.")
