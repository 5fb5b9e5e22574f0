"""What is known of past sessions, and which of it a filter leaves: no widget, so that the panel only shows it."""

from collections.abc import Sequence

from msgspec.structs import replace

from oi_tui.app.engine.core.library_replies import SessionsFound
from oi_tui.app.engine.core.session_records import SearchHit, SessionRecord
from oi_tui.widgets.sessions.listing import ListEntry, haystack, list_hits, list_sessions, words_of
from oi_tui.widgets.sessions.row_view import folder_text

SHORTEST = 2
"""Characters of the shortest search in texts; a single one is nearly everywhere."""


class SessionsModel:
    """Sessions, those that were put away or the others, and what a search found in them."""

    def __init__(self, home: str) -> None:
        self._home = home
        self.archived = False
        self.known = False
        """Whether the engine has sent them."""
        self.cut = False
        """Whether there are more."""
        self.behind = 0
        """Sessions that the search has not looked through yet; it is answered again when it has."""
        self._sessions: list[SessionRecord] = []
        self._haystacks: list[str] | None = None
        """What a filter looks into, for each session; made when the first letter is typed."""
        self._hits: Sequence[SearchHit] = ()
        self.searched = ""
        """What the hits are of."""

    def __contains__(self, session_id: str) -> bool:
        return any(record.id == session_id for record in self._sessions)

    def turn(self) -> None:
        """Change to the archived sessions, or back: none of them are known yet."""
        self.archived, self.known = not self.archived, False
        self._sessions, self._haystacks = [], None
        self.forget_search()

    def forget_search(self) -> None:
        """Something else is looked for."""
        self._hits, self.searched = (), ""

    def is_searching(self, sought: str) -> bool:
        """Whether what texts contain of this is still to come."""
        return len(sought) >= SHORTEST and self.searched != sought

    def count_in_words(self, count: int, sought: str) -> str:
        """The text beside the filter about this many rows."""
        if self.is_searching(sought):
            return "…"
        if sought:
            return f"{count:,} found so far" if self.behind else f"{count:,} found"
        return f"{'archived ' if self.archived else ''}{count:,}{'+' if self.cut else ''}"

    def take(self, found: SessionsFound, wanted: str) -> bool:
        """The engine's results; False if they answer an earlier query than `wanted`."""
        if found.archived != self.archived or found.query not in ("", wanted):
            return False
        if found.query:
            self._hits, self.searched = found.hits, found.query
            self.behind = found.behind
        else:
            self._sessions, self.cut, self.known = list(found.sessions), found.cut, True
            self._haystacks = None
        return True

    def put(self, record: SessionRecord) -> None:
        """One session in its new state; removed, if it now belongs to another list."""
        gone = record.deleted or record.archived != self.archived
        place = next((number for number, other in enumerate(self._sessions) if other.id == record.id), None)
        if gone and place is not None:
            del self._sessions[place]
        elif not gone and place is None and self.known:
            self._sessions.append(record)
        elif not gone and place is not None:
            self._sessions[place] = record
        self._haystacks = None
        self._hits = [
            replace(hit, session=record) if hit.session.id == record.id else hit
            for hit in self._hits
            if not (gone and hit.session.id == record.id)
        ]

    def entries(self, sought: str, *, now: float, here: str, current: str = "") -> list[ListEntry]:
        """The list, or the matches. A session that was only opened has nothing to find."""
        words = words_of(sought)
        if not words:
            begun = [each for each in self._sessions if each.turns or each.title or each.id == current]
            return list_sessions(begun, now=now, here=here)
        if self._haystacks is None:
            self._haystacks = [haystack(each, folder_text(each.cwd, self._home)) for each in self._sessions]
        fitting = [
            record
            for record, text in zip(self._sessions, self._haystacks, strict=True)
            if all(word in text for word in words)
        ]
        return list_hits(sorted(fitting, key=lambda record: -record.active), self._hits)
