"""Where themes are looked for."""

from collections.abc import Iterator
from pathlib import Path

from oi_tui.app.engine.files.paths import config_dir
from oi_tui.themes.loader import BUILT_IN


def own_themes() -> Path:
    """The person's folder of themes: `$XDG_CONFIG_HOME/oi-tui/themes`."""
    return config_dir() / "themes"


def theme_folders() -> Iterator[Path]:
    """The person's, ours, then those of plugins: these are imported only for a theme that is in neither."""
    yield own_themes()
    yield BUILT_IN
    from oi_tui.plugins.host import screen_hooks  # it imports what others wrote

    for _, folder in screen_hooks().results("register_themes"):
        if isinstance(folder, Path):
            yield folder
