"""The public interface to the sessions on disk.

Events are committed as they are appended, so whatever ends the process, everything up to the last append is there; if
the power fails, everything up to the last one that did not leave that to `sync`. The list and the search index change
in the same transaction. Two processes may work on one file.
Values know nothing of row ids.
"""

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from oi_tui.app.engine.core.encoding import as_json
from oi_tui.app.engine.core.errors import StoreError
from oi_tui.app.engine.core.events import AnyEvent
from oi_tui.app.engine.core.session_records import PastPrompt, SearchHit, SessionRecord, Titler
from oi_tui.app.engine.log.store import statements
from oi_tui.app.engine.log.store.blobs import Blob, Blobs
from oi_tui.app.engine.log.store.database import PATIENCE, Database, SearchDamaged
from oi_tui.app.engine.log.store.digest import Digest, Totals
from oi_tui.app.engine.log.store.removal import Removal
from oi_tui.app.engine.log.store.rows import SessionRow, clean_tags, looked_up_to, tidy_line
from oi_tui.app.engine.log.store.shares import Shares
from oi_tui.app.engine.log.store.texts import Texts
from oi_tui.app.engine.log.store.words import read_query

RANKS = {"": 0, "prompt": 1, "model": 2, "person": 3}
"""Who named a session: a name is not replaced by one that counts less."""

REGRET = 30 * 24 * 3600.0
"""Seconds for which a deleted session can be brought back."""

STEP = 500
"""Events that one step of upkeep looks through, and as many more as belong to what is half open by then."""

LONG, ENDING = 10_000, 300
"""From about LONG events on, a session is long: its last ENDING events are read first."""

_decoder: msgspec.json.Decoder[AnyEvent] = msgspec.json.Decoder(AnyEvent)
_list_decoder: msgspec.json.Decoder[list[AnyEvent]] = msgspec.json.Decoder(list[AnyEvent])
_blobs_decoder: msgspec.json.Decoder[dict[str, Blob]] = msgspec.json.Decoder(dict[str, Blob])

_BEFORE_ALL = -(2**62)


class Store:
    """One database file, large outputs in `blobs/` beside it. `StoreError` in plain words when the disk fails."""

    def __init__(
        self,
        path: Path,
        on_delete: Callable[[float, float], None] = lambda since, until: None,
        on_remove: Callable[[str], None] = lambda session_id: None,
    ) -> None:
        """`on_delete` gets the times between which a session was used when that is deleted or removed; `on_remove` the
        id of one that is removed permanently."""
        self.path = path
        self.on_delete, self.on_remove = on_delete, on_remove
        self._db = Database(path)
        self.sync = self._db.sync
        """Returns when all that was appended is on the disk, also if the power fails now; for a thread."""
        self._blobs = Blobs(path.parent / "blobs")
        self._texts = Texts(self._db)
        self._shares = Shares(self._db)
        self._removal = Removal(self._db, self._blobs, self._shares)
        self._reading: tuple[str, int, Digest] | None = None
        """The session that was written last, its last `seq`, and what is half open in it."""

    # -- one session -------------------------------------------------------------------------------

    def create(self, session_id: str, created: float, cwd: str, *, parent: tuple[str, int] | None = None) -> None:
        """A new session: empty, or beginning with the first events of another (its id, and how many of its `load`)."""
        with self._db.writing():
            self._db.do(statements.CREATE, session_id, created, created, cwd)
            if parent is None:
                return
            row = self._row(parent[0])
            base_id, base_seq = self._shares.first(row, parent[1]) or (None, 0)
            values = (row.id, base_id, base_seq, row.title, row.tags, row.model)
            self._db.do(statements.INHERIT, *values, 0, session_id)
            turns = self._shares.turns(self._row(session_id))
            self._db.do(statements.INHERIT, *values, turns, session_id)
            self._texts.put_title(self._row(session_id))

    def append(
        self, session_id: str, events: Iterable[AnyEvent], *, patience: float = PATIENCE, sync: bool = True
    ) -> None:
        """Add events at the end, all or none, and commit; without `sync` they outlive this program, and a loss of power
        only after the next `sync`. A deleted session that is gone on with is one no longer.

        `StoreBusy` if another program holds the file for longer than `patience` (seconds).
        """
        taken = list(events)
        if not taken:
            return
        try:
            self._append(session_id, taken, patience, sync=sync)
        except SearchDamaged:
            self._texts.drop_index()
            self._append(session_id, taken, patience, sync=sync)

    def load(self, session_id: str) -> tuple[AnyEvent, ...]:
        """All events of a session in order, inherited ones first; StoreError if there is no such session.

        Where a large output is not there any more, a notice at the end (which is not of the log) says so.
        """
        missed: list[str] = []
        events: list[AnyEvent] = []
        for part in self._shares.parts(self._row(session_id)):
            events += _decode(session_id, self._db.rows(statements.EVENTS, *part), self._blobs, missed)
        if missed:
            events.append(self._blobs.missing(missed))
        return tuple(events)

    def ending(self, session_id: str) -> list[AnyEvent]:
        """The last events of a long session, which take no time to read; none of a short one. The first of them may be
        about a block that begins before them."""
        parts = self._shares.parts(self._row(session_id))
        if sum(self._shares.length(part) for part in parts) < LONG:
            return []
        rows: list[tuple[Any, ...]] = []
        for part in reversed(parts):
            rows += self._db.rows(statements.LAST_EVENTS, *part, ENDING - len(rows))
        return _decode(session_id, rows[::-1], self._blobs, [])

    def count(self, session_id: str) -> int:
        """How many events it has, inherited ones among them."""
        return self._shares.count(self._row(session_id))

    def record(self, session_id: str) -> SessionRecord:
        """The record of a session; StoreError if there is none."""
        return self._row(session_id).record

    def entitle(self, session_id: str, title: str, by: Titler = "prompt") -> None:
        """Name a session; a name that counts more stays, and so does that of the first prompt."""
        with self._db.writing():
            row = self._row(session_id)
            if (clean := tidy_line(title)) and RANKS[by] >= RANKS[row.titled] and not by == row.titled == "prompt":
                self._describe(row._replace(title=clean, titled=by))

    def edit(
        self,
        session_id: str,
        *,
        title: str | None = None,
        tags: Iterable[str] | None = None,
        archived: bool | None = None,
        deleted: bool | None = None,
    ) -> SessionRecord:
        """Change every field that is not None. An empty title lets the model make one."""
        with self._db.writing():
            row = self._row(session_id)
            if title is not None:
                clean = tidy_line(title)
                row = row._replace(title=clean, titled="person" if clean else "")
            if tags is not None:
                row = row._replace(tags=as_json(clean_tags(tags)).decode())
            if archived is not None:
                row = row._replace(archived=int(archived))
            if deleted is not None:
                row = row._replace(deleted=(row.deleted or time.time()) if deleted else 0.0)
            self._describe(row)
        if deleted:
            self.on_delete(row.created, row.active)
        return row.record

    def remove(self, session_id: str, *, deleted_before: float | None = None) -> None:
        """Permanently. Forks keep the events they shared; files nobody uses are deleted.

        With `deleted_before` (a time) only if it is still deleted, and was by then.
        """
        with self._db.writing():
            row = self._row(session_id)
            if deleted_before is not None and not 0 < row.deleted < deleted_before:
                return  # somebody has brought it back meanwhile
            left = self._removal.take_out(row)
        self._reading = None
        for heir in left.heirs:
            self._catch_up(heir)
        self._removal.delete_files(left)
        self.on_delete(row.created, row.active)
        self.on_remove(session_id)

    # -- all of them -------------------------------------------------------------------------------

    def ids_with_prefix(self, text: str) -> list[str]:
        """Ids that begin with this text."""
        return [str(found) for (found,) in self._db.rows(statements.IDS_LIKE, text)]

    def sessions(
        self, *, archived: bool = False, cwd: str | None = None, limit: int | None = None
    ) -> tuple[SessionRecord, ...]:
        """The sessions (or those put away), the one last active first."""
        bound = -1 if limit is None else limit
        rows = self._db.rows(statements.SESSIONS, archived=archived, cwd=cwd, limit=bound)
        return tuple(SessionRow(*row).record for row in rows)

    def search(self, text: str, *, archived: bool = False, limit: int = 50) -> tuple[SearchHit, ...]:
        """Find texts with all of these words and "phrases", of which the last may be incomplete; best first."""
        if (query := read_query(text)) is None:
            return ()
        try:
            hits = []
            for match in self._texts.search(query, archived=archived, limit=limit):
                block_id, snippet = self._texts.snippet(query, match)
                if snippet:
                    record = self.record(match.session_id)
                    hits.append(SearchHit(session=record, kind=match.kind, snippet=snippet, block_id=block_id))
            return tuple(hits)
        except SearchDamaged:
            self._texts.drop_index()
            return ()

    def prompts(self, limit: int, before: int | None = None) -> tuple[PastPrompt, ...]:
        """Past prompts of all sessions, the newest first; `before` is the `place` of the last one that was seen."""
        return self._texts.prompts(limit, before)

    # -- facts -------------------------------------------------------------------------------------

    def remember(self, key: str, value: str) -> None:
        """Keep a small fact beyond the session (the model last chosen)."""
        self._db.do(statements.REMEMBER, key, value)

    def recall(self, key: str) -> str:
        """The fact of this key, "" if there is none."""
        row = self._db.row(statements.RECALL, key)
        return "" if row is None else str(row[0])

    # -- upkeep ------------------------------------------------------------------------------------

    def count_unindexed(self) -> int:
        """Sessions that a search does not look through yet: an older program wrote them."""
        row = self._db.row(statements.COUNT_BEHIND)
        return 0 if row is None else int(row[0])

    def tidy(self, seconds: float) -> bool:
        """Do for about so long what can wait: look through old sessions, remove those deleted long ago.

        Returns whether something is left to do.
        """
        end, long_ago = time.monotonic() + seconds, time.time() - REGRET
        while time.monotonic() < end:
            if (row := self._db.row(statements.BEHIND)) is not None:
                self._catch_up(row[0])
            elif (row := self._db.row(statements.LONG_DELETED, long_ago)) is not None:
                self.remove(row[0], deleted_before=long_ago)
            else:
                return False
        return True

    def close(self) -> None:
        self._db.close()

    # -- within a step -----------------------------------------------------------------------------

    def _row(self, session_id: str) -> SessionRow:
        row = self._db.row(statements.SESSION, session_id)
        if row is None:
            raise StoreError(f"There is no session {session_id}.", hint="`oi-tui sessions` lists those there are.")
        return SessionRow(*row)

    def _append(self, session_id: str, events: list[AnyEvent], patience: float, *, sync: bool) -> None:
        now = time.time()
        reading, self._reading = self._reading, None  # whatever fails, it is read again
        with self._db.writing(patience, sync=sync):
            row = self._row(session_id)
            if row.deleted:
                self._db.do(statements.BRING_BACK, session_id)
            if row.indexed < 0:
                row = self._look_through(row)
            (last,) = self._db.row(statements.LAST, session_id) or (0,)
            rows: list[tuple[object, ...]] = []
            for seq, event in enumerate(events, last + 1):
                slim, blobs = self._blobs.store_forms(event)
                self._db.do_each(statements.USE_BLOB, [(blob.digest, session_id) for blob in blobs.values()])
                rows.append((session_id, seq, now, as_json(slim).decode(), as_json(blobs).decode() if blobs else None))
            self._db.do_each(statements.APPEND, rows)
            if row.indexed < 0:  # there is more of it than can be looked through now
                self._db.do(statements.ACTIVE, now, session_id)
                return
            if reading is not None and reading[:2] == (session_id, last):
                digest = reading[2]
            else:  # what another program, or this one before an error, left incomplete
                digest = Digest()
                for seq, at, encoded in self._db.rows(statements.EVENTS_BETWEEN, row.id, row.indexed, last):
                    digest.take(seq, at, _decoder.decode(encoded))
            totals = row.totals
            for seq, event in enumerate(events, last + 1):
                digest.take(seq, now, event)
                totals.take(event)
            last += len(events)
            indexed = last if digest.is_settled else row.indexed
            self._keep(row._replace(active=now), digest, totals, indexed)
        self._reading = (session_id, last, digest)

    def _keep(self, row: SessionRow, digest: Digest, totals: Totals, indexed: int) -> None:
        """Write down the summary of the events."""
        texts, merged, cleared = digest.take_texts()
        if cleared:
            self._texts.forget(row.id)
        self._texts.put(row.id, texts)
        self._shares.merge(row.id, merged)
        counted = (totals.model, totals.turns, totals.input_tokens, totals.output_tokens, totals.cost)
        self._db.do(statements.DESCRIBE, row.active, *counted, indexed, row.id)

    def _catch_up(self, session_id: str) -> None:
        """One step through a session; one that cannot be read is left out of the search, not out of the list."""
        with self._db.writing():
            row = self._db.row(statements.SESSION, session_id)
            if row is None or SessionRow(*row).indexed >= 0:
                return  # another process was faster
            try:
                self._look_through(SessionRow(*row))
            except msgspec.DecodeError:
                self._db.do(statements.GIVE_UP, session_id)

    def _look_through(self, row: SessionRow) -> SessionRow:
        """The next part of a session whose texts and totals are not known yet."""
        digest, settled = Digest(), 0
        start = row.looked_at
        if start is None:
            self._texts.forget(row.id)
            totals = Totals(turns=self._shares.turns(row))
        else:
            totals = row.totals
        indexed = None
        after = _BEFORE_ALL if start is None else start
        for number, (seq, at, event) in enumerate(self._db.each(statements.EVENTS_AFTER, row.id, after), 1):
            if number > STEP and digest.is_settled and settled > 0:
                indexed = looked_up_to(settled)
                break
            decoded = _decoder.decode(event)
            digest.take(seq, at, decoded)
            totals.take(decoded)
            if digest.is_settled:
                settled = seq
        self._keep(row, digest, totals, max(settled, start or 0, 0) if indexed is None else indexed)
        return self._row(row.id)

    def _describe(self, row: SessionRow) -> None:
        values = (row.title, row.titled, row.tags, row.archived, row.deleted)
        self._db.do(statements.EDIT, *values, row.id)
        self._texts.put_title(row)


def _decode(session_id: str, rows: list[tuple[Any, ...]], blobs: Blobs, missed: list[str]) -> list[AnyEvent]:
    """Events with their large outputs; `missed` collects the missing ones."""
    try:
        events = _list_decoder.decode(f"[{','.join(row[0] for row in rows)}]")
        for place, (_, stored) in enumerate(rows):
            if stored is not None:
                files = _blobs_decoder.decode(stored)
                events[place] = blobs.put_back(
                    events[place], files, lambda mime, blob: missed.append(f"{mime}: {blob.digest}")
                )
    except msgspec.DecodeError as error:
        raise StoreError(
            f"Session {session_id} cannot be read.", hint="The file was left as it is.", details=str(error)
        ) from error
    return events
