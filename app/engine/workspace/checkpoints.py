"""What files were before they were changed, outside of the folder: contents by their digest, and a list of the changes.

Both are private to the person. They are bounded in size and age: the oldest changes can no longer be undone then.
"""

import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, NamedTuple

from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.files.paths import private_dir
from oi_tui.app.engine.files.whole_file import write_whole
from oi_tui.app.engine.workspace.file_access import content_digest

MOST_BYTES, DAYS = 500_000_000, 30
"""Of all contents together; how long a change is kept."""

LARGEST = 20_000_000
"""Bytes of a file that is kept."""

ChangeMaker = Literal["tool", "code"]

_log = logging.getLogger(__name__)

_TABLE = """
CREATE TABLE IF NOT EXISTS changes (
    id INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL, turn TEXT NOT NULL, block TEXT NOT NULL,
    root TEXT NOT NULL, rest TEXT NOT NULL, before TEXT, after TEXT, mode INTEGER NOT NULL, maker TEXT NOT NULL,
    at REAL NOT NULL, undone REAL NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS changes_of_session ON changes (session, id);
"""
_COLUMNS = "id, session, turn, block, root, rest, before, after, mode, maker, at, undone"


class KeptChange(NamedTuple):
    """One change of one file."""

    id: int
    """In the order in which they were made; 0 before it is kept."""
    session: str
    turn: str
    """Id of the prompt that led to it, "" if none did."""
    block: str
    root: str
    rest: str
    """As in `FilePlace`."""
    before: str | None
    """Digest of the content, None where there was no file."""
    after: str | None
    mode: int
    """Permissions before."""
    maker: str
    at: float
    undone: float = 0.0
    """When it was undone, 0 if it holds."""

    @property
    def path(self) -> str:
        """Where the file is, absolute; nobody says that there is no link by now."""
        return os.path.join(self.root, self.rest)


class Checkpoints:
    """Those of all sessions of the person, in one folder. OiTuiError in plain words where the disk fails."""

    def __init__(
        self, folder: Path, *, most: int = MOST_BYTES, days: float = DAYS, clock: Callable[[], float] = time.time
    ) -> None:
        self._folder, self._most, self._days, self._clock = folder, most, days, clock
        self._pruned = False

    def keep_content(self, data: bytes) -> str:
        """Keep this content; its digest."""
        digest = content_digest(data)
        path = self._path(digest)
        if not path.exists():
            for folder in (self._folder, path.parents[1], path.parent):
                private_dir(folder)
            try:
                with suppress(FileExistsError):  # another engine keeps the same at this moment
                    write_whole(path, data)
            except OSError as error:
                raise OiTuiError(f"No checkpoint can be kept: {error.strerror}.") from error
        return digest

    def content(self, digest: str) -> bytes | None:
        """What was kept, None if it is not there any more, or not as it was."""
        try:
            data = self._path(digest).read_bytes()
        except OSError:
            return None
        return data if content_digest(data) == digest else None

    def add(self, change: KeptChange) -> int:
        """Note a change, whose content before is kept; its number."""
        with self._open() as database:
            values = change._replace(at=self._clock())[1:]
            columns, marks = _COLUMNS.removeprefix("id, "), ", ".join("?" * len(values))
            made = database.execute(f"INSERT INTO changes ({columns}) VALUES ({marks})", values)
            number = made.lastrowid or 0
        if not self._pruned:
            self._pruned = True
            self.prune()
        return number

    def drop(self, numbers: Sequence[int]) -> None:
        """Forget these: they did not come about."""
        with self._open() as database:
            database.executemany("DELETE FROM changes WHERE id = ?", [(number,) for number in numbers])

    def changes(self, session: str) -> list[KeptChange]:
        """Those of a session, in order."""
        if not self._file.exists():
            return []
        with self._open() as database:
            rows = database.execute(f"SELECT {_COLUMNS} FROM changes WHERE session = ? ORDER BY id", (session,))
            return [KeptChange(*row) for row in rows]

    def mark(self, numbers: Sequence[int], undone: float) -> None:
        """These are undone since then, or (0) hold again."""
        with self._open() as database:
            database.executemany("UPDATE changes SET undone = ? WHERE id = ?", [(undone, number) for number in numbers])

    def set_after(self, number: int, after: str | None) -> None:
        """What is there after a change is something else by now, and was kept."""
        with self._open() as database:
            database.execute("UPDATE changes SET after = ? WHERE id = ?", (after, number))

    def forget(self, session: str) -> None:
        """All of a session that is deleted; never raises."""
        if not self._file.exists():
            return
        try:
            with self._open() as database:
                database.execute("DELETE FROM changes WHERE session = ?", (session,))
            self.prune()
        except OiTuiError as error:
            _log.warning("checkpoints of a deleted session stay: %s", error)

    def prune(self) -> None:
        """Drop what is too old or too much, and contents that no change names."""
        with self._open() as database:
            database.execute("DELETE FROM changes WHERE at < ?", (self._clock() - self._days * 86_400,))
            kept, room = set[str](), self._most
            sizes = {path.name: path.stat().st_size for path in self._contents()}
            rows = database.execute("SELECT id, before, after FROM changes ORDER BY id DESC").fetchall()
            for number, before, after in rows:
                names = {name for name in (before, after) if name in sizes} - kept
                if (needed := sum(sizes[name] for name in names)) > room:
                    database.execute("DELETE FROM changes WHERE id <= ?", (number,))
                    break
                room -= needed
                kept |= names
        for path in self._contents():
            if path.name not in kept and path.stat().st_mtime < self._clock() - 60:  # else its change may come yet
                path.unlink(missing_ok=True)

    @property
    def _file(self) -> Path:
        return self._folder / "index.db"

    def _path(self, digest: str) -> Path:
        return self._folder / "contents" / digest[:2] / digest

    def _contents(self) -> Iterator[Path]:
        for path in self._folder.glob("contents/??/*"):
            if len(path.name) == 64:
                yield path

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        private_dir(self._folder)
        try:
            database = sqlite3.connect(self._file, timeout=5.0)
            try:
                os.chmod(self._file, 0o600)
                database.executescript(_TABLE)
                with database:
                    yield database
            finally:
                database.close()
        except (sqlite3.Error, OSError) as error:
            raise OiTuiError(f"The list of checkpoints cannot be used: {error}.") from error
