"""Which of several? A short list over what one was doing."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList

from oi_tui.app.engine.text.safe import safe_text
from oi_tui.widgets.keyrow import Hint, KeyLabel, KeyRow, key_labels
from oi_tui.widgets.lettering import Options, Words, lettering


class ChooseScreen(ModalScreen[int | None]):
    """Dismissed with the number of the choice, counted from 0, or None."""

    CSS_PATH = "choose.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Hint("escape,q", "dismiss(None)", "back"),
        *(Binding(str(number), f"pick({number})", "", show=False) for number in range(1, 10)),
    ]

    def __init__(self, title: str, choices: Sequence[str], at: int = 0) -> None:
        """The choice number `at` is highlighted at first."""
        super().__init__()
        self._at = at
        self._title = title
        self._choices = [safe_text(choice) for choice in choices]

    def compose(self) -> ComposeResult:
        """Digits choose at once, arrows and Enter too."""
        with Vertical(id="choose-box"):
            yield Words(self._title, id="choose-title")
            yield Options(*self._lines(self._at), id="choose-list", compact=True)
            yield KeyRow(id="choose-keys")

    def on_mount(self) -> None:
        """Show the keys that work here."""
        self.query_one(Options).highlighted = self._at
        choose = KeyLabel("enter", "choose", "choose", owner=self.query_one(Options), action="select")
        self.query_one(KeyRow).labels = (KeyLabel("↑↓", "select", "select"), choose, *key_labels(self, "esc"))

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """The mark goes along: a colour alone is no mark."""
        event.stop()
        for index, line in enumerate(self._lines(event.option_index)):
            self.query_one(Options).replace_option_prompt_at_index(index, line)

    def _lines(self, highlighted: int) -> list[Content]:
        return [
            lettering(
                ("▸ " if number - 1 == highlighted else "  ", "bold $accent"),
                (f"{number} " if number < 10 else "  ", "$accent"),
                choice,
            )
            for number, choice in enumerate(self._choices, 1)
        ]

    def action_pick(self, number: int) -> None:
        """The digit of a choice."""
        if number <= len(self._choices):
            self.dismiss(number - 1)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Enter, or a click."""
        event.stop()
        self.dismiss(event.option_index)
