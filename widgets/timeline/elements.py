"""The parts that a Markdown text is taken apart into: elements at its top level, and items of lists there.

Each is drawn by itself. What does not follow from its own text, it says: labels that it asked for
and that may still get another meaning, rows that can be moved sideways, code that can be numbered.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from oi_tui.widgets.timeline.definitions import Definitions, ReferenceLookup
from oi_tui.widgets.timeline.grammar import is_cut
from oi_tui.widgets.timeline.highlighted_source import HighlightedSource, SourceRows
from oi_tui.widgets.timeline.markdown_lines import MarkdownLines
from oi_tui.widgets.timeline.row_pieces import PROSE_WIDTH, BlockDisplay, Canvas, RowPiece, Rows, Stack, rows
from oi_tui.widgets.timeline.table_rows import MarkdownTable
from oi_tui.widgets.timeline.wrap import crop, wrap

if TYPE_CHECKING:
    from markdown_it.token import Token

OPENING = re.compile(r"( {0,3})(`{3,}(?=[^`]*$)|~{3,})(.*)")
"""The first line of a fence."""

TABLE_HEAD = 2
"""Lines of a table before its rows."""


class Start(NamedTuple):
    """Where an element starts."""

    line: int = 0
    close: bool = False
    """Whether no empty row parts it from the element before: an item of a list."""
    number: int | None = None
    """Of an item of an ordered list."""
    table: bool = False
    """Whether it is a table."""


class FencedCode:
    """A fenced code block at the top level, open until its closing line has come."""

    open: frozenset[str] = frozenset()
    beyond = 0
    has_code = True

    def __init__(self, opening: re.Match[str]) -> None:
        indent, fence, info = opening.groups()
        self.label = info.strip().split(" ")[0]
        self.source = HighlightedSource(self.label.lower())
        self._indent = re.compile(rf" {{0,{len(indent)}}}")
        self._closing = re.compile(rf" {{0,3}}{re.escape(fence)}{fence[0]}*[ \t]*")
        self._beginning = re.compile(rf" {{0,3}}{fence[0]}+[ \t]*")
        self._text = ""
        self._rows: SourceRows | None = None
        self._drawn_for: tuple[Canvas, bool] | None = None

    def closes(self, line: str) -> bool:
        """Whether `line` ends the fence."""
        return self._closing.fullmatch(line) is not None

    def may_close(self, line: str) -> bool:
        """Whether `line` could become the end of the fence when more of it comes."""
        return self._beginning.fullmatch(line) is not None

    def take(self, lines: list[str]) -> None:
        self._text += "".join(self._content(line) + "\n" for line in lines)

    def show(self, unfinished: str = "", *, complete: bool) -> None:
        """Show the rows of the complete text, and of a last line that may still grow."""
        changed = self.source.update(self._text + self._content(unfinished), complete=complete)
        if self._rows is not None:
            self._rows.invalidate(changed)

    def pieces(self, canvas: Canvas, display: BlockDisplay, definitions: Definitions) -> list[RowPiece]:
        if self._rows is None or self._drawn_for != (canvas, display.numbers):
            self._drawn_for = canvas, display.numbers
            self._rows = SourceRows(self.source, canvas, numbers=display.numbers)
        if not self.label:
            return [self._rows]
        label = crop([(self.label, canvas.ink.dim)], canvas.room)
        return [rows(canvas, [label], canvas.ink.page), self._rows]

    def _content(self, line: str) -> str:
        found = self._indent.match(line)
        return line[found.end() :] if found else line


class Element:
    """A Markdown element at the top level, or an item of a list there."""

    def __init__(self, text: str, start: Start) -> None:
        self._text = text
        self._start = start
        self.open: frozenset[str] = frozenset()
        """Labels that it asked for and that may get another meaning."""
        self.beyond = 0
        """Cells by which its widest row is too wide."""
        self.has_code = False
        """Whether its rows change when lines of code are numbered."""

    def pieces(self, canvas: Canvas, display: BlockDisplay, definitions: Definitions) -> list[RowPiece]:
        asked = ReferenceLookup(definitions)
        tokens = canvas.markdown.parse(self._text, {"references": asked})
        drawn = MarkdownLines(canvas, self._start.number, display=display, asked=asked)
        if is_cut(tokens):
            lines = wrap([(self._text, canvas.ink.dim)], min(canvas.room, PROSE_WIDTH))
        else:
            lines = drawn.draw(tokens)
        self.open, self.beyond, self.has_code = frozenset(asked.open), drawn.beyond, drawn.has_code
        return [rows(canvas, lines, canvas.ink.page)]


class ElementColumn(Stack):
    """Drawn elements one below the other, empty ones too; each can be drawn again, with another height."""

    def __len__(self) -> int:
        return len(self._pieces)

    def append(self, piece: RowPiece) -> None:
        self._pieces.append(piece)
        self._starts.append(self.height)
        self.height += piece.height

    def start(self, index: int) -> int:
        """Rows above an element."""
        return self._starts[index]

    def replace(self, index: int, part: Stack) -> None:
        """Another drawing of an element."""
        more = part.height - self._pieces[index].height
        self._pieces[index] = part
        if more:
            self._starts[index + 1 :] = [start + more for start in self._starts[index + 1 :]]
            self.height += more


def element_pieces(
    start: Start,
    element: Element | FencedCode | MarkdownTable,
    canvas: Canvas,
    display: BlockDisplay,
    definitions: Definitions,
    *,
    first: bool,
) -> Iterator[RowPiece]:
    """What is drawn of an element, behind the empty row that parts it from what is above."""
    pieces = [piece for piece in element.pieces(canvas, display, definitions) if piece.height]
    if pieces and not first and not start.close:
        yield Rows([canvas.blank])
    yield from pieces


def build_element(lines: list[str], start: Start) -> Element | FencedCode | MarkdownTable:
    """The element that these lines make."""
    if start.table:
        table = MarkdownTable(lines[:TABLE_HEAD])
        table.take([line for line in lines[TABLE_HEAD:] if line.strip()])
        return table
    opening = OPENING.fullmatch(lines[0])
    if opening is None:
        return Element("\n".join(lines), start)
    fence = FencedCode(opening)
    content = lines[1:]
    fence.take(content[: next((number for number, line in enumerate(content) if fence.closes(line)), len(content))])
    fence.show(complete=True)
    return fence


def starts_of(tokens: "Iterable[Token]", lines: Sequence[str], lead: Start) -> list[Start]:
    """Where elements start; lists are taken apart into their items, so that a long one is not one element.

    A definition is an element without rows. The paragraph in the line after it may become its title as
    long as nothing follows: then it is no element of its own.
    """
    starts: list[Start] = []
    number: int | None = None
    before = ""  # kind of the element or item above
    defined_to = -1
    for token in tokens:
        if token.map is None or token.nesting < 0 or token.level > 1:
            continue
        line = token.map[0]
        match token.type:
            case "list_item_open":
                starts.append(_next(starts, line, lines, lead, number, close=before == "item"))
                number = None if number is None else number + 1
                before = "item"
            case _ if token.level:
                pass
            case "ordered_list_open":
                number = lead.number if not starts and lead.number is not None else int(token.attrs.get("start", 1))
                before = ""
            case "bullet_list_open":
                number, before = None, ""
            case "footnote_reference_open":
                starts.append(_next(starts, line, lines, lead, None, close=before == "note"))
                before = "note"
            case _:
                starts.append(Start(line, table=token.type == "table_open"))
                before = token.type
                if token.type == "definition":
                    defined_to = token.map[1]
    if len(starts) > 1 and before == "paragraph_open" and starts[-1].line == defined_to:
        starts.pop()
    return starts


def _next(
    starts: Sequence[Start], line: int, lines: Sequence[str], lead: Start, number: int | None, *, close: bool
) -> Start:
    if not starts:
        return Start(line, lead.close, number)
    return Start(line, close and bool(lines[line - 1].strip()), number)
