"""Runs inside a Python kernel, after `in_kernel_frames.py`: never imported by us, only sent as text.

A displayed data frame comes with a bounded copy, so that a front end can draw a table with pages and types: its shape
is in `in_kernel_frames.py`. `ref` names the frame for questions about its other rows (`in_kernel_queries.py`), as long
as something keeps it alive: we do not. `text/plain` stays what it was.

No first-party imports. Leave nothing in the user namespace.
"""

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # in the kernel they are there, from the text before
    from oi_tui.app.engine.kernels.in_kernel_frames import SeenFrames, arrow_table, pandas_table, polars_table

TABLE_TYPE = "application/vnd.oi-tui.table+json"


def send_tables(shell: Any) -> None:
    """Register what makes a table of each kind of frame; by name, so that none of the libraries is imported."""
    # Here, so that a kernel that has them elsewhere fails in here and nowhere else.
    from IPython.core.formatters import BaseFormatter
    from traitlets import ObjectName, Unicode

    seen = SeenFrames()

    class TableFormatter(BaseFormatter):  # type: ignore[misc]  # IPython has no types
        format_type = Unicode(TABLE_TYPE)
        print_method = ObjectName("_repr_oi_tui_table_")
        _return_type = dict
        seen_frames = seen

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
        formatter.for_type_by_name(module, name, quietly(table, seen))
    shell.display_formatter.formatters[TABLE_TYPE] = formatter


def quietly(
    table: Callable[[Any], dict[str, Any]], seen: "SeenFrames | None" = None
) -> Callable[[Any], dict[str, Any] | None]:
    """A frame of another version, or one with strange things in it, is shown without its table."""

    def make(frame: Any) -> dict[str, Any] | None:
        # Boundary: whatever a library or somebody's `__str__` raises, there is still the text.
        with contextlib.suppress(Exception):
            made = table(frame)
            if seen is not None and (name := seen.remember(frame)):
                made["ref"] = name
            return made
        return None

    return make


if __name__ == "oi_tui_in_kernel":
    # Boundary: the insides of another version of IPython; a frame is shown as text then.
    with contextlib.suppress(Exception):
        send_tables(__import__("IPython").get_ipython())
