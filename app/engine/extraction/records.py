"""The records of a file or a folder, one after the other: what a model reads of each, and where it comes from."""

import csv
import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

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

_LINE = 10_000_000
"""Characters of a line, or of a row of a table."""


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
        """Digest of the text that the model gets: a changed text is a new record."""
        return hashlib.sha256(f"{self.source}\0{self.text}".encode(errors="replace")).hexdigest()[:24]


def require_records(path: Path) -> None:
    """SettingsError if there is no such file or folder; what a pattern matches is found when it is read."""
    if not (path.is_dir() or path.is_file() or any(_PATTERN & set(part) for part in path.parts)):
        raise SettingsError(f"There is no file or folder {path}.")


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
    require_records(path)
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
    csv.field_size_limit(_LINE)
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        head = file.read(64_000)
        file.seek(0)
        if not delimiter:
            delimiter = max(",;\t|", key=head.partition("\n")[0].count)
        lines = _RowLines(file, path)
        try:
            for number, row in enumerate(csv.DictReader(lines, delimiter=delimiter, restkey="more"), 1):
                lines.begin()
                fields = {str(name): value for name, value in row.items() if value not in (None, "")}
                yield _record(str(number), json.dumps(fields, ensure_ascii=False))
        except csv.Error as error:
            raise SettingsError(f"{path} is no table: {error}.") from error


def _lines(path: Path, *, is_json: bool) -> Iterator[SourceRecord]:
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        for number, (line, is_whole) in enumerate(_bounded_lines(file), 1):
            if not is_whole:
                yield SourceRecord(str(number), line[:LONGEST], "is too long")
                continue
            if not line.strip():
                continue
            if is_json:
                try:
                    json.loads(line)
                except (ValueError, RecursionError):
                    yield SourceRecord(str(number), line[:LONGEST], "is no JSON")
                    continue
            yield _record(str(number), line.strip())


def _bounded_lines(file: IO[str]) -> Iterator[tuple[str, bool]]:
    """The lines, and whether each is there to its end: of one that is too long, only the beginning is."""
    while line := file.readline(_LINE):
        is_whole = line.endswith("\n") or len(line) < _LINE
        piece = line
        while not piece.endswith("\n") and len(piece) == _LINE:
            piece = file.readline(_LINE)
        yield line, is_whole


class _RowLines:
    """The lines of a table for a CSV reader; SettingsError where a row does not end."""

    def __init__(self, file: IO[str], path: Path) -> None:
        self._lines, self._path = _bounded_lines(file), path
        self._size = 0

    def begin(self) -> None:
        """A row is complete."""
        self._size = 0

    def __iter__(self) -> Iterator[str]:
        for line, is_whole in self._lines:
            self._size += len(line)
            if not is_whole or self._size > _LINE:
                raise SettingsError(f"{self._path} has a row or line with more than {_LINE:,} characters.")
            yield line


def _files(folder: Path, paths: Sequence[Path]) -> Iterator[SourceRecord]:
    """The files within the folder; hidden ones and links are left out."""
    for path in paths:
        name = path.relative_to(folder)
        above = (folder / part for part in list(name.parents)[:-1])
        if any(part.startswith(".") for part in name.parts) or any(one.is_symlink() for one in (path, *above)):
            continue
        if not path.is_file():
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
