"""HTML as text: passages as prose is set, tables in columns. Nothing is run or fetched; links say where they lead."""

import re
from collections.abc import Iterator

from rich.segment import Segment
from rich.style import Style

from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.text.html import Document, Grid, Passage, Span
from oi_tui.app.engine.text.html_reader import read_html
from oi_tui.widgets.timeline.ink import Ink
from oi_tui.widgets.timeline.inline import shorten_target
from oi_tui.widgets.timeline.markdown_lines import HREF, clean_text
from oi_tui.widgets.timeline.outputs.layout import fold_lines, is_folded
from oi_tui.widgets.timeline.outputs.table_lines import has_more, table_lines
from oi_tui.widgets.timeline.row_pieces import PROSE_WIDTH, BlockDisplay, Canvas, DrawnContent, RowPiece, rows
from oi_tui.widgets.timeline.table_data import TableColumn, TableData, build_table
from oi_tui.widgets.timeline.wrap import Line, TextRun, cells, fold_runs, wrap

NARROWEST = 8
"""Cells that text has at least, however deeply it is nested."""

_NUMBER = re.compile(r"[-+−]?[0-9][0-9,.  ]*(?:[eE][-+]?[0-9]+)?\s?%?|NaN|nan|<NA>|")


class HtmlText(DrawnContent):
    """A `text/html` result, drawn as text."""

    def __init__(self, document: Document) -> None:
        self._parts: list[Passage | TableData] = []
        for part in document.parts:
            if isinstance(part, Grid) and part.caption:
                self._parts.append(Passage("paragraph", (Span(part.caption, frozenset(("bold",))),)))
            self._parts.append(table_of_grid(part) if isinstance(part, Grid) else part)
        self._is_whole = document.is_whole
        self._scripts = document.has_scripts
        self.beyond = 0
        self._folds_tables = self.has_more = any(isinstance(part, TableData) and has_more(part) for part in self._parts)

    @classmethod
    def of(cls, output: RichOutput) -> "HtmlText | None":
        """The document, if there is something to read in it."""
        markup = output.data.get("text/html")
        if not isinstance(markup, str):
            return None
        document = read_html(markup)
        return cls(document) if document.parts or document.has_scripts else None

    def pieces(self, canvas: Canvas, display: BlockDisplay) -> list[RowPiece]:
        """The lines of all parts, or the first and last of them."""
        ink, room = canvas.ink, canvas.room
        self.beyond = 0
        lines: list[Line] = []
        before: Passage | TableData | None = None
        for part in self._parts:
            if before is not None and not _is_close(before, part):
                lines.append([])
            if isinstance(part, TableData):
                drawn, beyond = table_lines(part, ink, room, display, canvas.keys)
                self.beyond = max(self.beyond, beyond)
                lines += drawn
            else:
                lines += _passage(part, ink, room)
            before = part
        self.has_more = self._folds_tables or is_folded(len(lines))
        if len(self._parts) > 1:  # a table alone has shortened itself
            lines = fold_lines(lines, display.fold, ink.console_dim, canvas.keys)
        lines += _remarks(self._is_whole, scripts=self._scripts and not self._parts, ink=ink, room=room)
        return [rows(canvas, lines, ink.console, "│", ink.console_faint)]


def table_of_grid(grid: Grid) -> TableData:
    """A table of a document: names of columns from its header, numbers known by their look."""
    width = len(grid.rows[0])
    header, body = grid.rows[: grid.header], grid.rows[grid.header :]
    columns = []
    for at in range(width):
        names = dict.fromkeys(row[at] for row in header if row[at])
        values = [row[at] for row in body]
        is_number = any(values) and all(_NUMBER.fullmatch(value[:60]) for value in values)
        columns.append(TableColumn(" / ".join(names), "", is_number))
    return build_table(columns, body, index=min(grid.labels, max(0, width - 1)))


def _is_close(before: Passage | TableData, part: Passage | TableData) -> bool:
    """Whether two parts follow each other without an empty line."""
    if isinstance(before, TableData) or isinstance(part, TableData):
        return False
    return part.kind == "item" and (before.kind == "item" or before.level > 0) and before.kind != "heading"


def _passage(part: Passage, ink: Ink, room: int) -> Iterator[Line]:
    quote = [Segment("▎ " * min(part.quotes, 4), ink.console_faint)] if part.quotes else []
    depth = max(0, part.level - 1) if part.kind == "item" else 0
    indent = "  " * min(depth, 8)
    label = f"{part.label} " if part.label else ""
    inner = max(NARROWEST, min(PROSE_WIDTH, room) - cells(quote) - len(indent) - len(label))
    match part.kind:
        case "rule":
            yield [Segment("─" * min(PROSE_WIDTH, room), ink.console_faint)]
            return
        case "code":
            content = clean_text(part.text).split("\n")
            lines = [line for row in content for line in fold_runs([(row, ink.console)], inner)]
        case _:
            lines = wrap(_runs(part, ink), inner)
    for number, line in enumerate(lines):
        start = Segment(indent + (label if number == 0 else " " * len(label)), ink.console_dim)
        yield [*quote, *([start] if start.text else []), *line]
    if part.kind == "heading" and part.level == 1 and lines:
        yield [Segment("─" * max(map(cells, lines)), ink.console_faint)]


def _runs(part: Passage, ink: Ink) -> list[TextRun]:
    base = ink.console
    if part.kind == "heading":
        base += Style(bold=True, color=ink.palette.inks.user if part.level < 3 else None)
    if part.quotes:
        base += Style(color=ink.palette.inks.dim)
    runs: list[TextRun] = []
    text = ""
    for number, span in enumerate(part.spans):
        marks = span.marks
        style = base + Style(bold="bold" in marks or None, italic="italic" in marks or None)
        style += Style(strike="strike" in marks or None)
        if "code" in marks:
            style += Style(bgcolor=ink.palette.surfaces.surface)
        said = clean_text(span.text)
        if span.target:
            style += Style(color=ink.palette.inks.link, underline=True, meta={HREF: span.target})
            text += said
        runs.append((said, style))
        following = part.spans[number + 1].target if number + 1 < len(part.spans) else ""
        if span.target and following != span.target:
            if text.strip() != span.target:
                runs.append((f" ({shorten_target(span.target)})", base + Style(color=ink.palette.inks.dim)))
            text = ""
    return runs


def _remarks(is_whole: bool, *, scripts: bool, ink: Ink, room: int) -> Iterator[Line]:
    if not is_whole:
        yield from wrap([("… the rest of a long document is left out here", ink.console_dim)], room)
    if scripts:
        yield from wrap([("an interactive page: only a browser can show it", ink.console_dim)], room)
