"""What every place to write several lines in shares: undo that ends nothing, pastes that keep their lines, completion.

`PromptArea` and `SourceEditor` are one of these. What a paste may contain, and when Tab completes, is theirs to say.
"""

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from textual import on
from textual.events import Blur, Key, MouseDown, Paste
from textual.widget import Widget
from textual.widgets import TextArea
from textual.widgets.text_area import Edit, EditResult, Location

if TYPE_CHECKING:  # loaded with what completes: nothing is offered before
    from oi_tui.widgets.completion import CompletionList, CompletionOffer

_EDITS = frozenset({"backspace", "delete", "shift+backspace"})
"""Keys that change the text and are no letters: the list follows the text."""


class Completer(Protocol):
    """Completes words. It calls `box.completion.offer`, at once or some time later."""

    def follow(self, box: "TextBox") -> None:
        """The text was changed by typing."""
        ...

    def complete(self, box: "TextBox") -> bool:
        """Tab was pressed: whether there is a word here that could be completed."""
        ...


@runtime_checkable
class CompletesCode(Protocol):
    """An app that knows what completes code in every box that nobody else cares for."""

    code_completer: Completer | None


class WordCompletion:
    """The list of one box: when it opens, what it does to the text, and which keys it takes."""

    def __init__(self, box: "TextBox") -> None:
        self._box = box
        self.above: Widget = box
        """What the list stands above."""
        self.completer: Completer | None = None
        """Who knows what can complete a word here, if it is not whom the app names."""
        self._list: CompletionList | None = None
        """That of the screen, once something was offered."""
        self._behind = False
        """Whether something was typed when nobody knew what could complete it."""
        self._dismissed: Location | None = None
        """Where a word begins for which the person wants no list."""

    @property
    def open_list(self) -> "CompletionList | None":
        """The list, where it is open for this text."""
        return self._list if self._list is not None and self._list.is_for(self) else None

    @property
    def word(self) -> str:
        """The typed part of the word that the list completes."""
        shown = self.open_list
        return self._box.get_text_range(shown.offer.start, self._box.cursor_location) if shown is not None else ""

    def use(self, completer: Completer) -> None:
        """Use this completer, also for the text already typed."""
        self.completer = completer
        if self._behind:
            self.follow()

    def offer(self, offer: "CompletionOffer") -> None:
        """Show what could complete the word at the cursor; without choices and words, nothing."""
        if offer.start != self._dismissed:
            self._dismissed = None
            if offer.choices or offer.note:
                from oi_tui.widgets.completion import completion_list  # as above

                self._list = completion_list(self._box.screen)
                self._list.open(self, offer, self.above)
                return
        self.close()

    def insert(self, text: str, start: Location) -> None:
        """Put this in the place of the word that begins there and ends at the cursor."""
        self._box.replace(text, start, self._box.cursor_location, maintain_selection_offset=False)
        self._box.focus()

    def close(self) -> None:
        """Offer nothing any more."""
        if (shown := self.open_list) is not None:
            shown.close()

    def dismiss(self) -> None:
        """Offer nothing for this word any more."""
        if (shown := self.open_list) is not None:
            self._dismissed = shown.offer.start
            shown.close()

    def allow(self) -> None:
        """Offer again what was dismissed."""
        self._dismissed = None

    def follow(self) -> None:
        """The text was changed by the person."""
        if self._box.is_attached and self._box.has_focus:
            completer = self._find_completer()
            self._behind = completer is None
            if completer is not None:
                completer.follow(self._box)

    def request(self) -> bool:
        """Tab was pressed: whether there is a word here that could be completed."""
        return (completer := self._find_completer()) is not None and completer.complete(self._box)

    def _find_completer(self) -> Completer | None:
        app = self._box.app
        return self.completer or (app.code_completer if isinstance(app, CompletesCode) else None)

    def take_key(self, event: Key) -> bool:
        """Whether the list took this key; to be asked before all else. A key that only moves the cursor closes it."""
        shown = self.open_list
        if shown is None:
            return False
        if shown.take_key(event.key):
            event.stop()
            event.prevent_default()
            return True
        if not (event.is_printable or event.key in _EDITS):
            self.close()
        return False


class TextBox(TextArea):
    """A `TextArea` whose pastes come to `insert_paste`, each line ended by a line feed."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.completion = WordCompletion(self)

    @property
    def cursor_location(self) -> Location:
        """Line and column of the cursor, always in the text.

        While Textual undoes or redoes, the text is new and the selection still old: a scroll bar that goes at that
        moment asks for the offset of a line that is gone (Textual issue 6686).
        """
        return self.clamp_visitable(self.selection.end)

    @cursor_location.setter
    def cursor_location(self, location: Location) -> None:
        self.move_cursor(location, select=not self.selection.is_empty)

    async def on_paste(self, event: Paste) -> None:
        """Whatever comes in one paste is one piece of text."""
        event.stop()
        event.prevent_default()
        self.insert_paste(_with_line_feeds(event.text))
        self.completion.close()

    def action_paste(self) -> None:
        """Text copied within the program is as foreign as any paste."""
        self.insert_paste(_with_line_feeds(self.app.clipboard))
        self.completion.close()

    def insert_paste(self, text: str) -> None:
        """Replace the selection with text that was not typed."""
        self.replace(text, *self.selection, maintain_selection_offset=False)

    def edit(self, edit: Edit) -> EditResult:
        """Change the text, and let the list follow it."""
        result = super().edit(edit)
        self.completion.follow()
        return result

    def load_text(self, text: str) -> None:
        """Another text: the open list was for the one before."""
        super().load_text(text)
        self.completion.allow()
        self.completion.close()

    @on(Blur)
    @on(MouseDown)
    def _look_away(self) -> None:
        """Who looks elsewhere, or moves the cursor, completes nothing."""
        self.completion.close()


def _with_line_feeds(text: str) -> str:
    """The text with lines as Python ends them: terminals send a carriage return for each line of a paste."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
