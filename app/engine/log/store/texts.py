"""What a search looks through: kept beside the events, and found again."""

from collections.abc import Iterable, Iterator
from itertools import count
from typing import NamedTuple

from oi_tui.app.engine.core.session_records import HitKind, PastPrompt, SnippetPart
from oi_tui.app.engine.log.store import statements, words
from oi_tui.app.engine.log.store.database import Database
from oi_tui.app.engine.log.store.digest import FoundText
from oi_tui.app.engine.log.store.rows import SessionRow
from oi_tui.app.engine.log.store.words import Query

SCAN = 2_000
"""Matches of one kind that a search looks at, the newest first."""


class Match(NamedTuple):
    """A text that a query matches."""

    text_id: int
    session_id: str

    @property
    def kind(self) -> HitKind:
        """The kind of the text."""
        return words.kind_of(self.text_id)


class Texts:
    """Prompts, answers, code, outputs and titles. Callers that change something open the transaction
    (`Database.writing`)."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def put(self, session_id: str, found: Iterable[FoundText]) -> None:
        """Add texts; each replaces that of the same block and kind."""
        for text in found:
            self._db.do(statements.DROP_TEXT, session_id, text.block_id, *words.id_range(text.kind))
            values = (session_id, text.block_id, text.seq, text.text)
            self._db.do(statements.ADD_TEXT, self._free_id(text.kind, text.at), *values)

    def put_title(self, row: SessionRow) -> None:
        """Tags can be searched for where the title can."""
        text = " ".join((row.title, *(f"#{tag}" for tag in row.tag_names)))
        self.put(row.id, [FoundText("title", "", 0, row.active, text)])

    def forget(self, session_id: str) -> None:
        """All of a session but its title."""
        self._db.do(statements.DROP_TEXTS, session_id)

    def search(self, query: Query, *, archived: bool, limit: int) -> list[Match]:
        """The best matches, at most one of a kind for each session.

        A long beginning of a word is looked for once and only where the whole word is not found often enough: then
        the newest titles, prompts, answers, in this order, say enough.
        """
        if not query.costly:
            return self._rank(self._of_each_kind(query.beginning, archived, limit), limit)
        found = self._of_each_kind(query.exact, archived, limit)
        if sum(map(len, found.values())) < limit:
            for match in self._newest(query.beginning, (0, words.END), archived):
                found.setdefault(match.kind, {}).setdefault(match.session_id, match)
        return self._rank(found, limit)

    def snippet(self, query: Query, match: Match) -> tuple[str, tuple[SnippetPart, ...]]:
        """Block, and the words around what matched."""
        found = self._db.row(statements.TEXT, match.text_id)
        if found is None:  # another process has just removed it
            return "", ()
        text, block_id = found
        return block_id, words.snippet(text, query)

    def prompts(self, limit: int, before: int | None) -> tuple[PastPrompt, ...]:
        """Past prompts, the newest first."""
        first, last = words.id_range("prompt")
        end = last if before is None else before - 1
        rows = self._db.rows(statements.PROMPTS, first, end, limit)
        return tuple(PastPrompt(place=r[0], text=r[1], at=r[2], session_id=r[3], cwd=r[4]) for r in rows)

    def drop_index(self) -> None:
        """Drop a damaged index; all sessions will be read again."""
        with self._db.writing():
            for statement in statements.FORGET_SEARCH:
                self._db.do(statement)

    def _of_each_kind(self, query: str, archived: bool, limit: int) -> dict[HitKind, dict[str, Match]]:
        """The newest ones, by kind and session."""
        found: dict[HitKind, dict[str, Match]] = {}
        for kind in words.KINDS:
            newest = found.setdefault(kind, {})
            for match in self._newest(query, words.id_range(kind), archived):
                newest.setdefault(match.session_id, match)
                if len(newest) == limit:
                    break
        return found

    def _newest(self, query: str, ids: tuple[int, int], archived: bool) -> Iterator[Match]:
        return map(Match._make, self._db.each(statements.MATCHES, query, *ids, archived, SCAN))

    def _rank(self, found: dict[HitKind, dict[str, Match]], limit: int) -> list[Match]:
        ranked = sorted(
            (place + words.HEAD_START[kind], -words.KINDS.index(kind), match)
            for kind, newest in found.items()
            for place, match in enumerate(sorted(newest.values(), reverse=True))
        )
        return [match for *_, match in ranked[:limit]]

    def _free_id(self, kind: HitKind, at: float) -> int:
        for step in count():
            first, last = words.id_window(kind, at, step)
            newest = self._db.row(statements.NEWEST_ID, first, last)
            if newest is None or newest[0] is None:
                return first
            if newest[0] < last:
                return int(newest[0]) + 1
        raise AssertionError
