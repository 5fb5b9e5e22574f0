"""The colours of the program: put on, and kept for the skeleton of its next start."""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.color import Color as TerminalColour
from rich.console import COLOR_SYSTEMS, Console
from textual.app import App
from textual.color import Color

from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.files.paths import private_dir
from oi_tui.app.engine.files.whole_file import write_whole
from oi_tui.app.screens.chat import ChatScreen
from oi_tui.app.terminal.skeleton import Look, kind_of_terminal, look_file
from oi_tui.themes.loader import textual_theme
from oi_tui.themes.palette import Palette

RULE = 0.6
"""How much of the accent is in the rule above a prompt that has the focus."""


async def remember_look(chat: ChatScreen, console: Console) -> None:
    """Keep the colours of this screen when it is complete."""
    await chat.complete.wait()
    if (look := look_of(chat.palette, console)) is not None:
        await asyncio.to_thread(keep_look, look, os.environ)


def wear(app: App[Any], palette: Palette) -> None:
    """Give the app these colours. Other themes are read when they are asked for."""
    app.register_theme(textual_theme(palette))
    if app.is_running:
        app.theme = palette.name
        return
    # As Textual does it, but that everything would be styled once more.
    app.set_reactive(App.theme, palette.name)
    app.update_classes({"-dark-mode": palette.dark, "-light-mode": not palette.dark}, update=False)
    app._refresh_truecolor_filter(app.ansi_theme)
    app.stylesheet.set_variables(app.get_css_variables())


def look_of(palette: Palette, console: Console) -> Look | None:
    """How the program looks on this terminal; None where it has no colours."""
    system = COLOR_SYSTEMS.get(console.color_system or "")
    if system is None:
        return None
    page, accent = Color.parse(palette.surfaces.background), Color.parse(palette.inks.accent)

    def codes(colour: Color, *, foreground: bool = True) -> str:
        return ";".join(TerminalColour.parse(colour.hex6).downgrade(system).get_ansi_codes(foreground))

    return codes(page, foreground=False), codes(page.blend(accent, RULE)), codes(accent)


def keep_look(look: Look, environ: Mapping[str, str]) -> None:
    """Remember how the program looks on this terminal; where that cannot be written, the next start shows nothing
    until Textual does."""
    text = "\n".join((kind_of_terminal(environ), *look)).encode()
    path = Path(look_file(environ))
    try:
        if not path.exists() or path.read_bytes() != text:
            write_whole(private_dir(path.parent) / path.name, text, over=True)
    except (OSError, OiTuiError):
        return
