"""A list with a line above it that narrows it: what is typed goes there, arrows move in the list meanwhile."""

from typing import ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList

from oi_tui.widgets.field import Field
from oi_tui.widgets.keyrow import KeyRow
from oi_tui.widgets.lettering import Options, Words

Picked = TypeVar("Picked")


class PickScreen(ModalScreen[Picked]):
    """Base of screens to pick from a list: they fill `Options`, and say in `look_for` and `take` what is done."""

    CSS_PATH = "pick.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,ctrl+p", "move(-1)", "One up", id="pick.up", priority=True),
        Binding("down,ctrl+n", "move(1)", "One down", id="pick.down", priority=True),
        Binding("enter", "take", "Take it", id="pick.take", priority=True),
    ]
    TITLE = ""

    def __init__(self, begun: str = "") -> None:
        """`begun`: the initial text of the line."""
        super().__init__()
        self._begun = begun

    def compose(self) -> ComposeResult:
        """The best at the top, below the line."""
        yield Words(self.TITLE, id="pick-title")
        yield Field(self._begun, id="pick-words", placeholder="type to filter", select_on_focus=False)
        yield Options(id="pick-list", compact=True)
        yield Words("Looking …", id="pick-text")
        yield KeyRow(id="pick-keys")

    def on_mount(self) -> None:
        self.query_one(Options).can_focus = False
        self.query_one(Input).focus()
        self.look_for(self._begun)

    def look_for(self, words: str) -> None:
        """Narrow the list to what fits these words."""
        raise NotImplementedError

    def take(self, number: int) -> None:
        """Row number `number`, counted from 0, is what the person wants."""
        raise NotImplementedError

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.look_for(event.value)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.take(event.option_index)

    def action_move(self, step: int) -> None:
        """Another row, from the line."""
        options = self.query_one(Options)
        if step < 0:
            options.action_cursor_up()
        else:
            options.action_cursor_down()

    def action_take(self) -> None:
        if (highlighted := self.query_one(Options).highlighted) is not None:
            self.take(highlighted)
