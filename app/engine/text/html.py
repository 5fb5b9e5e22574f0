"""What a person reads of HTML: passages of text and grids of cells.

It is the text of a stranger, not yet safe to show. `hypertext_reader.py` makes it.
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple

TextMark = Literal["bold", "italic", "strike", "code"]


class Span(NamedTuple):
    """Text in one style."""

    text: str
    marks: frozenset[TextMark] = frozenset()
    target: str = ""
    """Where a link leads."""


class Passage(NamedTuple):
    """A paragraph, or what is set like one."""

    kind: Literal["paragraph", "heading", "item", "code", "rule"]
    spans: tuple[Span, ...] = ()
    """Spaces are collapsed, except in code; newlines break the line."""
    level: int = 0
    """Of a heading: 1 to 6; of everything else: the depth of lists around it."""
    label: str = ""
    """The text before an item."""
    quotes: int = 0
    """The depth of quotations around it."""

    @property
    def text(self) -> str:
        """All of it in one style."""
        return "".join(span.text for span in self.spans)


class Grid(NamedTuple):
    """A table: rows of one length."""

    rows: tuple[tuple[str, ...], ...]
    header: int
    """Rows at the top that are names of columns."""
    labels: int
    """Columns at the left that are names of rows."""
    caption: str = ""


class Document(NamedTuple):
    """The readable content: text, headings, links and tables."""

    parts: tuple[Passage | Grid, ...]
    is_whole: bool
    """False if it was too long."""
    has_scripts: bool
    """Whether it has scripts, which may be its only content."""


def as_text(document: Document) -> str:
    """The document as plain text that says what is what: `#` headings, `-` items, `|` tables."""
    return "\n\n".join(_join_close(map(_part_text, document.parts)))


def _part_text(part: Passage | Grid) -> tuple[bool, str]:
    """Whether it follows on what is before it without an empty line, and its text."""
    match part:
        case Grid(rows, header, _, caption):
            lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
            lines.insert(max(1, header), "|" + " --- |" * len(rows[0]))
            return False, "\n".join([*([caption] if caption else []), *lines])
        case Passage("rule"):
            return False, "---"
        case Passage("heading", level=level):
            return False, f"{'#' * level} {part.text}"
        case Passage("item", level=level, label=label):
            indent = "  " * max(0, level - 1)
            return True, f"{indent}{'-' if label == '•' else label} {_text_with_links(part.spans)}"
        case _:
            return False, "> " * part.quotes + _text_with_links(part.spans)


def _text_with_links(spans: Iterable[Span]) -> str:
    """The text, and where its links lead."""
    said: list[str] = []
    spans = list(spans)
    for number, span in enumerate(spans):
        said.append(span.text)
        last = number + 1 == len(spans) or spans[number + 1].target != span.target
        if span.target and last and span.text != span.target:
            said.append(f" ({span.target})")
    return "".join(said)


def _join_close(said: Iterable[tuple[bool, str]]) -> list[str]:
    groups: list[str] = []
    was_close = False
    for close, text in said:
        if close and was_close:
            groups[-1] += "\n" + text
        else:
            groups.append(text)
        was_close = close
    return groups
