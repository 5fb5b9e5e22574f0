"""The source of a fenced block while it arrives, and the texts inside it in which backticks close nothing.

A line that looks like the closing fence may be inside a string. Then nothing more is shown until a later line does
close the block; if none does, the first line was right after all, and everything after it is read again.
"""

import re

from oi_tui.app.engine.core.values import Language


class FencedSource:
    """The source of the block that is open, and how far it is certain that it is source."""

    def __init__(self, language: Language, *, trusting: bool = False) -> None:
        """`trusting`: every line that can close the block does."""
        self.language = language
        self.rest: list[str] | None = None
        """The text from the first line on that might have closed the block, where it did not."""
        self._parts: list[str] = []
        self._shown = 0
        self._watched = 0
        self._certain = 0
        self._open_text = None if trusting else open_text(language)

    def add(self, text: str) -> str:
        """More source; returns what of it may be shown."""
        self._parts.append(text)
        return self.show_all() if self.rest is None else ""

    def closes(self) -> bool:
        """Whether a closing line here is one; if not, it is in a string, and from here on nothing is certain."""
        if self._open_text is None:
            return True
        self._open_text.feed("".join(self._parts[self._watched :]) + "\n")
        self._watched = len(self._parts)
        if self._open_text.open and self.rest is None:
            self._certain, self.rest = len(self._parts), []
        return not self._open_text.open

    def pass_by(self, text: str) -> None:
        """The text of the answer that the source comes from, in case that it is read again."""
        if self.rest is not None:
            self.rest.append(text)

    def show_all(self) -> str:
        """The rest of a closed block that was not shown yet."""
        text = "".join(self._parts[self._shown :])
        self._shown = len(self._parts)
        return text

    def whole(self) -> str:
        return "".join(self._parts)

    def split(self) -> tuple[str, str]:
        """The source up to the first line that might have closed it, and the text behind that line."""
        return "".join(self._parts[: self._certain]), "".join(self.rest or ()).partition("\n")[2]


def open_text(language: Language) -> "TripleQuotes | HereDocument | None":
    """What watches a source for text in which a line of backticks closes nothing; None where none is needed."""
    match language:
        case "python":
            return TripleQuotes()
        case "shell":
            return HereDocument()
        case _:
            return None


class TripleQuotes:
    """Python: strings in triple quotes."""

    _OUTSIDE = re.compile(r"""\#[^\n]*|\"{3}|'{3}|"(?:\\.|[^"\\\n])*["\n]?|'(?:\\.|[^'\\\n])*['\n]?""", re.DOTALL)
    _INSIDE = re.compile(r"""\\.|\"{3}|'{3}""", re.DOTALL)

    def __init__(self) -> None:
        self._quotes = ""

    @property
    def open(self) -> bool:
        """Whether a string is open."""
        return bool(self._quotes)

    def feed(self, source: str) -> None:
        """More of the source: whole lines."""
        at = 0
        while found := (self._INSIDE if self._quotes else self._OUTSIDE).search(source, at):
            at = found.end()
            if self._quotes == found.group():
                self._quotes = ""
            elif not self._quotes and found.group() in ("'''", '"""'):
                self._quotes = found.group()


class HereDocument:
    """Shell: the text between `<<WORD` and a line that is WORD."""

    _BEGIN = re.compile(r"(?<!<)<<-?[ \t]*(['\"]?)([A-Za-z_]\w*)\1")

    def __init__(self) -> None:
        self._word = ""

    @property
    def open(self) -> bool:
        """Whether a document is open."""
        return bool(self._word)

    def feed(self, source: str) -> None:
        """More of the source: whole lines."""
        for line in source.split("\n"):
            if not self._word:
                found = self._BEGIN.search(line)
                self._word = found.group(2) if found else ""
            elif line.strip("\t") == self._word:
                self._word = ""
