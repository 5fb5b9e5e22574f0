"""Finds theme files, reads them, and hands their colours to Textual.

Folders of the person come before the built-in one, so that a theme can be replaced by a file of
the same name. A theme that cannot be used never stops the program: `choose_palette` falls back to
the default and says why. They are JSON: a reader of TOML takes milliseconds of the first frame.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec
from textual.theme import Theme

from oi_tui.themes.palette import Palette

DEFAULT_THEME = "harbour"

BUILT_IN = Path(__file__).parent
"""The folder of our own."""

_LARGEST = 100_000
"""Bytes of a theme file."""

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")


class ThemeError(Exception):
    """A theme does not exist or its file is wrong; the text says which and why."""


def theme_names(folders: Sequence[Path] = ()) -> list[str]:
    """Names that `load_palette` accepts, sorted."""
    return sorted(
        file.name.removesuffix(".json")
        for folder in (*folders, BUILT_IN)
        if folder.is_dir()
        for file in folder.iterdir()
        if file.name.endswith(".json")
    )


def load_palette(name: str = DEFAULT_THEME, folders: Sequence[Path] = ()) -> Palette:
    """The palette called `name`; `ThemeError` where there is none that can be read."""
    if not _NAME.fullmatch(name):
        raise ThemeError(f"{name!r} is not a theme name: lower-case letters, digits, - and _ only")
    for folder in (*folders, BUILT_IN):
        file = folder / f"{name}.json"
        if file.is_file():
            return _read(file, name)
    raise ThemeError(f"there is no theme {name!r}; there are {', '.join(theme_names(folders))}")


def choose_palette(name: str, folders: Sequence[Path] = ()) -> tuple[Palette, str]:
    """The palette called `name`, else the default one with a sentence that says why."""
    try:
        return load_palette(name, folders), ""
    except ThemeError as error:
        return load_palette(), f"Using the theme {DEFAULT_THEME}: {error}."


def textual_theme(palette: Palette) -> Theme:
    """The same colours for style sheets: `$primary`, `$surface`, and by their own names `$dim`, `$faint` ..."""
    surfaces, inks = palette.surfaces, palette.inks
    named = msgspec.to_builtins(surfaces) | msgspec.to_builtins(inks)
    return Theme(
        name=palette.name,
        dark=palette.dark,
        primary=inks.accent,
        secondary=inks.info,
        accent=inks.accent,
        foreground=inks.text,
        background=surfaces.background,
        surface=surfaces.surface,
        panel=surfaces.surface_focus,
        boost=surfaces.surface_focus,
        success=inks.ok,
        warning=inks.warning,
        error=inks.error,
        text_alpha=1.0,
        variables={
            **{key.replace("_", "-"): value for key, value in named.items() if key not in _TEXTUAL_NAMES},
            "border": inks.accent,
            "border-blurred": inks.faint,
            "block-cursor-background": surfaces.surface_focus,
            "block-cursor-foreground": inks.text,
            "block-cursor-text-style": "none",
            "input-cursor-background": inks.accent,
            "input-cursor-foreground": surfaces.background,
            "input-selection-background": surfaces.selection,
            "screen-selection-background": surfaces.selection,
            "screen-selection-foreground": inks.text,
            "footer-background": surfaces.surface,
            "footer-key-foreground": inks.accent,
            "scrollbar": inks.faint,
            "scrollbar-hover": inks.dim,
            "scrollbar-active": inks.accent,
            "scrollbar-background": surfaces.background,
            "scrollbar-background-hover": surfaces.background,
            "scrollbar-background-active": surfaces.background,
            "scrollbar-corner-color": surfaces.background,
            "link-color": inks.link,
            "link-background": surfaces.background,
        },
    )


_TEXTUAL_NAMES = frozenset({"background", "surface", "text", "accent", "warning", "error"})
"""Names that a Textual theme derives by itself; ours reach it as its own arguments."""


def _read(file: Path, name: str) -> Palette:
    try:
        with file.open("rb") as opened:
            data = opened.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise ThemeError(f"the theme file {file.name} cannot be used: it is larger than {_LARGEST:,} bytes")
        palette = msgspec.json.decode(data, type=Palette)
    except (OSError, UnicodeDecodeError, msgspec.DecodeError, RecursionError) as error:
        raise ThemeError(f"the theme file {file.name} cannot be used: {error}") from error
    return msgspec.structs.replace(palette, name=name)
