"""Which of several? A short list over what one was doing."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import OptionList

from oi_tui.app.engine.text.safe import safe_text
from oi_tui.widgets.lettering import Options, Words, lettering


class ChooseScreen(ModalScreen[int | None]):
    """Dismissed with the number of what was chosen, counted from 0, or None."""

    CSS_PATH = "choose.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss(None)", "Back"),
        *(Binding(str(number), f"pick({number})", "", show=False) for number in range(1, 10)),
    ]

    def __init__(self, title: str, choices: Sequence[str]) -> None:
        super().__init__()
        self._title = title
        self._choices = [safe_text(choice) for choice in choices]

    def compose(self) -> ComposeResult:
        """Digits choose at once, arrows and Enter too."""
        with Vertical(id="choose-box"):
            yield Words(self._title, id="choose-title")
            lines = [
                lettering((f"{number} " if number < 10 else "  ", "$accent"), choice)
                for number, choice in enumerate(self._choices, 1)
            ]
            yield Options(*lines, id="choose-list", compact=True)

    def action_pick(self, number: int) -> None:
        """The digit of a choice."""
        if number <= len(self._choices):
            self.dismiss(number - 1)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Enter, or a click."""
        event.stop()
        self.dismiss(event.option_index)
