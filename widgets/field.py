"""A line to type into that shows nothing a terminal would obey, whoever put it there.

Textual's own paints its value as it is: what was pasted, what a file is called, the title of a session.
"""

from textual.widgets import Input

from oi_tui.app.engine.text.safe import safe_text


class Field(Input):
    """An `Input` whose value is made safe whenever it is set."""

    def validate_value(self, value: str) -> str:
        """The value that is kept; one line of it."""
        return safe_text(value).replace("\n", " ").replace("\t", " ")
