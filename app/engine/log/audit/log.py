"""The audit log of one session, and the file with the newest line of each log.

    audit/2026-11-22-SESSION.jsonl      one line a record, chained
    audit/heads.jsonl                   one line for each sync of any log, chained too

A chain alone does not show that its end is missing: the heads do. Each opening of a session names the newest head, so
missing heads show in the logs of other sessions.
"""

import os
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from oi_tui.app.engine.core.errors import AuditError
from oi_tui.app.engine.log.audit.chain import ChainFile, ChainLink, ChainState, Read, Sync, origin
from oi_tui.app.engine.log.audit.records import (
    Head,
    LinesWereLost,
    LogBody,
    Tear,
    WriteWasInterrupted,
    encode,
)

HEADS = "heads.jsonl"
HEADS_NAME = "all sessions"
DATE = len("2026-11-22-")

Made = TypeVar("Made", LogBody, Tear)


class AuditLog:
    """Open for adding. All methods raise `AuditError`, after which they may be tried again."""

    def __init__(
        self,
        folder: Path,
        session_id: str,
        clock: Callable[[], float] = time.time,
        sync: Sync = os.fsync,
        read: Read = os.pread,
    ) -> None:
        self._session = session_id
        self._clock = clock
        self.path = log_path(folder, session_id, clock())
        self._file = ChainFile(self.path, origin(session_id), sync=sync, read=read)
        self._heads = ChainFile(folder / HEADS, origin(HEADS_NAME), sync=sync, read=read)
        self._last = origin(session_id)

    def newest_head(self) -> ChainLink:
        """The newest head on disk, of all sessions."""
        head = self._heads.look()
        self._heads.sync()
        return head

    def add(self, bodies: Sequence[LogBody]) -> None:
        self._last = self._file.append(lambda state: [*map(encode, self._faults(state, LogBody)), *map(encode, bodies)])

    def seal(self) -> None:
        """Return when all that was added is on disk, and the heads say how far the log goes."""
        last = self._last
        self._file.sync()  # before the head, which must never be ahead of the log
        head = Head(at=self._clock(), session=self._session, log_seq=last.seq, log_sha256=last.sha256)
        self._heads.append(lambda state: [*map(encode, self._faults(state, Tear)), encode(head)])

    def close(self) -> None:
        self._file.close()
        self._heads.close()

    def _faults(self, state: ChainState, make: type[Made]) -> list[Made]:
        """Records about the state of a file, written before anything else."""
        found: list[WriteWasInterrupted | LinesWereLost] = []
        if state.torn:
            found.append(WriteWasInterrupted(characters=state.torn))
        if state.lost is not None:
            found.append(LinesWereLost(seq=state.lost.seq, sha256=state.lost.sha256))
        return [make(at=self._clock(), session=self._session, record=record) for record in found]


def log_path(folder: Path, session_id: str, now: float) -> Path:
    """The log of this session: the one there is, else one named after today."""
    if not session_id or not session_id.replace("-", "").replace("_", "").isalnum():
        raise AuditError(f"The session {session_id!r} can have no audit log: its id is no name of a file.")
    today = datetime.fromtimestamp(now, UTC).astimezone()
    return find_log(folder, session_id) or folder / f"{today:%Y-%m-%d}-{session_id}.jsonl"


def find_log(folder: Path, session_id: str) -> Path | None:
    """The log of exactly this session."""
    return next((path for path in logs(folder) if session_of(path) == session_id), None)


def logs(folder: Path) -> tuple[Path, ...]:
    """All logs of sessions, the oldest first."""
    return tuple(sorted(path for path in folder.glob("*.jsonl") if path.name != HEADS))


def session_of(path: Path) -> str:
    """The session whose log has this name."""
    return path.stem[DATE:]
