"""Questions with a yes and a no; Enter answers nothing."""

import time
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from oi_tui.widgets.arming import LOOK_INTERVAL, Arming
from oi_tui.widgets.keyrow import Hint, KeyRow, key_labels
from oi_tui.widgets.lettering import Words


class QuestionScreen(ModalScreen[bool]):
    """Base of questions that are answered by yes or no. Where a yes permits more, the question is `careful`: keys typed
    before it was on the screen are ignored."""

    DECIDES = True
    careful = True

    def __init__(self) -> None:
        super().__init__()
        self._arming = Arming(time.monotonic)

    def on_mount(self) -> None:
        if self.careful:
            self._arming = Arming(getattr(self.app, "clock", time.monotonic))
            self._arming.show()
            self.call_after_refresh(self._arming.show)  # it is seen only then
            self.set_interval(LOOK_INTERVAL, self.show_arming)
        self.show_arming()

    def note_key(self, age: float) -> None:
        """The app reports every key."""
        self._arming.touch(age)

    def show_arming(self) -> None:
        """Whether a yes counts yet."""
        self._arming.look()
        self.show_keys(() if self._is_armed else ("y",))

    def show_keys(self, off: tuple[str, ...]) -> None:
        """Draw the row of keys, without those that do nothing now."""
        raise NotImplementedError

    def action_agree(self) -> None:
        """A yes, if it can have been meant for this question."""
        self._arming.look()
        if self._is_armed:
            self.dismiss(True)

    @property
    def _is_armed(self) -> bool:
        return not self.careful or self._arming.is_armed


class ConfirmScreen(QuestionScreen):
    """A question in a few words, in a small box."""

    CSS_PATH = "confirm.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Hint("y", "agree", "yes"),
        Hint("n,escape", "dismiss(False)", "no"),
    ]

    def __init__(self, title: str, text: str, *, yes: str, no: str, careful: bool = False) -> None:
        super().__init__()
        self.careful = careful
        self._title = title
        self._text = text
        self._words = {"y": (yes, yes), "n": (no, no)}

    def compose(self) -> ComposeResult:
        """A small box in the middle."""
        with Vertical(id="confirm-box"):
            yield Words(self._title, id="confirm-title")
            yield Words(self._text, id="confirm-text")
            yield KeyRow(id="confirm-keys")

    def show_keys(self, off: tuple[str, ...]) -> None:
        """Both, in the words of the question."""
        self.query_one(KeyRow).labels = key_labels(self, words=self._words, off=off)
