"""All themes in words, and a new one of the person's own."""

from collections.abc import Iterator
from pathlib import Path

from oi_tui.app.commands.theme_folders import own_themes, theme_folders
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.files.paths import config_dir, private_dir
from oi_tui.app.engine.files.whole_file import write_whole
from oi_tui.themes.loader import (
    BUILT_IN,
    ThemeError,
    find_theme,
    is_theme_name,
    load_palette,
    read_palette,
    theme_names,
)
from oi_tui.themes.theme_file import theme_source


def themes_in_words() -> Iterator[str]:
    """A line for each theme: those in the person's folder, ours, and those of plugins."""
    for name in theme_names(theme_folders()):
        try:
            file = find_theme(name, theme_folders())
            palette = read_palette(file)
        except ThemeError as error:
            yield f"✗ {name:16}  {error}"
            continue
        place = "" if file.parent == BUILT_IN else f"  {file}"
        yield f"  {name:16}  {'dark ' if palette.dark else 'light'}  {palette.title}{place}"


def begin_theme(name: str, based: str) -> Path:
    """Write a theme with all colours of another one; SettingsError if that cannot be."""
    if not is_theme_name(name):
        raise SettingsError(
            f"{name!r} is not a theme name.", hint="Lower-case letters, digits, - and _ only, and not auto."
        )
    try:
        palette = load_palette(based, theme_folders())
    except ThemeError as error:
        raise SettingsError(f"Cannot begin with {based!r}: {error}.") from error
    ours = (BUILT_IN / f"{based}.json").is_file()
    source = theme_source(palette, based if ours else "harbour" if palette.dark else "harbour-light", name)
    path = private_dir(private_dir(config_dir()) / own_themes().name) / f"{name}.toml"
    try:
        write_whole(path, source.encode())
    except FileExistsError as error:
        raise SettingsError(f"There is a theme {name!r} already.", hint=f"Edit {path}.") from error
    except OSError as error:
        raise SettingsError(f"{path} cannot be written: {error.strerror}.") from error
    return path
