"""What every place to write several lines in shares: undo that ends nothing, pastes that keep their lines, completion.

`PromptArea` and `SourceEditor` are one of these. What a paste may contain, and when Tab completes, is theirs to say.
"""

from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from textual import on
from textual.binding import Binding, BindingType
from textual.events import Blur, Key, MouseDown, Paste
from textual.widget import Widget
from textual.widgets import TextArea
from textual.widgets.text_area import Edit, EditResult, Location, Selection

if TYPE_CHECKING:  # loaded with what completes: nothing is offered before
    from oi_tui.widgets.completion import CompletionList, CompletionOffer
    from oi_tui.widgets.text_edits import TextEdit

_EDITS = frozenset({"backspace", "delete", "shift+backspace"})
"""Keys that change the text and are no letters: the list follows the text."""


UNBOUND = "none"
"""A key that no terminal sends: what is bound to it has none."""

_EDITING = (
    ("up", "up", "cursor_up", "Line up"),
    ("down", "down", "cursor_down", "Line down"),
    ("left", "left", "cursor_left", "Character left"),
    ("right", "right", "cursor_right", "Character right"),
    ("word_left", "ctrl+left,alt+b", "cursor_word_left", "Word left"),
    ("word_right", "ctrl+right,alt+f", "cursor_word_right", "Word right"),
    ("line_start", "home,ctrl+a", "cursor_line_start", "Start of the line"),
    ("line_end", "end,ctrl+e", "cursor_line_end", "End of the line"),
    ("text_start", "ctrl+home", "edit_text('text_start')", "Start of the text"),
    ("text_end", "ctrl+end", "edit_text('text_end')", "End of the text"),
    ("page_up", "pageup", "cursor_page_up", "Page up"),
    ("page_down", "pagedown", "cursor_page_down", "Page down"),
    ("select_up", "shift+up", "cursor_up(True)", "Select to the line above"),
    ("select_down", "shift+down", "cursor_down(True)", "Select to the line below"),
    ("select_left", "shift+left", "cursor_left(True)", "Select to the left"),
    ("select_right", "shift+right", "cursor_right(True)", "Select to the right"),
    ("select_word_left", "ctrl+shift+left", "cursor_word_left(True)", "Select a word to the left"),
    ("select_word_right", "ctrl+shift+right", "cursor_word_right(True)", "Select a word to the right"),
    ("select_line_start", "shift+home", "cursor_line_start(True)", "Select to the start of the line"),
    ("select_line_end", "shift+end", "cursor_line_end(True)", "Select to the end of the line"),
    ("select_line", "f6", "select_line", "Select the line"),
    ("select_all", "f7", "select_all", "Select all"),
    ("mark", UNBOUND, "edit_text('mark')", "Set the mark: what moves the cursor selects from here"),
    ("delete_left", "backspace", "delete_left", "Delete the character before the cursor"),
    ("delete_right", "delete,ctrl+d", "delete_right", "Delete the character at the cursor"),
    ("delete_word_left", "ctrl+w,ctrl+backspace,alt+backspace", "delete_word_left", "Delete the word to the left"),
    ("delete_word_right", "alt+delete", "delete_word_right", "Delete the word to the right"),
    ("delete_line_start", "ctrl+u,super+backspace", "delete_to_start_of_line", "Delete to the start of the line"),
    ("delete_line_end", "ctrl+k", "delete_to_end_of_line_or_delete_line", "Delete to the end of the line"),
    ("delete_line", "ctrl+shift+k", "delete_line", "Delete the line"),
    ("kill_line", UNBOUND, "edit_text('kill_line')", "Cut to the end of the line"),
    ("swap", UNBOUND, "edit_text('swap')", "Swap the characters around the cursor"),
    ("cut", "ctrl+x,super+x", "cut", "Cut"),
    ("copy", "super+c", "copy", "Copy"),
    ("paste", "ctrl+v", "paste", "Paste"),
    ("insert_copied", UNBOUND, "edit_text('insert_copied')", "Insert what was cut or copied here"),
    ("undo", "ctrl+underscore,super+z", "undo", "Undo"),
    ("redo", "ctrl+y,super+y", "redo", "Redo"),
)  # fmt: skip
"""The name of each thing that keys do to a text, its keys, the action, and what it does."""


def editing_keys(place: str, *, without: frozenset[str] = frozenset()) -> list[BindingType]:
    """The keys of a text in this place, but for those that do something else there."""
    return [
        Binding(keys, action, help, id=f"{place}.{name}")
        for name, keys, action, help in _EDITING
        if name not in without
    ]


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
        """The widget that the list is above."""
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
        """Replace the word that begins there and ends at the cursor."""
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


class TextBox(TextArea, inherit_bindings=False):
    """A `TextArea` whose pastes come to `insert_paste`, each line ended by a line feed."""

    def __init__(self, **options: Any) -> None:
        self.marked = False
        """Whether what moves the cursor selects."""
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
        self.insert_paste(with_line_feeds(event.text))
        self.completion.close()

    def action_paste(self) -> None:
        """Text copied within the program is as foreign as any paste."""
        self.insert_paste(with_line_feeds(self.app.clipboard))
        self.completion.close()

    def insert_paste(self, text: str) -> None:
        """Replace the selection with text that was not typed."""
        self.replace(text, *self.selection, maintain_selection_offset=False)

    def move_cursor(
        self,
        location: Location,
        select: bool = False,
        center: bool = False,
        record_width: bool = True,
    ) -> None:
        """Move it; with the mark set, select on the way."""
        super().move_cursor(location, select or self.marked, center, record_width)

    def action_edit_text(self, what: "TextEdit | Literal['mark', 'insert_copied']") -> None:
        """Edits that Textual's text areas do not have. A mark is set or removed; text copied in the program is
        inserted, whatever the desktop's clipboard holds."""
        if what == "mark":
            self.marked = not self.marked
            self.selection = Selection.cursor(self.selection.end)
        elif what == "insert_copied":
            self.insert_paste(with_line_feeds(self.app.clipboard))
            self.completion.close()
        else:
            from oi_tui.widgets.text_edits import do_edit  # seldom used

            do_edit(self, what)

    def edit(self, edit: Edit) -> EditResult:
        """Change the text, and let the list follow it."""
        self.marked = False
        result = super().edit(edit)
        self.completion.follow()
        return result

    def load_text(self, text: str) -> None:
        """Another text: the open list was for the one before."""
        self.marked = False
        super().load_text(text)
        self.completion.allow()
        self.completion.close()

    @on(Blur)
    @on(MouseDown)
    def _close_completion(self) -> None:
        """Who looks elsewhere, or moves the cursor, completes nothing."""
        self.completion.close()


def with_line_feeds(text: str) -> str:
    """The text with lines as Python ends them: terminals send a carriage return for each line of a paste."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
