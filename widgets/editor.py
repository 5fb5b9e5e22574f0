"""A source under the person's hands: the editor that takes the place of the question."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import ClassVar

from rich.style import Style
from textual.binding import Binding, BindingType
from textual.events import Key
from textual.message import Message
from textual.widgets.text_area import TextAreaTheme

from oi_tui.app.engine.text.safe import Editable, editable_text, without_hidden
from oi_tui.themes.palette import Palette
from oi_tui.widgets.keyrow import Hint
from oi_tui.widgets.text_box import TextBox

_LANGUAGES = {"python": "python", "shell": "bash", "javascript": "javascript", "rust": "rust"}
_THEME = "oi-tui"
_NOT_LOCAL = "(#is-not? local)"
"""Textual does not look at it, and tree-sitter 0.26.1 ends the process when a query that has it is made again."""
_SYNTAX = {
    "string": "string",
    "comment": "comment",
    "keyword": "keyword keyword.function keyword.return keyword.operator conditional repeat include exception",
    "operator": "operator",
    "number": "number float boolean constant.builtin",
    "function": "function function.call method method.call",
    "builtin": "function.builtin",
    "type": "type class",
}
"""Colours of code, and what Textual's editor calls the things that have them."""


def hidden_note(count: int) -> str:
    """What a person has to know of so many characters that are written out."""
    if count == 1:
        return "1 hidden character is written as <U+…>. It runs as long as that stands there."
    return f"{count:,} hidden characters are written as <U+…>. They run as long as that stands there."


@cache
def _query(language: str) -> str:
    """What Textual has coloured in this language, "" if that cannot be read."""
    try:
        query = (files("textual") / "tree-sitter" / "highlights" / f"{language}.scm").read_text(encoding="utf-8")
    except OSError:
        return ""
    return query.replace(_NOT_LOCAL, "")


class SourceEditor(TextBox):
    """Numbered lines, colours, Tab indents; finishes or gives up by key."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Hint(
            "ctrl+s,ctrl+enter,f5",
            "finish",
            "Back to the question with this source",
            id="editor.finish",
            label="done, back to the question",
            short="done",
        ),
        Binding("ctrl+underscore", "undo", "Undo", id="editor.undo", key_display="ctrl+_"),
        Hint("escape", "give_up", "Forget the changes", id="editor.cancel", label="forget changes", short="cancel"),
    ]

    DEFAULT_CSS = """
    SourceEditor {
        border: none;
        padding: 0;
        background: $surface-code;
        scrollbar-size: 0 1;
        &:focus { border: none; }
    }
    """

    @dataclass
    class Finished(Message):
        """The person is done with it; None leaves the source as it was."""

        source: str | None

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(
            id=id, show_line_numbers=True, soft_wrap=False, tab_behavior="indent", highlight_cursor_line=False
        )
        self.cursor_blink = False
        self._begun: Editable = editable_text("")

    @property
    def hidden_count(self) -> int:
        """How many characters of the source that was begun with are written out as `<U+202E>`."""
        return self._begun.hidden

    def set_palette(self, palette: Palette) -> None:
        """Other colours from now on."""
        code = palette.code
        self.register_theme(
            TextAreaTheme(
                name=_THEME,
                cursor_line_style=None,
                gutter_style=Style(color=palette.inks.dim),
                syntax_styles={
                    name: Style(color=getattr(code, ink), italic=ink == "comment" or None)
                    for ink, names in _SYNTAX.items()
                    for name in names.split()
                },
            )
        )
        self.theme = _THEME

    def begin(self, source: str, language: str) -> None:
        """Begin with this source; what cannot be seen of it is written out, and stays unless the person removes it."""
        name = _LANGUAGES.get(language)
        if name is not None and name in self.available_languages:
            self.update_highlight_query(name, _query(name))
            self.language = name
        else:
            self.language = None
        self._begun = editable_text(source)
        self.load_text(self._begun.text)
        self.focus()

    def on_key(self, event: Key) -> None:
        """Escape is ours: the base class would move the focus on."""
        if event.key == "escape":
            event.stop()
            event.prevent_default()
            self.action_give_up()

    def insert_paste(self, text: str) -> None:
        """Nothing that a terminal obeys gets in by a paste."""
        super().insert_paste(without_hidden(text))

    def action_finish(self) -> None:
        """Back to the question, with what the text stands for."""
        self.post_message(self.Finished(self._begun.read(self.text)))

    def action_give_up(self) -> None:
        """Back to the question, unchanged."""
        self.post_message(self.Finished(None))
