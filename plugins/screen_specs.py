"""Every hook of the screen's process, on this page; those of the engine's are in `app/engine/hooks/specs.py`.

A function is called on the screen's thread: what takes more than 8 ms is seen as a key that hangs, and is named.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pluggy

from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.hooks.specs import PROJECT
from oi_tui.plugins.screen_values import SidePanel, SlashCommand, StatusItem

_hookspec = pluggy.HookspecMarker(PROJECT)


class ScreenHooks:
    """Called in the screen's process."""

    @_hookspec
    def register_renderers(self) -> Mapping[str, Callable[[RichOutput], object] | str]:  # type: ignore[empty-body] # a specification
        """Maps a MIME type (`*` matches any characters) to a function that gets the `RichOutput` and returns another
        one to draw instead, a `Drawing`, or None to draw the next form.

        Called when the first rich result is drawn. A string such as `oi_tui_vega:render` is imported when the first
        result of its type is.
        """

    @_hookspec
    def register_themes(self) -> Path:  # type: ignore[empty-body] # a specification
        """A folder with theme files, `NAME.toml` each (see `themes/README.md`).

        Called when all themes are listed, or when one is chosen that is neither the person's nor built in.
        """

    @_hookspec
    def register_slash_commands(self) -> Iterable[SlashCommand]:  # type: ignore[empty-body] # a specification
        """Slash commands. Called when the first one is typed, or the palette opens."""

    @_hookspec
    def register_panels(self) -> Iterable[SidePanel]:  # type: ignore[empty-body] # a specification
        """Windows with text. Called with `/panel`."""

    @_hookspec
    def register_status_items(self) -> Iterable[StatusItem]:  # type: ignore[empty-body] # a specification
        """Items for the status line. Called soon after the first frame."""
