"""The source of a cell, whole and numbered: lines wrap, so that nothing hides beyond the right edge."""

from collections.abc import Collection

from pygments.token import Token, _TokenType
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.errors import NoWidget
from textual.events import Resize
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from oi_tui.themes.loader import load_palette
from oi_tui.themes.palette import Palette
from oi_tui.widgets.timeline.highlighted_source import TAB, with_marks
from oi_tui.widgets.timeline.ink import Ink
from oi_tui.widgets.timeline.lexing import lex_whole

HIGHLIGHT_LIMIT = 40_000
"""Characters; longer sources are shown without colours, since lexing them would hold up the keys."""

SourceRun = tuple[str, _TokenType | None]
"""Text, and what it is; None where it is written out because it would hide."""


_MARK = 2
"""Columns between a line's number and its text, for the mark of a changed one."""


def gutter_width(lines: int) -> int:
    """Columns before the text of a source of this many lines."""
    return max(3, len(str(lines)) + 1) + _MARK


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
        self._ink = Ink(load_palette())

    def set_palette(self, palette: Palette) -> None:
        """Other colours from now on."""
        self._ink = Ink(palette)
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
        ink = self._ink
        segments = [
            Segment(gutter, base + Style(color=ink.dim.color)),
            Segment(mark, base + ink.code_active),
            *(Segment(text, base + (ink.code_hidden if kind is None else ink.token(kind))) for text, kind in pieces),
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
        return gutter_width(len(self._lines)) - _MARK

    def _wrap(self, width: int) -> None:
        if width <= 0 or width == self._wrapped_at:
            return
        self._wrapped_at = width
        room = max(4, width - self._digits - _MARK - self.styles.scrollbar_size_vertical)
        self._rows = []
        for number, line in enumerate(self._lines):
            for part, row in enumerate(_fold(line, room)):
                self._rows.append((number if part == 0 else None, row))
        self.virtual_size = Size(width - self.styles.scrollbar_size_vertical, len(self._rows))
        self.refresh()  # if the size is the same, it would not be painted again by itself

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
    written = text.expandtabs(TAB).removesuffix("\n").split("\n")
    lexed = lex_whole(language if len(text) <= HIGHLIGHT_LIMIT else "", "\n".join(written))
    lines: list[list[SourceRun]] = []
    for number, line in enumerate(written):
        tokens = lexed[number] if number < len(lexed) else []
        # What is asked about is shown to the letter, whatever a lexer makes of it.
        exact = "".join(piece for _, piece in tokens) == line
        lines.append([(piece, kind) for kind, piece in tokens] if exact else [(line, Token)])
    return [with_marks(line, None) for line in lines] if "<U+" in text else lines


def _fold(line: list[SourceRun], room: int) -> list[list[SourceRun]]:
    rows: list[list[SourceRun]] = [[]]
    used = 0
    for text, kind in line:
        start = 0
        for index, character in enumerate(text):
            cells = 1 if character.isascii() else cell_len(character)
            if used + cells > room:
                rows[-1].append((text[start:index], kind))
                rows.append([])
                start, used = index, 0
            used += cells
        rows[-1].append((text[start:], kind))
    return rows
