"""One SQLite file: opened, brought up to date, written in whole steps, and what its errors mean in plain words."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from oi_tui.app.engine.core.errors import StoreError
from oi_tui.app.engine.log.store import statements
from oi_tui.app.engine.log.store.blobs import sync_folder

PATIENCE = 2.0
"""Seconds that another process may hold the file before an attempt to write counts as failed."""


class StoreBusy(StoreError):
    """Another program holds the file; that passes."""


FAULTS = (sqlite3.Error, MemoryError)
"""A damaged search index may have lengths that no memory has room for; then SQLite raises one of these."""


class SearchDamaged(StoreError):
    """The index of words is of no use any more; the events are."""


class Database:
    """A connection. All methods raise `StoreError` when the disk or the file fails."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._journal = f"{os.path.realpath(path)}-wal"
        self._is_wal = self._syncs_each = True
        self._named = 0
        """Inode of the journal whose name is on the disk."""
        self._diagnosed = ""
        with suppress(OSError):  # what is wrong SQLite says in a moment
            # Only where there is none: to close a file that is open already would drop the locks that SQLite has on it
            # in this process, and the next program to leave would take the newest events away with it.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            self._db = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
        except FAULTS as error:
            raise self.failure(error) from error
        try:
            self._prepare()
        except sqlite3.Error as error:
            failure = self.failure(error)
            self._db.close()
            raise failure from error
        except StoreError:
            self._db.close()
            raise

    def _prepare(self) -> None:
        """A file of a newer program is left before anything in it is touched."""
        if self._version() > len(statements.MIGRATIONS):
            raise StoreError(
                f"{self.path} was written by a newer oi-tui.", hint="Update oi-tui; nothing in the file was changed."
            )
        if self._db.execute(statements.READ_JOURNAL).fetchone() != ("wal",):
            # A file system without shared memory keeps the older journal, which is as safe and slower.
            self._is_wal = self._db.execute(statements.USE_WAL).fetchone() == ("wal",)
        for statement in statements.SET_UP:
            self._db.execute(statement)
        if self._version() < len(statements.MIGRATIONS):
            self._migrate()

    def _migrate(self) -> None:
        """Bring the schema up to date; a second program that starts at the same time waits, and finds it done."""
        self._db.execute(statements.BEGIN)
        try:
            for number in range(self._version(), len(statements.MIGRATIONS)):
                for statement in statements.MIGRATIONS[number]:
                    self._db.execute(statement)
                self._db.execute(statements.WRITE_VERSION.format(number + 1))
            self._db.execute(statements.COMMIT)
        except BaseException:
            self._roll_back()
            raise

    def _version(self) -> int:
        (version,) = self._db.execute(statements.READ_VERSION).fetchone()
        return int(version)

    @contextmanager
    def writing(self, patience: float = PATIENCE, *, sync: bool = True) -> Iterator[None]:
        """All of what is done inside, or nothing; nobody else writes meanwhile. `StoreBusy` when patience ends. Without
        `sync` it outlives this program at once, and a loss of power after the next `sync`."""
        if (syncs := sync or not self._is_wal) != self._syncs_each:
            self.do(statements.SYNC_EACH if syncs else statements.SYNC_LATER)
            self._syncs_each = syncs
        if patience == PATIENCE:
            with self._step():
                yield
            return
        self.do(statements.BE_PATIENT.format(int(patience * 1000)))
        try:
            with self._step():
                yield
        finally:
            self.do(statements.BE_PATIENT.format(int(PATIENCE * 1000)))

    @contextmanager
    def _step(self) -> Iterator[None]:
        try:
            self._db.execute(statements.BEGIN)
            try:
                yield
                self._db.execute(statements.COMMIT)
            except BaseException:
                self._roll_back()
                raise
        except FAULTS as error:
            raise self.failure(error) from error

    def _roll_back(self) -> None:
        if self._db.in_transaction:  # a full disk ends it by itself
            self._db.execute(statements.ROLLBACK)

    def do(self, statement: str, *values: object) -> None:
        """One statement that gives nothing back."""
        try:
            self._db.execute(statement, values)
        except FAULTS as error:
            raise self.failure(error) from error

    def do_named(self, statement: str, **values: object) -> None:
        """The same with values by name."""
        try:
            self._db.execute(statement, values)
        except FAULTS as error:
            raise self.failure(error) from error

    def do_each(self, statement: str, rows: list[tuple[object, ...]]) -> None:
        """The same statement with each of these values."""
        try:
            self._db.executemany(statement, rows)
        except FAULTS as error:
            raise self.failure(error) from error

    def rows(self, statement: str, *values: object, **named: object) -> list[tuple[Any, ...]]:
        """All that it gives; values by place, or by name."""
        try:
            with closing(self._db.execute(statement, named or values)) as cursor:
                return cursor.fetchall()
        except FAULTS as error:
            raise self.failure(error) from error

    def each(self, statement: str, *values: object) -> Iterator[tuple[Any, ...]]:
        """Row by row, as long as somebody wants more."""
        try:
            with closing(self._db.execute(statement, values)) as cursor:
                yield from cursor
        except FAULTS as error:
            raise self.failure(error) from error

    def row(self, statement: str, *values: object) -> tuple[Any, ...] | None:
        """The first row, None if there is none."""
        try:
            with closing(self._db.execute(statement, values)) as cursor:
                row: tuple[Any, ...] | None = cursor.fetchone()
                return row
        except FAULTS as error:
            raise self.failure(error) from error

    def close(self) -> None:
        self._db.close()

    def sync(self) -> None:
        """Return when all that was written is on the disk, also if the power fails now. For any thread: SQLite has no
        locks on this file, so that it may be closed here."""
        try:
            descriptor = os.open(self._journal, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return  # each commit waited for the disk
        except OSError as error:
            raise self._sync_failure(error) from error
        try:
            os.fdatasync(descriptor)
            if self._named != (inode := os.fstat(descriptor).st_ino):
                sync_folder(self.path.parent)
                self._named = inode
        except OSError as error:
            raise self._sync_failure(error) from error
        finally:
            os.close(descriptor)

    def _sync_failure(self, error: OSError) -> StoreError:
        return StoreError(f"{self.path} cannot be brought to the disk: {error.strerror}.", hint=_SAFE)

    def failure(self, error: sqlite3.Error | MemoryError) -> StoreError:
        """The meaning of an error of SQLite, and what can be done."""
        if isinstance(error, MemoryError):
            return self._search_damaged(error)
        code = getattr(error, "sqlite_errorcode", 0)
        match code & 0xFF:
            case sqlite3.SQLITE_FULL:
                return StoreError(f"The disk is full: {self.path} cannot grow.", hint=f"Make room. {_SAFE}")
            case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
                hint = f"Is the folder read-only, or someone else's? {_SAFE}"
                return StoreError(f"{self.path} cannot be written: {error}.", hint=hint)
            case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
                return StoreBusy(f"Another program keeps {self.path} locked.", hint=f"Try again. {_SAFE}")
            case sqlite3.SQLITE_NOTADB:
                hint = "Nothing in it was changed. Move it away to start over."
                return StoreError(f"{self.path} is no file of sessions.", hint=hint, details=str(error))
            case sqlite3.SQLITE_CORRUPT if code == sqlite3.SQLITE_CORRUPT_VTAB:
                return self._search_damaged(error)
            case sqlite3.SQLITE_CORRUPT:
                hint = "Keep a copy of it, then try `sqlite3 FILE .recover`; or move it away to start over."
                return StoreError(f"{self.path} is damaged.", hint=hint, details=self._diagnosis(error))
            case _:
                return StoreError(
                    f"The session file {self.path} failed: {error}.",
                    hint=f"Is the disk full, or the folder read-only? {_SAFE}",
                )

    def _search_damaged(self, error: Exception) -> SearchDamaged:
        return SearchDamaged(f"The search index in {self.path} is damaged.", hint=_SAFE, details=repr(error))

    def _diagnosis(self, error: sqlite3.Error) -> str:
        """What SQLite finds wrong with the file: looked for only when there is reason to, and once."""
        if not self._diagnosed:
            try:
                found = [str(row[0]) for row in self._db.execute(statements.CHECK)]
            except sqlite3.Error as worse:
                found = [str(worse)]
            self._diagnosed = "\n".join((str(error), *found))
        return self._diagnosed


_SAFE = "Everything saved before is safe."


def check_database(path: Path) -> tuple[int, str]:
    """How many sessions are in this file, and what is wrong with it ("" if nothing). Changes nothing in it."""
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=PATIENCE)) as database:
            (said,) = database.execute(statements.CHECK).fetchone()
            (count,) = database.execute(statements.COUNT_SESSIONS).fetchone()
    except FAULTS as error:
        return 0, str(error)
    return count, "" if said == "ok" else str(said)
