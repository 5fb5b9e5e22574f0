"""Every theme reads well, and a broken one never stops the program."""

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App

from oi_tui.themes.loader import (
    BUILT_IN,
    DEFAULT_THEME,
    ThemeError,
    choose_palette,
    load_palette,
    textual_theme,
    theme_names,
)
from oi_tui.themes.palette import AnsiInks, Palette
from oi_tui.themes.theme_file import key_meanings, theme_source

OWN_COLOURS = [name for name in theme_names() if not load_palette(name).uses_terminal]

WORDS_OF = ("xterm", "GNOME", "VS Code")
TERMINALS = {
    ("xterm", True): "ffffff 000000 000000 cd0000 00cd00 cdcd00 0000ee cd00cd 00cdcd e5e5e5"
    " 7f7f7f ff0000 00ff00 ffff00 5c5cff ff00ff 00ffff ffffff",
    ("xterm", False): "000000 ffffff 000000 cd0000 00cd00 cdcd00 0000ee cd00cd 00cdcd e5e5e5"
    " 7f7f7f ff0000 00ff00 ffff00 5c5cff ff00ff 00ffff ffffff",
    ("GNOME", True): "d0cfcc 171421 171421 c01c28 26a269 a2734c 12488b a347ba 2aa1b3 d0cfcc"
    " 5e5c64 f66151 33d17a e9ad0c 2a7bde c061cb 33c7de ffffff",
    ("GNOME", False): "171421 ffffff 171421 c01c28 26a269 a2734c 12488b a347ba 2aa1b3 d0cfcc"
    " 5e5c64 f66151 33d17a e9ad0c 2a7bde c061cb 33c7de ffffff",
    ("VS Code", True): "cccccc 1e1e1e 000000 cd3131 0dbc79 e5e510 2472c8 bc3fbc 11a8cd e5e5e5"
    " 666666 f14c4c 23d18b f5f543 3b8eea d670d6 29b8db e5e5e5",
    ("VS Code", False): "333333 ffffff 000000 cd3131 107c10 949800 0451a5 bc05bc 0598bc 555555"
    " 666666 cd3131 14ce14 b5ba00 0451a5 bc05bc 0598bc a5a5a5",
}
"""Text, background and the sixteen colours, of dark and light terminals."""

COLOURS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"]

BLINDNESS = {  # Machado, Oliveira and Fernandes 2009, in full, on linear RGB
    "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritan": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


def linear(colour: str) -> list[float]:
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    return [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    red, green, blue = linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Contrast ratio as WCAG 2 defines it, 1 to 21."""
    bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def lab(rgb: list[float]) -> tuple[float, float, float]:
    """CIELAB (D65) of linear RGB."""
    red, green, blue = (min(1.0, max(0.0, value)) for value in rgb)
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089
    f = [value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116 for value in (x, y, z)]
    return 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])


def shown_on(palette: Palette, terminal: str) -> Palette:
    """The palette with the terminal's colours as this one shows them."""
    text, ground, *sixteen = (f"#{colour}" for colour in TERMINALS[terminal, palette.dark].split())
    named = {
        f"ansi_{name}": colour
        for name, colour in zip([*COLOURS, *(f"bright_{n}" for n in COLOURS)], sixteen, strict=True)
    }
    tables = msgspec.to_builtins(palette)
    for table in ("surfaces", "inks", "code"):
        own = ground if table == "surfaces" else text
        tables[table] = {key: named.get(ink, own) for key, ink in tables[table].items()}
    tables["ansi"] = msgspec.to_builtins(AnsiInks(normal=tuple(sixteen[:8]), bright=tuple(sixteen[8:])))  # type: ignore[arg-type] # eight each
    return msgspec.convert(tables, Palette)


def too_faint(palette: Palette, words: float = 4.5, secondary: float = 3.0) -> Iterator[str]:
    """Every ink that has too little contrast to something it is written on."""
    surfaces, inks, code = palette.surfaces, palette.inks, palette.code
    behind = {name: ground for name, ground in msgspec.to_builtins(surfaces).items() if name != "selection"}
    for ink in inks.__struct_fields__:
        least = secondary if ink == "dim" else 0 if ink == "faint" else words
        yield from (
            f"{ink} on {name}" for name, ground in behind.items() if contrast(getattr(inks, ink), ground) < least
        )
    for ink in code.__struct_fields__:
        least = secondary if ink == "comment" else words
        if contrast(getattr(code, ink), surfaces.surface_code) < least:
            yield f"code {ink}"
    if contrast(inks.text, surfaces.selection) < secondary:
        yield "selected text"


def test_V18_ten_themes_and_more_are_shipped_in_each_kind() -> None:
    assert len(theme_names()) >= 12
    for name in theme_names():
        palette = load_palette(name)
        assert palette.title
        if palette.title.startswith("After "):
            assert "MIT" in palette.origin, "a classic says where it comes from"
    assert {load_palette(name).dark for name in ("harbour", "contrast", "clear", "terminal", "solarized-dark")} == {
        True
    }
    assert not any(load_palette(f"{name}-light").dark for name in ("harbour", "contrast", "clear", "terminal"))


@pytest.mark.parametrize("name", OWN_COLOURS)
def test_V18_text_is_readable_wherever_it_is(name: str) -> None:
    palette = load_palette(name)
    assert list(too_faint(palette)) == []
    console = palette.surfaces.surface_console
    faint = [ink for ink in (*palette.ansi.normal[1:], *palette.ansi.bright) if contrast(ink, console) < 4.5]
    assert faint == [], "of the sixteen colours, black alone may be hard to read"


@pytest.mark.parametrize("name", ["harbour", "harbour-light", "contrast", "contrast-light"])
def test_V18_the_default_reads_easily_and_high_contrast_in_everything(name: str) -> None:
    palette = load_palette(name)
    if name.startswith("contrast"):
        assert list(too_faint(palette, words=7, secondary=7)) == []
    for surface, behind in msgspec.to_builtins(palette.surfaces).items():
        if surface != "selection":
            assert contrast(palette.inks.text, behind) >= 7
            assert contrast(palette.inks.dim, behind) >= 4.5


@pytest.mark.parametrize("terminal", WORDS_OF)
@pytest.mark.parametrize("name", ["terminal", "terminal-light"])
def test_V18_the_colours_of_real_terminals_are_readable(name: str, terminal: str) -> None:
    assert load_palette(name).uses_terminal
    assert list(too_faint(shown_on(load_palette(name), terminal))) == []


@pytest.mark.parametrize("name", ["clear", "clear-light"])
@pytest.mark.parametrize("eyes", BLINDNESS)
def test_V18_colour_blind_eyes_tell_success_warning_and_error_apart(name: str, eyes: str) -> None:
    inks = load_palette(name).inks
    seen = [
        lab([sum(factor * value for factor, value in zip(row, linear(ink), strict=True)) for row in BLINDNESS[eyes]])
        for ink in (inks.ok, inks.warning, inks.error)
    ]
    for one, other in combinations(seen, 2):
        assert sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5 > 25


@pytest.mark.parametrize("name", ["no-such-theme", "../harbour", "", "Harbour\x1b", "auto"])
def test_an_unknown_theme_falls_back_and_says_so(name: str) -> None:
    palette, message = choose_palette(name)

    assert palette == load_palette(DEFAULT_THEME)
    assert "harbour" in message
    with pytest.raises(ThemeError):
        load_palette(name)


def test_a_known_theme_needs_no_message() -> None:
    assert choose_palette("harbour-light") == (load_palette("harbour-light"), "")


def test_a_folder_of_the_person_comes_first_and_one_of_a_plugin_last(tmp_path: Path) -> None:
    own, plugin = tmp_path / "own", tmp_path / "plugin"
    for folder, title in (own, "Mine"), (plugin, "Of a plugin"):
        folder.mkdir()
        (folder / "nord.toml").write_text(f'title = "{title}"')
    (plugin / "dusk.toml").write_text('title = "Dusk"')

    assert load_palette("nord", [own, BUILT_IN, plugin]).title == "Mine"
    assert load_palette("nord", [tmp_path / "missing", BUILT_IN, plugin]).title == "After Nord"
    assert load_palette("dusk", [own, BUILT_IN, plugin]).title == "Dusk"
    assert theme_names([own, BUILT_IN, plugin]).count("nord") == 1


def test_V19_a_theme_says_only_what_differs_from_its_base(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        'base = "nord"\ninks.accent = "#F0A"\n[surfaces]\nbackground = "ansi_default"\n'
    )
    nord, mine = load_palette("nord"), load_palette("mine", [tmp_path])

    assert (mine.name, mine.inks.accent, mine.surfaces.background) == ("mine", "#ff00aa", "ansi_default")
    assert mine.code == nord.code
    (tmp_path / "mine.toml").write_text("dark = false")
    assert load_palette("mine", [tmp_path]).inks == load_palette("harbour-light").inks


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('title = "x"\n[inks]\nacent = "#ffffff"', "line 3: there is no key inks.acent; did you mean inks.accent?"),
        ('[inks]\n\naccent = "blue"', 'line 3: inks.accent is "blue"; a colour is'),
        ('inks.accent = "#12345"', 'line 1: inks.accent is "#12345"'),
        ('\ninks = {accent = "#ffffff", text = 3}', "line 2: inks.text is 3"),
        ('[ansi]\nnormal = ["#000000"]', "line 2: ansi.normal must be eight colours"),
        ('[ansi]\nbright = ["#000000", "#000000", "#000000", "#000000", "#000000", "#000000", "#000000", 7]', "line 2"),
        ('title = "x"\ndark = "yes"', "line 2: dark must be true or false"),
        ("\ntitle = 3", "line 2: title must be one line of text"),
        ('title = "a\\u001b[2Jb"', "line 1: title must be one line of text"),
        ('inks = "red"', "line 1: inks must be a table: [inks]"),
        ('[ink]\naccent = "#ffffff"', "line 1: there is no key ink; did you mean inks?"),
        ('dark = true\nbase = "nrod"', "line 2: base: there is no theme 'nrod' (did you mean nord?)"),
        ("dark = true\nbase = 3", "line 2: base: there is no theme '3'"),
        ('title = "x"\n[inks\naccent', "line 2"),
        ('title = "x"\ntitle = "y"', "line 2"),
    ],
)
def test_V19_a_mistake_is_named_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "mine.toml").write_text(text)

    palette, message = choose_palette("mine", [tmp_path])

    assert palette.name == DEFAULT_THEME
    assert f"mine.toml, {said}" in message


@given(st.binary(max_size=200) | st.text("[]=.#\"'{},\nabdeintx0 ", max_size=60).map(str.encode))
def test_V19_any_bytes_for_a_theme_file_are_survived(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    folder = tmp_path_factory.getbasetemp()
    (folder / "mine.toml").write_bytes(content)

    palette, message = choose_palette("mine", [folder])

    assert (palette.name == DEFAULT_THEME) is bool(message)


@pytest.mark.parametrize("name", theme_names())
def test_V19_a_written_theme_is_the_one_it_was_written_from(tmp_path: Path, name: str) -> None:
    palette = load_palette(name)
    (tmp_path / "mine.toml").write_text(theme_source(palette, "harbour", palette.title))

    assert load_palette("mine", [tmp_path]) == msgspec.structs.replace(palette, name="mine")


def test_the_readme_explains_each_key_and_names_each_theme() -> None:
    keys = msgspec.to_builtins(load_palette())
    named = [f"{key}.{inner}" for key, table in keys.items() if isinstance(table, dict) for inner in table]
    assert list(key_meanings()) == ["title", "origin", "dark", *named]
    readme = (BUILT_IN / "README.md").read_text(encoding="utf-8")
    assert [name for name in theme_names() if f"`{name}`" not in readme] == []


@pytest.mark.parametrize("name", ["harbour", "terminal"])
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
