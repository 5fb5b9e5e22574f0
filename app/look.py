"""The colours of the program: chosen, changed while it runs, and kept for the skeleton of its next start."""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.color import Color as TerminalColour
from rich.console import COLOR_SYSTEMS, Console
from textual.app import App
from textual.color import Color
from textual.timer import Timer

from oi_tui.app.commands.theme_folders import theme_folders
from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.files.given_file import file_stamp
from oi_tui.app.engine.files.paths import private_dir
from oi_tui.app.engine.files.whole_file import write_whole
from oi_tui.app.screens.chat import ChatScreen
from oi_tui.app.terminal.skeleton import Look, kind_of_terminal, load_look, look_file
from oi_tui.themes.loader import (
    AUTO,
    BUILT_IN,
    DEFAULT_LIGHT,
    DEFAULT_THEME,
    ThemeError,
    choose_palette,
    find_theme,
    load_palette,
    read_palette,
    textual_theme,
)
from oi_tui.themes.palette import Palette

if TYPE_CHECKING:
    from oi_tui.app.screens.theme_screen import ChosenTheme

TERMINAL = "terminal"
"""The theme of the terminal's own colours, the one there is with NO_COLOR."""

RULE = 0.6
"""How much of the accent is in the rule above a prompt that has the focus."""


class ThemeControl:
    """The theme in use: chosen by name, previewed, and changed with its file or with the terminal."""

    chat: ChatScreen
    """What shows the session, with colours of its own; the app sets it."""

    def __init__(self, app: App[Any], chosen: str) -> None:
        self._app = app
        if app.no_color:
            from oi_tui.app.terminal.no_color import WithoutColour  # seldom wanted

            app._filters[-1] = WithoutColour()  # for Textual's, which leaves greys, or nothing of a selection
        self._light = chosen == AUTO and _was_light(app.console)
        self._stamp: tuple[int, ...] = ()
        self._file: Path | None = None
        """Of a theme that is not ours: it may be edited while it is in use."""
        self._timer: Timer | None = None
        self.chosen = chosen
        """A name, or `auto`."""
        self.palette, self.complaint = choose_palette(self._name_of(chosen), theme_folders())
        self._watch(chosen)
        wear(app, self.palette)

    def choose(self, name: str = "") -> None:
        """Use a theme or say why not; without a name, let the person look at each."""
        if name:
            self._try_to_use(name)
            return
        from oi_tui.app.screens.theme_screen import ThemeScreen  # seldom seen

        if self._app.screen is self.chat:
            blocks = self.chat.bridge.transcript.blocks
            self._app.push_screen(ThemeScreen(self.chosen, self.preview, blocks), self.finish)

    def finish(self, found: "ChosenTheme | None") -> None:
        """Use what was chosen from the list, and keep it if that is wanted; None: the theme from before."""
        if found is None:
            wear(self._app, self.palette)
        elif self._try_to_use(found.name) and found.keep:
            self.chat.desk.keep({"screen.theme": found.name})

    def _try_to_use(self, name: str) -> bool:
        """Whether it could be read: its file may have changed since it was looked at. If not, the person reads why."""
        try:
            self.use(name)
        except ThemeError as error:
            wear(self._app, self.palette)
            self._app.notify(f"{error}.", severity="warning")
            return False
        return True

    def start(self) -> None:
        """The app runs: from now on the file is looked at each second, if there is one to look at."""
        self._timer = self._app.set_interval(1.0, self.look_at_file, pause=self._file is None)

    def preview(self, name: str) -> Palette:
        """Show a theme without choosing it; ThemeError if there is none that can be read."""
        palette = load_palette(self._name_of(name), theme_folders())
        wear(self._app, palette)
        return palette

    def use(self, name: str) -> None:
        """Choose a theme; ThemeError if there is none that can be read."""
        self.palette = self.preview(name)
        self.chosen = name
        self._watch(name)
        self._follow()

    def note_terminal(self, light: bool | None) -> None:
        """The terminal reported whether it is light; None where it did not say."""
        if light is None or light == self._light:
            return
        self._light = light
        if self.chosen == AUTO:
            self.use(AUTO)

    def look_at_file(self) -> None:
        """Show what was saved; of a file with a mistake, only what is wrong."""
        file = self._file
        if file is None or (stamp := file_stamp(file)) == self._stamp or not stamp:
            return
        self._stamp = stamp
        try:
            self.palette = read_palette(file)
        except ThemeError as error:
            self._app.notify(f"{error}. The colours stay as they were.", severity="warning")
            return
        wear(self._app, self.palette)
        self._follow()

    def _follow(self) -> None:
        self.chat.set_palette(self.palette)
        if not self._app.is_headless:
            self._app.run_worker(remember_look(self.chat, self._app.console), name="look")

    def _name_of(self, name: str) -> str:
        if self._app.no_color:
            return TERMINAL
        if name != AUTO:
            return name
        return DEFAULT_LIGHT if self._light else DEFAULT_THEME

    def _watch(self, name: str) -> None:
        try:
            file = find_theme(self._name_of(name), theme_folders())
        except ThemeError:
            return
        self._file = file if file.parent != BUILT_IN else None
        self._stamp = file_stamp(file)
        if self._timer is not None:
            (self._timer.pause if self._file is None else self._timer.resume)()


def _was_light(console: Console) -> bool:
    """Whether the program was light on this terminal when it ran last."""
    look = load_look(os.environ)
    return look is not None and look == look_of(load_palette(DEFAULT_LIGHT), console)


async def remember_look(chat: ChatScreen, console: Console) -> None:
    """Keep the colours of this screen when it is complete."""
    await chat.complete.wait()
    if (look := look_of(chat.palette, console)) is not None:
        await asyncio.to_thread(keep_look, look, os.environ)


def wear(app: App[Any], palette: Palette) -> None:
    """Give the app these colours. Other themes are read when they are asked for."""
    app.register_theme(textual_theme(palette))
    if app.is_running:
        if app.theme == palette.name:
            app._watch_theme(palette.name)  # the same name, other colours
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
        known = colour.rich_color if colour.ansi is not None else TerminalColour.parse(colour.hex6)
        return ";".join(known.downgrade(system).get_ansi_codes(foreground))

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
