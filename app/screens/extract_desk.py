"""Extractions on the chat screen: the form, and the progress of the present one."""

from collections.abc import Callable

from oi_tui.app.engine.core.extractions import BeginExtraction, ExtractionFound, FindExtraction
from oi_tui.app.frontend.bridge import Bridge
from oi_tui.app.screens.extract_form import ExtractForm, name_records
from oi_tui.app.screens.extract_screen import ExtractScreen
from oi_tui.app.screens.open_screen import is_open
from oi_tui.app.screens.prompt_desk import PromptDesk


class ExtractDesk:
    """Opens the form, or the progress of an extraction if there is one."""

    def __init__(self, bridge: Bridge, desk: PromptDesk, say: Callable[[str], None]) -> None:
        """`say` tells the person something above the prompt."""
        self._bridge, self._desk, self._say = bridge, desk, say
        self._screen: ExtractScreen | None = None
        self._waits = False
        """Whether a screen opens when the engine has sent the state."""
        self._typed: dict[str, str] = {}
        """Text of the form's fields."""

    def open(self, argument: str) -> None:
        """`argument` is the name of the records, if the person named some."""
        if argument.strip():
            name_records(self._typed, argument.strip())
            self._show_form()
        else:
            self._look()

    def take(self, found: ExtractionFound) -> None:
        """What the engine says of it."""
        if self._screen is not None and is_open(self._screen):
            self._screen.take(found)
        elif self._waits and found.state == "none":
            self._waits = False
            self._show_form()
        elif self._waits:
            self._waits = False
            self._screen = ExtractScreen(found, self._bridge.send)
            self._desk.area.app.push_screen(self._screen, self._follow)

    def _look(self) -> None:
        self._waits = True
        self._bridge.send(FindExtraction())

    def _show_form(self, wrong: str = "") -> None:
        form = ExtractForm(self._typed, self._desk.folder, model=self._bridge.transcript.model, wrong=wrong)
        self._desk.area.app.push_screen(form, self._begin)

    def _begin(self, asked: BeginExtraction | None) -> None:
        if asked is None:
            self._bridge.send(FindExtraction(on=False))
            return
        self._bridge.send(asked)
        self._look()

    def _follow(self, wish: str | None) -> None:
        if wish == "new":
            self._show_form("" if self._screen is None else self._screen.wrong)
        elif self._screen is not None and self._screen.runs:
            self._say("The extraction continues. /extract shows it.")
