"""Where a table comes from: what is loaded already, sorted and filtered here. The kernel's whole frames are another."""

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from oi_tui.app.engine.core.variable import ColumnFigures, FrameColumn, FrameCondition, FramePage, FrameQuestion
from oi_tui.widgets.timeline.table_data import TableColumn, TableData

MISSING = frozenset(("", "NaN", "NaT", "None", "<NA>", "null"))
"""Texts of cells in which nothing is."""

GAP = "…"
"""Fills the cells of the row that marks rows left out."""


class NoRows(Exception):
    """Rows cannot be had; the text says why."""


class RowsGone(NoRows):
    """And they will not be had any more."""


class TableSource(Protocol):
    """Answers questions about one table."""

    @property
    def state(self) -> str:
        """What an answer waits for, in words; "" if nothing keeps it."""
        ...

    async def read(self, question: FrameQuestion) -> FramePage:
        """A window of rows and columns; `NoRows` where it cannot be had."""
        ...

    async def figures(self, question: FrameQuestion) -> ColumnFigures:
        """Figures about a column; `NoRows` where they cannot be had."""
        ...


class LoadedTable:
    """A table that has arrived as a whole."""

    state = ""

    def __init__(self, table: TableData) -> None:
        self._table = table
        self._view: tuple[tuple[object, ...], list[int]] = ((), [])

    @property
    def gap(self) -> int | None:
        """Number of the row that marks rows that were left out, as long as the order is the original one."""
        return self._table.head if self._table.hidden_rows > 0 else None

    async def read(self, question: FrameQuestion) -> FramePage:
        """A window of what is here."""
        table = self._table
        numbers = self._numbers(question)
        places = [*range(table.index), *(table.index + at for at in question.columns if at < self._width)]
        shown = numbers[question.first : question.first + question.count]
        cells = (table.rows[number] if number >= 0 else (GAP,) * len(table.columns) for number in shown)
        return FramePage(
            mark="",
            rows=table.total_rows,
            matching=len(numbers),
            width=self._width,
            first=question.first,
            columns=tuple(self._column(at) for at in places),
            cells=tuple(tuple(row[at] for at in places) for row in cells),
        )

    async def figures(self, question: FrameQuestion) -> ColumnFigures:
        """Figures about what is here."""
        at = (question.figures or 0) + self._table.index
        column = self._table.columns[at]
        cells = [self._table.rows[number][at] for number in self._numbers(question) if number >= 0]
        known = [cell for cell in cells if cell not in MISSING]
        often = Counter(known)
        ordered = sorted(known, key=lambda cell: _key(cell, column))
        numbers = [number for cell in known if (number := _number(cell)) is not None] if column.is_number else []
        return ColumnFigures(
            name=column.name,
            kind=column.kind,
            count=len(known),
            nulls=len(cells) - len(known),
            distinct=len(often),
            min=ordered[0] if ordered else "",
            max=ordered[-1] if ordered else "",
            mean=f"{sum(numbers) / len(numbers):.6g}" if numbers else "",
            often=tuple(often.most_common(3)),
        )

    @property
    def _width(self) -> int:
        return len(self._table.columns) - self._table.index

    def _column(self, at: int) -> FrameColumn:
        name, kind, is_number = self._table.columns[at]
        return FrameColumn(number=at - self._table.index, name=name, kind=kind, is_number=is_number)

    def _numbers(self, question: FrameQuestion) -> list[int]:
        """The rows in their order; -1 for the gap."""
        key = (question.sort, question.descending, question.where)
        if self._view[0] != key:
            self._view = (key, self._sort_rows(question))
        return self._view[1]

    def _sort_rows(self, question: FrameQuestion) -> list[int]:
        table = self._table
        numbers = list(range(len(table.rows)))
        if question.sort is None and not question.where:
            if (gap := self.gap) is not None:
                numbers.insert(gap, -1)
            return numbers
        for condition in question.where:
            at = _find(table.columns, condition.column)
            numbers = [one for one in numbers if _holds(table.rows[one][at], condition, table.columns[at])]
        if question.sort is not None:
            at = question.sort + table.index
            column = table.columns[at]
            missing = [one for one in numbers if table.rows[one][at] in MISSING]
            known = [one for one in numbers if table.rows[one][at] not in MISSING]
            known.sort(key=lambda one: _key(table.rows[one][at], column), reverse=question.descending)
            numbers = known + missing
        return numbers


def _find(columns: Sequence[TableColumn], name: str) -> int:
    for fold in (str, str.lower):
        for at, column in enumerate(columns):
            if fold(column.name) == fold(name):
                return at
    raise NoRows(f"There is no column {name}.")


def _holds(cell: str, condition: FrameCondition, column: TableColumn) -> bool:
    value, sign = condition.value, condition.sign
    if value is None:
        return (cell in MISSING) == (sign == "=")
    if cell in MISSING:
        return False
    if sign in ("~", "!~"):
        return (value.lower() in cell.lower()) == (sign == "~")
    if column.is_number and _number(value) is None:
        raise NoRows(f"“{value}” cannot be compared with {column.name}, which is {column.kind or 'a number'}.")
    one, other = _key(cell, column), _key(value, column)
    match sign:
        case "=":
            return one == other
        case "!=":
            return one != other
        case "<":
            return one < other
        case "<=":
            return one <= other
        case ">":
            return one > other
        case _:
            return one >= other


def _key(cell: str, column: TableColumn) -> tuple[float, str]:
    """What cells of a column are compared by: numbers as such."""
    number = _number(cell) if column.is_number else None
    return (number, "") if number is not None else (0.0, cell)


def _number(cell: str) -> float | None:
    try:
        return float(cell.replace(",", ""))
    except ValueError:
        return None
