"""One line of text, asked for over what one was doing: a title, some tags."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from oi_tui.app.engine.text.words import one_line
from oi_tui.widgets.field import Field
from oi_tui.widgets.keyrow import Hint, KeyLabel, KeyRow, key_labels
from oi_tui.widgets.lettering import Words


class LineAskScreen(ModalScreen[str | None]):
    """Dismissed with the text of the line, or None."""

    CSS_PATH = "line_ask.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Hint("escape", "dismiss(None)", "back")]

    def __init__(self, title: str, text: str, *, hint: str = "", limit: int = 0, secret: bool = False) -> None:
        """`limit` is the most characters that can be typed; 0 for any number. A `secret` is not shown."""
        super().__init__()
        self._title = title
        self._text = one_line(text)
        self._hint = hint
        self._limit = limit
        self._secret = secret

    def compose(self) -> ComposeResult:
        """A small box in the middle."""
        with Vertical(id="line-box"):
            yield Words(self._title, id="line-title")
            yield Field(
                self._text, id="line-text", max_length=self._limit, select_on_focus=False, password=self._secret
            )
            yield Words(self._hint, id="line-hint")
            yield KeyRow(id="line-keys")

    def on_mount(self) -> None:
        """The keys; empty without any."""
        self.query_one("#line-hint").display = bool(self._hint)
        enter = KeyLabel("enter", "keep it", "keep", owner=self.query_one(Input), action="submit")
        self.query_one(KeyRow).labels = (enter, *key_labels(self))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(event.value.strip())
