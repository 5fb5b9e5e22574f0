"""What files were before they were changed, outside of the folder: contents by their digest, and a list of the changes.
Beside them, how the files of folders were when code ran there last, so that only what has changed is read again.

All of it is private to the person. It is bounded in size and age: the oldest changes can no longer be undone then.
"""

import logging
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, NamedTuple

from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.files.paths import private_dir
from oi_tui.app.engine.files.whole_file import write_whole
from oi_tui.app.engine.workspace.file_access import UNREAD, content_digest
from oi_tui.app.engine.workspace.folder_states import FileIdentity

MOST_BYTES, DAYS = 1_000_000_000, 30
"""Of all contents together; how long a change is kept."""

GROWTH = 20
"""What is too much is looked for when this part of it has come: a twentieth."""

ChangeMaker = Literal["tool", "code", "late"]
CODE: ChangeMaker = "code"
LATE: ChangeMaker = "late"
"""Written after the end of a run, while processes that it had started were still there: by them, or by anybody."""

_log = logging.getLogger(__name__)

_VERSION = 1
_TABLES = """
CREATE TABLE IF NOT EXISTS changes (
    id INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL, turn TEXT NOT NULL, block TEXT NOT NULL,
    root TEXT NOT NULL, rest TEXT NOT NULL, before TEXT, after TEXT, mode INTEGER NOT NULL, maker TEXT NOT NULL,
    at REAL NOT NULL, undone REAL NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS changes_of_session ON changes (session, id);
CREATE TABLE IF NOT EXISTS files (
    root TEXT NOT NULL, rest TEXT NOT NULL, digest TEXT NOT NULL, why TEXT NOT NULL, fresh INTEGER NOT NULL,
    size INTEGER NOT NULL, modified INTEGER NOT NULL, changed INTEGER NOT NULL, inode INTEGER NOT NULL,
    mode INTEGER NOT NULL, PRIMARY KEY (root, rest)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS folders (
    root TEXT NOT NULL, session TEXT NOT NULL, at REAL NOT NULL, turn TEXT NOT NULL, block TEXT NOT NULL,
    engine TEXT NOT NULL, PRIMARY KEY (root, session)
) WITHOUT ROWID;
"""
_FORGET_FOLDERS = "DELETE FROM files WHERE root NOT IN (SELECT root FROM folders)"
_LATER_COLUMNS = ("modified INTEGER NOT NULL DEFAULT 0", "above INTEGER NOT NULL DEFAULT 0")
_COLUMNS = "id, session, turn, block, root, rest, before, after, mode, maker, at, undone, modified, above"
_INSERT = f"INSERT INTO changes ({_COLUMNS.removeprefix('id, ')}) VALUES ({', '.join('?' * _COLUMNS.count(','))})"
_FILE = "rest, digest, why, fresh, size, modified, changed, inode, mode"


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
    """Digest of the content, None where there was no file; `UNREAD` and its identity where it was not read."""
    after: str | None
    mode: int
    """Permissions before."""
    maker: ChangeMaker
    at: float
    undone: float = 0.0
    """When it was undone, 0 if it holds."""
    modified: int = 0
    """When the file before was modified, in nanoseconds of Unix time; 0 where that is not kept."""
    above: int = 0
    """How many of the folders above it were made with it."""

    @property
    def path(self) -> str:
        """The absolute path of the file; there may be a link on it by now."""
        return os.path.join(self.root, self.rest)


class KeptFile(NamedTuple):
    """A file as it was when it was looked at last."""

    identity: FileIdentity
    digest: str
    """Of its content, which is kept; "" if it is not."""
    why: str = ""
    """Why it is not kept, in words that follow its name."""
    fresh: bool = False
    """It may have been written once more in the same moment: its identity alone says nothing."""

    @property
    def content_name(self) -> str:
        """As `KeptChange` names a content."""
        return self.digest or f"{UNREAD}{':'.join(map(str, self.identity[:4]))}"


class OpenRun(NamedTuple):
    """A run that is under way, or was when its engine ended."""

    session: str
    turn: str
    block: str
    engine: str
    """The process: its number and when it began."""


class Checkpoints:
    """The checkpoints of all sessions of the person, in one folder. OiTuiError in plain words if the disk fails."""

    def __init__(
        self, folder: Path, *, most: int = MOST_BYTES, days: float = DAYS, clock: Callable[[], float] = time.time
    ) -> None:
        self._folder, self._most, self._days, self._clock = folder, most, days, clock
        self._grown = most
        """Bytes that came since there was a look for what is too much."""
        self._dropped = 0
        self._held: tuple[int, sqlite3.Connection] | None = None
        """A connection, and the inode of its file."""
        self._lock = threading.Lock()

    def keep_content(self, data: bytes, *, sync: bool = True) -> str:
        """Keep this content; its digest. Without `sync` a fall of the machine may take it."""
        digest = content_digest(data)
        path = self._path(digest)
        try:
            os.utime(path)  # so that no other engine removes it before what names it is noted
        except OSError:
            for folder in (self._folder, path.parents[1], path.parent):
                private_dir(folder)
            try:
                with suppress(FileExistsError):  # another engine keeps the same at this moment
                    write_whole(path, data, sync=sync)
            except OSError as error:
                raise OiTuiError(f"No checkpoint can be kept: {error.strerror}.") from error
            self._grown += len(data)
        return digest

    def content(self, digest: str) -> bytes | None:
        """What was kept, None if it is not there any more, or not as it was."""
        try:
            data = self._path(digest).read_bytes()
        except OSError:
            return None
        return data if content_digest(data) == digest else None

    def add(self, *changes: KeptChange) -> int:
        """Note changes, whose contents before are kept; the number of the last."""
        number = 0
        with self._open() as database:
            for change in changes:
                number = database.execute(_INSERT, change._replace(at=self._clock())[1:]).lastrowid or 0
        self.prune_grown()
        return number

    def drop(self, numbers: Sequence[int]) -> None:
        """Forget these: they did not come about."""
        with self._open() as database:
            database.executemany("DELETE FROM changes WHERE id = ?", [(number,) for number in numbers])

    def changes(self, session: str) -> list[KeptChange]:
        """The changes of a session, in order."""
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
        """Record that the content after a change is another one by now, which was kept."""
        with self._open() as database:
            database.execute("UPDATE changes SET after = ? WHERE id = ?", (after, number))

    def last_after(self, change: KeptChange, since: float) -> KeptChange | None:
        """What else of the session changed the same file since then, the last of it."""
        with self._open() as database:
            row = database.execute(
                f"SELECT {_COLUMNS} FROM changes WHERE session = ? AND root = ? AND rest = ? AND at >= ? AND undone = 0"
                " ORDER BY id DESC LIMIT 1",
                (change.session, change.root, change.rest, since),
            ).fetchone()
        return None if row is None else KeptChange(*row)

    def share(self, session: str, with_fork: str, blocks: Collection[str]) -> None:
        """A fork has what these blocks and prompts changed in its own list, too."""
        shared = [one for one in self.changes(session) if one.block in blocks]
        with self._open() as database:
            database.executemany(_INSERT, [one._replace(session=with_fork)[1:] for one in shared])

    def forget(self, session: str) -> None:
        """All of a session that is deleted; never raises."""
        if not self._file.exists():
            return
        try:
            with self._open() as database:
                database.execute("DELETE FROM changes WHERE session = ?", (session,))
                database.execute("DELETE FROM folders WHERE session = ?", (session,))
                database.execute(_FORGET_FOLDERS)
                kept = {name for _, _, names in _uses(database) for name in names}
            self._remove_contents(kept)
        except OiTuiError as error:
            _log.warning("checkpoints of a deleted session stay: %s", error)

    # -- folders ---------------------------------------------------------------------------------------

    def load_files(self, root: str) -> dict[str, KeptFile]:
        """The files of a folder as they were when anybody looked last."""
        with self._open() as database:
            rows = database.execute(f"SELECT {_FILE} FROM files WHERE root = ?", (root,))
            return {
                rest: KeptFile(FileIdentity(*identity), digest, why, bool(fresh))
                for rest, digest, why, fresh, *identity in rows
            }

    def has_files(self, root: str) -> bool:
        """Whether anything is known of the files of a folder."""
        if not self._file.exists():
            return False
        with self._open_quickly() as database:
            return database.execute("SELECT 1 FROM files WHERE root = ? LIMIT 1", (root,)).fetchone() is not None

    def save_files(self, root: str, changed: Mapping[str, KeptFile], gone: Collection[str]) -> None:
        """Record the present state of these files, and that those were deleted."""
        if changed or gone:
            with self._open_quickly() as database:
                rows = [(root, rest, one.digest, one.why, one.fresh, *one.identity) for rest, one in changed.items()]
                database.executemany(f"INSERT OR REPLACE INTO files VALUES ({', '.join('?' * 10)})", rows)
                database.executemany("DELETE FROM files WHERE root = ? AND rest = ?", [(root, one) for one in gone])

    def note_run(self, root: str, run: OpenRun) -> None:
        """A session uses this folder; a run begins in it, or with "" as its block none is under way."""
        with self._open_quickly() as database:
            row = (root, run.session, self._clock(), run.turn, run.block, run.engine)
            database.execute("INSERT OR REPLACE INTO folders VALUES (?, ?, ?, ?, ?, ?)", row)

    def open_runs(self, root: str) -> list[tuple[OpenRun, float]]:
        """The open runs in a folder, with the time when they began."""
        if not self._file.exists():
            return []
        with self._open() as database:
            query = "SELECT session, turn, block, engine, at FROM folders WHERE root = ? AND block != ''"
            return [(OpenRun(*run), at) for *run, at in database.execute(query, (root,))]

    # -- bounds ----------------------------------------------------------------------------------------

    def prune_grown(self) -> None:
        """Prune, if enough has come since that was done last."""
        if self._grown >= self._most // GROWTH:
            self.prune()

    def take_dropped(self) -> int:
        """How many changes were dropped to stay within the limits, since the last call."""
        dropped, self._dropped = self._dropped, 0
        return dropped

    def prune(self) -> None:
        """Drop what is too old or too much, the oldest first, and contents that nothing names."""
        self._grown = 0
        with self._open() as database:
            oldest = self._clock() - self._days * 86_400
            database.execute("DELETE FROM changes WHERE at < ?", (oldest,))
            database.execute("DELETE FROM folders WHERE at < ?", (oldest,))
            database.execute(_FORGET_FOLDERS)
            kept, room = set[str](), self._most
            sizes = {name: state.st_size for name, state in _contents(self._folder)}
            for at, root, names in _uses(database):
                new = {name for name in names if name in sizes} - kept
                if (needed := sum(sizes[name] for name in new)) <= room:
                    room -= needed
                    kept |= new
                    continue
                room = -1  # what is older goes as well
                if root:
                    database.execute("DELETE FROM files WHERE root = ?", (root,))
                else:
                    self._dropped += database.execute("DELETE FROM changes WHERE at <= ?", (at,)).rowcount
        self._remove_contents(kept)

    def _remove_contents(self, kept: Collection[str]) -> None:
        for name, state in _contents(self._folder):
            if name not in kept and state.st_mtime < self._clock() - 60:  # else its change may come yet
                self._path(name).unlink(missing_ok=True)

    @property
    def _file(self) -> Path:
        return self._folder / "index.db"

    def _path(self, digest: str) -> Path:
        return self._folder / "contents" / digest[:2] / digest

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """What is written is on the disk when this ends."""
        private_dir(self._folder)
        try:
            database = self._connect()
            try:
                with database:
                    yield database
            finally:
                database.close()
        except (sqlite3.Error, OSError) as error:
            raise OiTuiError(f"The list of checkpoints cannot be used: {error}.") from error

    @contextmanager
    def _open_quickly(self) -> Iterator[sqlite3.Connection]:
        """What is written outlives a killed program at once, and a fall of the machine a little later: it is written
        before and after each run, by a connection that stays."""
        private_dir(self._folder)
        with self._lock:
            try:
                file = os.stat(self._file).st_ino if self._file.exists() else 0
                if self._held is None or self._held[0] != file:
                    database = self._connect()
                    database.execute("PRAGMA synchronous = NORMAL")
                    weakref.finalize(self, database.close)
                    self._held = (os.stat(self._file).st_ino, database)
                with self._held[1] as database:
                    yield database
            except (sqlite3.Error, OSError) as error:
                self._held = None
                raise OiTuiError(f"The list of checkpoints cannot be used: {error}.") from error

    def _connect(self) -> sqlite3.Connection:
        database = sqlite3.connect(self._file, timeout=5.0, check_same_thread=False)
        try:
            if database.execute("PRAGMA user_version").fetchone()[0] < _VERSION:
                _prepare(database, self._file)
        except sqlite3.Error:
            database.close()
            raise
        return database


def _contents(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    for path in folder.glob("contents/??/*"):
        if len(path.name) == 64:
            with suppress(FileNotFoundError):  # another engine removed it
                yield path.name, path.stat()


def _prepare(database: sqlite3.Connection, file: Path) -> None:
    os.chmod(file, 0o600)
    database.execute("PRAGMA journal_mode = WAL")
    database.executescript(_TABLES)
    there = {row[1] for row in database.execute("PRAGMA table_info(changes)")}
    for column in _LATER_COLUMNS:
        if column.split()[0] not in there:
            database.execute(f"ALTER TABLE changes ADD COLUMN {column}")
    database.execute(f"PRAGMA user_version = {_VERSION}")
    database.commit()


def _uses(database: sqlite3.Connection) -> Iterator[tuple[float, str, set[str]]]:
    """What names contents, the newest first: when, the root of a folder or "" for a change, and the contents."""
    changes = database.execute("SELECT at, before, after FROM changes ORDER BY id DESC").fetchall()
    found = [(at, "", {name for name in names if name}) for at, *names in changes]
    for at, root in database.execute("SELECT max(at), root FROM folders GROUP BY root").fetchall():
        rows = database.execute("SELECT digest FROM files WHERE root = ?", (root,))
        found.append((at, root, {digest for (digest,) in rows if digest}))
    found.sort(key=lambda use: use[0], reverse=True)
    yield from found
