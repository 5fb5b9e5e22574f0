"""What was extracted so far, in a file beside the output: a line a record, so that a killed run continues."""

import fcntl
import os
from io import BufferedRandom
from pathlib import Path
from typing import Any, NamedTuple, Self

import msgspec

from oi_tui.app.engine.core.errors import SettingsError, StoreError


class JournalLine(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one record."""

    digest: str
    source: str
    value: Any = None
    problems: tuple[str, ...] = ()
    """Why there is no value."""
    last: str = ""
    """The model's last answer, if no answer fits."""
    cost: float | None = 0.0
    input_tokens: int = 0
    output_tokens: int = 0


class _Head(msgspec.Struct, frozen=True, kw_only=True):
    job: str


class _Known(NamedTuple):
    place: int
    fits: bool


class Journal:
    """Open in one process at a time; a line that was cut off by a kill is dropped."""

    def __init__(self, path: Path, job: str) -> None:
        """`job` is a digest of all that changes answers: the schema, the task, the model. SettingsError where the file
        is of another one, or in use."""
        self.path = path
        self._known: dict[str, _Known] = {}
        """By digest of the record: the last line about it."""
        self.cost: float | None = 0.0
        """US dollars of all lines, those of earlier runs too; None where a price is not known."""
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise SettingsError(f"{path} cannot be written: {error.strerror}.") from error
        self._file: BufferedRandom = os.fdopen(descriptor, "r+b")
        try:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise SettingsError(f"Another oi-tui extracts to the same output: {path} is in use.") from error
            self._read(job)
        except BaseException:
            self._file.close()
            raise

    def _read(self, job: str) -> None:
        head = self._file.readline()
        if not head.endswith(b"\n"):  # new, or killed in its first line
            self._file.truncate(0)
            self._file.seek(0)
            self._write(msgspec.json.encode(_Head(job=job)))
            return
        try:
            same = msgspec.json.decode(head, type=_Head).job == job
        except msgspec.MsgspecError as error:
            raise SettingsError(f"{self.path} is no journal of an extraction.", hint="Name another output.") from error
        if not same:
            hint = f"Remove {self.path} to start over, or name another output."
            raise SettingsError("The journal is of another schema, task or model.", hint=hint)
        place = self._file.tell()
        while line := self._file.readline():
            try:
                if not line.endswith(b"\n"):
                    break
                self._note(msgspec.json.decode(line, type=JournalLine), place)
            except msgspec.MsgspecError:
                break
            place = self._file.tell()
        self._file.truncate(place)
        self._file.seek(place)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def has(self, digest: str) -> bool:
        """Whether this record has a value already."""
        return (known := self._known.get(digest)) is not None and known.fits

    def add(self, line: JournalLine) -> None:
        """One more record. StoreError if it cannot be written."""
        self._file.seek(0, os.SEEK_END)
        place = self._file.tell()
        self._write(msgspec.json.encode(line))
        self._note(line, place)

    def find(self, digest: str) -> JournalLine | None:
        """The result of this record."""
        if (known := self._known.get(digest)) is None:
            return None
        self._file.seek(known.place)
        return msgspec.json.decode(self._file.readline(), type=JournalLine)

    def remove(self) -> None:
        """All of it is in the output."""
        self.path.unlink(missing_ok=True)

    def _write(self, line: bytes) -> None:
        try:
            self._file.write(line + b"\n")
            self._file.flush()
        except OSError as error:
            raise StoreError(f"{self.path} cannot be written: {error.strerror}.") from error

    def _note(self, line: JournalLine, place: int) -> None:
        self._known[line.digest] = _Known(place, fits=not line.problems)
        self.cost = None if self.cost is None or line.cost is None else self.cost + line.cost
