"""Sixels over painted rows: they are not text, and any text in their cells erases them there.

So rows of pictures hold half blocks, which every repaint, panel and toast may overwrite, and when the screen is idle
the sixels are drawn over those rows that nothing covers.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import NamedTuple, Protocol

from textual.app import App
from textual.errors import NoWidget
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from oi_tui.widgets.rows.frames import call_after
from oi_tui.widgets.rows.row import RowStrip
from oi_tui.widgets.timeline.graphics import Graphics
from oi_tui.widgets.timeline.graphics_sixel import Sheet

REST = 0.15
"""Seconds without a movement after which sixels are laid."""

MOMENT = 0.02
"""Seconds to wait where nothing moved: other rows of the same frame may follow."""

_LOOK = 4
"""Columns between two looks for what covers a row; nothing that pops up is narrower."""


class PictureStrip(RowStrip):
    """A row of half blocks over which sixels can be laid."""

    __slots__ = ["column", "number", "sheet"]

    def __init__(self, row: RowStrip, sheet: Sheet, number: int, column: int) -> None:
        super().__init__(row, row.cell_length, row.joint, row.lead, row.reach)
        self.sheet = sheet
        self.number = number
        """Text row of the sheet."""
        self.column = column
        """Cell where it begins."""


class ThreadRunner(Protocol):
    """Runs something in a thread, then something here."""

    def __call__(self, task: Callable[[], str], done: Callable[[Future[str]], None]) -> object: ...


class PictureRun(NamedTuple):
    """Rows of one picture, one under the other on the screen."""

    x: int
    y: int
    """Cell of the screen where they begin."""
    sheet: Sheet
    first: int
    last: int
    """Text rows of the sheet; `last` is the one after them."""

    def escape_sequence(self) -> str:
        """Move there and draw."""
        return f"\x1b[{self.y + 1};{self.x + 1}H{self.sheet.sixels(self.first, self.last)}"


class Overlay:
    """Lays sixels over the rows of one widget that were painted last."""

    def __init__(self, host: Widget, graphics: Graphics, work: ThreadRunner) -> None:
        self._host = host
        self._work = work
        self._most_rows = max(1, graphics.largest[1] // graphics.cell[1])
        self._shown: dict[int, PictureStrip] = {}
        self._bare: set[int] = set()
        """Rows of `_shown` that have no sixels yet."""
        self._timer: asyncio.TimerHandle | None = None
        self._paints = 0

    def note_paint(self, y: int, row: Strip | None) -> None:
        """A row of the widget is just being given to the compositor, without sixels."""
        self._paints += 1
        before = self._shown.pop(y, None)
        self._bare.discard(y)
        if isinstance(row, PictureStrip):
            self._shown[y] = row
            self._bare.add(y)
            moved = before is None or (before.sheet, before.number) != (row.sheet, row.number)
            self._wait(REST if moved else MOMENT)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait(self, seconds: float) -> None:
        if self._timer is not None:
            if seconds < REST:
                return  # of two waits the longer one counts, and this one may follow a movement
            self._timer.cancel()
        self._timer = call_after(self._host, seconds, self._lay)

    def _lay(self) -> None:
        self._timer = None
        if not self._is_on_top:
            return  # all of it is painted again when the terminal is back
        if runs := self._runs(self._host.region):
            paints = self._paints
            self._work(lambda: "".join(run.escape_sequence() for run in runs), lambda done: self._write(done, paints))

    def _write(self, done: Future[str], paints: int) -> None:
        if paints != self._paints:
            self._wait(REST)  # other rows were painted meanwhile, perhaps these
        elif self._is_on_top:
            self._bare.clear()
            write(self._host.app, f"\x1b7{done.result()}\x1b8")

    @property
    def _is_on_top(self) -> bool:
        return self._host.is_attached and self._host.app.screen is self._host.screen

    def _runs(self, place: Region) -> list[PictureRun]:
        """The bare rows that nothing covers, as few sixel pictures as possible."""
        runs: list[PictureRun] = []
        for y in sorted(self._bare):
            row = self._shown[y]
            if y >= place.height or not self._is_free(place.x + row.column, place.y + y, row.sheet.columns):
                continue
            last = runs[-1] if runs else None
            if (
                last is not None
                and (last.sheet, last.last) == (row.sheet, row.number)
                and last.y + last.last - last.first == place.y + y
                and last.last - last.first < self._most_rows
            ):
                runs[-1] = last._replace(last=row.number + 1)
            else:
                runs.append(PictureRun(place.x + row.column, place.y + y, row.sheet, row.number, row.number + 1))
        return runs

    def _is_free(self, x: int, y: int, columns: int) -> bool:
        """Whether all of these cells show the host; the lowest row of a screen never is, for sixels would scroll it."""
        screen = self._host.screen
        if y + 1 >= screen.size.height:
            return False
        try:
            looks = (*range(x, x + columns, _LOOK), x + columns - 1)
            return all(screen.get_widget_at(column, y)[0] is self._host for column in looks)
        except NoWidget:
            return False


def write(app: App[object], data: str) -> None:
    """Write an escape sequence to the terminal, in order with the frames."""
    driver = app._driver  # Textual has no public way; its own OSC 52 goes this one
    if driver is not None and data:
        driver.write(data)
