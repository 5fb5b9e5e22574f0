"""Finds theme files, reads them, and hands their colours to Textual.

A theme is found in the first of several folders that has its file, so that a person can replace one by a file of the
same name. A theme that cannot be used never stops the program: `choose_palette` falls back to the default and says
why. Ours are JSON: a reader of TOML takes milliseconds of the first frame. All others are TOML (`theme_file.py`).
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from oi_tui.themes.palette import Palette

if TYPE_CHECKING:
    from textual.theme import Theme

DEFAULT_THEME = "harbour"
DEFAULT_LIGHT = "harbour-light"

AUTO = "auto"
"""Not a theme: the default one that is as dark or light as the terminal."""

BUILT_IN = Path(__file__).parent
"""The folder of our own."""

_LARGEST = 20_000
"""Bytes of a theme file."""

_NAME = r"[a-z0-9][a-z0-9_-]*"


class ThemeError(ValueError):
    """A theme does not exist or its file is wrong; the text says which and why."""


def is_theme_name(name: str) -> bool:
    """Whether a theme may be called so."""
    return re.fullmatch(_NAME, name) is not None and name != AUTO


def theme_names(folders: Iterable[Path] = (BUILT_IN,)) -> list[str]:
    """Names that `load_palette` accepts, sorted."""
    return sorted(
        {
            file.stem
            for folder in folders
            if folder.is_dir()
            for file in folder.iterdir()
            if file.suffix == _suffix(folder) and is_theme_name(file.stem)
        }
    )


def find_theme(name: str, folders: Iterable[Path] = (BUILT_IN,)) -> Path:
    """The file of this theme; `ThemeError` where there is none."""
    if not is_theme_name(name):
        raise ThemeError(f"{name!r} is not a theme name: lower-case letters, digits, - and _ only")
    searched = []
    for folder in folders:
        searched.append(folder)
        file = folder / f"{name}{_suffix(folder)}"
        if file.is_file():
            return file
    from difflib import get_close_matches  # only after a slip

    names = theme_names(searched)
    close = get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]}?" if close else ", ".join(names)
    raise ThemeError(f"there is no theme {name!r} ({hint})")


def load_palette(name: str = DEFAULT_THEME, folders: Iterable[Path] = (BUILT_IN,)) -> Palette:
    """The palette called `name`; `ThemeError` where there is none that can be read."""
    return read_palette(find_theme(name, folders))


def read_palette(file: Path) -> Palette:
    """The palette in a theme file; `ThemeError`, with the line of the fault, where it has none."""
    try:
        with file.open("rb") as opened:
            data = opened.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise ThemeError(f"larger than {_LARGEST:,} bytes")
        if file.parent == BUILT_IN:
            palette = msgspec.json.decode(data, type=Palette)
        else:
            from oi_tui.themes.theme_file import parse_theme  # a reader of TOML

            palette = parse_theme(data.decode(), load_palette)
    except OSError as error:
        raise ThemeError(f"{file.name} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ThemeError(f"{file.name} is not UTF-8") from error
    except (ValueError, msgspec.DecodeError) as error:
        raise ThemeError(f"{file.name}, {error}") from error
    return msgspec.structs.replace(palette, name=file.stem)


def choose_palette(name: str, folders: Iterable[Path] = (BUILT_IN,)) -> tuple[Palette, str]:
    """The palette called `name`, else the default one with a sentence that says why."""
    try:
        return load_palette(name, folders), ""
    except ThemeError as error:
        return load_palette(), f"Using the theme {DEFAULT_THEME}: {error}."


def _suffix(folder: Path) -> str:
    return ".json" if folder == BUILT_IN else ".toml"


def textual_theme(palette: Palette) -> "Theme":
    """The same colours for style sheets: `$primary`, `$surface`, and by their own names `$dim`, `$faint` ..."""
    from textual.theme import Theme  # front ends without a screen only ask which themes there are

    surfaces, inks = palette.surfaces, palette.inks
    named = msgspec.to_builtins(surfaces) | msgspec.to_builtins(inks)
    return Theme(
        name=palette.name,
        dark=palette.dark,
        ansi=palette.uses_terminal,
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
            "text-disabled": inks.dim,  # of placeholders, too
            "ansi-background": surfaces.background,
            "ansi-foreground": inks.text,
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
