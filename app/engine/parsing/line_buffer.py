"""Text that has arrived and is not read yet, looked at line by line."""

HELD_LINE = 256
"""What is decided about a line is decided by this many characters, so nothing longer is kept back."""


class LineBuffer:
    """A buffer with a place of reading in it."""

    def __init__(self) -> None:
        self.text = ""
        self.at = 0
        """The reading position in `text`."""
        self.ended = False
        """Whether nothing more will come."""
        self._passed = 0

    @property
    def place(self) -> int:
        """Characters of the whole text before the place of reading."""
        return self._passed + self.at

    @property
    def at_end(self) -> bool:
        """Whether all that has arrived is read."""
        return self.at == len(self.text)

    def feed(self, text: str) -> None:
        self._passed += self.at
        self.text = self.text[self.at :] + text
        self.at = 0

    def line(self) -> tuple[str, bool]:
        """The current line without its end, as far as it has arrived, and whether it is complete.

        At most one character beyond `HELD_LINE`; a longer line is never complete.
        """
        end = self.text.find("\n", self.at, self.at + HELD_LINE + 1)
        if end >= 0:
            return self.text[self.at : end], True
        line = self.text[self.at : self.at + HELD_LINE + 1]
        return line, self.ended and self.at + len(line) == len(self.text)

    def ahead(self, length: int) -> str:
        """The next `length` characters."""
        return self.text[self.at : self.at + length]

    def rest_of_line(self) -> str:
        """The line at hand with its end, or as much of it as is here."""
        end = self.text.find("\n", self.at) + 1
        return self.text[self.at : end or len(self.text)]

    def take_line(self) -> str:
        """Go behind what `rest_of_line` gives; returns it."""
        return self.take(len(self.rest_of_line()))

    def take(self, length: int) -> str:
        """Advance by `length` characters and return them."""
        start, self.at = self.at, self.at + length
        return self.text[start : self.at]
