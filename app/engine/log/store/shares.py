"""What sessions share: a fork begins with the events of the session it came from, which are kept once."""

from collections.abc import Sequence

from oi_tui.app.engine.core.encoding import as_json
from oi_tui.app.engine.log.store import statements
from oi_tui.app.engine.log.store.database import Database
from oi_tui.app.engine.log.store.digest import Merged
from oi_tui.app.engine.log.store.rows import SessionRow

END = 2**62
"""A `seq` beyond all others."""

SharedPart = tuple[str, int]
"""The events of this session up to this `seq`."""


class Shares:
    """Which sessions share which events. Callers that change something open the transaction (`Database.writing`)."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def parts(self, row: SessionRow) -> list[SharedPart]:
        """Where the events of a session are, in order."""
        parts = [(row.id, END)]
        while row.base_id is not None:
            parts.append((row.base_id, row.base_seq))
            above = self._db.row(statements.SESSION, row.base_id)
            assert above is not None, "a session that others build on cannot be removed before them"
            row = SessionRow(*above)
        return parts[::-1]

    def count(self, row: SessionRow) -> int:
        """Events of a session, inherited ones among them."""
        return sum(self._rows_of(part) for part in self.parts(row))

    def length(self, part: SharedPart) -> int:
        """Events of a part, and those that were merged into others: known at once, however many there are."""
        session_id, last = part
        return min(last, self._number(statements.LAST, session_id))

    def first(self, row: SessionRow, number: int) -> SharedPart | None:
        """Where the first `number` events end; None if that is before the first one."""
        end: SharedPart | None = None
        for session_id, last in self.parts(row):
            if number <= 0:
                break
            here = self._rows_of((session_id, last))
            if here == 0:
                continue
            found = self._db.row(statements.NTH, session_id, min(number, here) - 1)
            assert found is not None
            end = (session_id, found[0])
            number -= here
        return end

    def turns(self, row: SessionRow) -> int:
        """Prompts among the events that a session inherited."""
        inherited = self.parts(row)[:-1]
        return sum(self._number(statements.TURNS, *part) for part in inherited)

    def bequeath(self, row: SessionRow) -> list[str]:
        """Before a session goes, those that share its events get them; their ids."""
        heirs = self._db.rows(statements.HEIRS, row.id)
        for heir, last in heirs:
            first = self._number(statements.FIRST, heir)
            self._db.do_named(statements.BEQUEATH, heir=heir, id=row.id, last=last, first=first)
            self._db.do_named(statements.BEQUEATH_BLOBS, heir=heir, id=row.id)
            self._db.do(statements.REBASE, row.base_id, row.base_seq, heir)
        self._db.do(statements.REPARENT, row.parent_id, row.id)
        return [heir for heir, _ in heirs]

    def merge(self, session_id: str, merged: Sequence[Merged]) -> None:
        """Fewer rows that say the same; what another session builds on stays as it is."""
        if not merged:
            return
        shared = self._number(statements.SHARED, session_id)
        for seqs, event in merged:
            if seqs[0] <= shared:
                continue
            if event is not None:
                self._db.do(statements.REWRITE, as_json(event).decode(), session_id, seqs[0])
                seqs = seqs[1:]
            self._db.do_each(statements.DROP, [(session_id, seq) for seq in seqs])

    def _rows_of(self, part: SharedPart) -> int:
        return self._number(statements.COUNT, *part)

    def _number(self, statement: str, *values: object) -> int:
        found = self._db.row(statement, *values)
        assert found is not None
        return int(found[0])
