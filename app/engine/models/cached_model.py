"""A model whose answers are kept: the very same request is answered from the cache, which says so."""

import asyncio
import hashlib
import logging
import os
import sqlite3
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, closing, contextmanager, suppress
from pathlib import Path

import msgspec

from oi_tui.app.engine.core.chat_model import (
    AnswerEnded,
    AnswerNote,
    AnswerUsage,
    ChatRequest,
    Delta,
    Model,
    ModelWrapper,
    Retrying,
    TextDelta,
    ThoughtDelta,
    ToolDelta,
)
from oi_tui.app.engine.core.errors import OiTuiError, StoreError
from oi_tui.app.engine.files import paths
from oi_tui.app.engine.text.words import duration

CREATE = "CREATE TABLE IF NOT EXISTS answers (request BLOB PRIMARY KEY, at REAL NOT NULL, answer BLOB NOT NULL)"
LARGEST = 4_000_000
"""Bytes of an answer that is kept."""
MOST = 2_000
"""Answers that are kept; the oldest are dropped."""

LATE = 60.0
"""Seconds after the last event of a session within which its last answer is certainly kept."""

_deltas: msgspec.json.Decoder[list[Delta]] = msgspec.json.Decoder(list[Delta])


_log = logging.getLogger(__name__)


def answers_file() -> Path:
    """Where answers are kept."""
    return paths.private_dir(paths.cache_dir()) / "answers.db"


def forget_answers(since: float, until: float) -> None:
    """Drop the answers that were kept while a session was used, now that it is deleted."""
    try:
        if (path := answers_file()).exists():
            AnswerCache(path, hours=0.0).forget(since, until)
    except OiTuiError as error:  # the session is deleted even so
        _log.warning("answers of a deleted session stay in the cache: %s", error)


class AnswerCache:
    """A file of answers by request. It holds texts of sessions, so only its owner can read it."""

    def __init__(self, path: Path, hours: float) -> None:
        self._path = path
        self._seconds = hours * 3600

    def find(self, key: bytes) -> tuple[float, list[Delta]] | None:
        """The age in seconds and the answer; None if there is none that is young enough. StoreError if it cannot be
        read."""
        with self._open() as database:
            row = database.execute("SELECT at, answer FROM answers WHERE request = ?", (key,)).fetchone()
            if row is None or not 0 <= (age := time.time() - row[0]) <= self._seconds:
                return None
            return age, _deltas.decode(row[1])

    def keep(self, key: bytes, answer: list[Delta]) -> None:
        """Store an answer, replacing an older one, and drop those that are too old. StoreError if it cannot be
        written."""
        encoded = msgspec.json.encode(answer)
        if len(encoded) > LARGEST:
            return
        with self._open() as database, database:
            database.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", (key, time.time(), encoded))
            database.execute("DELETE FROM answers WHERE at < ?", (time.time() - self._seconds,))
            database.execute(
                "DELETE FROM answers WHERE request IN (SELECT request FROM answers ORDER BY at DESC LIMIT -1 OFFSET ?)",
                (MOST,),
            )

    def forget(self, since: float, until: float) -> None:
        """Drop what was kept in this time, also of other sessions: a request does not say whose it is. StoreError if
        the file cannot be written."""
        with self._open() as database, database:
            database.execute("DELETE FROM answers WHERE at BETWEEN ? AND ?", (since, until + LATE))

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            with suppress(FileExistsError):
                os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            with closing(sqlite3.connect(self._path, timeout=2.0)) as database:
                database.execute(CREATE)
                database.execute("PRAGMA secure_delete = ON")  # what is dropped does not stay in the file
                yield database
        except (OSError, sqlite3.Error, msgspec.DecodeError) as error:
            raise StoreError(f"The cache of answers {self._path} cannot be used: {error}.") from error


class CachedModel(ModelWrapper):
    """A model in front of which there is a cache."""

    def __init__(self, model: Model, cache: AnswerCache, salt: bytes) -> None:
        """`salt` is all that changes answers beside the request: the model, its server and its parameters."""
        super().__init__(model)
        self._cache = cache
        self._salt = salt

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Delta, None]:
        """The answer to the very same request from the cache, else the model's, which is kept if it is whole."""
        key = hashlib.sha256(self._salt + msgspec.json.encode(request)).digest()
        try:
            if (found := await asyncio.to_thread(self._cache.find, key)) is not None:
                age, answer = found
                yield AnswerNote(title=f"This answer is from the cache, {duration(age)} old.")
                for delta in answer:
                    yield delta
                return
        except StoreError as error:
            yield AnswerNote(title=error.title)
        answer, whole, says = [], False, False
        async with aclosing(self._model.stream(request)) as deltas:
            async for delta in deltas:
                whole = whole or isinstance(delta, AnswerEnded)
                says = says or isinstance(delta, TextDelta | ThoughtDelta | ToolDelta)
                match delta:
                    case Retrying() | AnswerNote():
                        pass
                    case AnswerUsage():  # it costs nothing the second time
                        answer.append(AnswerUsage(input_tokens=0, output_tokens=0, cost=0.0))
                    case _:
                        answer.append(delta)
                yield delta
        if whole and says:  # after an empty one, asking again must ask the model
            with suppress(StoreError):  # said when the next request is made
                await asyncio.to_thread(self._cache.keep, key, answer)
