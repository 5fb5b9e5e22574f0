"""An input line that never shows control sequences, whatever its source.

Textual's own paints its value verbatim: pasted text, a file's name, the title of a session.
"""

from textual.widgets import Input

from oi_tui.app.engine.text.safe import safe_text


class Field(Input):
    """An `Input` whose value is made safe whenever it is set."""

    def validate_value(self, value: str) -> str:
        """The value that is kept; one line of it."""
        return safe_text(value).replace("\n", " ").replace("\t", " ")
