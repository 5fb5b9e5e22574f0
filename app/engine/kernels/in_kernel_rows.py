"""Runs inside a Python kernel, after `in_kernel_frames.py`: never imported by us, only sent as text.

Rows of frames, sorted, filtered and counted. Nothing of the cells' own types runs: a column of objects is written by
`in_kernel_look.py`, and sorted or compared only if all of them are of builtin types. Orders are numbers of rows, as the
library has them.

No first-party imports. Leave nothing in the user namespace.
"""

import datetime
import decimal
import importlib
import uuid
from typing import Any

if __name__ != "oi_tui_in_kernel":  # there they are already, from the text before
    from oi_tui.app.engine.kernels.in_kernel_frames import (
        CELL_TEXT_LIMIT,
        ESCAPES,
        ArrowFrame,
        PandasFrame,
        PolarsFrame,
        cell_text,
        plain_frame,
    )
    from oi_tui.app.engine.kernels.in_kernel_look import (
        MOMENTS,
        SCALARS,
        ZONES,
        is_part,
        part,
        render_value,
        series_mark,
        type_name,
    )

MOST_COUNTED = 10_000_000
"""Rows up to which values that differ are counted."""

OFTEN = 3
"""Values of a column that are named with how often they are there."""

PLAIN_TYPES = frozenset(map(id, (decimal.Decimal, datetime.time, uuid.UUID)))
"""Beside those that `in_kernel_look.py` knows: they print themselves."""

OWN_WAYS = "Its values have their own ways to compare, which are not run here."


class Unanswerable(Exception):
    """The request cannot be answered; the text says why."""


def inert_text(value: Any) -> str:
    """A cell on one line, without running code of its type."""
    kind = id(type(value))
    if kind in SCALARS:
        return cell_text(value)
    if is_part("pandas", type(value), *MOMENTS):
        return str(value)
    if kind in PLAIN_TYPES or (kind == id(datetime.datetime) and id(type(value.tzinfo)) in ZONES):
        return str(value)[:CELL_TEXT_LIMIT]
    return render_value(value, CELL_TEXT_LIMIT).translate(ESCAPES)


class PandasRows(PandasFrame):
    """Rows of pandas, found without running code of the cells' own types."""

    library = "pandas"

    def __init__(self, frame: Any) -> None:
        super().__init__(frame, inert_text, (part("pandas", "get_option")("display.precision"), None))

    @property
    def mark(self) -> int:
        """Another one when the frame was changed, as far as a cheap look tells."""
        width = min(self.size[1], 16)
        return hash((self.size, tuple(series_mark(self.column(at)) for at in range(width) if self.is_known(at))))

    def is_known(self, at: int) -> bool:
        """Whether a column is of a kind that numpy or pandas made."""
        return type(self.kind(at)).__module__.partition(".")[0] in ("numpy", "pandas")

    def describe(self, at: int) -> list[Any]:
        name = self.frame.columns[at] if at >= 0 else self.frame.index.names[at + self.levels]
        described = super().describe(at) if self.is_known(at) else ["", type_name(type(self.kind(at))), False]
        return described if self.is_known(at) else [inert_text(name), *described[1:]]

    def values(self, at: int, rows: Any) -> list[Any]:
        if self.is_known(at):
            return super().values(at, rows)
        count = len(self.frame.index[rows])
        return [f"<{type_name(type(self.kind(at)))}>"] * count

    def comparable(self, at: int, positions: Any) -> Any:
        """A column whose values can be compared; Unanswerable if that might run their code."""
        if not self.is_known(at):
            raise Unanswerable("Its values are of a kind that pandas does not know.")
        column = self.column(at).reset_index(drop=True)
        column = column if positions is None else column.iloc[positions].reset_index(drop=True)
        if getattr(column.dtype, "name", "") == "category":
            column = column.astype(column.cat.categories.dtype)
        if getattr(column.dtype, "kind", "O") == "O" and not is_part("pandas", type(column.dtype), "StringDtype"):
            kinds = set(map(id, map(type, column)))
            if not kinds <= SCALARS | PLAIN_TYPES:
                raise Unanswerable(OWN_WAYS)
        return column

    def order(self, at: int, descending: bool, positions: Any) -> Any:
        column = self.comparable(at, positions)
        made = column.sort_values(ascending=not descending, kind="stable", na_position="last").index.to_numpy()
        return made if positions is None else positions[made]

    def where(self, at: int, sign: str, value: str | None, positions: Any) -> Any:
        column = self.comparable(at, positions)
        known = column.notna()
        if value is None:
            found = ~known if sign == "=" else known
        elif sign in ("~", "!~"):
            found = column.astype(str).str.contains(value, case=False, regex=False)
            found = (~found if sign == "!~" else found) & known
        else:
            found = compare(column, sign, self.parse(column, value)) & known
        numbers = part("numpy", "flatnonzero")(found.to_numpy(dtype=bool, na_value=False))
        return numbers if positions is None else positions[numbers]

    def parse(self, column: Any, value: str) -> Any:
        kind = getattr(column.dtype, "kind", "O")
        if kind == "M":
            moment = part("pandas", "Timestamp")(value)
            zone = getattr(column.dtype, "tz", None)
            return moment if zone is None or moment.tzinfo is not None else moment.tz_localize(zone)
        if kind == "m":
            return part("pandas", "Timedelta")(value)
        return parse_value(value, kind)

    def figures(self, at: int, positions: Any) -> dict[str, Any]:
        column = self.comparable(at, positions)
        known = column.dropna()
        told: dict[str, Any] = {"count": len(known), "nulls": len(column) - len(known)}
        if len(known):
            told |= {"min": known.min(), "max": known.max()}
            if getattr(column.dtype, "kind", "O") in "iufM":
                told |= {"mean": known.mean()}
        if len(column) <= MOST_COUNTED:
            often = known.value_counts()
            first = zip(often.index[:OFTEN], often.iloc[:OFTEN].tolist(), strict=True)
            told |= {"distinct": len(often), "often": list(first)}
        return told


class PolarsRows(PolarsFrame):
    """Rows of polars, in the same way."""

    library = "polars"

    def __init__(self, frame: Any) -> None:
        super().__init__(frame, inert_text)

    @property
    def mark(self) -> int:
        return hash((self.size, tuple(self.frame.columns), tuple(map(str, self.frame.dtypes))))

    def comparable(self, at: int, positions: Any) -> Any:
        column = self.column(at)
        if str(column.dtype) == "Object":
            raise Unanswerable(OWN_WAYS)
        return column if positions is None else column[positions]

    def order(self, at: int, descending: bool, positions: Any) -> Any:
        made = self.comparable(at, positions).arg_sort(descending=descending, nulls_last=True)
        return made if positions is None else positions[made]

    def where(self, at: int, sign: str, value: str | None, positions: Any) -> Any:
        column = self.comparable(at, positions)
        if value is None:
            found = column.is_null() if sign == "=" else column.is_not_null()
        elif sign in ("~", "!~"):
            text = column.cast(part("polars", "String")).str.to_lowercase()
            found = text.str.contains(value.lower(), literal=True)
            found = ~found if sign == "!~" else found
        else:
            found = compare(column, sign, self.parse(column, value))
        made = found.fill_null(False).arg_true()
        return made if positions is None else positions[made]

    def parse(self, column: Any, value: str) -> Any:
        kind = column.dtype
        if kind.is_temporal():
            moment = datetime.datetime.fromisoformat(value)
            name = type(kind).__name__ if not isinstance(kind, type) else kind.__name__
            if name == "Date" and "T" not in value and " " not in value:
                return moment.date()
            if name not in ("Date", "Datetime"):
                raise ValueError(value)
            zone = getattr(kind, "time_zone", None)
            return part("polars", "Series")([moment]).dt.replace_time_zone(zone) if zone else moment
        if str(kind) == "Boolean":
            return parse_value(value, "b")
        return parse_value(value, "i" if kind.is_integer() else "f" if kind.is_numeric() else "O")

    def figures(self, at: int, positions: Any) -> dict[str, Any]:
        column = self.comparable(at, positions)
        nulls = column.null_count()
        told = {"count": len(column) - nulls, "nulls": nulls}
        if told["count"] and not column.dtype.is_nested():
            told |= {"min": column.min(), "max": column.max()}
            if column.dtype.is_numeric() or column.dtype.is_temporal():
                told |= {"mean": column.mean()}
        if len(column) <= MOST_COUNTED and not column.dtype.is_nested():
            often = column.drop_nulls().value_counts(sort=True)
            told |= {"distinct": len(often), "often": often.head(OFTEN).rows()}
        return told


class ArrowRows(ArrowFrame):
    """Rows of pyarrow, in the same way."""

    library = "pyarrow"

    def __init__(self, frame: Any) -> None:
        super().__init__(frame, inert_text)
        self.compute: Any = importlib.import_module("pyarrow.compute")  # it is there: the frame is one of its library
        self.arrow: Any = importlib.import_module("pyarrow")

    @property
    def mark(self) -> int:
        return hash(self.size)

    def comparable(self, at: int, positions: Any) -> Any:
        column = self.column(at)
        if positions is not None:
            column = column.take(positions)
        if str(column.type).startswith("dictionary"):
            column = column.cast(column.type.value_type)
        return column

    def order(self, at: int, descending: bool, positions: Any) -> Any:
        table = self.arrow.table({"column": self.comparable(at, positions)})
        keys = [("column", "descending" if descending else "ascending")]
        made = self.compute.sort_indices(table, sort_keys=keys, null_placement="at_end")
        return made if positions is None else positions.take(made)

    def where(self, at: int, sign: str, value: str | None, positions: Any) -> Any:
        column, compute = self.comparable(at, positions), self.compute
        if value is None:
            found = compute.is_null(column) if sign == "=" else compute.is_valid(column)
        elif sign in ("~", "!~"):
            found = compute.match_substring(compute.cast(column, self.arrow.string()), value, ignore_case=True)
            found = compute.invert(found) if sign == "!~" else found
        else:
            names = {"=": "equal", "!=": "not_equal", "<": "less", "<=": "less_equal", ">": "greater"}
            bound = self.arrow.scalar(value)
            try:
                bound = bound.cast(column.type)
            except self.arrow.ArrowInvalid:
                column, bound = compute.cast(column, self.arrow.float64()), bound.cast(self.arrow.float64())
            found = getattr(compute, names.get(sign, "greater_equal"))(column, bound)
        made = compute.indices_nonzero(compute.fill_null(found, False))
        return made if positions is None else positions.take(made)

    def figures(self, at: int, positions: Any) -> dict[str, Any]:
        column, compute = self.comparable(at, positions), self.compute
        told = {"count": len(column) - column.null_count, "nulls": column.null_count}
        try:
            if told["count"]:
                ends = compute.min_max(column).as_py()
                told |= {"min": ends["min"], "max": ends["max"]}
            if self.describe(at)[2] and told["count"]:
                told |= {"mean": compute.mean(column).as_py()}
            if len(column) <= MOST_COUNTED:
                counts = compute.value_counts(column.drop_null())
                most = compute.array_sort_indices(counts.field("counts"), order="descending")[:OFTEN]
                often = [(one["values"], one["counts"]) for one in counts.take(most).to_pylist()]
                told |= {"distinct": len(counts), "often": often}
        except self.arrow.ArrowNotImplementedError:
            pass  # lists and structures have no order
        return told


AnyRows = PandasRows | PolarsRows | ArrowRows


def frame_rows(value: Any) -> AnyRows | None:
    """A frame of which rows can be asked for, None for anything else."""
    kind = type(value)
    for made, names in (
        (PandasRows, ("DataFrame", "Series")),
        (PolarsRows, ("DataFrame", "Series")),
        (ArrowRows, ("Table", "RecordBatch")),
    ):
        if is_part(made.library, kind, *names):
            found: AnyRows = made(value)
            return found
    plain = plain_frame(value)
    return None if plain is None else PandasRows(plain)


def compare(column: Any, sign: str, value: Any) -> Any:
    """A column of a library with a value."""
    match sign:
        case "=":
            return column == value
        case "!=":
            return column != value
        case "<":
            return column < value
        case "<=":
            return column <= value
        case ">":
            return column > value
        case _:
            return column >= value


def parse_value(value: str, kind: str) -> Any:
    """The typed text as a value of a column of this kind; ValueError if it is not valid."""
    if kind in "iu" and value.lstrip("+-").isdigit():
        return int(value)
    if kind in "iuf":
        return float(value)
    if kind == "b":
        if value.lower() not in ("true", "false"):
            raise ValueError(value)
        return value.lower() == "true"
    return value
