"""Runs inside a Python kernel, after `in_kernel.py`: never imported by us, only sent as text.

A displayed data frame comes with a bounded copy, so that a front end can draw a table with pages and types: `{index,
columns, head, tail, rows, width}`. `index` and `columns` are lists of `[name, type, whether it is a number]`, `head`
and `tail` lists of rows of texts (index first), `rows` and `width` the size of the whole. Ten million rows cost what
six hundred cost. `text/plain` stays what it was.

No first-party imports. Leave nothing in the user namespace.
"""

import contextlib
import itertools
import math
import numbers
import reprlib
import sys
from collections.abc import Callable, Iterable
from typing import Any

TABLE_TYPE = "application/vnd.oi-tui.table+json"

HEAD, TAIL = 500, 50
"""Rows from the beginning and the end."""

WIDE = 60
"""Columns."""

CELLS = 20_000
"""Cells of all rows together: a wide frame has fewer rows."""

CELL_TEXT_LIMIT = 200
"""Characters of a cell."""

LEVELS = 8
"""Columns of an index."""

FAR = 1e15
"""Numbers from here on have an exponent."""

BRIEF = reprlib.Repr()
BRIEF.maxlist = BRIEF.maxtuple = BRIEF.maxset = BRIEF.maxfrozenset = BRIEF.maxdict = BRIEF.maxdeque = BRIEF.maxarray = (
    10
)
BRIEF.maxstring = BRIEF.maxother = BRIEF.maxlong = CELL_TEXT_LIMIT

MIDNIGHT = " 00:00:00"

ESCAPES = str.maketrans({"\n": "\\n", "\r": "\\r", "\t": "\\t"})


def send_tables(shell: Any) -> None:
    """Register what makes a table of each kind of frame; by name, so that none of the libraries is imported."""
    # Here, so that a kernel that has them elsewhere fails in here and nowhere else.
    from IPython.core.formatters import BaseFormatter
    from traitlets import ObjectName, Unicode

    class TableFormatter(BaseFormatter):  # type: ignore[misc]  # IPython has no types
        format_type = Unicode(TABLE_TYPE)
        print_method = ObjectName("_repr_oi_tui_table_")
        _return_type = dict

    formatter = TableFormatter(parent=shell.display_formatter)
    kinds: list[tuple[str, str, Callable[[Any], dict[str, Any]]]] = [
        *((module, "DataFrame", pandas_table) for module in ("pandas", "pandas.core.frame")),
        *((module, "Series", pandas_table) for module in ("pandas", "pandas.core.series")),
        ("polars.dataframe.frame", "DataFrame", polars_table),
        ("polars.series.series", "Series", polars_table),
        ("pyarrow.lib", "Table", arrow_table),
        ("pyarrow.lib", "RecordBatch", arrow_table),
    ]
    for module, name, table in kinds:
        formatter.for_type_by_name(module, name, quietly(table))
    shell.display_formatter.formatters[TABLE_TYPE] = formatter


def quietly(table: Callable[[Any], dict[str, Any]]) -> Callable[[Any], dict[str, Any] | None]:
    """A frame of another version, or one with strange things in it, is shown without its table."""

    def make(frame: Any) -> dict[str, Any] | None:
        # Boundary: whatever a library or somebody's `__str__` raises, there is still the text.
        with contextlib.suppress(Exception):
            return table(frame)
        return None

    return make


def pandas_table(frame: Any) -> dict[str, Any]:
    """The picture of a pandas DataFrame or Series."""
    pandas = sys.modules["pandas"]
    if frame.ndim == 1:
        frame = frame.to_frame("" if frame.name is None else frame.name)
    rows, width = frame.shape
    shown = frame.iloc[:, :WIDE]
    head, tail = head_and_tail(rows, width)
    pieces = [shown.iloc[:head], shown.iloc[rows - tail :]]
    ends = frame.index[:head], frame.index[rows - tail :]
    levels = [[end.get_level_values(level) for end in ends] for level in range(min(LEVELS, frame.index.nlevels))]
    options = float(pandas.get_option("display.precision")), pandas.get_option("display.float_format")
    labels = [texts(itertools.chain(*level), str(level[0].dtype), *options) for level in levels]
    columns = [
        texts(itertools.chain(*(piece.iloc[:, at] for piece in pieces)), str(shown.dtypes.iloc[at]), *options)
        for at in range(shown.shape[1])
    ]
    names = [column_name(name) for name in shown.columns]
    return table_message(
        [[column_name(level.name), str(level.dtype), is_number(level.dtype)] for level, _ in levels],
        [[name, str(kind)[:CELL_TEXT_LIMIT], is_number(kind)] for name, kind in zip(names, shown.dtypes, strict=True)],
        [*labels, *columns],
        head,
        (rows, width),
    )


def polars_table(frame: Any) -> dict[str, Any]:
    """The picture of a polars DataFrame or Series."""
    if hasattr(frame, "to_frame"):
        frame = frame.to_frame()
    rows, width = frame.shape
    head, tail = head_and_tail(rows, width)
    names = frame.columns[:WIDE]
    parts = [frame[:head], frame[rows - tail :]]
    kinds = [frame.schema[name] for name in names]
    columns = [
        texts(name_nulls(itertools.chain(*(part[name] for part in parts))), str(kind))
        for name, kind in zip(names, kinds, strict=True)
    ]
    described = [
        [name[:CELL_TEXT_LIMIT], str(kind)[:CELL_TEXT_LIMIT], kind.is_numeric()]
        for name, kind in zip(names, kinds, strict=True)
    ]
    return table_message([], described, columns, head, (rows, width))


def arrow_table(frame: Any) -> dict[str, Any]:
    """The picture of a pyarrow Table or RecordBatch."""
    rows, width = frame.num_rows, frame.num_columns
    head, tail = head_and_tail(rows, width)
    fields = [frame.schema.field(at) for at in range(min(WIDE, width))]
    columns, described = [], []
    for at, field in enumerate(fields):
        kind = str(field.type)
        column = frame.column(at)
        values = itertools.chain(column.slice(0, head).to_pylist(), column.slice(rows - tail).to_pylist())
        columns.append(texts(name_nulls(values), "float" if kind in ("double", "halffloat") else kind))
        is_numeric = kind.startswith(("int", "uint", "float", "double", "halffloat", "decimal"))
        described.append([field.name[:CELL_TEXT_LIMIT], kind[:CELL_TEXT_LIMIT], is_numeric])
    return table_message([], described, columns, head, (rows, width))


def head_and_tail(rows: int, width: int) -> tuple[int, int]:
    """How many rows are taken from the beginning and from the end."""
    head = min(HEAD, CELLS // max(1, min(width, WIDE)) - TAIL)
    return (rows, 0) if rows <= head + TAIL else (head, TAIL)


def table_message(
    index: list[list[Any]], columns: list[list[Any]], cells: list[list[str]], head: int, size: tuple[int, int]
) -> dict[str, Any]:
    """The message; `cells` are columns."""
    rows = [list(row) for row in zip(*cells, strict=True)]
    return {
        "index": index,
        "columns": columns,
        "head": rows[:head],
        "tail": rows[head:],
        "rows": size[0],
        "width": size[1],
    }


def column_name(name: Any) -> str:
    """The name of a column; that of one with several levels is its parts."""
    if name is None:
        return ""
    return " / ".join(map(cell_text, name)) if isinstance(name, tuple) else cell_text(name)


def is_number(kind: Any) -> bool:
    """Whether values of a pandas type are right-aligned."""
    return getattr(kind, "kind", "") in "iufc" and getattr(kind, "kind", "") != ""


def texts(
    values: Iterable[Any], kind: str, precision: float = 6, form: Callable[[float], str] | None = None
) -> list[str]:
    """The cells of a column: floats with as many digits as matter in any of them, the rest as it prints."""
    column = list(values)
    if kind.lower().startswith("float"):
        return floats(column, int(precision), form)
    cells = [cell_text(value) for value in column]
    if kind.startswith("datetime") and all(cell.endswith(MIDNIGHT) or cell == "NaT" for cell in cells):
        return [cell.removesuffix(MIDNIGHT) for cell in cells]
    return cells


def name_nulls(values: Iterable[Any]) -> Iterable[Any]:
    """Values of a library in which nothing else is absent, with the word that it has for that."""
    return ("null" if value is None else value for value in values)


def floats(column: list[Any], digits: int, form: Callable[[float], str] | None) -> list[str]:
    """Numbers below each other with one number of decimals, or all with an exponent."""
    known = [float(value) for value in column if isinstance(value, numbers.Real) and math.isfinite(value)]
    if form is None:
        small = 10.0**-digits
        wide = any(abs(value) >= FAR or 0 < abs(value) < small for value in known)
        decimals = 0
        if not wide:
            decimals = max((len(f"{value:.{digits}f}".rstrip("0").partition(".")[2]) for value in known), default=1)
        pattern = f"{{:.{digits}e}}" if wide else f"{{:.{max(1, decimals)}f}}"
        form = pattern.format
    return [
        form(float(value))[:CELL_TEXT_LIMIT]
        if isinstance(value, numbers.Real) and math.isfinite(value)
        else missing_text(value)
        for value in column
    ]


def missing_text(value: Any) -> str:
    """The text of a non-number in a column of numbers."""
    if isinstance(value, numbers.Real):
        return "NaN" if math.isnan(value) else ("inf" if float(value) > 0 else "-inf")
    return cell_text(value)


def cell_text(value: Any) -> str:
    """A value on one line, however large it is."""
    if isinstance(value, str):
        return value[:CELL_TEXT_LIMIT].translate(ESCAPES)
    if isinstance(value, (list, tuple, set, frozenset, dict, bytes, bytearray)):
        return BRIEF.repr(value)[:CELL_TEXT_LIMIT].translate(ESCAPES)
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, int) and value.bit_length() > 256:
        return hex(value)[: CELL_TEXT_LIMIT - 1] + "…"  # in decimal digits it would take for ever, or be refused
    return str(value)[:CELL_TEXT_LIMIT].translate(ESCAPES)


if __name__ == "oi_tui_in_kernel":
    # Boundary: the insides of another version of IPython; a frame is shown as text then.
    with contextlib.suppress(Exception):
        send_tables(__import__("IPython").get_ipython())
