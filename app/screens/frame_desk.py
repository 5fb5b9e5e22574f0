"""Whole frames of kernels: what a table viewer asks of the engine, and the answers, one at a time."""

import asyncio
from collections.abc import Callable

import msgspec

from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.kernel_looks import FrameSeen, ReadFrame
from oi_tui.app.engine.core.variable import ColumnFigures, FramePage, FrameQuestion
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.widgets.viewer.table_source import NoRows, RowsGone

LOOK = 1.0
"""Seconds between two looks whether there still is an engine."""

_GONE = "The kernel does not have this table any more."
_SILENT = "The kernel did not answer."


class KernelFrame:
    """A table that a kernel has all rows of."""

    def __init__(self, language: str, send: Callable[[ReadFrame], None], is_alive: Callable[[], bool]) -> None:
        """`is_alive`: whether there is an engine to answer."""
        self._language = language
        self._send = send
        self._is_alive = is_alive
        self._one = asyncio.Lock()
        self._request = ""
        """The question that is open."""
        self._answer: asyncio.Future[FrameSeen] | None = None
        self.state = ""

    async def read(self, question: FrameQuestion) -> FramePage:
        """A window of rows and columns; with `exact`, as it is written in a file."""
        seen = await self._ask(question)
        if seen.page is None:
            raise NoRows(_SILENT)
        return seen.page if question.exact else _safe(seen.page)

    async def figures(self, question: FrameQuestion) -> ColumnFigures:
        """Figures about a column."""
        seen = await self._ask(question)
        if seen.figures is None:
            raise NoRows(_SILENT)
        return seen.figures

    def take(self, seen: FrameSeen) -> None:
        """An answer of the engine, to this question or an earlier one."""
        if self._answer is None or self._answer.done() or seen.request_id != self._request:
            return
        if seen.telling == "busy":
            self.state = f"{self._language} is busy: waiting"
        else:
            self._answer.set_result(seen)

    async def _ask(self, question: FrameQuestion) -> FrameSeen:
        async with self._one:
            self._request, self._answer, self.state = new_id(), asyncio.get_running_loop().create_future(), ""
            try:
                self._send(ReadFrame(request_id=self._request, language=self._language, question=question))
                while not (await asyncio.wait([self._answer], timeout=LOOK))[0]:
                    if not self._is_alive():
                        raise RowsGone(_GONE)
                seen = self._answer.result()
            finally:
                self._answer, self.state = None, ""
        if seen.telling in ("gone", "cold", "dead"):
            raise RowsGone(_GONE)
        if seen.telling != "told":
            raise NoRows(_SILENT)
        if seen.problem:
            raise NoRows(safe_text(seen.problem))
        return seen


def _safe(page: FramePage) -> FramePage:
    """Its texts on one line, without what a terminal would obey."""
    columns = tuple(msgspec.structs.replace(one, name=_line(one.name), kind=_line(one.kind)) for one in page.columns)
    return msgspec.structs.replace(page, columns=columns, cells=tuple(tuple(map(_line, row)) for row in page.cells))


def _line(text: str) -> str:
    return safe_text(text).replace("\t", " ").replace("\n", " ")
