"""A data frame in fewer tokens than its text has, with all that the text says.

The spaces by which pandas lines columns up cost tokens. Lines of comma-separated cells say the same rows, columns and
digits; where they would be longer (a wide frame, of which the text leaves columns out), or the text says more (the type
of a series), the text stays.
"""

import csv
import io
from typing import Any

from oi_tui.app.engine.text.tokens import estimate_tokens

TABLE_TYPE = "application/vnd.oi-tui.table+json"
"""What our part inside the kernel sends of a data frame; its shape is described in `kernels/in_kernel_tables.py`."""

ALL, ENDS = 60, 5
"""Rows up to which pandas shows all of them, and those that it shows of both ends of more."""


def compact_table(data: dict[str, Any]) -> str:
    """The frame of a rich result as comma-separated lines, "" where its text is better."""
    plain, frame = data.get("text/plain"), data.get(TABLE_TYPE)
    if not isinstance(plain, str) or "dtype: " in plain or not isinstance(frame, dict):
        return ""
    text = _lines(frame)
    return text if text and estimate_tokens(text) < estimate_tokens(plain) else ""


def _lines(frame: dict[str, Any]) -> str:
    """ "" for a frame of another shape, one without row labels (of polars), or of more columns than were sent."""
    match frame:
        case {
            "index": [_, *_] as index,
            "columns": list(columns),
            "head": list(head),
            "tail": list(tail),
            "rows": int(count),
            "width": int(width),
        } if len(columns) == width:
            rows = [*head, *tail]
        case _:
            return ""
    described = [*index, *columns]
    if not all(isinstance(part, list) and part for part in (*described, *rows)) or len(rows) < min(count, ALL):
        return ""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(part[0] for part in described)
    writer.writerows(rows if count <= ALL else rows[:ENDS])
    if count > ALL:
        written.write("...\n")
        writer.writerows(rows[-ENDS:])
        written.write(f"\n[{count} rows x {width} columns]")
    return written.getvalue().rstrip("\n")
