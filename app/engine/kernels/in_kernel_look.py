"""Runs inside a Python kernel, before `in_kernel_variables.py`: a value, described without running its code.

Looking must neither run the person's code nor take long. So no method of a type that we do not know is called
(`repr`, `len`, `==`, `hash` and attributes may all be somebody's code); builtin types are asked through their
own unbound methods, numpy and pandas only for what is cheap there.

No first-party imports. Leave nothing in the user namespace.
"""

import datetime
import itertools
import pathlib
import sys
import types
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

PEEK, LINE = 60, 110
"""Characters of a value beside its name, and of one line of a longer look."""

LINES, TEXT = 40, 4_000
"""Lines and characters of a longer look."""

ROWS, COLUMNS = 20, 8
"""Rows and columns of a table in a longer look."""

ITEMS, DEEPER = 200, 40
"""Elements of a container that are compared with those of the last time, and how many are looked into."""

FULL, SAMPLE = 16_384, 256
"""Bytes up to which all of an array is compared, and elements that are beyond."""

WIDE = 16
"""Columns of a table that are compared."""

NUMBERS = 1_000_000
"""Elements of an array up to which its extremes are looked for."""

SCALARS = frozenset(map(id, (int, float, str, bool, type(None), complex, bytes)))
"""Types by their ids: to look for a type itself may ask its metaclass."""
DATES = frozenset(map(id, (datetime.date, datetime.datetime, datetime.timedelta)))
ZONES = frozenset(map(id, (type(None), datetime.timezone)))
"""A time zone of somebody else's would be asked for its name."""
MIDNIGHT = " 00:00:00"
COLLECTIONS: tuple[Any, ...] = (list, tuple, dict, set, frozenset, deque, range)
BY_ID = {id(base): base for base in COLLECTIONS}
BRACKETS: dict[Any, tuple[str, str]] = {dict: ("{", "}"), set: ("{", "}"), frozenset: ("{", "}"), tuple: ("(", ")")}
MOMENTS = ("Timestamp", "Timedelta", "Period")
INDEXES = ("Index", "RangeIndex", "DatetimeIndex", "TimedeltaIndex", "PeriodIndex", "CategoricalIndex", "IntervalIndex")


class ValueLook(NamedTuple):
    """The description of a value."""

    shape: str = ""
    size: int | None = None
    """Bytes, without what it refers to."""
    peek: str = ""
    mark: int = 0
    """Another one when the value was changed, as far as a cheap look tells."""


def listing_row(value: Any) -> dict[str, Any]:
    """One row of a listing."""
    try:
        look = look_at(value)
    except Exception:  # boundary: one value that is broken, or that a thread is changing, hides no other
        look = ValueLook(mark=id(value))
    return {
        "type": type_name(type(value)),
        "shape": cut_to(PEEK, look.shape),
        "size": look.size,
        "peek": cut_to(PEEK, tidy(look.peek)),
        "mark": format(look.mark & (2**64 - 1), "x"),
    }


def detail_of(value: Any) -> str:
    """A longer look; "" where nothing more can be known without running its code."""
    try:
        lines = [cut_to(LINE, tidy(line)) for line in itertools.islice(lines_of(value), LINES)]
    except Exception as error:  # boundary: a value that is broken, or that a thread is changing
        return f"It cannot be looked at now: {type_name(type(error))}."
    return "\n".join(lines)[:TEXT]


# -- one value -----------------------------------------------------------------------------------------


def look_at(value: Any) -> ValueLook:
    """A cheap description of a value."""
    kind = type(value)
    if id(kind) in SCALARS:
        return scalar(value)
    base = base_of(kind)
    if base is not None:
        return collection(value, base, sys.getsizeof(value) if kind is base else None)
    if id(kind) in DATES:
        return ValueLook(peek=render_value(value, PEEK), mark=hash((id(kind), render_value(value, PEEK))))
    if kind is types.FunctionType:
        return ValueLook(peek=f"({signature(value)})", mark=hash((id(value), id(value.__code__))))
    if is_part("numpy", kind, "ndarray"):
        return array(value)
    if is_part("pandas", kind, "DataFrame"):
        return look_at_table(value)
    if is_part("pandas", kind, "Series"):
        peek = f"{tidy(value.dtype.name)} {render_value(value.iloc[:6].tolist(), PEEK)}"
        size = int(value.memory_usage(index=True, deep=False))
        return ValueLook(str(len(value)), size, peek, hash((id(value), len(value), series_mark(value))))
    if is_part("pandas", kind, *INDEXES):
        return ValueLook(str(len(value)), None, render_value(value[:6].tolist(), PEEK), id(value))
    text = render_value(value, PEEK)
    return ValueLook(peek="" if text == f"<{type_name(kind)}>" else text, mark=object_mark(value))


def scalar(value: Any) -> ValueLook:
    """Whether it is a number, a text or None, which are compared by value and not by identity."""
    kind = type(value)
    shape = str(len(value)) if kind in (str, bytes) else ""
    return ValueLook(shape, sys.getsizeof(value), render_value(value, PEEK), leaf_mark(value))


def collection(value: Any, base: Any, size: int | None) -> ValueLook:
    """A builtin container, or a kind of one."""
    length = base.__len__(value)
    sample = sample_of(value, base, length)
    inner = [leaf_mark(item) for item in sample[:DEEPER] if is_container(type(item))]
    mark = hash((id(value), length, tuple(map(id, sample)), tuple(inner)))
    return ValueLook(str(length), size, render_value(value, PEEK), mark)


def array(value: Any) -> ValueLook:
    """A numpy array of whatever kind; values only of the plain kind (another may have its own `__getitem__`)."""
    ndarray = part("numpy", "ndarray")
    shape, dtype, size = (getattr(ndarray, name).__get__(value) for name in ("shape", "dtype", "nbytes"))
    peek = values = ""
    if type(value) is ndarray:
        values = array_mark(value)
        first = value.flat[:6].tolist() if value.size else []
        peek = f" {render_value(first, PEEK)[:-1]}, …]" if value.size > 6 else f" {render_value(first, PEEK)}"
    return ValueLook("×".join(map(str, shape)), int(size), f"{dtype.name}{peek}", hash((id(value), shape, values)))


def look_at_table(value: Any) -> ValueLook:
    """Describe a pandas DataFrame or Series for the variables panel."""
    rows, columns = value.shape
    labels = value.columns[:WIDE].tolist()
    peek = ", ".join(label(name) for name in labels[:COLUMNS]) + (", …" if columns > COLUMNS else "")
    size = int(value.memory_usage(index=True, deep=False).sum()) if columns <= WIDE else None
    marks = [series_mark(value.iloc[:, number]) for number in range(min(columns, WIDE))]
    mark = hash((id(value), rows, columns, tuple(map(label, labels)), tuple(marks)))
    return ValueLook(f"{rows}×{columns}", size, peek, mark)


# -- whether it was changed ----------------------------------------------------------------------------


def leaf_mark(value: Any) -> int:
    """An element: a scalar by its value, a container by its length and who its elements are, all else by who it is."""
    kind = type(value)
    if id(kind) in SCALARS:
        size = value.bit_length() // 8 if kind is int else len(value) if kind in (str, bytes) else 0
        return hash((id(kind), size, value if size <= FULL else id(value)))
    base = base_of(kind)
    if base is not None:
        length = base.__len__(value)
        return hash((id(value), length, tuple(map(id, sample_of(value, base, length)))))
    if is_part("numpy", kind, "ndarray") and kind is part("numpy", "ndarray"):
        return hash((id(value), value.shape, array_mark(value)))
    if is_part("pandas", kind, *MOMENTS):
        return hash(value)
    return id(value)


def object_mark(value: Any) -> int:
    """An object by who it is and what its attributes are: most are changed in place."""
    state = attributes(value)
    return hash((id(value), tuple(map(id, itertools.islice(dict.values(state), ITEMS)))))


def array_mark(value: Any) -> str:
    """The bytes of a small array, those of a sample of a large one."""
    if value.dtype.hasobject:
        return str(hash(tuple(map(id, value.flat[:ITEMS].tolist())))) if value.dtype.kind == "O" else ""
    few = value if value.nbytes <= FULL else value.flat[:: max(1, value.size // SAMPLE)]
    return str(hash((value.dtype.str, few.tobytes())))


def series_mark(series: Any) -> int:
    """The mark of a column: the address of its values, and a sample of them."""
    if isinstance(series.dtype, part("numpy", "dtype")):
        values = series.to_numpy()
        return hash((values.__array_interface__["data"][0], len(series), array_mark(values)))
    few = series.iloc[:: max(1, len(series) // DEEPER)].tolist()
    return hash((series.dtype.name, tuple(map(leaf_mark, few))))


def sample_of(value: Any, base: Any, length: int) -> list[Any]:
    """Elements spread over a container, the last one among them where that is cheap."""
    if base is range:
        return []
    if base is dict:
        pairs = itertools.islice(dict.items(value), ITEMS // 2)
        return [item for pair in pairs for item in pair]
    if base in (list, tuple):
        step = max(1, length // ITEMS)
        return [*base.__getitem__(value, slice(None, None, step)), *base.__getitem__(value, slice(-1, None))]
    return list(itertools.islice(base.__iter__(value), ITEMS))


def is_container(kind: Any) -> bool:
    """Whether an element is worth a look of its own."""
    return id(kind) not in SCALARS and (base_of(kind) is not None or is_part("numpy", kind, "ndarray"))


# -- how it reads --------------------------------------------------------------------------------------


def render_value(value: Any, room: int, depth: int = 2) -> str:
    """A value in about `room` characters, `<Type>` where that cannot be known without running its code."""
    kind = type(value)
    if id(kind) in SCALARS:
        return scalar_text(value, room)
    base = base_of(kind)
    if base is not None:
        return repr(value) if base is range else collection_text(value, base, room, depth)
    if id(kind) in DATES and id(type(getattr(value, "tzinfo", None))) in ZONES:
        return str(value).removesuffix(MIDNIGHT)
    if kind is pathlib.PosixPath or is_part("pandas", kind, *MOMENTS) or value is part("pandas", "NaT"):
        return cut_to(room, str(value).removesuffix(MIDNIGHT))
    if is_part("numpy", kind, "generic") and is_one(kind, part("numpy", "sctypeDict").values()):
        return render_value(value.item(), room, depth)
    return f"<{type_name(kind)}>"


def scalar_text(value: Any, room: int) -> str:
    """Never the whole of what is huge: digits of a large number take their time."""
    kind = type(value)
    if kind is int and value.bit_length() > 400:
        return f"<{value.bit_length()} bits>"
    if kind in (str, bytes):
        return repr(value[:room]) + ("…" if len(value) > room else "")
    return repr(value)


def collection_text(value: Any, base: Any, room: int, depth: int) -> str:
    """The first elements, as many as there is room for."""
    left, right = BRACKETS.get(base, ("[", "]"))
    items: list[str] = []
    used = 0
    for item in elements(value, base):
        if used > room or not depth:
            items.append("…")
            break
        items.append(item_text(item, base, room, depth - 1))
        used += len(items[-1]) + 2
    if not items and base in (set, frozenset):
        return "set()"
    return cut_to(room, left + ", ".join(items) + ("," if base is tuple and len(items) == 1 else "") + right)


def item_text(item: Any, base: Any, room: int, depth: int) -> str:
    """One element; of a dict, with its key."""
    if base is dict:
        return f"{render_value(item[0], room, depth)}: {render_value(item[1], room, depth)}"
    return render_value(item, room, depth)


def elements(value: Any, base: Any) -> Iterator[Any]:
    """In their order; of a dict, pairs."""
    return iter(dict.items(value)) if base is dict else iter(base.__iter__(value))


def lines_of(value: Any) -> Iterator[str]:
    """A longer look, line by line."""
    kind = type(value)
    base = base_of(kind)
    if kind is str:
        yield from value[:TEXT].split("\n")
    elif base is not None and base is not range:
        for number, item in enumerate(elements(value, base)):
            if number == LINES - 1:
                yield f"… {base.__len__(value) - number} more"
                return
            yield item_text(item, base, LINE, 2)
    elif is_part("pandas", kind, "DataFrame"):
        head = value.iloc[:ROWS, :COLUMNS]
        columns = [head.iloc[:, number].tolist() for number in range(head.shape[1])]
        yield from aligned_table(
            [label(name) for name in head.columns.tolist()], columns, head.index.tolist(), value.shape
        )
    elif is_part("pandas", kind, "Series"):
        yield from aligned_table(
            [label(value.name)], [value.iloc[:ROWS].tolist()], value.index[:ROWS].tolist(), (len(value), 1)
        )
    elif is_part("numpy", kind, "ndarray") and kind is part("numpy", "ndarray"):
        yield from array_lines(value)
    elif kind is types.FunctionType:
        yield f"({signature(value)})"
    elif (text := render_value(value, LINE)) != f"<{type_name(kind)}>":
        yield text
    else:
        for key, item in dict.items(attributes(value)):
            yield f".{label(key)} = {render_value(item, LINE)}"


def array_lines(value: Any) -> Iterator[str]:
    """Its values, of more than two dimensions the first two-dimensional part; the extremes where that is cheap."""
    yield f"{value.dtype.name}, {'×'.join(map(str, value.shape)) or 'no dimension'}"
    if value.dtype.kind in "iuf" and 0 < value.size <= NUMBERS:
        yield f"min {render_value(value.min().item(), PEEK)}, max {render_value(value.max().item(), PEEK)}"
    while value.ndim > 2 and value.size:
        value = value[0]
    if value.ndim < 2:
        yield collection_text(value.flat[:ITEMS].tolist(), list, LINE, 2)
        return
    head = value[:ROWS, :COLUMNS]
    yield from aligned_table(
        [str(number) for number in range(head.shape[1])], head.T.tolist(), range(head.shape[0]), value.shape
    )


def aligned_table(
    heads: list[str], columns: list[list[Any]], index: Iterable[Any], shape: tuple[int, ...]
) -> Iterator[str]:
    """A table, aligned; its end says how much it omits."""
    cells = [["", *(cut_to(PEEK // 3, label(name)) for name in index)]]
    for head, column in zip(heads, columns, strict=True):
        texts = [cut_to(PEEK // 3, item if type(item) is str else render_value(item, PEEK // 3)) for item in column]
        cells.append([cut_to(PEEK // 3, head), *map(tidy, texts)])
    widths = [max(map(len, column)) for column in cells]
    for row in zip(*cells, strict=True):
        yield "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)).rstrip()
    if shape[0] > ROWS or shape[1] > len(heads):
        yield f"… {shape[0]} rows × {shape[1]} columns"


def signature(function: Any) -> str:
    """The names of the parameters."""
    code = function.__code__
    return ", ".join(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


def label(name: Any) -> str:
    """A heading: a text verbatim, anything else by its description."""
    return tidy(name[:PEEK]) if type(name) is str else tidy(render_value(name, PEEK))


def tidy(text: str) -> str:
    """On one line, and such that UTF-8 can express it."""
    return " ".join(text.split("\n")).encode("utf-8", "replace").decode()


def cut_to(room: int, text: str) -> str:
    """At most `most` characters."""
    return text if len(text) <= room else text[: room - 1] + "…"


# -- types, without asking them ------------------------------------------------------------------------


def type_name(kind: Any) -> str:
    """Past a metaclass that has its own idea of `__name__`."""
    return tidy(str.__getitem__(vars(type)["__name__"].__get__(kind), slice(0, PEEK)))


def base_of(kind: Any) -> Any:
    """The builtin container that a type is a kind of."""
    return BY_ID.get(id(kind)) or next((base for base in COLLECTIONS if issubclass(kind, base)), None)


def attributes(value: Any) -> dict[Any, Any]:
    """The instance's own attributes, {} if it has none or a property hides them."""
    for base in vars(type)["__mro__"].__get__(type(value)):
        entry = vars(type)["__dict__"].__get__(base).get("__dict__")
        if entry is not None:
            state = entry.__get__(value) if type(entry) is types.GetSetDescriptorType else {}
            return state if type(state) is dict else {}
    return {}


def is_one(kind: Any, kinds: Iterable[Any]) -> bool:
    """Whether it is one of these types and no other; `in` might ask a metaclass."""
    return any(kind is entry for entry in kinds)


def part(library: str, name: str) -> Any:
    """Something of a library, if that was imported; None otherwise."""
    module = sys.modules.get(library)
    return vars(module).get(name) if type(module) is types.ModuleType else None


def is_part(library: str, kind: Any, *names: str) -> bool:
    """Whether a type is one of these of a library (of numpy: or is derived from it)."""
    found = [part(library, name) for name in names]
    if library == "numpy":
        return type(found[0]) is type and issubclass(kind, found[0])
    return is_one(kind, found)
