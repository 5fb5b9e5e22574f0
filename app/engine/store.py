"""Sessions on disk: an append-only log of events in SQLite. The only module with SQL.

Events are committed as they are appended (WAL, synchronous=FULL), so whatever ends the process, everything
up to the last append is there. Two processes may work on one file. Values know nothing of row ids.
"""

import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from oi_tui.app.engine.coalesce import coalesce, is_delta
from oi_tui.app.engine.errors import StoreError
from oi_tui.app.engine.events import AnyEvent, ConversationCleared, ExecutionFinished, OutputsCleared, OutputTailMoved
from oi_tui.app.engine.values import Value

MIGRATIONS = (
    """
    CREATE TABLE sessions (
        id TEXT PRIMARY KEY, created REAL NOT NULL, active REAL NOT NULL,
        cwd TEXT NOT NULL, title TEXT NOT NULL DEFAULT ''
    );
    CREATE TABLE events (
        session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
        seq INTEGER NOT NULL, at REAL NOT NULL, event TEXT NOT NULL,
        PRIMARY KEY (session_id, seq)
    ) WITHOUT ROWID;
    CREATE INDEX sessions_active ON sessions(active);
    CREATE TABLE remembered (key TEXT PRIMARY KEY, value TEXT NOT NULL);
    """,
)
"""Statements that lead from each schema to the next; `PRAGMA user_version` counts them."""

PATIENCE = 2.0
"""Seconds that another process may hold the file before an attempt to write counts as failed."""

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[AnyEvent] = msgspec.json.Decoder(AnyEvent)


class SessionRecord(Value, frozen=True, kw_only=True):
    """What the list of sessions shows."""

    id: str
    created: float
    """Unix time in seconds."""
    active: float
    """Unix time of the last event."""
    cwd: str
    title: str
    """First line of the first prompt; "" before there is one."""


class Store:
    """One database file. All methods raise `StoreError` in plain words when the disk or the file fails."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._db = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
            self._prepare()
        except sqlite3.Error as error:
            raise self._failure(error) from error

    def _prepare(self) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("PRAGMA foreign_keys = ON")
        if self._version() < len(MIGRATIONS):
            self._migrate()
        if self._version() > len(MIGRATIONS):
            raise StoreError(
                f"{self.path} was written by a newer oi-tui.", hint="Update oi-tui; nothing in the file was changed."
            )

    def _migrate(self) -> None:
        """Bring the schema up to date; a second program that starts at the same time waits, and finds it done."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            for number in range(self._version(), len(MIGRATIONS)):
                for statement in MIGRATIONS[number].split(";"):
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA user_version = {number + 1}")
            self._db.execute("COMMIT")
        except BaseException:
            self._db.execute("ROLLBACK")
            raise

    def _version(self) -> int:
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        return int(version)

    def create(self, session_id: str, created: float, cwd: str) -> None:
        """A new, empty session."""
        self._do(
            "INSERT INTO sessions (id, created, active, cwd) VALUES (?, ?, ?, ?)", session_id, created, created, cwd
        )

    def append(self, session_id: str, events: Iterable[AnyEvent]) -> None:
        """Add events at the end, all or none, and commit."""
        rows = [_encoder.encode(event).decode() for event in events]
        if not rows:
            return
        now = time.time()
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                (last,) = self._db.execute(
                    "SELECT coalesce(max(seq), 0) FROM events WHERE session_id = ?", (session_id,)
                ).fetchone()
                numbered = ((session_id, last + n, now, row) for n, row in enumerate(rows, 1))
                self._db.executemany("INSERT INTO events (session_id, seq, at, event) VALUES (?, ?, ?, ?)", numbered)
                self._db.execute("UPDATE sessions SET active = ? WHERE id = ?", (now, session_id))
                self._db.execute("COMMIT")
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise self._failure(error) from error

    def entitle(self, session_id: str, title: str) -> None:
        """Name a session that has no name yet."""
        self._do("UPDATE sessions SET title = ? WHERE id = ? AND title = ''", title, session_id)

    def load(self, session_id: str) -> tuple[AnyEvent, ...]:
        """All events of a session in order; StoreError if there is no such session."""
        if not self._rows("SELECT 1 FROM sessions WHERE id = ?", session_id):
            raise StoreError(f"There is no session {session_id}.", hint="`oi-tui sessions` lists those there are.")
        rows = self._rows("SELECT event FROM events WHERE session_id = ? ORDER BY seq", session_id)
        try:
            return tuple(_decoder.decode(row[0]) for row in rows)
        except msgspec.DecodeError as error:
            raise StoreError(
                f"Session {session_id} cannot be read.", hint="The file was left as it is.", details=str(error)
            ) from error

    def sessions(self) -> tuple[SessionRecord, ...]:
        """All sessions, the one last active first."""
        rows = self._rows("SELECT id, created, active, cwd, title FROM sessions ORDER BY active DESC")
        return tuple(SessionRecord(id=r[0], created=r[1], active=r[2], cwd=r[3], title=r[4]) for r in rows)

    def find(self, prefix: str) -> str:
        """The one session whose id begins so; StoreError if none or several do."""
        rows = self._rows("SELECT id FROM sessions WHERE substr(id, 1, ?) = ?", len(prefix), prefix)
        if len(rows) == 1:
            return str(rows[0][0])
        what = "no session" if not rows else f"{len(rows)} sessions"
        raise StoreError(f"{what.capitalize()} with an id that begins with {prefix!r}.", hint="See `oi-tui sessions`.")

    def remember(self, key: str, value: str) -> None:
        """Keep a small fact beyond the session (the model last chosen)."""
        self._do("INSERT OR REPLACE INTO remembered (key, value) VALUES (?, ?)", key, value)

    def recall(self, key: str) -> str:
        """The fact of this key, "" if there is none."""
        rows = self._rows("SELECT value FROM remembered WHERE key = ?", key)
        return str(rows[0][0]) if rows else ""

    def close(self) -> None:
        """Idempotent."""
        self._db.close()

    def _do(self, sql: str, *values: object) -> None:
        try:
            self._db.execute(sql, values)
        except sqlite3.Error as error:
            raise self._failure(error) from error

    def _rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        try:
            with closing(self._db.execute(sql, values)) as cursor:
                return cursor.fetchall()
        except sqlite3.Error as error:
            raise self._failure(error) from error

    def _failure(self, error: sqlite3.Error) -> StoreError:
        return StoreError(
            f"The session file {self.path} failed: {error}.",
            hint="Is the disk full, or the folder read-only? What was written before is safe.",
        )


ATTEMPTS = 3
"""Failures in a row after which a session is no longer written down."""

DELTA_INTERVAL = 0.25
"""Seconds after which text that still streams is written too."""


class Recorder:
    """Appends the events of one session, text that streams in pieces of up to `DELTA_INTERVAL`.

    Of the ends that a long output has while it runs, the first and the last are written.
    """

    def __init__(self, store: Store, session_id: str) -> None:
        self._store = store
        self._session_id = session_id
        self._pending: list[AnyEvent] = []
        self._since = 0.0
        self._failures = 0
        self._tails: dict[tuple[str, str], OutputTailMoved | None] = {}
        """By block and stream of what runs: its newest end, None if that is written or about to be."""

    def put(self, events: Iterable[AnyEvent], now: float) -> None:
        """Take events; writes at once when one of them is complete or text has waited long enough."""
        if not self._pending:
            self._since = now
        for event in events:
            self._take(event)
        if now - self._since >= DELTA_INTERVAL or any(not is_delta(event) for event in self._pending):
            self.flush()

    @property
    def waiting(self) -> bool:
        """Whether something has not been written yet."""
        return bool(self._pending)

    def flush(self) -> None:
        """Write what waits; what could not be written is tried again with what comes next."""
        self._pending = coalesce(self._pending)
        try:
            self._store.append(self._session_id, self._pending)
        except StoreError:
            self._failures += 1
            raise
        self._pending, self._failures = [], 0

    def close(self) -> None:
        """Write everything: nothing comes any more."""
        self._pending += [tail for tail in self._tails.values() if tail is not None]
        self._tails.clear()
        self.flush()

    def _take(self, event: AnyEvent) -> None:
        match event:
            case OutputTailMoved(block_id=block_id, name=name) if (block_id, name) in self._tails:
                self._tails[block_id, name] = event
                return
            case OutputTailMoved(block_id=block_id, name=name):
                self._tails[block_id, name] = None
            case ExecutionFinished(block_id=block_id):
                self._pending += [tail for tail in self._forget(block_id) if tail is not None]
            case OutputsCleared(block_id=block_id):
                self._forget(block_id)
            case ConversationCleared():
                self._tails.clear()
            case _:
                pass
        self._pending.append(event)

    def _forget(self, block_id: str) -> list[OutputTailMoved | None]:
        return [self._tails.pop(key) for key in tuple(self._tails) if key[0] == block_id]

    @property
    def gave_up(self) -> bool:
        """Whether writing has failed so often in a row that it will not be tried again."""
        return self._failures >= ATTEMPTS
