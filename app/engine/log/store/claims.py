"""Which sessions are open, and in which process: two programs writing to one session would corrupt its log.

A claim is a lock on a small file of its own, which the system releases when its holder dies, however it dies. The
database file is never locked here: closing any descriptor of that file drops the locks SQLite has on it.
"""

import fcntl
import logging
import os
import time
from collections.abc import Collection
from pathlib import Path
from urllib.parse import quote

from oi_tui.app.engine.core.errors import StoreError

CLAIM_PATIENCE = 2.0
"""Seconds for a program that is about to leave the session: one whose screen was killed saves and ends its kernels."""

PAUSE = 0.05
"""Seconds between two looks."""

_log = logging.getLogger(__name__)


class SessionOpenElsewhere(StoreError):
    """Another program has this session open."""

    def __init__(self) -> None:
        super().__init__(
            "This session is open in another oi-tui.",
            hint="Continue there. Or fork it there (F on a block): then this one is free.",
        )


class Claims:
    """The sessions that this program has open. Where a file system has no locks, they are open without."""

    def __init__(self, folder: Path) -> None:
        """`folder` is made when it is needed."""
        self._folder = folder
        self._held: dict[str, int | None] = {}
        """Descriptors, None where the file system has no locks."""

    @classmethod
    def for_database(cls, database: Path) -> "Claims":
        """The claims of the sessions in this database."""
        return cls(database.parent / "open")

    def take(self, session_id: str, patience: float = 0.0) -> None:
        """Claim a session: nobody else can continue it. SessionOpenElsewhere if somebody still has it after this many
        seconds."""
        if session_id not in self._held:
            self._held[session_id] = self._descriptor(session_id, patience)

    def keep_only(self, session_ids: Collection[str] = ()) -> None:
        """Release all but these; others may continue the rest."""
        for left in [held for held in self._held if held not in session_ids]:
            descriptor = self._held.pop(left)
            if descriptor is not None:
                _give_up(self._path(left), descriptor)

    def require_free(self, session_id: str, patience: float = CLAIM_PATIENCE) -> None:
        """SessionOpenElsewhere if somebody still has it open after this many seconds."""
        if session_id in self._held or not self._path(session_id).exists():
            return
        descriptor = self._descriptor(session_id, patience)
        if descriptor is not None:
            _give_up(self._path(session_id), descriptor)

    def _path(self, session_id: str) -> Path:
        return self._folder / f"{quote(session_id, safe='')}.lock"

    def _descriptor(self, session_id: str, patience: float) -> int | None:
        end = time.monotonic() + patience
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            while (descriptor := _lock(self._path(session_id))) is None:
                if time.monotonic() >= end:
                    raise SessionOpenElsewhere
                time.sleep(PAUSE)
        except OSError as error:
            _log.warning("session %s is open without a lock: %s", session_id, error)
            return None
        return descriptor


def _lock(path: Path) -> int | None:
    """A descriptor that holds the lock, None if somebody else does, or has just removed the file."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if path.exists() and os.path.samestat(os.fstat(descriptor), os.stat(path)):
            return descriptor
    except BlockingIOError:
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def _give_up(path: Path, descriptor: int) -> None:
    """Remove the file while it is ours: who waits for it finds that out, and makes another."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        _log.warning("a lock file stays: %s", error)
    finally:
        os.close(descriptor)
