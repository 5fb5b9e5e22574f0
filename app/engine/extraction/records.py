"""The records of a file or a folder, one after the other: what a model reads of each, and where it comes from."""

import csv
import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.files.given_file import UnusableFile, read_given_file
from oi_tui.app.engine.files.pdf_text import read_pdf

LONGEST = 100_000
"""Characters of one record; the rest is cut."""

LARGEST_FILE = 20_000_000
"""Bytes of one file of a folder."""

PAGES = 200

_PATTERN = set("*?[")
"""What makes a path a pattern."""

_FIELD = 10_000_000
"""Characters of one field of a table."""


class SourceRecord(NamedTuple):
    """One of many things that a model is asked about."""

    source: str
    """The number of a row or line, or the path of a file within its folder."""
    text: str
    trouble: str = ""
    """Why it cannot be read."""
    cut: bool = False

    @property
    def digest(self) -> str:
        """Of what is asked about: another text is another record."""
        return hashlib.sha256(f"{self.source}\0{self.text}".encode(errors="replace")).hexdigest()[:24]


def read_records(path: Path) -> Iterator[SourceRecord]:
    """The records of a `.csv`, `.tsv`, `.jsonl` or text file (a line each), the files of a folder, or those that a
    pattern (`docs/*.txt`) matches. SettingsError if it cannot be read as that. Nothing but the record at hand is in
    memory."""
    if path.is_dir():
        return _files(path, sorted(path.rglob("*")))
    place = next((at for at, part in enumerate(path.parts) if _PATTERN & set(part)), None)
    if place is not None and not path.exists():
        folder = Path(*path.parts[:place])
        found = sorted(folder.glob(str(Path(*path.parts[place:]))))
        if not any(one.is_file() for one in found):
            raise SettingsError(f"No file is called {path}.")
        return _files(folder, found)
    if not path.is_file():
        raise SettingsError(f"There is no file or folder {path}.")
    match path.suffix.lower():
        case ".csv" | ".tsv":
            return _rows(path, "\t" if path.suffix.lower() == ".tsv" else "")
        case ".jsonl" | ".ndjson":
            return _lines(path, is_json=True)
        case ".txt" | ".md" | ".log" | "":
            return _lines(path, is_json=False)
        case other:
            hint = "Give a .csv, .tsv, .jsonl or .txt file, or a folder."
            raise SettingsError(f"Records of files that end in {other} cannot be read.", hint=hint)


def _rows(path: Path, delimiter: str) -> Iterator[SourceRecord]:
    csv.field_size_limit(_FIELD)
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        head = file.read(64_000)
        file.seek(0)
        if not delimiter:
            delimiter = max(",;\t|", key=head.partition("\n")[0].count)
        try:
            for number, row in enumerate(csv.DictReader(file, delimiter=delimiter, restkey="more"), 1):
                fields = {str(name): value for name, value in row.items() if value not in (None, "")}
                yield _record(str(number), json.dumps(fields, ensure_ascii=False))
        except csv.Error as error:
            raise SettingsError(f"{path} is no table: {error}.") from error


def _lines(path: Path, *, is_json: bool) -> Iterator[SourceRecord]:
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            if is_json:
                try:
                    json.loads(line)
                except (ValueError, RecursionError):
                    yield SourceRecord(str(number), line[:LONGEST], "is no JSON")
                    continue
            yield _record(str(number), line.strip())


def _files(folder: Path, paths: Sequence[Path]) -> Iterator[SourceRecord]:
    """Of those within the folder; hidden ones and links are left out."""
    for path in paths:
        name = path.relative_to(folder)
        if any(part.startswith(".") for part in name.parts) or path.is_symlink() or not path.is_file():
            continue
        yield _file_record(str(name), path)


def _file_record(name: str, path: Path) -> SourceRecord:
    try:
        data = read_given_file(path, LARGEST_FILE)
    except UnusableFile as error:
        return SourceRecord(name, "", str(error))
    if data.startswith(b"%PDF"):
        found = read_pdf(data, pages=PAGES, characters=LONGEST)
        text = "\n\n".join(found.texts)
        return _record(name, text) if text.strip() else SourceRecord(name, "", found.why or "has no text")
    if b"\0" in data[:4096]:
        return SourceRecord(name, "", "is no text")
    return _record(name, data.decode("utf-8", "replace"))


def _record(source: str, text: str) -> SourceRecord:
    return SourceRecord(source, text[:LONGEST], cut=len(text) > LONGEST)
