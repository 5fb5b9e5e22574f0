"""Tables of Markdown: columns that give way to fit, and widths to be moved sideways where they cannot."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from oi_tui.widgets.timeline.definitions import ReferenceLookup
from oi_tui.widgets.timeline.ink import Ink
from oi_tui.widgets.timeline.inline import inline
from oi_tui.widgets.timeline.wrap import Line, TextRun, cells, wrap

if TYPE_CHECKING:
    from markdown_it.token import Token

READABLE = 12
"""Cells that a column is not made narrower than as long as the table can be moved sideways."""

LONGEST_WORD = 24
"""A longer word is broken before its column pushes others out of sight."""

WIDEST = 60
"""Cells of a column in a table that is moved sideways."""

_NARROWEST = 4
_BETWEEN = " │ "

TableCells = list[list[TextRun]]
"""A row of a table."""


class Needs(NamedTuple):
    """What a column asks for, in cells."""

    natural: int = 1
    """Not to be wrapped."""
    readable: int = 1
    """To stay readable."""

    def and_of(self, runs: Sequence[TextRun]) -> "Needs":
        """The needs with one more cell in the column."""
        text = "".join(text for text, _ in runs)
        natural = cell_len(text) if "\n" not in text else max(map(cell_len, text.split("\n")))
        if natural <= self.readable:
            return self
        word = READABLE
        if natural > READABLE:
            word = max(READABLE, min(LONGEST_WORD, max((cell_len(word) for word in text.split()), default=0)))
        return Needs(max(self.natural, natural), max(self.readable, min(natural, word)))


class Layout(NamedTuple):
    """Widths of columns, and how a row is set in them."""

    widths: list[int]
    aligned: list[str]
    """`left`, `center` or `right` for each column; "" is left."""
    ink: Ink

    @property
    def width(self) -> int:
        """Cells of a whole row."""
        return sum(self.widths) + len(_BETWEEN) * (len(self.widths) - 1)

    def row(self, row: TableCells) -> list[Line]:
        """The lines of a row; cells are wrapped."""
        columns = [wrap(runs, width) for runs, width in zip(row, self.widths, strict=False)]
        return [
            self._line([lines[number] if number < len(lines) else [] for lines in columns])
            for number in range(max(map(len, columns), default=0))
        ]

    def height(self, row: TableCells) -> int:
        """The number of lines of a row."""
        height = 1
        for runs, width in zip(row, self.widths, strict=False):
            # no character is wider than two cells: most texts need no closer look
            if sum(len(text) for text, _ in runs) * 2 > width or any("\n" in text for text, _ in runs):
                height = max(height, len(wrap(runs, width)))
        return height

    def rule(self) -> Line:
        """The row under the header."""
        return [Segment("─┼─".join("─" * width for width in self.widths), self.ink.faint)]

    def _line(self, columns: Iterable[Line]) -> Line:
        line: Line = []
        for number, (content, width) in enumerate(zip(columns, self.widths, strict=False)):
            spare = max(0, width - cells(content))
            left = {"right": spare, "center": spare // 2}.get(self.aligned[number], 0)
            if number:
                line.append(Segment(_BETWEEN, self.ink.faint))
            if left:
                line.append(Segment(" " * left, self.ink.page))
            line += content
            if spare > left and number < len(self.widths) - 1:
                line.append(Segment(" " * (spare - left), self.ink.page))
        return line


def lay_out_table(needs: Sequence[Needs], aligned: list[str], room: int, ink: Ink, *, slides: bool) -> Layout:
    """Columns for a room; wider than it only if the table `slides` and would not be readable otherwise."""
    free = room - len(_BETWEEN) * (len(needs) - 1)
    natural = [need.natural for need in needs]
    readable = [min(need.readable, need.natural) for need in needs]
    if sum(natural) <= free:
        return Layout(natural, aligned, ink)
    if sum(readable) <= free:
        return Layout(_shrink(natural, readable, free), aligned, ink)
    if slides:
        return Layout([min(WIDEST, width) for width in natural], aligned, ink)
    return Layout(_shrink(natural, [_NARROWEST] * len(needs), free), aligned, ink)


def rows_of(tokens: "Sequence[Token]", ink: Ink, asked: ReferenceLookup | None) -> tuple[list[TableCells], list[str]]:
    """Header and rows of a table, and how its columns are aligned."""
    rows: list[TableCells] = []
    aligned: list[str] = []
    for token, following in pairwise(tokens):
        if token.type == "tr_open":
            rows.append([])
        elif token.type in ("th_open", "td_open"):
            if token.type == "th_open":
                aligned.append(str(token.attrs.get("style", "")).removeprefix("text-align:"))
            base = ink.page + Style(bold=True) if token.type == "th_open" else ink.page
            rows[-1].append(inline(following, base, ink, asked))
    return rows, aligned


def needs_of(rows: Iterable[TableCells], needs: Sequence[Needs]) -> list[Needs]:
    """What columns ask for with these rows as well."""
    needs = list(needs)
    for row in rows:
        for column, runs in enumerate(row[: len(needs)]):
            needs[column] = needs[column].and_of(runs)
    return needs


def runs_of(line: Line) -> list[TextRun]:
    """A line as runs."""
    return [(segment.text, segment.style or Style()) for segment in line]


def _shrink(widths: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """The widest columns give way until all fit, or none can."""
    widths = list(widths)
    over = sum(widths) - room
    while over > 0:
        free = [column for column, width in enumerate(widths) if width > least[column]]
        if not free:
            break
        widest = max(widths[column] for column in free)
        same = [column for column in free if widths[column] == widest]
        floor = max(
            max(least[column] for column in same),
            max((widths[column] for column in free if widths[column] < widest), default=0),
        )
        less = max(1, min(widest - floor, -(-over // len(same))))
        for column in same:
            widths[column] -= min(less, over)
            over -= min(less, over)
    return widths
