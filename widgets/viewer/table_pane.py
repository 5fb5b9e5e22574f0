"""A table with a cursor: what is looked at is read from where the table is, a window at a time."""

from collections.abc import AsyncIterator
from typing import ClassVar

from textual import events, on
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget
from textual.worker import Worker

from oi_tui.app.engine.core.variable import FrameCondition
from oi_tui.themes.palette import Palette
from oi_tui.widgets.keyrow import Hint, key_hint
from oi_tui.widgets.rows.scroll_bar import SCROLL_BAR, ScrollBar
from oi_tui.widgets.timeline.search import Search
from oi_tui.widgets.timeline.table_data import TableData
from oi_tui.widgets.viewer.line_index import Step
from oi_tui.widgets.viewer.table_cursor import TableCursor
from oi_tui.widgets.viewer.table_grid import TableGrid
from oi_tui.widgets.viewer.table_pager import TablePager, TableWindow
from oi_tui.widgets.viewer.table_source import TableSource
from oi_tui.widgets.viewer.table_view import TableView

WHEEL_ROWS = 3


class TablePane(Widget, can_focus=True):
    """Rows and columns; the keys of a table, and what the viewer asks of what it shows."""

    ALLOW_SELECT = False

    DEFAULT_CSS = """
    TablePane { height: 1fr; background: $surface-console; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1, 0)", "Up", id="viewer.up", show=False),
        Binding("down,j", "move(1, 0)", "Down", id="viewer.down", show=False),
        Binding("left,h", "move(0, -1)", "Left", id="table.left", show=False),
        Binding("right,l", "move(0, 1)", "Right", id="table.right", show=False),
        Binding("pageup,b", "to('page_up')", "Page up", id="viewer.page_up", show=False),
        Binding("pagedown", "to('page_down')", "Page down", id="table.page_down", show=False),
        Binding("ctrl+home,g", "to('start')", "First row", id="table.start", show=False),
        Binding("ctrl+end,G", "to('end')", "Last row", id="table.end", show=False),
        Binding("home", "to('first_column')", "First column", id="table.first", show=False),
        Binding("end", "to('last_column')", "Last column", id="table.last", show=False),
        Binding("shift+up", "move(-1, 0, True)", "Select upwards", id="table.select_up", show=False),
        Binding("shift+down", "move(1, 0, True)", "Select downwards", id="table.select_down", show=False),
        Binding("shift+left", "move(0, -1, True)", "Select to the left", id="table.select_left", show=False),
        Binding("shift+right", "move(0, 1, True)", "Select to the right", id="table.select_right", show=False),
        Binding("space", "change('anchor')", "Begin or end selecting cells", id="table.select", show=False),
        Binding("ctrl+a", "change('select_all')", "Select all", id="table.select_all", show=False),
        Hint(
            "o", "change('sort')", "Sort by the column: up, down, unsorted", id="table.sort", show=False, label="sort"
        ),
        Hint("f", "ask('filter')", "Filter rows", id="table.filter", show=False, label="filter"),
        Hint(
            "i",
            "ask('figures')",
            "Figures about the column",
            id="table.figures",
            show=False,
            label="figures",
            short="info",
        ),
        Hint("colon", "ask('row')", "Go to a row", id="table.row", show=False, key_display=":", label="row"),
        Binding("x", "change('hide')", "Hide the column", id="table.hide", show=False),
        Binding("X", "change('show_all')", "Show all columns", id="table.show_all", show=False),
        Binding("C", "ask('columns')", "Choose the columns", id="table.columns", show=False),
        Binding("Y", "ask('copy_row')", "Copy the row as CSV", id="table.copy_row", show=False),
        Binding("r", "change('renew')", "Read it again", id="table.renew", show=False),
    ]

    class Moved(Message):
        """The cursor is somewhere else, or there is something to say."""

    class Asked(Message):
        """The person wants something that takes a screen."""

        def __init__(self, wish: str) -> None:
            super().__init__()
            self.wish = wish

    def __init__(
        self,
        table: TableData,
        palette: Palette,
        *,
        source: TableSource | None = None,
        ref: str = "",
        id: str | None = None,
    ) -> None:
        """`source` has all rows of the table under the name `ref`; without one there is what has arrived."""
        super().__init__(id=id)
        self.pager = TablePager(table, source, ref)
        self.cursor = TableCursor(self.grid)
        self._view = TableView(self.grid, palette)
        self._bar = ScrollBar(self)
        self._loading: Worker[None] | None = None
        self.progress = ""
        """What takes its time, in words."""

    # -- what the screen asks ------------------------------------------------------------------------------------

    @property
    def grid(self) -> TableGrid:
        """What is known of the table."""
        return self.pager.grid

    @property
    def position(self) -> str:
        """The row and column of the cursor, or what takes its time."""
        grid, row, column = self.grid, self.cursor.row, self.cursor.column
        if self.progress:
            return self.progress
        if not grid.matching:
            return "no rows match" if grid.where else "no rows"
        if self._loading is not None and grid.cell(row, column) is None:
            stops = key_hint(self, ("viewer.back", "stops"))
            return " · ".join(filter(None, (self.pager.source.state or "reading …", stops)))
        where = ("not all is here · " if self.pager.is_frozen else "") + self.pager.describe_row(row)
        return where if row == self.pager.gap else f"{where} · {grid.name(column)}"

    def stop_loading(self) -> bool:
        """Wait no longer for what is read; False if nothing of the window is."""
        if self._loading is None or not self.pager.lacks(self._window()):
            return False
        self._loading.cancel()
        self._loading = None
        self.grid.take_back()
        self.pager.note = "Not all of it was read."
        self._show(loads=False)
        return True

    def find(self, search: Search, step: int) -> AsyncIterator[Step]:
        """The next cell with a match, row by row; around the end."""
        return self.pager.find(search, step, self.cursor.row, self.cursor.column)

    def mark(self, search: Search | None, line: int | None = None) -> None:
        """Go to the cell with this number."""
        if line is not None:
            row, place = divmod(line, len(self.grid.order))
            self.go(row, self.grid.order[place])

    def filter(self, conditions: tuple[FrameCondition, ...]) -> None:
        """Only rows of which all of these hold."""
        self.pager.filter(conditions)
        self._go_to_start()

    def show_columns(self, hidden: set[int]) -> None:
        """All columns but these."""
        self.grid.hidden = hidden
        self.go(self.cursor.row)

    def go(self, row: int, column: int | None = None) -> None:
        """The cursor to a cell."""
        self.cursor.to(self.grid, row, column)
        self._view.scroll_to(self.cursor.row, self.cursor.column)
        self._show()

    # -- life ----------------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """The first rows are there; whether they are still so is asked."""
        self._loading = self.run_worker(self._open(), name="open table", exit_on_error=False)

    def on_resize(self, event: events.Resize) -> None:
        self._view.width, self._view.height = event.size.width - SCROLL_BAR, event.size.height
        self.go(self.cursor.row)

    async def _open(self) -> None:
        await self.pager.open()
        self._loading = None
        self._view.change(self.grid)
        self.go(self.cursor.row)

    def _show(self, *, loads: bool = True) -> None:
        self._view.arrange()
        self.refresh()
        self.post_message(self.Moved())
        rests = self._loading is None or self._loading.is_finished  # also after an error that nobody thought of
        if loads and rests and self.is_mounted and self.pager.lacks(self._window()):
            self._loading = self.run_worker(self._load(), name="load table", exit_on_error=False)

    def _window(self) -> TableWindow:
        return self._view.rows, [one.number for one in self._view.placed]

    async def _load(self) -> None:
        again = await self.pager.load(self._window, self._take_part)
        self._loading = None
        self._take_part()
        self._show(loads=again)

    def _take_part(self) -> None:
        """Show a part: there may be fewer rows than before, and wider columns."""
        self.cursor.to(self.grid, self.cursor.row)
        self._view.scroll(0)
        self._show(loads=False)

    def _go_to_start(self) -> None:
        self.cursor.drop_selection()
        self._view.change(self.grid)
        self.go(0)

    def render_line(self, y: int) -> Strip:
        """A row of the screen."""
        row = self.cursor.row if self.has_focus else -1
        return self._view.strip(y, (row, self.cursor.column), self.cursor.selection(self.grid))

    # -- keys ----------------------------------------------------------------------------------------------------

    def action_move(self, rows: int, columns: int, selects: bool = False) -> None:
        """So many cells further, selecting them or not."""
        move = self.cursor.extend if selects else self.cursor.move
        move(self.grid, rows, columns)
        self.go(self.cursor.row)

    def action_to(self, place: str) -> None:
        """A page further, with a row in common; the first or last row or column."""
        columns = self.grid.shown_columns or [self.cursor.column]
        page = max(1, self._view.height - self._view.header - 1)
        match place:
            case "page_up":
                self.go(self.cursor.row - page)
            case "page_down":
                self.go(self.cursor.row + page)
            case "start":
                self.go(0)
            case "end":
                self.go(self.grid.matching - 1)
            case "first_column":
                self.go(self.cursor.row, columns[0])
            case _:
                self.go(self.cursor.row, columns[-1])

    def action_change(self, wish: str) -> None:
        """What is selected, which columns are shown, the order of the rows."""
        match wish:
            case "anchor":
                self.cursor.anchor()
                self._show()
            case "select_all":
                self.cursor.select_all(self.grid)
                self.go(self.cursor.row)
            case "hide" if self.cursor.column >= 0 and len(self.grid.shown_columns) > 1:
                self.show_columns(self.grid.hidden | {self.cursor.column})
            case "show_all":
                self.show_columns(set())
            case "sort":
                self.pager.sort(self.cursor.column)
                self._go_to_start()
            case "renew":
                self.pager.renew()
                self._go_to_start()
            case _:
                pass

    def action_ask(self, wish: str) -> None:
        """What takes a screen."""
        self.post_message(self.Asked(wish))

    # -- the mouse -----------------------------------------------------------------------------------------------

    @on(events.MouseScrollDown)
    @on(events.MouseScrollUp)
    def _roll(self, event: events.MouseEvent) -> None:
        event.stop()
        self._view.scroll(WHEEL_ROWS if isinstance(event, events.MouseScrollDown) else -WHEEL_ROWS)
        self._show()

    @on(events.MouseDown)
    @on(events.MouseMove)
    @on(events.MouseUp)
    def _pull(self, event: events.MouseEvent) -> None:
        if (share := self._bar.pull(event)) is not None:
            self._view.to_share(share)
            self._show()

    def on_click(self, event: events.Click) -> None:
        """A cell, or the name of a column to sort by."""
        column = self._view.column_at(event.x)
        if column is None:
            return
        if event.y < self._view.header:
            self.cursor.to(self.grid, self.cursor.row, column)
            self.action_change("sort")
        elif (row := self._view.top + event.y - self._view.header) < self.grid.matching:
            self.cursor.drop_selection()
            self.go(row, column)
