"""A list, and below it what is highlighted: base of `/tools`, `/mcp`, `/skills` and `/plugins`."""

from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList

from oi_tui.widgets.lettering import Options

Record = TypeVar("Record")


class RecordsScreen(ModalScreen[None], Generic[Record]):
    """Screens of this kind compose a title, `Options` and what they show of a record, with the classes of the style
    sheet."""

    CSS_PATH = "records_screen.tcss"

    def __init__(self) -> None:
        super().__init__()
        self._listed: Sequence[Record] = ()
        self._marked: tuple[int, str | Content] | None = None
        """The line that is highlighted, and how it is otherwise."""

    def list_records(self, records: Sequence[Record], lines: Iterable[str | Content]) -> None:
        """List these, one line for each; the highlight stays where it is."""
        self._listed = records
        options = self.query_one(Options)
        place, self._marked = options.highlighted or 0, None
        options.clear_options()
        options.add_options(lines)
        options.highlighted = min(place, len(records) - 1) if records else None
        self._mark_record()
        self.show_record()

    @property
    def record(self) -> Record | None:
        """The record that keys are about."""
        index = self.query_one(Options).highlighted
        return self._listed[index] if index is not None and index < len(self._listed) else None

    def show_record(self) -> None:
        """Show all about the highlighted one, and which keys do something with it."""
        raise NotImplementedError

    def choose_record(self) -> None:
        """Enter, or a click. By default neither does anything: other keys decide."""

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self._mark_record()
        self.show_record()

    def _mark_record(self) -> None:
        """Draw the highlighted line in one colour: dim words could hardly be read on its background."""
        options = self.query_one(Options)
        if self._marked is not None and self._marked[0] == options.highlighted:
            return
        if self._marked is not None:
            options.replace_option_prompt_at_index(*self._marked)
            self._marked = None
        if (place := options.highlighted) is not None:
            line = options.get_option_at_index(place).prompt
            if isinstance(line, Content):
                self._marked = place, line
                options.replace_option_prompt_at_index(place, line.plain)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.choose_record()
