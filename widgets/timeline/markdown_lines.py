"""Draws one Markdown element: headings, paragraphs, lists, quotes, tables, formulas, fences inside lists.

The text is safe already (`prose.py` cleans it before it is parsed). Raw HTML is shown verbatim, pictures are never
fetched, and a link always shows its target.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from oi_tui.widgets.timeline.definitions import ReferenceLookup
from oi_tui.widgets.timeline.highlighted_source import number_width
from oi_tui.widgets.timeline.ink import Ink
from oi_tui.widgets.timeline.inline import HREF, clean_text, inline, note_mark, spaced_line, with_task_box
from oi_tui.widgets.timeline.lexing import lex_whole
from oi_tui.widgets.timeline.math import readable_math
from oi_tui.widgets.timeline.row_pieces import PROSE_WIDTH, BlockDisplay, Canvas
from oi_tui.widgets.timeline.table_layout import Needs, lay_out_table, needs_of, rows_of, runs_of
from oi_tui.widgets.timeline.wrap import Continuation, Line, TextRun, cells, crop, fold_runs, window, wrap

if TYPE_CHECKING:
    from markdown_it.token import Token

__all__ = ["HREF", "MarkdownLines", "clean_text", "spaced_line"]

_NARROWEST = 4


@dataclass(slots=True)
class _Indent:
    """The text before the lines of a list item or quote."""

    first: str
    rest: str
    style: Style
    used: bool = False


class MarkdownLines:
    """Turns the tokens of an element into lines; used once.

    With `number` an ordered list at the top level counts from there, whatever the text says. `asked` knows the
    footnotes of the whole document.
    """

    def __init__(
        self,
        canvas: Canvas,
        number: int | None = None,
        *,
        display: BlockDisplay | None = None,
        asked: ReferenceLookup | None = None,
    ) -> None:
        self._first_number = number
        self._display = display or BlockDisplay()
        self._asked = ReferenceLookup() if asked is None else asked
        self._ink: Ink = canvas.ink
        self._room = canvas.room
        self._lines: list[Line] = []
        self._indents: list[_Indent] = []
        self._numbers: list[int | None] = []
        self._quotes = 0
        self._starts_item = False
        self.beyond = 0
        """Cells by which the widest line is too wide; it is moved sideways by `display.shift`."""
        self.has_code = False
        """Whether lines change with `display.numbers`."""

    def draw(self, tokens: "Sequence[Token]") -> list[Line]:
        """The lines of all `tokens`."""
        self._asked.add_notes(tokens)
        index = 0
        while index < len(tokens):
            token = tokens[index]
            match token.type:
                case "table_open":
                    end = _closing(tokens, index)
                    self._gap(token)
                    self._table(tokens[index:end])
                    index = end
                case "heading_open":
                    self._gap(token)
                    self._heading(tokens[index + 1], int(token.tag[1:]))
                    index += 2
                case _:
                    self._block(token)
            index += 1
        return self._lines

    @property
    def _base(self) -> Style:
        return self._ink.dim if self._quotes else self._ink.page

    def _block(self, token: "Token") -> None:
        match token.type:
            case "inline":
                runs = inline(token, self._base, self._ink, self._asked)
                self._emit(wrap(with_task_box(runs) if self._starts_item else runs, self._width(PROSE_WIDTH)))
                self._starts_item = False
            case "paragraph_open":
                if not token.hidden:
                    self._gap(token)
            case "bullet_list_open":
                self._gap(token)
                self._numbers.append(None)
            case "ordered_list_open":
                self._gap(token)
                own = int(token.attrs.get("start", 1))
                counted = self._first_number if token.level == 0 else None
                self._numbers.append(own if counted is None else counted)
            case "bullet_list_close" | "ordered_list_close":
                self._numbers.pop()
            case "list_item_open":
                self._item()
            case "list_item_close" | "footnote_reference_close":
                self._close_indent()
            case "footnote_reference_open":
                self._gap(token)
                mark = note_mark(str(token.meta["label"])) + " "
                self._indents.append(_Indent(mark, " " * cell_len(mark), self._ink.dim))
            case "blockquote_open":
                self._gap(token)
                self._quotes += 1
                self._indents.append(_Indent("▎ ", "▎ ", self._ink.faint))
            case "blockquote_close":
                self._quotes -= 1
                self._indents.pop()
            case _:
                self._leaf(token)

    def _leaf(self, token: "Token") -> None:
        match token.type:
            case "fence" | "code_block":
                self._gap(token)
                self._code(token)
            case "math_block":
                self._gap(token)
                self._math(token)
            case "hr":
                self._gap(token)
                self._emit([[Segment("─" * self._width(PROSE_WIDTH), self._ink.faint)]])
            case "html_block":
                self._gap(token)
                self._emit(wrap([(token.content.rstrip("\n"), self._ink.dim)], self._width(PROSE_WIDTH)))
            case _:
                pass

    def _width(self, most: int | None = None) -> int:
        room = self._room if most is None else min(most, self._room)
        return max(_NARROWEST, room - sum(len(indent.rest) for indent in self._indents))

    def _emit(self, lines: Iterable[Line]) -> None:
        if not self._indents:
            self._lines += lines
            return
        for line in lines:
            before: Line = []
            for indent in self._indents:
                before.append(Segment(indent.rest if indent.used else indent.first, indent.style))
                indent.used = True
            whole = before + line
            if isinstance(line, Continuation):
                whole = Continuation(whole, line.joint, cells(before) + line.lead, line.fill)
            self._lines.append(whole)

    def _gap(self, token: "Token") -> None:
        """An empty line, unless the element is the first one of its container, or in a tight list."""
        fresh = any(not indent.used for indent in self._indents)
        tight_sublist = token.type.endswith("list_open") and len(self._numbers) > 0
        if self._lines and not fresh and not tight_sublist:
            self._emit([[]])

    def _heading(self, content: "Token", level: int) -> None:
        ink = self._ink
        style = (ink.strong + Style(underline=level == 2)) if level < 3 else ink.page + Style(bold=True)
        lines = wrap(inline(content, style, ink, self._asked), self._width(PROSE_WIDTH))
        self._emit(lines)
        if level == 1:
            self._emit([[Segment("─" * max(map(cells, lines)), ink.faint)]])

    def _item(self) -> None:
        number = self._numbers[-1]
        if number is None:
            first = "•" if len(self._numbers) % 2 else "◦"
        else:
            first = f"{number}."
            self._numbers[-1] = number + 1
        self._starts_item = True
        self._indents.append(_Indent(first + " ", " " * (len(first) + 1), self._ink.dim))

    def _close_indent(self) -> None:
        if not self._indents[-1].used:
            self._emit([[]])
        self._starts_item = False
        self._indents.pop()

    def _code(self, token: "Token") -> None:
        """Lines on the ground of code, behind their numbers where these are asked for."""
        ink = self._ink
        self.has_code = True
        content = token.content.rstrip("\n")
        language = token.info.split(" ")[0].strip()
        if language:
            self._emit([crop([(clean_text(language), ink.dim)], self._width())])
        lexed = lex_whole(language, content)[: content.count("\n") + 1]
        margin = number_width(len(lexed), self._width()) if self._display.numbers else 0
        width = self._width() - margin
        for number, line in enumerate(lexed, 1):
            runs = [(text, ink.token(kind)) for kind, text in line]
            for part, row in enumerate(fold_runs(runs, width)):
                fill = width - cells(row)
                label = f"{'' if part else number:>{margin - 1}} " if margin else ""
                whole = [Segment(label, ink.code_faint), *row, Segment(" " * fill, ink.code)]
                joint = row.joint if isinstance(row, Continuation) else "\n"
                self._emit([Continuation(whole, joint, margin, fill)])

    def _math(self, token: "Token") -> None:
        if not token.meta["closed"]:
            self._emit(wrap([(clean_text(token.content), self._base)], self._width(PROSE_WIDTH)))
            return
        nested = bool(self._indents)
        self._indents.append(_Indent("  ", "  ", self._ink.page))
        width = self._width()
        lines = clean_text(readable_math(token.content)).split("\n")
        widest = max(cells([Segment(line)]) for line in lines)
        if widest <= width:
            self._emit([[Segment(line, self._base)] for line in lines])
        elif len(lines) > 1 and not nested:
            self._slide([[(line, self._base)] for line in lines], widest, width)
        else:
            self._emit(wrap([(clean_text(readable_math(token.content, rows=False)), self._base)], width))
        self._indents.pop()

    def _slide(self, lines: Iterable[Sequence[TextRun]], widest: int, width: int) -> None:
        """Lines that are too wide, moved sideways."""
        self.beyond = max(self.beyond, widest - width)
        self._emit(window(line, self._display.shift, width) if line else [] for line in lines)

    def _table(self, tokens: "Sequence[Token]") -> None:
        rows, aligned = rows_of(tokens, self._ink, self._asked)
        width = self._width()
        needs = needs_of(rows, [Needs()] * len(aligned))
        layout = lay_out_table(needs, aligned, width, self._ink, slides=not self._indents)
        lines = layout.row(rows[0])
        lines.append(layout.rule())
        for row in rows[1:]:
            lines += layout.row(row)
        if layout.width <= width:
            self._emit(lines)
        elif self._indents:
            self._emit(crop(runs_of(line), width) for line in lines)
        else:
            self._slide(map(runs_of, lines), layout.width, width)


def _closing(tokens: "Sequence[Token]", start: int) -> int:
    level = tokens[start].level
    return next(
        index
        for index in range(start, len(tokens))
        if tokens[index].type == "table_close" and tokens[index].level == level
    )
