"""A session as a row of a narrow panel, and the texts of an empty list."""

import re
import time
from functools import lru_cache
from pathlib import PurePath
from typing import Literal

from rich.cells import cell_len
from textual.content import Content

from oi_tui.app.engine.core.session_records import SearchHit, SessionRecord, SnippetPart
from oi_tui.app.engine.text.words import one_line, quantity
from oi_tui.widgets.lettering import lettering
from oi_tui.widgets.sessions.listing import Heading, HitEntry, ListEntry, SessionEntry, day_of

CURRENT = "●"
"""Before the title of the session that is open."""

UNTITLED = "nothing asked yet"

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_BEFORE_MATCH = 12
"""Cells of a snippet that stay in front of its first match."""

_GUTTER = 2

Cursor = Literal["none", "here", "away"]
"""Whether the keys act on a row; `away`: they would, if the panel had the keys."""


def height_of(entry: ListEntry, *, first: bool) -> int:
    """Rows on the screen; a day has an empty one above it, unless it is the first."""
    if isinstance(entry, SessionEntry):
        return 2
    return 2 if (entry.first if isinstance(entry, HitEntry) else entry.label and not first) else 1


class RowRenderer:
    """Draws rows of one width, at one time."""

    def __init__(self, width: int, *, now: float, home: str, here: str, current: str, words: tuple[str, ...] = ()):
        self.width = width
        self.now = now
        self._today = day_of(now)
        self._home = home
        self._here = here
        self._current = current
        self._wanted = re.compile("|".join(map(re.escape, words)), re.IGNORECASE) if words else None

    def lines(self, entry: ListEntry, cursor: Cursor, *, first: bool = False) -> list[Content]:
        """The rows of an entry, each exactly as wide as there is room."""
        match entry:
            case Heading():
                drawn = self._heading(entry)
                return [drawn] if height_of(entry, first=first) == 1 else [self._fit(Content()), drawn]
            case SessionEntry():
                return self._session_lines(entry, cursor)
            case HitEntry():
                return self._hit_lines(entry, cursor)

    def _heading(self, heading: Heading) -> Content:
        label = lettering((heading.label, "bold"))
        if not heading.folder:
            return self._fit(lettering(" ", label))
        room = self.width - 4 - label.cell_length
        here = heading.folder == self._here
        folder = cut_left(folder_text(heading.folder, self._home), room)
        style = "$foreground" if here else "$dim"
        gap = self.width - 2 - label.cell_length - cell_len(folder)
        return self._fit(lettering(" ", label, " " * max(1, gap), (folder, style), " "))

    def _session_lines(self, row: SessionEntry, cursor: Cursor) -> list[Content]:
        record = row.record
        return [
            self._title_line(record, row.branch, cursor),
            self._fit(
                lettering(
                    _bar(cursor), " ", (row.below, "$faint"), self._facts(record, self.width - 3 - len(row.below))
                )
            ),
        ]

    def _title_line(self, record: SessionRecord, branch: str, cursor: Cursor) -> Content:
        age = age_text(record.active, self.now)
        mark = lettering((f"{CURRENT} ", "$accent")) if record.id == self._current else Content()
        room = self.width - _GUTTER - len(branch) - mark.cell_length - len(age) - 2
        title = self._highlight(one_line(record.title)) if record.title.strip() else lettering((UNTITLED, "$dim"))
        if cursor == "here":
            title = title.stylize("bold")
        return self._fit(
            lettering(
                _bar(cursor), " ", (branch, "$faint"), mark,
                title.truncate(max(1, room), ellipsis=True, pad=True), " ", (age, "$dim"), " ",
            )
        )  # fmt: skip

    def _facts(self, record: SessionRecord, room: int) -> Content:
        """As many facts as fit, the most useful first."""
        tags = [f"#{one_line(tag)}" for tag in record.tags]
        turns = quantity(record.turns, "turn") if record.turns else ""
        tokens = record.input_tokens + record.output_tokens
        facts = [
            *tags,
            short_model(record.model),
            turns,
            money(record.cost) if record.cost else "",
            count(tokens) + " tok" if tokens else "",
        ]
        shown: list[str] = []
        for fact in filter(None, facts):
            if shown and len(" · ".join([*shown, fact])) > room:
                continue
            shown.append(fact)
        return lettering((" · ".join(shown), "$dim")).truncate(max(0, room), ellipsis=True)

    def _hit_lines(self, row: HitEntry, cursor: Cursor) -> list[Content]:
        hit = row.hit
        sign = lettering(_bar(cursor), " ", (f"{hit.kind} ", "$dim italic"))
        line = self._fit(lettering(sign, snippet_line(hit, self.width - sign.cell_length - 1)))
        return [self._title_line(hit.session, "", cursor), line] if row.first else [line]

    def _highlight(self, title: str) -> Content:
        """The title with the matches highlighted."""
        content = lettering((title, "$foreground"))
        if self._wanted is not None:
            for found in self._wanted.finditer(title):
                content = content.stylize("bold $accent underline", *found.span())
        return content

    def _fit(self, content: Content) -> Content:
        return content.truncate(self.width, ellipsis=True, pad=True)


def snippet_line(hit: SearchHit, room: int) -> Content:
    """The text around a match, with its matches marked; text before the first one is cut if needed."""
    pieces = [SnippetPart(text=one_piece(piece.text), matched=piece.matched) for piece in hit.snippet]
    if pieces and not pieces[0].matched and len(pieces) > 1:
        pieces[0] = SnippetPart(text=cut_left(pieces[0].text, _BEFORE_MATCH).lstrip())
    drawn = lettering(*((piece.text, "bold $accent underline" if piece.matched else "$dim") for piece in pieces))
    return drawn.truncate(max(1, room), ellipsis=True)


def age_text(active: float, now: float) -> str:
    """How long ago today, the time of the day within a week, then the date."""
    ago, days = now - active, day_of(now) - day_of(active)
    if days <= 0:
        return "now" if ago < 60 else f"{int(ago // 60)} min" if ago < 3600 else f"{int(ago // 3600)} h"
    try:
        then = time.localtime(active)
    except (OverflowError, ValueError, OSError):
        return "?"
    return f"{then.tm_hour}:{then.tm_min:02}" if days < 7 else f"{then.tm_mday} {_MONTHS[then.tm_mon - 1]}"


@lru_cache(maxsize=1024)
def folder_text(folder: str, home: str) -> str:
    """The folder as one would write it in a shell."""
    path = one_line(folder)
    if home and path == home:
        return "~"
    return f"~{path[len(home) :]}" if home and path.startswith(f"{home}/") else path


def short_model(name: str) -> str:
    """A model's name without its provider: `gpt-5` of `openai/gpt-5`."""
    return PurePath(one_line(name)).name


def count(tokens: int) -> str:
    """In thousands where there are many."""
    return f"{tokens}" if tokens < 1000 else f"{tokens / 1000:.1f}k" if tokens < 10_000 else f"{tokens // 1000}k"


def money(cost: float) -> str:
    """US dollars for a row of the list: `$0.12`."""
    return "<$0.01" if cost < 0.01 else f"${cost:.2f}"


def one_piece(text: str) -> str:
    """The same for a part of a line: spaces at its ends separate it from its neighbours."""
    line = one_line(text)
    if not line:
        return " " if text else ""
    return f"{' ' * text[0].isspace()}{line}{' ' * text[-1].isspace()}"


def cut_left(text: str, room: int) -> str:
    """The end of a text, which tells more of a path than its beginning."""
    if cell_len(text) <= room:
        return text
    start, used = len(text), 1
    while start > 0 and (used := used + cell_len(text[start - 1])) <= room:
        start -= 1
    return f"…{text[start:]}" if room > 0 else ""


def explain_no_rows(sought: str, *, archived: bool) -> str:
    """Why there is no row."""
    if sought:
        return f"Nothing contains “{one_line(sought)}”."
    if archived:
        return "No session is archived. In the list, a archives one."
    return "No sessions yet. What you ask here is kept, and listed the next time."


def _bar(cursor: Cursor) -> Content:
    match cursor:
        case "here":
            return lettering(("▌", "$accent"))
        case "away":
            return lettering(("▌", "$faint"))
        case "none":
            return Content(" ")
