"""Every theme reads well, and a broken one never stops the program."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App

from oi_tui.themes.loader import (
    DEFAULT_THEME,
    ThemeError,
    choose_palette,
    load_palette,
    textual_theme,
    theme_names,
)

SHIPPED = ("harbour", "harbour-light")


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Contrast ratio as WCAG 2 defines it, 1 to 21."""
    bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def test_the_shipped_themes_are_found() -> None:
    assert set(SHIPPED) <= set(theme_names())


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize(
    "surface", ["background", "surface", "surface_code", "surface_console", "surface_error", "surface_focus"]
)
def test_words_are_readable_on_every_surface(name: str, surface: str) -> None:
    palette = load_palette(name)
    behind = getattr(palette.surfaces, surface)

    assert contrast(palette.inks.text, behind) >= 7
    assert contrast(palette.inks.user, behind) >= 7
    assert contrast(palette.inks.dim, behind) >= 4.5


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("ink", ["accent", "link", "ok", "warning", "error", "info"])
def test_meanings_are_readable_where_they_stand(name: str, ink: str) -> None:
    palette = load_palette(name)
    for behind in (palette.surfaces.background, palette.surfaces.surface, palette.surfaces.surface_console):
        assert contrast(getattr(palette.inks, ink), behind) >= 4.5


@pytest.mark.parametrize("name", SHIPPED)
def test_code_and_the_sixteen_colours_are_readable(name: str) -> None:
    palette = load_palette(name)

    for ink in palette.code.__struct_fields__:
        assert contrast(getattr(palette.code, ink), palette.surfaces.surface_code) >= 4.5, ink
    for colour in (*palette.ansi.normal[1:], *palette.ansi.bright):
        assert contrast(colour, palette.surfaces.surface_console) >= 4.5, colour


@pytest.mark.parametrize("name", ["no-such-theme", "../harbour", "", "Harbour\x1b"])
def test_an_unknown_theme_falls_back_and_says_so(name: str) -> None:
    palette, message = choose_palette(name)

    assert palette == load_palette(DEFAULT_THEME)
    assert "harbour" in message
    with pytest.raises(ThemeError):
        load_palette(name)


def test_a_known_theme_needs_no_message() -> None:
    assert choose_palette("harbour-light") == (load_palette("harbour-light"), "")


def test_a_folder_of_the_person_comes_first(tmp_path: Path) -> None:
    source = (Path(__file__).parents[2] / "themes" / "harbour.json").read_text()
    (tmp_path / "harbour.json").write_text(source.replace('"title": "Harbour"', '"title": "Mine"'))

    assert load_palette("harbour", [tmp_path]).title == "Mine"
    assert load_palette("harbour", [tmp_path / "missing"]).title == "Harbour"


def test_a_wrong_key_is_named(tmp_path: Path) -> None:
    source = (Path(__file__).parents[2] / "themes" / "harbour.json").read_text()
    (tmp_path / "mine.json").write_text(source.replace('"accent": "#', '"accent": "blue #'))

    _, message = choose_palette("mine", [tmp_path])

    assert "accent" in message


@given(st.binary(max_size=200))
def test_any_bytes_for_a_theme_file_are_survived(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    folder = tmp_path_factory.mktemp("themes")
    (folder / "mine.json").write_bytes(content)

    palette, message = choose_palette("mine", [folder])

    assert palette.name == DEFAULT_THEME
    assert message


@pytest.mark.parametrize("name", SHIPPED)
async def test_style_sheets_can_use_every_colour(name: str) -> None:
    theme = textual_theme(load_palette(name))

    class Page(App[None]):
        CSS = "Screen { background: $background; color: $dim; border: tall $faint; tint: $surface-console; }"

        def on_mount(self) -> None:
            self.register_theme(theme)
            self.theme = theme.name

        def get_theme_variable_defaults(self) -> dict[str, str]:
            return theme.variables

    async with Page().run_test() as pilot:
        assert pilot.app.screen.styles.color.hex.lower() == load_palette(name).inks.dim
        assert pilot.app.screen.styles.background.hex.lower() == load_palette(name).surfaces.background
