"""What a search looks through: kept beside the events, and found again."""

from collections.abc import Iterable
from itertools import count
from typing import NamedTuple

from oi_tui.app.engine.sessions import HitKind, PastPrompt, Piece
from oi_tui.app.engine.store import statements, words
from oi_tui.app.engine.store.database import Database
from oi_tui.app.engine.store.digest import FoundText

SCAN = 2_000
"""Matches of one kind that a search looks at, the newest first."""


class Match(NamedTuple):
    """A text that a query matches."""

    text_id: int
    session_id: str

    @property
    def kind(self) -> HitKind:
        """What the text is."""
        return words.kind_of(self.text_id)


class Texts:
    """Prompts, answers, code, outputs and titles. Whoever changes something opens the step (`Database.writing`)."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def put(self, session_id: str, found: Iterable[FoundText]) -> None:
        """Add texts, each in place of the one that its block had of its kind."""
        for text in found:
            self._db.do(statements.DROP_TEXT, session_id, text.block_id, *words.id_range(text.kind))
            values = (session_id, text.block_id, text.seq, text.text)
            self._db.do(statements.ADD_TEXT, self._free_id(text.kind, text.at), *values)

    def forget(self, session_id: str) -> None:
        """All of a session but its title."""
        self._db.do(statements.DROP_TEXTS, session_id)

    def search(self, query: str, *, archived: bool, limit: int) -> list[Match]:
        """The best matches of an FTS5 query, at most one of a kind for each session."""
        ranked = [
            (place + words.HEAD_START[kind], -words.KINDS.index(kind), match)
            for kind in words.KINDS
            for place, match in enumerate(self._newest(query, kind, archived, limit))
        ]
        return [match for *_, match in sorted(ranked)[:limit]]

    def snippet(self, query: str, match: Match) -> tuple[str, tuple[Piece, ...]]:
        """Block, and the words around what matched."""
        found = self._db.row(statements.SNIPPET, query, match.text_id)
        if found is None:  # another process has just removed it
            return "", ()
        snippet, block_id = found
        return block_id, words.pieces(snippet)

    def prompts(self, limit: int, before: int | None) -> tuple[PastPrompt, ...]:
        """Past prompts, the newest first."""
        first, last = words.id_range("prompt")
        end = last if before is None else before - 1
        rows = self._db.rows(statements.PROMPTS, first, end, limit)
        return tuple(PastPrompt(place=r[0], text=r[1], at=r[2], session_id=r[3], cwd=r[4]) for r in rows)

    def begin_anew(self) -> None:
        """Drop a damaged index; all sessions are to be looked at again."""
        for statement in statements.FORGET_SEARCH:
            self._db.do(statement)

    def _newest(self, query: str, kind: HitKind, archived: bool, limit: int) -> list[Match]:
        newest: dict[str, Match] = {}
        for row in self._db.rows(statements.MATCHES, query, *words.id_range(kind), archived, SCAN):
            newest.setdefault(row[1], Match(*row))
            if len(newest) == limit:
                break
        return list(newest.values())

    def _free_id(self, kind: HitKind, at: float) -> int:
        for step in count():
            first, last = words.id_window(kind, at, step)
            newest = self._db.row(statements.NEWEST_ID, first, last)
            if newest is None or newest[0] is None:
                return first
            if newest[0] < last:
                return int(newest[0]) + 1
        raise AssertionError
