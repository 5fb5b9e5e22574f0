"""JSON as a tree: two levels at first, and what is folded says how much it holds."""

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from pygments.token import Token, _TokenType
from rich.style import Style

from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.text.rich_text import is_plain_json
from oi_tui.app.engine.text.words import quantity
from oi_tui.widgets.timeline.console import LINE_CHARACTERS, MOST_LINES, SHORT_LINES
from oi_tui.widgets.timeline.ink import Ink
from oi_tui.widgets.timeline.markdown_lines import spaced_line
from oi_tui.widgets.timeline.outputs.layout import sideways
from oi_tui.widgets.timeline.row_pieces import BlockDisplay, Canvas, DrawnContent, RowPiece, rows

AT_ONCE = SHORT_LINES
"""Lines of a folded tree."""

LEVELS = 2
"""Levels of a folded tree that are looked into."""

MOST = AT_ONCE - 3
"""Items of a container that such a tree has room for, with its brackets and a remark."""

DEEPEST = 60
"""Levels of an opened one."""

SHORT = 60
"""Cells of a container that is written on one line."""

INDENT = "  "

TokenRow = list[tuple[str, _TokenType | None]]
"""Texts and what they are; None is a remark."""


class JsonOutline(DrawnContent):
    """A value, folded or open."""

    def __init__(self, value: object, root: str = "", levels: int = LEVELS) -> None:
        self._value = value
        self._root = root
        self._folded, self.has_more = _fitting(value, root, levels)

    @classmethod
    def of(cls, output: RichOutput) -> "JsonOutline | None":
        """The first JSON form of a result, with what `IPython.display.JSON` wants of it."""
        mimes = sorted(output.data, key=lambda mime: mime != "application/json")
        mime = next((mime for mime in mimes if is_plain_json(mime, output.data[mime])), None)
        if mime is None:
            return None
        match output.metadata.get(mime):
            case dict() as wanted:
                pass
            case _:
                wanted = {}
        root = wanted.get("root")
        expanded = wanted.get("expanded") is True
        label = root if isinstance(root, str) and root != "root" else ""  # "root" is what IPython says by itself
        return cls(output.data[mime], label, DEEPEST if expanded else LEVELS)

    def pieces(self, canvas: Canvas, display: BlockDisplay) -> list[RowPiece]:
        ink = canvas.ink
        drawn = self._folded
        if display.fold == "open":
            drawn = list(islice(_tree(self._value, self._root, DEEPEST, MOST_LINES), MOST_LINES))
            if len(drawn) == MOST_LINES:
                drawn.append([("… more lines are left out here", None)])
        runs = [[(text, _style(kind, ink)) for text, kind in row] for row in drawn]
        lines, self.beyond = sideways(runs, display.shift, canvas.room)
        return [rows(canvas, lines, ink.console, "│", ink.console_faint)]


def _style(kind: _TokenType | None, ink: Ink) -> Style:
    return ink.console_dim if kind is None else ink.console + Style(color=ink.token(kind).color)


def _fitting(value: object, root: str, levels: int) -> tuple[list[TokenRow], bool]:
    """As many levels as fit at once, and whether something is folded."""
    for depth, items in ((levels, MOST), (LEVELS, MOST), (LEVELS, 5), (LEVELS, 2), (1, 1)):
        drawn = list(islice(_tree(value, root, depth, items), AT_ONCE + 1))
        if len(drawn) <= AT_ONCE:
            break
    return drawn[:AT_ONCE], any(kind is None for row in drawn for _, kind in row)


def _tree(value: object, root: str, levels: int, items: int) -> Iterator[TokenRow]:
    """Lines of a value. Containers below `levels` are folded; each inside the first shows `items` entries at most."""
    first: TokenRow = [(spaced_line(root[:LINE_CHARACTERS]), Token.Name.Attribute), (": ", Token.Text)] if root else []
    yield from _lines(first, value, "", "", levels, items, max(items, MOST))


def _lines(
    before: TokenRow, value: object, indent: str, after: str, levels: int, items: int, first: int = 0
) -> Iterator[TokenRow]:
    """`first` is how many items this container shows, if not as many as those in it."""
    if not isinstance(value, dict | list) or not value:
        yield [*before, *_scalar(value), (after, Token.Punctuation)]
        return
    opening, closing, noun = ("{", "}", "key") if isinstance(value, dict) else ("[", "]", "item")
    if (short := _on_one_line(value)) is not None:
        yield [*before, *short, (after, Token.Punctuation)]
        return
    if not levels:
        count = f"… {quantity(len(value), noun)}"
        yield [*before, (opening, Token.Punctuation), (count, None), (closing + after, Token.Punctuation)]
        return
    yield [*before, (opening, Token.Punctuation)]
    deeper = indent + INDENT
    most = first or items
    shown = len(value) if len(value) <= most + 1 else most
    for number, (key, inner) in enumerate(islice(_pairs(value), shown), 1):
        start: TokenRow = [(deeper, Token.Text)]
        if key is not None:
            start += [(_quote(key), Token.Name.Attribute), (": ", Token.Punctuation)]
        yield from _lines(start, inner, deeper, "," if number < len(value) else "", levels - 1, items)
    if shown < len(value):
        yield [(deeper, Token.Text), (f"… {len(value) - shown:,} more {noun}s", None)]
    yield [(indent, Token.Text), (closing + after, Token.Punctuation)]


def _pairs(value: dict[str, Any] | list[Any]) -> Iterable[tuple[str | None, Any]]:
    return value.items() if isinstance(value, dict) else ((None, inner) for inner in value)


def _on_one_line(value: dict[str, Any] | list[Any]) -> TokenRow | None:
    """A list of a few short scalars; a dict of more than two is read better below each other."""
    if len(value) > (SHORT // 3 if isinstance(value, list) else 2):
        return None
    opening, closing = ("{", "}") if isinstance(value, dict) else ("[", "]")
    row: TokenRow = [(opening, Token.Punctuation)]
    for number, (key, inner) in enumerate(_pairs(value)):
        if (isinstance(inner, dict | list) and inner) or (isinstance(inner, str) and len(inner) > SHORT):
            return None
        if number:
            row.append((", ", Token.Punctuation))
        if key is not None:
            row += [(_quote(key), Token.Name.Attribute), (": ", Token.Punctuation)]
        row += _scalar(inner)
    row.append((closing, Token.Punctuation))
    return row if sum(len(text) for text, _ in row) <= SHORT else None


def _scalar(value: object) -> TokenRow:
    match value:
        case str():
            return [(_quote(value), Token.Literal.String)]
        case bool() | None:
            return [(json.dumps(value), Token.Keyword.Constant)]
        case int() | float():
            return [(str(value), Token.Literal.Number)]
        case dict():
            return [("{}", Token.Punctuation)]
        case list():
            return [("[]", Token.Punctuation)]
        case _:
            return [(spaced_line(str(value)[:LINE_CHARACTERS]), Token.Text)]


def _quote(text: str) -> str:
    cut = spaced_line(json.dumps(text[:LINE_CHARACTERS], ensure_ascii=False))
    return cut if len(text) <= LINE_CHARACTERS else cut[:-1] + '…"'
