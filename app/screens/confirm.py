"""One question with two keys; Enter answers nothing."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from oi_tui.widgets.keyrow import Hint, KeyRow, key_labels
from oi_tui.widgets.lettering import Words


class ConfirmScreen(ModalScreen[bool]):
    """Dismissed with whether the person said yes."""

    CSS_PATH = "confirm.tcss"
    DECIDES = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Hint("y", "dismiss(True)", "yes"),
        Hint("n,escape", "dismiss(False)", "no"),
    ]

    def __init__(self, title: str, text: str, *, yes: str, no: str) -> None:
        super().__init__()
        self._title = title
        self._text = text
        self._words = {"y": (yes, yes), "n": (no, no)}

    def compose(self) -> ComposeResult:
        """A small box in the middle."""
        with Vertical(id="confirm-box"):
            yield Words(self._title, id="confirm-title")
            yield Words(self._text, id="confirm-text")
            yield KeyRow(id="confirm-keys")

    def on_mount(self) -> None:
        self.query_one(KeyRow).labels = key_labels(self, words=self._words)
