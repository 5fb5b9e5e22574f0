"""Runs inside a Python kernel, after `in_kernel_rows.py`: never imported by us, only sent as text.

Answers questions about a frame that was shown: a window of its rows and columns, sorted and filtered, and figures about
a column. The order that was asked for last is kept.

No first-party imports. Leave nothing in the user namespace.
"""

from typing import Any

if __name__ != "oi_tui_in_kernel":  # there they are already, from the text before
    from oi_tui.app.engine.kernels.in_kernel_frames import table_of_frame
    from oi_tui.app.engine.kernels.in_kernel_look import part, type_name
    from oi_tui.app.engine.kernels.in_kernel_rows import AnyRows, Unanswerable, frame_rows

PAGE_ROWS, PAGE_CELLS = 2_000, 20_000
"""Rows and cells of one answer."""

EXACT = 20_000
"""Characters of a cell that is copied."""

PAGE_TEXT = 4_000_000
"""Characters of one answer."""

MOST_SORTED = 50_000_000
"""Rows up to which a frame is sorted and filtered."""


class FrameQueries:
    """Answers about frames; keeps the last order of rows."""

    def __init__(self) -> None:
        self._view: tuple[Any, Any] = (None, None)
        """What was asked, and the numbers of the rows in their order; None: all, as they are."""

    def page(self, frame: Any, asked: dict[str, Any]) -> dict[str, Any]:
        """A window of rows and columns; with `exact`, values as long as they are."""
        rows = known_rows(frame)
        mark = format(rows.mark & (2**64 - 1), "x")
        positions = self._positions(rows, mark, asked)
        total, width = rows.size
        matching = total if positions is None else len(positions)
        places = [at for at in asked["columns"] if 0 <= at < width]
        every = [*range(-rows.levels, 0), *places]
        first = max(0, min(asked["first"], matching))
        count = max(1, min(asked["count"], PAGE_ROWS, PAGE_CELLS // max(1, len(every))))
        chosen: Any = slice(first, min(first + count, matching))
        if positions is not None:
            chosen = positions[chosen]
        if asked["exact"]:
            cells = [[exact_text(value, rows.text) for value in rows.values(at, chosen)] for at in every]
        else:
            cells = [rows.texts(at, chosen) for at in every]
        return {
            "mark": mark,
            "rows": total,
            "matching": matching,
            "width": width,
            "first": first,
            "columns": [column_of(rows, at) for at in every],
            "cells": fitting([list(row) for row in zip(*cells, strict=True)]),
        }

    def figures(self, frame: Any, asked: dict[str, Any]) -> dict[str, Any]:
        """Figures about one column."""
        rows = known_rows(frame)
        at = asked["figures"]
        if not -rows.levels <= at < rows.size[1]:
            raise Unanswerable("There is no such column.")
        form = rows.form_of(at)
        try:
            told = rows.figures(at, self._positions(rows, format(rows.mark & (2**64 - 1), "x"), asked))
        except TypeError as error:
            raise Unanswerable("Its values are of several types, which have no common order.") from error
        texts: dict[str, str] = {name: form(told[name]) for name in ("min", "max") if name in told}
        if "mean" in told:
            texts["mean"] = f"{told['mean']:.6g}" if type(told["mean"]) is float else form(told["mean"])
        numbers: dict[str, int] = {name: int(told[name]) for name in ("count", "nulls", "distinct") if name in told}
        often = [[form(value), int(count)] for value, count in told.get("often", ())]
        name, kind, _ = rows.describe(at)
        return {"name": name, "kind": kind, **numbers, **texts, "often": often}

    def _positions(self, rows: AnyRows, mark: str, asked: dict[str, Any]) -> Any:
        sort, conditions = asked["sort"], asked["where"]
        if sort is None and not conditions:
            return None
        if rows.size[0] > MOST_SORTED:
            raise Unanswerable(f"A frame of more than {MOST_SORTED:,} rows is neither sorted nor filtered here.")
        if sort is not None and not -rows.levels <= sort < rows.size[1]:
            raise Unanswerable("There is no such column.")
        conditions = [(one["column"], one["sign"], one["value"]) for one in conditions]
        key = (asked["ref"], mark, sort, asked["descending"], tuple(conditions))
        if self._view[0] != key:
            self._view = (None, None)
            positions = None
            for name, sign, value in conditions:
                positions = matching_rows(rows, name, sign, value, positions)
            if sort is not None:
                try:
                    positions = rows.order(sort, asked["descending"], positions)
                except TypeError as error:
                    raise Unanswerable("Its values are of several types, which have no common order.") from error
            self._view = (key, positions)
        return self._view[1]


def column_of(rows: AnyRows, at: int) -> dict[str, Any]:
    """A column of a window."""
    name, kind, numeric = rows.describe(at)
    return {"number": at, "name": name, "kind": kind, "is_number": numeric}


def known_rows(frame: Any) -> AnyRows:
    """Its rows; Unanswerable for what has none."""
    rows = frame_rows(frame)
    if rows is None:
        raise Unanswerable("It is no frame whose rows can be asked for.")
    return rows


def matching_rows(rows: AnyRows, name: str, sign: str, value: str | None, positions: Any) -> Any:
    """The numbers of the rows of which a condition holds."""
    at = find_column(rows, name)
    try:
        return rows.where(at, sign, value, positions)
    except Unanswerable:
        raise
    except Exception as error:  # boundary: each library has its own for a value that it cannot compare with
        kind = rows.describe(at)[1]
        raise Unanswerable(f"“{value}” cannot be compared with {name}, which is {kind}.") from error


def exact_text(value: Any, text: Any) -> str:
    """A value as it is written in a file: no rounding, the whole of a text, nothing for what is absent."""
    kind = type(value)
    if kind is int or kind is bool:
        return str(value)
    if kind is str:
        return str(value[:EXACT])
    if kind is float:
        return "" if value != value else repr(value)
    if value is None or value is part("pandas", "NaT") or value is part("pandas", "NA"):
        return ""
    return str(text(value))


def fitting(cells: list[list[str]]) -> list[list[str]]:
    """As many rows as fit into one answer, at least one."""
    size = 0
    for number, row in enumerate(cells):
        size += sum(map(len, row))
        if size > PAGE_TEXT and number:
            return cells[:number]
    return cells


def find_column(rows: AnyRows, name: str) -> int:
    """The column of this name, whatever its case if none has it exactly; Unanswerable if there is none."""
    names = {at: rows.describe(at)[0] for at in (*range(rows.size[1]), *range(-rows.levels, 0))}
    exact = [at for at, one in names.items() if one == name]
    found = exact or [at for at, one in names.items() if one.lower() == name.lower()]
    if not found:
        raise Unanswerable(f"There is no column {name}.")
    return int(found[0])


def make_table(value: Any, seen: Any) -> dict[str, Any] | None:
    """The picture of a frame, made without running code of its cells' types; None for anything else."""
    try:
        rows = frame_rows(value)
        if rows is None or not (name := seen.remember(value)):
            return None
        return table_of_frame(rows) | {"ref": name}
    except Exception:  # boundary: a library of another version, or a frame that a thread changes
        return None


def install_queries(seen: Any, shell: Any) -> None:
    """Answer from now on. `seen` knows the frames that were shown."""
    kernel, queries = shell.kernel, FrameQueries()

    def answer(stream: Any, ident: Any, parent: dict[str, Any]) -> None:
        asked = parent["content"]
        frame = seen.find(asked["ref"])
        try:
            if frame is None:
                content: dict[str, Any] = {"state": "gone"}
            elif asked["figures"] is None:
                content = {"state": "told", "page": queries.page(frame, asked)}
            else:
                content = {"state": "told", "figures": queries.figures(frame, asked)}
        except Unanswerable as error:
            content = {"state": "problem", "problem": str(error)}
        except Exception as error:  # boundary: a library of another version, or a frame that a thread changes
            content = {"state": "problem", "problem": f"It cannot be read: {type_name(type(error))}."}
        kernel.session.send(stream, "oi_tui_frame_reply", content, parent, ident)

    kernel.shell_handlers["oi_tui_frame"] = answer
