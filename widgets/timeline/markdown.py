"""Draws one Markdown element: headings, paragraphs, lists, quotes, tables, fences inside lists.

The text is safe already (`prose.py` cleans it before it is parsed). Raw HTML is shown as it is
written, pictures are never fetched, and a link always shows where it leads.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style

from oi_tui.app.engine.text import safe_text
from oi_tui.widgets.timeline.ink import Ink
from oi_tui.widgets.timeline.lexing import lex_whole
from oi_tui.widgets.timeline.pieces import PROSE_WIDTH, Canvas
from oi_tui.widgets.timeline.wrap import Continuation, Line, Run, cells, crop, fold_runs, wrap

if TYPE_CHECKING:
    from markdown_it.token import Token

HREF = "href"
"""Key of a style's meta data that holds the target of a link."""

LONGEST_TARGET = 80
"""Cells of a link's target that are shown."""

TAB = 4
_NARROWEST = 4


@dataclass(slots=True)
class _Indent:
    """What stands before the lines of a list item or quote."""

    first: str
    rest: str
    style: Style
    used: bool = False


class MarkdownLines:
    """Turns the tokens of an element into lines; used once.

    With `number` an ordered list at the top level counts from there, whatever is written.
    """

    def __init__(self, canvas: Canvas, number: int | None = None) -> None:
        self._first_number = number
        self._ink: Ink = canvas.ink
        self._room = canvas.room
        self._lines: list[Line] = []
        self._indents: list[_Indent] = []
        self._numbers: list[int | None] = []
        self._quotes = 0

    def draw(self, tokens: "Sequence[Token]") -> list[Line]:
        """The lines of all `tokens`."""
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
                self._emit(wrap(inline(token, self._base, self._ink), self._width(PROSE_WIDTH)))
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
            case "list_item_close":
                self._close_indent()
            case "blockquote_open":
                self._gap(token)
                self._quotes += 1
                self._indents.append(_Indent("▎ ", "▎ ", self._ink.faint))
            case "blockquote_close":
                self._quotes -= 1
                self._indents.pop()
            case "fence" | "code_block":
                self._gap(token)
                self._code(token)
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
        for line in lines:
            before: Line = []
            for indent in self._indents:
                before.append(Segment(indent.rest if indent.used else indent.first, indent.style))
                indent.used = True
            whole = before + line
            if isinstance(line, Continuation):
                whole = Continuation(whole, line.joint, cells(before) + line.lead)
            self._lines.append(whole)

    def _gap(self, token: "Token") -> None:
        """An empty line, unless the element is the first one of what it stands in, or in a tight list."""
        fresh = any(not indent.used for indent in self._indents)
        tight_sublist = token.type.endswith("list_open") and len(self._numbers) > 0
        if self._lines and not fresh and not tight_sublist:
            self._emit([[]])

    def _heading(self, content: "Token", level: int) -> None:
        ink = self._ink
        style = ink.strong if level < 3 else ink.page + Style(bold=True)
        lines = wrap(inline(content, style, ink), self._width(PROSE_WIDTH))
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
        self._indents.append(_Indent(first + " ", " " * (len(first) + 1), self._ink.dim))

    def _close_indent(self) -> None:
        if not self._indents[-1].used:
            self._emit([[]])
        self._indents.pop()

    def _code(self, token: "Token") -> None:
        content = token.content.rstrip("\n")
        width = self._width()
        for line in lex_whole(token.info.split(" ")[0].strip(), content)[: content.count("\n") + 1]:
            runs = [(text, self._ink.token(kind)) for kind, text in line]
            self._emit([*row, Segment(" " * (width - cells(row)), self._ink.code)] for row in fold_runs(runs, width))

    def _table(self, tokens: "Sequence[Token]") -> None:
        table: list[list[list[Run]]] = []
        aligned: list[str] = []
        for token, following in pairwise(tokens):
            match token.type:
                case "tr_open":
                    table.append([])
                case "th_open" | "td_open":
                    base = self._ink.page + Style(bold=True) if len(table) == 1 else self._ink.page
                    table[-1].append(inline(following, base, self._ink))
                    if len(table) == 1:
                        aligned.append(str(token.attrs.get("style", "")).removeprefix("text-align:"))
                case _:
                    pass
        widths = _fitted(_natural(table, len(aligned)), self._width() - 3 * (len(aligned) - 1))
        for number, row in enumerate(table):
            self._emit(self._row(row, widths, aligned))
            if number == 0:
                self._emit([crop([("─┼─".join("─" * width for width in widths), self._ink.faint)], self._width())])

    def _row(self, row: list[list[Run]], widths: list[int], aligned: list[str]) -> Iterable[Line]:
        columns = [wrap(runs, width) for runs, width in zip(row, widths, strict=False)]
        for number in range(max(map(len, columns), default=0)):
            line: Line = []
            for column, (lines, width) in enumerate(zip(columns, widths, strict=False)):
                content = lines[number] if number < len(lines) else []
                spare = max(0, width - cells(content))
                left = {"right": spare, "center": spare // 2}.get(aligned[column], 0)
                if column:
                    line.append(Segment(" │ ", self._ink.faint))
                line += [Segment(" " * left, self._ink.page), *content, Segment(" " * (spare - left), self._ink.page)]
            yield line


def clean(text: str) -> str:
    """Text that is safe and has no tabs. Needed again after parsing, since `&#x202e;` is plain text before."""
    return safe_text(text).expandtabs(TAB)


def one_line(text: str) -> str:
    """Safe text for a place that has only one line."""
    return clean(text).replace("\n", " ")


def inline(token: "Token", base: Style, ink: Ink) -> list[Run]:
    """Inline tokens as runs in `base` and what is added to it."""
    runs: list[Run] = []
    styles = [base]
    targets: list[tuple[str, int]] = []
    for child in token.children or ():
        match child.type:
            case "text" | "html_inline":
                runs.append((clean(child.content), styles[-1]))
            case "code_inline":
                runs.append((clean(child.content), ink.inline_code))
            case "softbreak":
                runs.append((" ", styles[-1]))
            case "hardbreak":
                runs.append(("\n", styles[-1]))
            case "em_open":
                styles.append(styles[-1] + Style(italic=True))
            case "strong_open":
                styles.append(styles[-1] + Style(bold=True))
            case "s_open":
                styles.append(styles[-1] + Style(strike=True))
            case "link_open":
                target = str(child.attrs.get("href", ""))
                targets.append((target, len(runs)))
                styles.append(styles[-1] + ink.link + Style(meta={HREF: target}))
            case "link_close":
                styles.pop()
                runs += _target(*targets.pop(), runs, ink)
            case "image":
                target = str(child.attrs.get("src", ""))
                runs += [(f"[picture: {clean(child.content)}]", styles[-1]), *_shown(target, ink)]
            case "em_close" | "strong_close" | "s_close":
                styles.pop()
            case _:
                pass
    return _task(runs)


def _target(target: str, start: int, runs: list[Run], ink: Ink) -> list[Run]:
    text = "".join(text for text, _ in runs[start:])
    return [] if text in (target, target.removeprefix("mailto:")) else _shown(target, ink)


def _shown(target: str, ink: Ink) -> list[Run]:
    if not target:
        return []
    target = clean(target)
    return [(f" ({target if len(target) <= LONGEST_TARGET else target[: LONGEST_TARGET - 1] + '…'})", ink.dim)]


def _task(runs: list[Run]) -> list[Run]:
    if not runs or runs[0][0][:4].lower() not in ("[ ] ", "[x] "):
        return runs
    text, style = runs[0]
    return [("☐ " if text[1] == " " else "☑ ", style), (text[4:], style), *runs[1:]]


def _closing(tokens: "Sequence[Token]", start: int) -> int:
    level = tokens[start].level
    return next(
        index
        for index in range(start, len(tokens))
        if tokens[index].type == "table_close" and tokens[index].level == level
    )


def _natural(table: list[list[list[Run]]], columns: int) -> list[int]:
    widths = [1] * columns
    for row in table:
        for column, runs in enumerate(row[:columns]):
            text = "".join(text for text, _ in runs)
            widths[column] = max(widths[column], *(cells([Segment(part)]) for part in text.split("\n")))
    return widths


def _fitted(widths: list[int], room: int) -> list[int]:
    """The widest columns give way until all fit."""
    widths = widths.copy()
    over = sum(widths) - room
    while over > 0 and max(widths) > _NARROWEST:
        widest = max(widths)
        next_widest = max((width for width in widths if width < widest), default=_NARROWEST)
        same = [column for column, width in enumerate(widths) if width == widest]
        less = min(widest - max(next_widest, _NARROWEST), -(-over // len(same)))
        for column in same:
            widths[column] -= max(1, less)
        over = sum(widths) - room
    return widths
