"""What goes when a session goes: its events, and of the files beside the database those that nobody else has."""

from pathlib import Path
from typing import NamedTuple

import msgspec

from oi_tui.app.engine.core.events import AnyEvent, OutputKept
from oi_tui.app.engine.log.store import statements
from oi_tui.app.engine.log.store.blobs import Blobs
from oi_tui.app.engine.log.store.database import Database
from oi_tui.app.engine.log.store.rows import SessionRow
from oi_tui.app.engine.log.store.shares import Shares

_decoder: msgspec.json.Decoder[AnyEvent] = msgspec.json.Decoder(AnyEvent)


class RemovedSession(NamedTuple):
    """What remains to be deleted of a removed session."""

    heirs: list[str]
    """Sessions that received the events they shared with it, and need a new index."""
    digests: list[str]
    """Its large outputs; another session may have the same."""
    wholes: list[str]
    """Files of its long outputs that no session names any more."""


class Removal:
    """Removes sessions permanently, and hands shared events to their forks."""

    def __init__(self, db: Database, blobs: Blobs, shares: Shares) -> None:
        self._db = db
        self._blobs = blobs
        self._shares = shares

    def take_out(self, row: SessionRow) -> RemovedSession:
        """The rows of a session, within a step that somebody opened (`Database.writing`)."""
        digests = [digest for (digest,) in self._db.rows(statements.BLOBS_OF, row.id)]
        wholes = [path for (event,) in self._db.rows(statements.WHOLES_OF, row.id) if (path := _path_in(event))]
        heirs = self._shares.bequeath(row)
        self._db.do(statements.REMOVE, row.id)
        named = [event for (event,) in self._db.rows(statements.WHOLES_INHERITED)] if wholes else []
        return RemovedSession(
            heirs, digests, [path for path in wholes if not any(Path(path).name in event for event in named)]
        )

    def delete_files(self, left: RemovedSession) -> None:
        """The files, in a step of its own."""
        with self._db.writing():  # nobody begins to use a file meanwhile
            for digest in left.digests:
                if self._db.row(statements.BLOB_USED, digest) is None:
                    self._blobs.remove(digest)
        self._blobs.remove_wholes(left.wholes)


def _path_in(event: str) -> str:
    """The file that it names; of one that cannot be read nothing is known, and its file stays."""
    try:
        kept = _decoder.decode(event)
    except msgspec.DecodeError:
        return ""
    return kept.whole.path if isinstance(kept, OutputKept) else ""
