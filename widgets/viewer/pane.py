"""The widget that shows a text of any size: the keys to move in it, the mouse, and what is marked."""

import asyncio
from collections.abc import Iterator
from typing import ClassVar

from textual import events, on
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from oi_tui.themes.palette import Palette
from oi_tui.widgets.keyrow import Hint
from oi_tui.widgets.rows.row import UNMARKED, Marks, ViewRow
from oi_tui.widgets.rows.scroll_bar import SCROLL_BAR, ScrollBar
from oi_tui.widgets.rows.view import RowView
from oi_tui.widgets.timeline.graphics_kitty import apply_filters
from oi_tui.widgets.timeline.ink import Ink
from oi_tui.widgets.timeline.search import Search
from oi_tui.widgets.viewer.line_index import LineIndex, Step
from oi_tui.widgets.viewer.window import MOST_COPIED, TextWindow

WHEEL = 3
"""Rows that one notch of the wheel moves."""


class TextPane(Widget, can_focus=True):
    """Lines, one under the other."""

    DEFAULT_CSS = """
    TextPane { height: 1fr; background: $surface-console; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll_rows(-1)", "Up", id="viewer.up", show=False),
        Binding("down,j", "scroll_rows(1)", "Down", id="viewer.down", show=False),
        Binding("enter", "scroll_rows(1)", "A row down", id="viewer.row_down", show=False),
        Binding("pageup,b", "page(-1)", "Page up", id="viewer.page_up", show=False),
        Binding("pagedown,f", "page(1)", "Page down", id="viewer.page_down", show=False),
        Binding("space", "page(1)", "Page down", id="viewer.space", show=False),
        Binding("ctrl+u", "page(-1, 2)", "Half a page up", id="viewer.half_up", show=False),
        Binding("ctrl+d", "page(1, 2)", "Half a page down", id="viewer.half_down", show=False),
        Binding("home,g", "start", "Start", id="viewer.start", show=False),
        Binding("end,G", "end", "End", id="viewer.end", show=False),
        Binding("left,h", "sideways(-1)", "Left", id="viewer.left", show=False),
        Binding("right,l", "sideways(1)", "Right", id="viewer.right", show=False),
        Hint("w", "wrap", "Wrap lines, or not", id="viewer.wrap", show=False, label="wrap"),
        Hint(
            "number_sign",
            "numbers",
            "Line numbers, or none",
            id="viewer.numbers",
            show=False,
            key_display="#",
            label="line numbers",
            short="lines",
        ),
    ]

    class Moved(Message):
        """Another part is on the screen, or more lines are counted."""

    def __init__(self, lines: LineIndex, palette: Palette, *, id: str | None = None) -> None:
        super().__init__(id=id)
        ink = Ink(palette)
        self._window = TextWindow(lines, ink)
        self._shown = RowView(self, ink, "console", apply_filters)
        self._bar = ScrollBar(self)
        self._search: Search | None = None
        self._here: int | None = None
        self._end_wanted = False

    # What the screen asks

    @property
    def lines(self) -> LineIndex:
        return self._window.lines

    @property
    def position(self) -> str:
        """The position of the window, in words."""
        lines = self.lines
        if not lines.complete and self._end_wanted:
            return f"counting lines … {lines.share:.0%}"
        if not self._shown.rows:
            return ""
        number = next((number for row in self._shown.rows if (number := lines.number(row.item)) is not None), None)
        last = self._shown.rows[-1].item
        share = 1.0 if lines.complete and last == lines.count - 1 else lines.start(last) / max(1, lines.size)
        return f"line {number:,} · {share:.0%}" if number else f"{share:.0%}"

    def find(self, search: Search, step: int) -> Iterator[Step]:
        """A search through all lines: from the match that was gone to, or from what is on the screen."""
        if self._here is not None:
            return self.lines.find(search, self._here + step, step)
        edge = (self._shown.rows[0] if step > 0 else self._shown.rows[-1]).item if self._shown.rows else 0
        return self.lines.find(search, edge, step)

    def mark(self, search: Search | None, line: int | None = None) -> None:
        """Mark all matches that are seen, and go to the one in this line."""
        self._search, self._here = search, line
        if line is not None:
            self._window.to(line)
        self._show()

    def text_to_copy(self) -> tuple[str, str] | None:
        """What to copy where nothing is selected, and what it is; None where it would be too much."""
        if self._here is not None:
            return self._window.line_text(self._here), "the line of the match"
        if self.lines.size > MOST_COPIED:
            return None
        self.lines.reach(self.lines.size)
        parts: list[str] = []
        for line in range(self.lines.count):
            goes_on = not line or self.lines.number(line) is None
            parts += ["" if goes_on else "\n", self._window.line_text(line)]
        return "".join(parts), "everything"

    # Life

    def on_mount(self) -> None:
        """Count the lines while the program is idle."""
        if not self.lines.advance():
            self.run_worker(self._count(), name="count lines")

    async def _count(self) -> None:
        while not self.lines.advance():
            if self._end_wanted:
                self.post_message(self.Moved())
            await asyncio.sleep(0)
        if self._end_wanted:
            self.action_end()
        self._show()

    def on_resize(self, event: events.Resize) -> None:
        self._window.change(size=(event.size.width - SCROLL_BAR, event.size.height))
        self._show()

    def _show(self) -> None:
        rows = self._window.rows()
        self._shown.show(rows, self._window.thumb(), [self._marks(row) for row in rows])
        self.post_message(self.Moved())

    def _marks(self, row: ViewRow) -> Marks:
        if self._search is None:
            return UNMARKED
        return Marks(tuple(self._window.marks(row, self._search)), row.item == self._here)

    # Painting

    def render_lines(self, crop: Region) -> list[Strip]:
        """Rows for the compositor."""
        return self._shown.lines(crop)

    def render_line(self, y: int) -> Strip:
        """A row with its place in the text."""
        return self._shown.line(y)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text, without line numbers."""
        return self._window.selected_text(selection), "\n"

    # Moving

    def action_scroll_rows(self, rows: int) -> None:
        """A row up or down."""
        self._end_wanted = False
        self._window.scroll(rows)
        self._show()

    def action_page(self, step: int, parts: int = 1) -> None:
        """A page, with a row in common, or one of so many parts of it."""
        self.action_scroll_rows(step * max(1, (self.size.height - 1) // parts))

    def action_start(self) -> None:
        self._end_wanted = False
        self._window.to_start()
        self._show()

    def action_end(self) -> None:
        """The last line, as soon as its number is known."""
        self._end_wanted = not self.lines.complete
        if self._end_wanted:
            self.post_message(self.Moved())
            return
        self._window.to_end()
        self._show()

    def action_sideways(self, step: int) -> None:
        """What is beyond the right or left edge."""
        self._window.sideways(step)
        self._show()

    def action_wrap(self) -> None:
        """Long lines wrap, or extend beyond the edge."""
        self._window.change(wraps=not self._window.wraps)
        self._show()

    def action_numbers(self) -> None:
        """Line numbers come or go."""
        self._window.change(numbered=not self._window.numbered)
        self._show()

    # The mouse

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.action_scroll_rows(WHEEL)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.action_scroll_rows(-WHEEL)

    @on(events.MouseDown)
    @on(events.MouseMove)
    @on(events.MouseUp)
    def _pull(self, event: events.MouseEvent) -> None:
        if (share := self._bar.pull(event)) is not None:
            self._window.to_share(share)
            self._show()

    def on_click(self, event: events.Click) -> None:
        """Ignore two clicks: Textual would select all, which may be a gigabyte."""
        event.prevent_default()
