"""What requests to models cost, over all sessions: one row a request, in a file of its own.

Sessions can be deleted; what they cost stays. No words of a session are in it, only the names of folders and models.
"""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import msgspec

from oi_tui.app.engine.core.errors import StoreError
from oi_tui.app.engine.core.model_request import Grouping, RequestRecord, Spending, TurnRecord, UsageRow

RECORDS: dict[str, type[RequestRecord | TurnRecord]] = {"requests": RequestRecord, "turns": TurnRecord}
"""The tables, and what a row of each is."""

SET_UP = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = NORMAL",  # the last requests may be lost with the power
    *(f"CREATE TABLE IF NOT EXISTS {table} ({', '.join(row.__struct_fields__)})" for table, row in RECORDS.items()),
    "CREATE INDEX IF NOT EXISTS requests_at ON requests(at, provider, profile, cost, input_tokens, output_tokens)",
    "CREATE INDEX IF NOT EXISTS turns_at ON turns(at)",
)
INSERT = {
    row: f"INSERT INTO {table} VALUES ({', '.join('?' * len(row.__struct_fields__))})" for table, row in RECORDS.items()
}

KEYS: dict[Grouping, str] = {
    "day": "date(at, 'unixepoch', 'localtime')",
    "month": "strftime('%Y-%m', at, 'unixepoch', 'localtime')",
    "session": "session_id",
    **{name: name for name in ("model", "provider", "profile", "folder", "ending")},
}
"""By what requests are put together, in SQL."""
TURN_KEYS: tuple[Grouping, ...] = ("day", "month", "model", "profile", "folder", "session")
"""By what turns can be, too."""

GROUPED = """
    SELECT {key}, count(*), sum(input_tokens), sum(cached_tokens), sum(output_tokens), sum(thought_tokens),
        sum(cost), sum(cost IS NULL AND NOT failed), sum(failed), avg(CASE WHEN failed THEN NULL ELSE seconds END),
        avg(first_token_seconds)
    FROM requests WHERE at >= ? AND at < ? GROUP BY 1 ORDER BY 1
"""
TURNS = """
    SELECT {key}, count(*), sum(ending = 'done') FROM turns WHERE at >= ? AND at < ? GROUP BY 1
"""
SPENT = """
    SELECT coalesce(sum(cost), 0), count(*), coalesce(sum(input_tokens + output_tokens), 0) FROM requests
    WHERE at >= ? AND (? = '' OR provider = ?) AND (? IS NULL OR profile = ?)
"""

LAST_MINUTE = "SELECT at, input_tokens + output_tokens FROM requests WHERE at >= ? ORDER BY at"
MINUTE = 60.0

PATIENCE = 2.0
"""Seconds that another process may hold the file."""


class Ledger:
    """The file. Each method opens it, and raises StoreError in plain words if it cannot be used."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._database: sqlite3.Connection | None = None

    def note(self, record: RequestRecord | TurnRecord) -> None:
        """Add a request, or a turn."""
        with self._failures():
            database = self._open()
            with database:
                database.execute(INSERT[type(record)], msgspec.structs.astuple(record))

    def spending(self, since: float, *, provider: str = "", profile: str | None = None) -> Spending:
        """All that was spent since this moment (Unix seconds), of one provider or profile if they are given."""
        with self._failures():
            row = self._open().execute(SPENT, (since, provider, provider, profile, profile)).fetchone()
        return Spending._make(row)

    def seconds_until_below(self, *, requests: int, tokens: int) -> float:
        """Seconds until the last minute has fewer requests and tokens than these (0 is no limit); 0.0 if it has
        already."""
        now = time.time()
        with self._failures():
            found = self._open().execute(LAST_MINUTE, (now - MINUTE,)).fetchall()
        for left in range(len(found) + 1):
            counted = found[left:]
            many = requests and len(counted) >= requests
            if not many and not (tokens and sum(count for _, count in counted) >= tokens):
                return max(0.0, found[left - 1][0] + MINUTE - now) if left else 0.0
        return 0.0

    def rows(self, by: Grouping, since: float = 0.0, until: float = 1e18) -> list[UsageRow]:
        """The requests of a time, put together by one of their properties."""
        with self._failures():
            database = self._open()
            found = database.execute(GROUPED.format(key=KEYS[by]), (since, until)).fetchall()
            turns = {}
            if by in TURN_KEYS:
                turns = {row[0]: row[1:] for row in database.execute(TURNS.format(key=KEYS[by]), (since, until))}
        rows = [(str(row[0]), *row[1:6], row[6] or 0.0, *row[7:], *turns.get(row[0], (0, 0))) for row in found]
        return [UsageRow._make(row) for row in rows]

    def close(self) -> None:
        """Let go of the file."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def _open(self) -> sqlite3.Connection:
        if self._database is None:
            with suppress(FileExistsError):
                os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            database = sqlite3.connect(self._path, timeout=PATIENCE, check_same_thread=False)
            try:
                for statement in SET_UP:
                    database.execute(statement)
            except sqlite3.Error:
                database.close()
                raise
            self._database = database
        return self._database

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            hint = "Move it away to start over; sessions are not affected."
            raise StoreError(f"What requests cost cannot be kept in {self._path}: {error}.", hint=hint) from error


def read_rows(path: Path, by: Grouping, since: float = 0.0, until: float = 1e18) -> list[UsageRow]:
    """The same of a file that may not be there."""
    if not path.exists():
        return []
    with closing(Ledger(path)) as ledger:
        return ledger.rows(by, since, until)
