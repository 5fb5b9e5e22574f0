"""What is done with a table on the whole screen that takes a question or a file: filter, row, columns, figures, CSV."""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import ClassVar

from textual.binding import BindingType
from textual.screen import Screen
from textual.worker import Worker

from oi_tui.app.engine.core.variable import ColumnFigures
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.screens.line_ask import LineAskScreen
from oi_tui.app.screens.pick import PickScreen
from oi_tui.app.screens.save_as import SaveFailed, save
from oi_tui.widgets.keyrow import Hint, KeyLabel, KeyRow, key_hint, key_in_use, key_labels
from oi_tui.widgets.lettering import Options, Words
from oi_tui.widgets.timeline.table_data import MOST_COLUMNS
from oi_tui.widgets.viewer.frame_filter import FILTER_HELP, FilterError, filter_text, parse_filter
from oi_tui.widgets.viewer.table_csv import csv_parts, text_of_cells
from oi_tui.widgets.viewer.table_grid import TableGrid
from oi_tui.widgets.viewer.table_pane import TablePane
from oi_tui.widgets.viewer.table_source import NoRows

_TOO_MUCH = "That is too much for the clipboard. Select less, or save it."


class TableActions:
    """Does what is wanted of one table."""

    def __init__(
        self,
        screen: Screen[None],
        pane: TablePane,
        *,
        say: Callable[[str, bool], None],
        copy: Callable[[str, str], Awaitable[None]],
        show: Callable[[str, str], None],
    ) -> None:
        """`say` tells something (True: a warning), `copy` has a text and what it is, `show` a title and a text."""
        self._screen = screen
        self._pane = pane
        self._say = say
        self._copy = copy
        self._show = show
        self._saving: Worker[None] | None = None
        self._told = ""

    async def do(self, wish: str) -> None:
        """What a key asked for."""
        try:
            match wish:
                case "filter":
                    await self._filter()
                case "row":
                    await self._go_to_row()
                case "columns":
                    await self._choose_columns()
                case "figures":
                    told = await self._pane.pager.figures(self._pane.cursor.column)
                    self._show(f"{told.name or 'the index'} · figures", figures_text(told))
                case "copy_row":
                    await self.copy(whole_row=True)
        except NoRows as error:
            self._say(str(error), True)

    async def copy(self, *, whole_row: bool = False) -> None:
        """What is selected, the cell, or the row."""
        try:
            copied = await text_of_cells(self._pane.pager, self._pane.cursor, whole_row=whole_row)
        except NoRows as error:
            self._say(str(error), True)
            return
        if copied is None:
            self._say(_TOO_MUCH if self._pane.grid.matching else "There is nothing to copy.", True)
        else:
            text, what = copied
            await self._copy(safe_text(text), what)

    def save(self, path: Path) -> None:
        """All rows in their order, as CSV; `stop_saving` ends it."""
        self._saving = self._screen.run_worker(self._save(path), name="save table", group="save", exclusive=True)

    def stop_saving(self) -> bool:
        """Whether there was something to stop."""
        saving, self._saving = self._saving, None
        if saving is None or saving.is_finished:
            return False
        saving.cancel()
        self._tell("")
        self._say("Not saved.", True)
        return True

    async def _save(self, path: Path) -> None:
        rows, stops = 0, key_hint(self._pane, ("viewer.back", "stops"))
        stops = stops and f" · {stops}"
        try:
            with tempfile.NamedTemporaryFile("w", encoding="utf-8", errors="replace", newline="") as file:
                grid = self._pane.grid
                async for part in csv_parts(self._pane.pager, range(grid.matching), grid.order):
                    await asyncio.to_thread(file.write, part.text)
                    rows = part.rows
                    self._tell(f"saving … {rows:,} of {grid.matching:,} rows{stops}")
                file.flush()
                await asyncio.to_thread(save, path, Path(file.name))
        except (SaveFailed, NoRows) as failed:
            self._say(str(failed), True)
        except OSError as error:
            self._say(f"It cannot be saved: {error.strerror}.", True)
        else:
            left_out = self._pane.pager.left_out
            self._say(f"Saved: {path}.{left_out}", bool(left_out))
        finally:
            self._tell("")

    def tell_note(self) -> None:
        """Show the note about the table, once."""
        if self._pane.pager.note and self._pane.pager.note != self._told:
            self._say(self._pane.pager.note, True)
        self._told = self._pane.pager.note

    def _tell(self, progress: str) -> None:
        self._pane.progress = progress
        self._pane.post_message(TablePane.Moved())

    async def _filter(self) -> None:
        typed, hint = filter_text(self._pane.grid.where), FILTER_HELP
        while True:
            answer = await self._screen.app.push_screen_wait(LineAskScreen("Only rows of which", typed, hint=hint))
            if answer is None:
                return
            try:
                self._pane.filter(parse_filter(answer))
                return
            except FilterError as error:
                typed, hint = answer, str(error)

    async def _go_to_row(self) -> None:
        count = self._pane.grid.matching
        typed, hint = "", f"1 to {count:,}"
        while True:
            answer = await self._screen.app.push_screen_wait(LineAskScreen("Go to row", typed, hint=hint, limit=20))
            if not answer:
                return
            digits = answer.replace(",", "").replace("_", "").replace(" ", "")
            if digits.isascii() and digits.isdigit() and 1 <= int(digits) <= count:
                self._pane.go(int(digits) - 1)
                return
            typed, hint = answer, f"There is no row {answer}: 1 to {count:,}"

    async def _choose_columns(self) -> None:
        hidden = await self._screen.app.push_screen_wait(ColumnsScreen(self._pane.grid))
        if hidden is not None:
            self._pane.show_columns(hidden)


class ColumnsScreen(PickScreen[set[int] | None]):
    """Which columns are shown; dismissed with the numbers of the others."""

    TITLE = "Columns"
    BINDINGS: ClassVar[list[BindingType]] = [Hint("escape", "done", "done")]

    def __init__(self, grid: TableGrid) -> None:
        super().__init__()
        self._grid = grid
        self._hidden = set(grid.hidden)
        self._listed: list[int] = []

    def on_mount(self) -> None:
        """Enter shows or hides one."""
        super().on_mount()
        self.query_one("#pick-text", Words).update("At least one column is shown.")
        enter = KeyLabel(key_in_use(self, "pick.take"), "show or hide", "toggle", owner=self, action="take")
        self.query_one(KeyRow).labels = (enter, *key_labels(self, "esc"))

    def look_for(self, words: str) -> None:
        """Columns with these words in their names, the first of them."""
        wanted = words.casefold()
        found = (at for at in range(self._grid.width) if wanted in self._grid.name(at).casefold())
        self._listed = [at for at, _ in zip(found, range(MOST_COLUMNS), strict=False)]
        self._list(0)

    def take(self, number: int) -> None:
        """Show it, or hide it; one stays."""
        self._hidden ^= {self._listed[number]}
        if len(self._hidden) >= self._grid.width:
            self._hidden.discard(self._listed[number])
        self._list(number)

    def action_done(self) -> None:
        """Back, with what was chosen."""
        self.dismiss(self._hidden)

    def _list(self, highlighted: int) -> None:
        options = self.query_one(Options)
        options.clear_options()
        options.add_options([f"{'  ' if at in self._hidden else '✓ '}{self._grid.name(at)}" for at in self._listed])
        options.highlighted = min(highlighted, len(self._listed) - 1) if self._listed else None


def figures_text(told: ColumnFigures) -> str:
    """Figures about a column, one a line."""
    rows = [("type", told.kind), ("values", f"{told.count:,}"), ("nothing", f"{told.nulls:,}")]
    if told.distinct is not None:
        rows.append(("different", f"{told.distinct:,}"))
    rows += [(name, value) for name, value in (("min", told.min), ("max", told.max), ("mean", told.mean)) if value]
    rows += [
        ("most often" if not number else "", f"{value}  ({count:,})")
        for number, (value, count) in enumerate(told.often)
    ]
    return "\n".join(f"{name:<11}{safe_text(value)}" for name, value in rows) + "\n"
