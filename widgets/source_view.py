"""The source of a cell, whole and numbered: lines wrap, so that nothing hides beyond the right edge."""

from collections.abc import Collection, Sequence
from typing import TypeVar

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Token, _TokenType
from pygments.util import ClassNotFound
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.errors import NoWidget
from textual.events import Resize
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from oi_tui.app.engine.text.safe import SPELLED_OUT
from oi_tui.themes.palette import Palette

HIGHLIGHT_LIMIT = 40_000
"""Characters; longer sources are shown without colours, since lexing them would hold up the keys."""

_LEXERS = {"shell": "bash", "ir": "r"}

_KINDS: tuple[tuple[_TokenType, str], ...] = (
    (Token.Comment, "comment"),
    (Token.Literal.String, "string"),
    (Token.Literal.Number, "number"),
    (Token.Keyword, "keyword"),
    (Token.Operator.Word, "keyword"),
    (Token.Operator, "operator"),
    (Token.Name.Function, "function"),
    (Token.Name.Class, "type"),
    (Token.Name.Builtin, "builtin"),
    (Token.Name.Decorator, "decorator"),
)

_Look = TypeVar("_Look")

SourceRun = tuple[str, str]
"""Kind ("" for plain text) and text."""


def with_marks(runs: Sequence[tuple[str, _Look]], look: _Look) -> list[tuple[str, _Look]]:
    """The runs of a line, each `<U+202E>` in them with this look, over whatever a lexer took its signs for."""
    line = "".join(text for text, _ in runs)
    marks = [*(found.span() for found in SPELLED_OUT.finditer(line)), (len(line), len(line))]
    marked: list[tuple[str, _Look]] = []
    at = number = 0
    for text, own in runs:
        end = at + len(text)
        while at < end:
            while marks[number][1] <= at:
                number += 1
            start, stop = marks[number]
            cut = min(end, stop if start <= at else start)
            marked.append((line[at:cut], look if start <= at else own))
            at = cut
    return marked


class SourceView(ScrollView, can_focus=False):
    """Numbered, highlighted, wrapped source; says when its end has been on the screen."""

    DEFAULT_CSS = """
    SourceView {
        height: 1;
        background: $surface-code;
        scrollbar-size-vertical: 1;
        overflow-x: hidden;
    }
    """

    class Viewed(Message):
        """What is visible changed, or the end came into view."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.end_seen = False
        self._lines: list[list[SourceRun]] = []
        self._changed: frozenset[int] = frozenset()
        self._rows: list[tuple[int | None, list[SourceRun]]] = []
        self._wrapped_at = 0
        self._inks: dict[str, Style] = {}

    def set_palette(self, palette: Palette) -> None:
        """Other colours from now on."""
        code, inks = palette.code, palette.inks
        self._inks = {
            "keyword": Style(color=code.keyword),
            "string": Style(color=code.string),
            "number": Style(color=code.number),
            "comment": Style(color=code.comment, italic=True),
            "function": Style(color=code.function),
            "type": Style(color=code.type),
            "builtin": Style(color=code.builtin),
            "decorator": Style(color=code.decorator),
            "operator": Style(color=code.operator),
            "gutter": Style(color=inks.dim),
            "changed": Style(color=inks.accent, bold=True),
            "hidden": Style(color=palette.surfaces.background, bgcolor=inks.error, bold=True),
        }
        self.refresh()

    @property
    def rows_below(self) -> int:
        """Rows under the lower edge of what can really be seen of this widget."""
        return max(0, len(self._rows) - int(self.scroll_offset.y) - self._visible_height())

    @property
    def line_count(self) -> int:
        """Lines of the source."""
        return len(self._lines)

    def show(self, text: str, language: str, changed: Collection[int] = ()) -> None:
        """Show this text (already made visible), from its start; `changed` lines (from 0) are marked."""
        self._lines = _pieces(text, language)
        self._changed = frozenset(changed)
        self._wrapped_at, self._rows = 0, []  # hidden, it has no width yet: nothing of the text before may be painted
        self.end_seen = False
        self._wrap(self.size.width)
        self.scroll_to(y=0, animate=False, immediate=True)
        self.refresh(layout=True)
        self.call_after_refresh(self._look)

    def row_count(self, width: int) -> int:
        """Rows at this width."""
        self._wrap(width)
        return len(self._rows)

    def render_line(self, y: int) -> Strip:
        """One row: number, mark, code."""
        index = y + int(self.scroll_offset.y)
        width = self.size.width
        base = self.rich_style
        if index >= len(self._rows):
            return Strip.blank(width, base)
        number, pieces = self._rows[index]
        digits = self._digits
        gutter = f"{'' if number is None else number + 1:>{digits}}"
        mark = "✎ " if number in self._changed else "  "
        segments = [
            Segment(gutter, base + self._inks.get("gutter")),
            Segment(mark, base + self._inks.get("changed")),
            *(Segment(text, base + self._inks.get(kind)) for kind, text in pieces),
        ]
        return Strip(segments).adjust_cell_length(width, base)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Scrolling may bring the end into view."""
        super().watch_scroll_y(old_value, new_value)
        self._look()

    def on_resize(self, event: Resize) -> None:
        """Another width wraps otherwise."""
        self._wrap(event.size.width)
        self.call_after_refresh(self._look)

    @property
    def _digits(self) -> int:
        return max(3, len(str(len(self._lines))) + 1)

    def _wrap(self, width: int) -> None:
        if width <= 0 or width == self._wrapped_at:
            return
        self._wrapped_at = width
        room = max(4, width - self._digits - 2 - self.styles.scrollbar_size_vertical)
        self._rows = []
        for number, line in enumerate(self._lines):
            for part, row in enumerate(_fold(line, room)):
                self._rows.append((number if part == 0 else None, row))
        self.virtual_size = Size(width - self.styles.scrollbar_size_vertical, len(self._rows))
        self.refresh()  # of the same size, it would not be painted anew by itself

    def _visible_height(self) -> int:
        """Rows that are neither outside of the screen nor cut off by what is around."""
        try:
            return self.screen.find_widget(self).visible_region.height
        except NoWidget:
            return 0

    def _look(self) -> None:
        if self._visible_height() and self._rows and self.rows_below == 0:
            self.end_seen = True
        self.post_message(self.Viewed())


def _pieces(text: str, language: str) -> list[list[SourceRun]]:
    lines: list[list[SourceRun]] = [[]]
    for kind, value in _tokens(text.expandtabs(4), language):
        for index, part in enumerate(value.split("\n")):
            if index:
                lines.append([])
            if part:
                lines[-1].append((kind, part))
    if len(lines) > 1 and not lines[-1]:
        lines.pop()  # the newline that ends the last line
    return [_mark_hidden(line) for line in lines] if "<U+" in text else lines


def _mark_hidden(line: list[SourceRun]) -> list[SourceRun]:
    return [(kind, text) for text, kind in with_marks([(text, kind) for kind, text in line], "hidden")]


def _tokens(text: str, language: str) -> list[SourceRun]:
    lexer = _lexer(language)
    if lexer is None or len(text) > HIGHLIGHT_LIMIT:
        return [("", text)]
    kinds: dict[_TokenType, str] = {}
    pieces: list[SourceRun] = []
    for token, value in lexer.get_tokens(text):
        if token not in kinds:
            kinds[token] = _kind(token)
        pieces.append((kinds[token], value))
    return pieces


def _lexer(language: str) -> Lexer | None:
    try:
        return get_lexer_by_name(_LEXERS.get(language, language), stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def _kind(token: _TokenType) -> str:
    return next((kind for parent, kind in _KINDS if _within(token, parent)), "")


def _within(token: _TokenType, parent: _TokenType) -> bool:
    return token[: len(parent)] == parent


def _fold(line: list[SourceRun], room: int) -> list[list[SourceRun]]:
    rows: list[list[SourceRun]] = [[]]
    used = 0
    for kind, text in line:
        start = 0
        for index, character in enumerate(text):
            cells = 1 if character.isascii() else cell_len(character)
            if used + cells > room:
                rows[-1].append((kind, text[start:index]))
                rows.append([])
                start, used = index, 0
            used += cells
        rows[-1].append((kind, text[start:]))
    return rows
