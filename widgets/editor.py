"""A source under the person's hands: the editor that takes the place of the question."""

import re
from functools import cache
from importlib.resources import files
from typing import ClassVar

from rich.style import Style
from textual.binding import BindingType
from textual.events import Key
from textual.message import Message
from textual.widgets.text_area import TextAreaTheme

from oi_tui.app.engine.text.safe import Editable, editable_text, without_hidden
from oi_tui.themes.palette import Palette, rich_palette
from oi_tui.widgets.keyrow import Hint, KeyLabel, key_in_use, key_labels
from oi_tui.widgets.text_box import TextBox, editing_keys
from oi_tui.widgets.timeline.source_view import gutter_width

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
    """The note about this many characters that are written out."""
    if count == 1:
        return "1 hidden character is written as <U+…>. It runs as long as that text stays."
    return f"{count:,} hidden characters are written as <U+…>. They run as long as that text stays."


INDENT = 4
"""Blanks of a level."""

_OPENS = re.compile(r"[:({\[]\s*(?:#.*)?\Z")
_LEAVES = re.compile(r"(?:return|pass|break|continue|raise)\b")


def indent_below(above: str) -> str:
    """The indentation of a new line below this one: deeper where it opens a block, less deep where it leaves one."""
    code = above.lstrip(" \t")
    indent = above[: len(above) - len(code)]
    if _OPENS.search(code):
        return f"{indent}\t" if indent.endswith("\t") else indent + " " * INDENT
    return indent[:-INDENT] if _LEAVES.match(code) and indent.endswith(" " * INDENT) else indent


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
            "Done: back to the question, with the edited code",
            id="editor.finish",
            label="done",
        ),
        Hint("escape", "give_up", "Discard the changes", id="editor.cancel", label="back"),
        *editing_keys("editor"),
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

    class Finished(Message):
        """The person is done with it; None leaves the source as it was."""

        def __init__(self, source: str | None) -> None:
            super().__init__()
            self.source = source

    class Hesitated(Message):
        """Escape was pressed over changes, or the user continued after that: the keys change their meaning."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(
            id=id, show_line_numbers=True, soft_wrap=False, tab_behavior="indent", highlight_cursor_line=False
        )
        self.cursor_blink = False
        self._begun: Editable = editable_text("")
        self._discarding = False
        """Whether the next Escape discards the changes."""

    @property
    def gutter_width(self) -> int:
        """Columns of the line numbers: as many as the question has, so that the text stays where it is."""
        lines = self.document.line_count - (not self.document.get_line(self.document.line_count - 1))
        return gutter_width(lines)

    def labels(self) -> tuple[KeyLabel, ...]:
        """The keys that end it."""
        if not self._discarding:
            return key_labels(self)
        discard = KeyLabel(
            key_in_use(self, "editor.cancel"),
            "again discards your changes",
            "again discards",
            owner=self,
            action="give_up",
        )
        return discard, KeyLabel("any other key", "keep editing", "keep")

    @property
    def hidden_count(self) -> int:
        """How many characters of the source that was begun with are written out as `<U+202E>`."""
        return self._begun.hidden

    def set_palette(self, palette: Palette) -> None:
        """Other colours from now on."""
        palette = rich_palette(palette)
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
        self._discarding = False
        self.load_text(self._begun.text)
        self.focus()

    def on_key(self, event: Key) -> None:
        """Escape is ours: the base class would move the focus on. A new line is indented."""
        if event.key != "escape" and self._discarding:
            self._hesitate(False)
        if self.completion.take_key(event):
            return
        match event.key:
            case "escape":
                self.action_give_up()
            case "tab" if self.language == "python" and self.selection.is_empty and self.completion.request():
                pass
            case "enter":
                above = self.document.get_line(self.selection.start[0])[: self.selection.start[1]]
                self.replace("\n" + indent_below(above), *self.selection, maintain_selection_offset=False)
            case _:
                return
        event.stop()
        event.prevent_default()

    def action_delete_left(self) -> None:
        """Delete a character, or a level of indentation if only spaces precede the cursor."""
        row, column = self.selection.end
        before = self.document.get_line(row)[:column]
        if self.selection.is_empty and before and not before.strip(" "):
            self.replace("", (row, (column - 1) // INDENT * INDENT), (row, column), maintain_selection_offset=False)
        else:
            super().action_delete_left()

    def insert_paste(self, text: str) -> None:
        """Insert a paste, without characters that control a terminal."""
        super().insert_paste(without_hidden(text))

    def action_finish(self) -> None:
        """Back to the question, with the edited source."""
        self.post_message(self.Finished(self._begun.read(self.text)))

    def action_give_up(self) -> None:
        """Back to the question, unchanged; over changes, Escape must be pressed twice."""
        if self.text == self._begun.text or self._discarding:
            self.post_message(self.Finished(None))
        else:
            self._hesitate(True)

    def _hesitate(self, discarding: bool) -> None:
        self._discarding = discarding
        self.post_message(self.Hesitated())
