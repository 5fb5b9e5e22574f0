"""The line in which one says what to look for in the timeline."""

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.events import DescendantBlur, DescendantFocus
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Input

from oi_tui.widgets.field import Field
from oi_tui.widgets.keyrow import key_hint
from oi_tui.widgets.lettering import Words
from oi_tui.widgets.timeline.view import Timeline


class SearchBar(Widget):
    """A slash, the query, and the number of matches. Enter goes to the next match, Escape ends the search."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "End the search", id="search.close")]

    DEFAULT_CSS = """
    SearchBar {
        height: 1;
        background: $surface;
        & > Horizontal { height: 1; }
        & #search-mark { width: 3; padding: 0 1; color: $accent; text-style: bold; }
        & #search-count { width: auto; padding: 0 1; color: $dim; }
        & Input {
            width: 1fr; height: 1; border: none; padding: 0; background: $surface;
            &:focus { border: none; background: $surface; }
        }
    }
    """

    matches: reactive[str] = reactive("")
    """What is known of the search, in words."""

    class Changed(Message):
        """This is what to look for now."""

        def __init__(self, needle: str) -> None:
            super().__init__()
            self.needle = needle

    class Accepted(Message):
        """Go to the next match: the text is complete. It may be that of the search before."""

        def __init__(self, needle: str) -> None:
            super().__init__()
            self.needle = needle

    class Left(Message):
        """The search is over."""

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield Words("/", id="search-mark")
            yield Field(id="search-text", select_on_focus=True)
            yield Words(id="search-count")

    def begin(self) -> None:
        """Take the focus; typing replaces the last query."""
        self.query_one(Input).focus()

    def fill(self, needle: str) -> None:
        """This is looked for, without having been typed here."""
        with self.prevent(Input.Changed):
            self.query_one(Input).value = needle

    def watch_matches(self, matches: str) -> None:
        """How many there are, and the keys to them."""
        self._show_count()

    @on(DescendantFocus)
    @on(DescendantBlur)
    def _show_count(self) -> None:
        """While the text is typed, `n` is a letter of it."""
        if self.is_mounted:
            types = self.query_one(Input).has_focus
            found = (("timeline.next_match", "next"), ("timeline.match_before", "previous"))
            steps = "enter next" if types else key_hint(self, *found, owner=Timeline)
            keys = " · ".join(filter(None, (steps, key_hint(self, ("search.close", "close")))))
            shown = f"{self.matches} · {keys}" if self.matches and self.size.width > 60 else self.matches
            self.query_one("#search-count", Words).update(shown)

    def action_leave(self) -> None:
        """End the search, wherever the focus of the bar is."""
        self.post_message(self.Left())

    def on_input_changed(self, event: Input.Changed) -> None:
        """Mark while it is typed."""
        event.stop()
        self.post_message(self.Changed(event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Accepted(event.value) if event.value else self.Left())
