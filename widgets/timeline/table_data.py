"""Tables as values: columns that know their type, rows of short safe texts, and how much was left out.

Our part inside a Python kernel sends a bounded picture of a data frame under `TABLE_MIME_TYPE`; other kernels send the
"data resource" of the frictionless standard. Both come from a stranger: whatever has the wrong shape is no table.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.core.variable import MOST_WIDTH
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.widgets.timeline.figure_words import FIGURE_MIME_TYPE

TABLE_MIME_TYPE = "application/vnd.oi-tui.table+json"
"""What `in_kernel_tables.py` sends of a data frame; see there for its shape."""

RESOURCE_TYPE = "application/vnd.dataresource+json"
"""Tabular data resource: https://specs.frictionlessdata.io/tabular-data-resource/"""

MOST_TABLE_ROWS = 5_000
MOST_COLUMNS = 200
MOST_TABLE_CELLS = 100_000
"""Of all rows together."""
MOST_CHARACTERS = 500
"""Of one cell."""

LONGEST_REF = 100
"""Characters of the name that a kernel gives a frame."""

_NUMBERS = frozenset(("integer", "number"))
"""Right-aligned types of a data resource."""


class TableColumn(NamedTuple):
    """What all cells below each other have in common."""

    name: str
    kind: str = ""
    """Type of the values, as the kernel calls it: `float64`, `category`; empty if unknown."""
    is_number: bool = False
    """Whether the cells are right-aligned."""


@dataclass(frozen=True)
class TableData:
    """Rows of text under typed columns. All texts are safe and have no newlines."""

    columns: tuple[TableColumn, ...]
    """Those of the index first."""
    index: int
    """How many of the columns are the index: row labels that stay where they are when the others move."""
    rows: tuple[tuple[str, ...], ...]
    """Every row has a cell for each column."""
    head: int
    """The place of the rows that were left out: after this many of `rows`."""
    total_rows: int
    total_columns: int
    """Columns of the whole, without those of the index."""
    ref: str = ""
    """By which the kernel can be asked about all of it; "" if it cannot."""

    @property
    def hidden_rows(self) -> int:
        """Rows of the whole that are not here."""
        return self.total_rows - len(self.rows)

    @property
    def hidden_columns(self) -> int:
        """Columns that are missing here; they would be at the right."""
        return self.total_columns - (len(self.columns) - self.index)


def table_of(output: RichOutput) -> TableData | None:
    """The table that a result is, None if it is none."""
    if (content := output.data.get(TABLE_MIME_TYPE)) is not None and (table := _ours(content)) is not None:
        return table
    if (content := output.data.get(RESOURCE_TYPE)) is not None:
        return _resource(content)
    return None


def figure_data(output: RichOutput) -> TableData | None:
    """The points and bars of a figure, None where none are known."""
    match output.data.get(FIGURE_MIME_TYPE):
        case {"table": content}:
            return _ours(content)
        case _:
            return None


def build_table(
    columns: Iterable[TableColumn],
    head: Sequence[Sequence[Any]],
    tail: Sequence[Sequence[Any]] = (),
    *,
    index: int = 0,
    total_rows: int = 0,
    total_columns: int = 0,
) -> TableData:
    """A table of anything: cells made safe, rows of one length, everything within bounds."""
    kept = tuple(TableColumn(_cell(name), _cell(kind), is_number) for name, kind, is_number in columns)
    index = max(0, min(index, len(kept)))
    every, kept = len(kept), kept[: index + MOST_COLUMNS]
    most = min(MOST_TABLE_ROWS, MOST_TABLE_CELLS // max(1, len(kept)))
    first = [_row(row, len(kept)) for row in head[:most]]
    last = [_row(row, len(kept)) for row in tail[max(0, len(tail) - (most - len(first))) :]]
    return TableData(
        columns=kept,
        index=index,
        rows=(*first, *last),
        head=len(first),
        total_rows=max(total_rows, len(head) + len(tail)),
        total_columns=max(total_columns, every - index),
    )


def _ours(content: object) -> TableData | None:
    match content:
        case {
            "index": list(index),
            "columns": list(columns),
            "head": list(head),
            "tail": list(tail),
            "rows": int(rows),
            "width": int(width),
            **more,
        } if width <= MOST_WIDTH and all(isinstance(row, list) for row in (*head, *tail)):
            described = [_column(one) for one in (*index, *columns)]
            if not described or None in described:
                return None
            known = (column for column in described if column is not None)
            table = build_table(known, head, tail, index=len(index), total_rows=rows, total_columns=width)
            ref = more.get("ref", "")
            return replace(table, ref=ref) if isinstance(ref, str) and len(ref) <= LONGEST_REF else table
        case _:
            return None


def _column(described: object) -> TableColumn | None:
    match described:
        case [str(name), str(kind), bool(is_number)]:
            return TableColumn(name, kind, is_number)
        case _:
            return None


def _resource(content: object) -> TableData | None:
    match content:
        case {"schema": {"fields": list(fields), **schema}, "data": list(data)} if fields:
            described = [field if isinstance(field, dict) else {} for field in fields[: 2 * MOST_COLUMNS]]
            keys = [str(field.get("name", "")) for field in described]
            kinds = [str(field.get("type", "")) for field in described]
            key = schema.get("primaryKey")
            labels = [name for name in (key if isinstance(key, list) else [key]) if name in keys]
            order = sorted(range(len(keys)), key=lambda number: keys[number] not in labels)
            most = MOST_TABLE_CELLS // len(order)
            rows = [[row.get(keys[at]) for at in order] for row in data[:most] if isinstance(row, dict)]
            columns = [TableColumn(keys[at], kinds[at], kinds[at] in _NUMBERS) for at in order]
            index = len(labels)
            return build_table(columns, rows, index=index, total_rows=len(data), total_columns=len(fields) - index)
        case _:
            return None


def _row(cells: Sequence[Any], width: int) -> tuple[str, ...]:
    row = tuple(_cell(cell) for cell in cells[:width])
    return row + ("",) * (width - len(row))


def _cell(value: object) -> str:
    match value:
        case str():
            text = value
        case None:
            return ""
        case bool() | int() | float():
            text = str(value)
        case _:
            text = f"<{type(value).__name__}>"  # a table in a cell has no short form
    return safe_text(text[:MOST_CHARACTERS]).replace("\t", " ").replace("\n", " ")
