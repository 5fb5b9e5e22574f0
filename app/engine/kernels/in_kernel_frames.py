"""Runs inside a Python kernel: never imported by us, only sent as text. Frames of pandas, polars and pyarrow as texts.

`table_of_frame` makes the bounded picture of a frame, `{index, columns, head, tail, rows, width}`: `index` and
`columns` are lists of `[name, type, whether it is a number]`, `head` and `tail` lists of rows of texts (index first),
`rows` and `width` the size of the whole. Ten million rows cost what six hundred cost.

No first-party imports. Leave nothing in the user namespace.
"""

import math
import numbers
import reprlib
import secrets
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

HEAD, TAIL = 500, 50
"""Rows from the beginning and the end."""

WIDEST_TABLE = 60
"""Columns of a table."""

TABLE_CELLS = 20_000
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

AT_MIDNIGHT = " 00:00:00"

REMEMBERED_FRAMES = 1_000
"""Frames that can be asked about."""

FRAME_TYPES = (
    *(("pandas", name) for name in ("DataFrame", "Series")),
    *(("polars", name) for name in ("DataFrame", "Series")),
    *(("pyarrow", name) for name in ("Table", "RecordBatch")),
)
"""Where the types are that can be asked about."""

ESCAPES = str.maketrans({"\n": "\\n", "\r": "\\r", "\t": "\\t"})


class Frame:
    """A frame of any library. Columns have numbers from 0; those of the index are below 0."""

    levels = 0
    """Columns of the index."""

    def __init__(self, size: tuple[int, int], text: Callable[[Any], str]) -> None:
        """`text` makes the text of a cell whose type is not the library's own."""
        self.size = size
        self.text = text
        self.forms: dict[int, Callable[[Any], str]] = {}
        """How the cells of a column are written, by its number."""

    @property
    def ends(self) -> list[slice]:
        """The rows that a table has of it."""
        rows, width = self.size
        head, tail = head_and_tail(rows, width)
        return [slice(0, head), slice(rows - tail, rows)]

    def describe(self, at: int) -> list[Any]:
        """Name, type, and whether it is a number."""
        raise NotImplementedError

    def values(self, at: int, rows: Any) -> list[Any]:
        """The cells of a column in these rows: a slice, or their numbers as the library wants them."""
        raise NotImplementedError

    def form(self, sample: list[Any], at: int) -> Callable[[Any], str]:
        """How the cells of a column are written, of which these are some."""
        return cell_form(sample, self.describe(at)[1], text=self.text)

    def form_of(self, at: int) -> Callable[[Any], str]:
        """The same form on all pages: that of the table."""
        if at not in self.forms:
            self.forms[at] = self.form([value for rows in self.ends for value in self.values(at, rows)], at)
        return self.forms[at]

    def texts(self, at: int, rows: Any) -> list[str]:
        """The cells of a column as texts."""
        return list(map(self.form_of(at), self.values(at, rows)))


class PandasFrame(Frame):
    """A DataFrame or Series of pandas."""

    def __init__(self, frame: Any, text: Callable[[Any], str], options: tuple[Any, ...] = ()) -> None:
        """`options` are the digits behind the point, and what the person has floats written by."""
        if frame.ndim == 1:
            frame = frame.to_frame("" if frame.name is None else frame.name)
        super().__init__(frame.shape, text)
        self.levels = min(LEVELS, frame.index.nlevels)
        self.frame = frame
        self.kinds = list(frame.dtypes)
        self.options = options

    def column(self, at: int) -> Any:
        """A series; its own index means nothing."""
        if at >= 0:
            return self.frame.iloc[:, at]
        return self.frame.index.get_level_values(at + self.levels).to_series(index=range(len(self.frame)))

    def kind(self, at: int) -> Any:
        """The type of its cells."""
        return self.kinds[at] if at >= 0 else self.frame.index[:0].get_level_values(at + self.levels).dtype

    def describe(self, at: int) -> list[Any]:
        name = self.frame.columns[at] if at >= 0 else self.frame.index.names[at + self.levels]
        kind = self.kind(at)
        return [column_name(name, self.text), str(kind)[:CELL_TEXT_LIMIT], is_number(kind)]

    def values(self, at: int, rows: Any) -> list[Any]:
        if at < 0:
            return list(self.frame.index[rows].get_level_values(at + self.levels))
        return list(self.frame.iloc[:, at].iloc[rows])

    def form(self, sample: list[Any], at: int) -> Callable[[Any], str]:
        return cell_form(sample, str(self.kind(at)), *self.options, text=self.text)


class PolarsFrame(Frame):
    """A DataFrame or Series of polars."""

    def __init__(self, frame: Any, text: Callable[[Any], str]) -> None:
        frame = frame.to_frame() if hasattr(frame, "to_frame") else frame
        super().__init__(frame.shape, text)
        self.frame = frame

    def column(self, at: int) -> Any:
        """All its cells, as a series."""
        return self.frame.to_series(at)

    def describe(self, at: int) -> list[Any]:
        kind = self.frame.dtypes[at]
        said = str(kind).replace("time_unit=", "").replace(", time_zone=None", "").replace("'", "")
        return [self.frame.columns[at][:CELL_TEXT_LIMIT], said[:CELL_TEXT_LIMIT], kind.is_numeric()]

    def values(self, at: int, rows: Any) -> list[Any]:
        return list(self.column(at)[rows].to_list())

    def form(self, sample: list[Any], at: int) -> Callable[[Any], str]:
        return null_form(super().form(sample, at))


class ArrowFrame(Frame):
    """A Table or RecordBatch of pyarrow."""

    def __init__(self, frame: Any, text: Callable[[Any], str]) -> None:
        super().__init__((frame.num_rows, frame.num_columns), text)
        self.frame = frame

    def column(self, at: int) -> Any:
        """An array, in pieces."""
        return self.frame.column(at)

    def describe(self, at: int) -> list[Any]:
        field = self.frame.schema.field(at)
        kind = str(field.type)[:CELL_TEXT_LIMIT]
        is_numeric = kind.startswith(("int", "uint", "float", "double", "halffloat", "decimal"))
        return [field.name[:CELL_TEXT_LIMIT], kind, is_numeric]

    def values(self, at: int, rows: Any) -> list[Any]:
        column = self.column(at)
        if isinstance(rows, slice):
            column = column.slice(rows.start, max(0, rows.stop - rows.start))
        else:
            column = column.take(rows)
        return list(column.to_pylist())

    def form(self, sample: list[Any], at: int) -> Callable[[Any], str]:
        return null_form(super().form(sample, at))


def table_of_frame(frame: Frame) -> dict[str, Any]:
    """The message: both ends of the frame."""
    rows, width = frame.size
    head, _ = head_and_tail(rows, width)
    cells = []
    places = [*range(-frame.levels, 0), *range(min(WIDEST_TABLE, width))]
    for at in places:
        values = [value for end in frame.ends for value in frame.values(at, end)]
        frame.forms[at] = frame.form(values, at)
        cells.append(list(map(frame.forms[at], values)))
    described = [frame.describe(at) for at in places]
    return table_message(described[: frame.levels], described[frame.levels :], cells, head, (rows, width))


def head_and_tail(rows: int, width: int) -> tuple[int, int]:
    """How many rows are taken from the beginning and from the end."""
    head = min(HEAD, TABLE_CELLS // max(1, min(width, WIDEST_TABLE)) - TAIL)
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


def column_name(name: Any, text: Callable[[Any], str]) -> str:
    """The name of a column; that of one with several levels is its parts."""
    if name is None:
        return ""
    return " / ".join(map(text, name)) if type(name) is tuple else text(name)


def is_number(kind: Any) -> bool:
    """Whether values of a pandas type are right-aligned."""
    return getattr(kind, "kind", "") in "iufc" and getattr(kind, "kind", "") != ""


def null_form(form: Callable[[Any], str]) -> Callable[[Any], str]:
    """That of a library in which nothing else is absent, with the word that it has for that."""
    return lambda value: "null" if value is None else form(value)


def cell_form(
    sample: list[Any],
    kind: str,
    precision: float = 6,
    form: Callable[[float], str] | None = None,
    *,
    text: Callable[[Any], str],
) -> Callable[[Any], str]:
    """How a column is written of which these are some cells: floats with as many digits as matter in any of them."""
    if kind.lower().startswith(("float", "double", "halffloat")):
        return float_form(sample, int(precision), form, text)
    if kind.startswith("datetime"):
        cells = list(map(text, sample))
        if all(cell.endswith(AT_MIDNIGHT) or cell == "NaT" for cell in cells):
            return lambda value: text(value)[: -len(AT_MIDNIGHT)] if text(value).endswith(AT_MIDNIGHT) else text(value)
    return text


def float_form(
    sample: list[Any], digits: int, form: Callable[[float], str] | None, text: Callable[[Any], str]
) -> Callable[[Any], str]:
    """Numbers below each other with one number of decimals, or all with an exponent."""
    known = [float(value) for value in sample if is_finite(value)]
    if form is None:
        small = 10.0**-digits
        wide = any(abs(value) >= FAR or 0 < abs(value) < small for value in known)
        decimals = 0
        if not wide:
            decimals = max((len(f"{value:.{digits}f}".rstrip("0").partition(".")[2]) for value in known), default=1)
        pattern = f"{{:.{digits}e}}" if wide else f"{{:.{max(1, decimals)}f}}"
        form = pattern.format

    def write(value: Any) -> str:
        return form(float(value))[:CELL_TEXT_LIMIT] if is_finite(value) else missing_text(value, text)

    return write


def is_finite(value: Any) -> bool:
    """Whether it is a number that can be written."""
    return isinstance(value, numbers.Real) and math.isfinite(value)


def missing_text(value: Any, text: Callable[[Any], str]) -> str:
    """The text of a non-number in a column of numbers."""
    if isinstance(value, numbers.Real):
        return "NaN" if math.isnan(value) else ("inf" if float(value) > 0 else "-inf")
    return text(value)


def cell_text(value: Any) -> str:
    """A value on one line, however large it is. It may run code of the value's type."""
    if isinstance(value, str):
        return value[:CELL_TEXT_LIMIT].translate(ESCAPES)
    if isinstance(value, (list, tuple, set, frozenset, dict, bytes, bytearray)):
        return BRIEF.repr(value)[:CELL_TEXT_LIMIT].translate(ESCAPES)
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, int) and value.bit_length() > 256:
        return hex(value)[: CELL_TEXT_LIMIT - 1] + "…"  # in decimal digits it would take for ever, or be refused
    return str(value)[:CELL_TEXT_LIMIT].translate(ESCAPES)


def pandas_table(frame: Any) -> dict[str, Any]:
    """The table of a pandas DataFrame or Series that is shown."""
    pandas = sys.modules["pandas"]
    options = float(pandas.get_option("display.precision")), pandas.get_option("display.float_format")
    return table_of_frame(PandasFrame(frame, cell_text, options))


def polars_table(frame: Any) -> dict[str, Any]:
    """The table of a polars DataFrame or Series that is shown."""
    return table_of_frame(PolarsFrame(frame, cell_text))


def arrow_table(frame: Any) -> dict[str, Any]:
    """The table of a pyarrow Table or RecordBatch that is shown."""
    return table_of_frame(ArrowFrame(frame, cell_text))


class SeenFrames:
    """The frames that were shown, as long as they live."""

    def __init__(self) -> None:
        self._start = secrets.token_hex(4)
        self._count = 0
        self._frames: dict[str, Any] = {}

    def remember(self, frame: Any) -> str:
        """The name by which it can be asked about; "" for a kind of frame of somebody's own, which may run code."""
        if not any(type(frame) is library_part(module, name) for module, name in FRAME_TYPES):
            plain = plain_frame(frame)
            if plain is None or sum(head_and_tail(*plain.shape)) >= len(plain):  # all is shown, as its class writes it
                return ""
        self._count += 1
        name = f"{self._start}-{self._count}"
        self._frames[name] = weakref.ref(frame, lambda _: self._frames.pop(name, None))
        if len(self._frames) > REMEMBERED_FRAMES:
            del self._frames[next(iter(self._frames))]
        return name

    def find(self, name: str) -> Any:
        """The frame, None if it is gone."""
        found = self._frames.get(name)
        return found() if found is not None else None


def plain_frame(value: Any) -> Any:
    """The cells of a frame whose class is derived from that of pandas, such as geopandas', as a frame of pandas, made
    without running code of that class; None for anything else."""
    frame = library_part("pandas", "DataFrame")
    managers = library_part("pandas.core.internals.managers", "BlockManager")
    ancestors = type.__dict__["__mro__"].__get__(type(value))
    if frame is None or managers is None or not any(one is frame for one in ancestors):
        return None
    for one in type.__dict__["__mro__"].__get__(frame):
        attributes = vars(one).get("__dict__")
        if type(attributes) is types.GetSetDescriptorType:
            manager = attributes.__get__(value).get("_mgr")
            return frame._from_mgr(manager, manager.axes) if type(manager) is managers else None
    return None


def library_part(library: str, name: str) -> Any:
    """Something of a library, if that was imported; None otherwise."""
    module = sys.modules.get(library)
    return vars(module).get(name) if type(module) is types.ModuleType else None
