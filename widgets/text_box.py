"""What every place to write several lines in shares: undo that ends nothing, and pastes that keep their lines.

`PromptArea` and `SourceEditor` are one of these. What a paste may contain is theirs to say.
"""

from textual.events import Paste
from textual.widgets import TextArea
from textual.widgets.text_area import Location


class TextBox(TextArea):
    """A `TextArea` whose pastes come to `insert_paste`, each line ended by a line feed."""

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

    def action_paste(self) -> None:
        """What was copied within the program is as foreign as any paste."""
        self.insert_paste(_with_line_feeds(self.app.clipboard))

    def insert_paste(self, text: str) -> None:
        """Put what was not typed in the place of the selection."""
        self.replace(text, *self.selection, maintain_selection_offset=False)


def _with_line_feeds(text: str) -> str:
    """The text with lines as Python ends them: terminals send a carriage return for each line of a paste."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
