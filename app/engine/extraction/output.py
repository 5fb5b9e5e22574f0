"""The output of an extraction, in the order of its records: JSON lines or a table, there whole or not at all."""

import csv
import io
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from oi_tui.app.engine.core.errors import SettingsError, StoreError
from oi_tui.app.engine.files.whole_file import write_whole

SOURCE = "_source"
"""The field that says where a record comes from."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""How a text begins that a spreadsheet would calculate; the last four are the wide forms of the first."""


def require_output(path: Path, part: Path) -> None:
    """SettingsError for a name that is no output, or of a file that no journal (`part`) says is ours."""
    if path.suffix.lower() not in (".jsonl", ".csv"):
        raise SettingsError(f"--output {path}: a file that ends in .jsonl or .csv.")
    if not path.parent.is_dir():
        raise SettingsError(f"--output {path}: there is no folder {path.parent}.")
    if path.exists() and not part.exists():
        raise SettingsError(f"{path} is there already.", hint="Remove it, or name another output.")


def write_output(path: Path, found: Iterable[tuple[str, Any]], columns: Iterable[str]) -> None:
    """Sources and values, as the name of the file says."""
    write_lines(path, _table(found, list(columns)) if path.suffix.lower() == ".csv" else _objects(found))


def write_lines(path: Path, lines: Iterable[bytes]) -> None:
    """Replace the file by these lines. StoreError if that fails."""
    beside = path.with_name(f".{path.name}.{os.urandom(4).hex()}")
    try:
        with beside.open("xb") as file:
            file.writelines(lines)
        write_whole(path, beside, over=True, mode=None)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}.") from error
    finally:
        beside.unlink(missing_ok=True)


def _objects(found: Iterable[tuple[str, Any]]) -> Iterator[bytes]:
    for source, value in found:
        told = {SOURCE: source, **value} if isinstance(value, dict) else {SOURCE: source, "answer": value}
        yield json.dumps(told, ensure_ascii=False).encode(errors="replace") + b"\n"


def _table(found: Iterable[tuple[str, Any]], columns: list[str]) -> Iterator[bytes]:
    names = [SOURCE, *(columns or ["answer"])]
    yield _row([_cell(name) for name in names])
    for source, value in found:
        fields = value if isinstance(value, dict) and columns else {"answer": value}
        yield _row([_cell(source), *(_cell(fields.get(name)) for name in names[1:])])


def _row(cells: list[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow(cells)  # what is in these is quoted: a cell with \r is one cell
    return text.getvalue().removesuffix("\r\n").encode(errors="replace") + b"\n"


def _cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case str():
            return f"'{value}" if value.startswith(_FORMULA) else value
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case _:
            return json.dumps(value, ensure_ascii=False)
