"""Which rows the list of sessions has, in which order: pure, so that ten thousand of them cost milliseconds.

Sessions are grouped by day and, within it, by folder. A session with its forks is a family: it stays together as a
tree, at the place of its newest member. Search results have their own order: titles, then places in the text.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from operator import itemgetter
from typing import NamedTuple

from oi_tui.app.engine.core.session_records import SearchHit, SessionRecord

DEEPEST = 4
"""Levels of forks that are indented; deeper ones are listed below these."""

IN_TEXT = "In the text"
"""Heading of what the engine's search found."""

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


class Heading(NamedTuple):
    """A day, and a folder in which one worked then; not to be chosen."""

    label: str
    """"" for another folder of the same day."""
    folder: str = ""


class SessionEntry(NamedTuple):
    """A session as a row of the list."""

    record: SessionRecord
    branch: str = ""
    """Lines of the tree before the title of a fork."""
    below: str = ""
    """The same before its second line."""


class HitEntry(NamedTuple):
    """A place in a session."""

    hit: SearchHit
    first: bool
    """Whether it is the first of its session: the title is above it."""


ListEntry = Heading | SessionEntry | HitEntry


def record_of(entry: ListEntry) -> SessionRecord | None:
    """The session that an entry is about."""
    if isinstance(entry, SessionEntry):
        return entry.record
    return entry.hit.session if isinstance(entry, HitEntry) else None


def matched_text(hit: SearchHit) -> str:
    """The matched text, verbatim."""
    return next((piece.text for piece in hit.snippet if piece.matched), "").strip()


def list_sessions(sessions: Sequence[SessionRecord], *, now: float, here: str) -> list[ListEntry]:
    """All of them under their days and folders; those of the folder `here` come first in each day."""
    days: dict[str, dict[str, list[SessionEntry]]] = {}
    today = day_of(now)
    label, since, until = "", 0.0, 0.0
    for family in _families(sessions):
        active = family[0].record.active if len(family) == 1 else max(row.record.active for row in family)
        if not since <= active < until:  # they come by their time: most are of the same day as the one before
            day = day_of(active)
            label, since, until = day_name(day, today), *_span(day)
        days.setdefault(label, {}).setdefault(family[0].record.cwd, []).extend(family)
    entries: list[ListEntry] = []
    for label, folders in days.items():
        for number, folder in enumerate(sorted(folders, key=lambda folder: folder != here)):
            entries.append(Heading("" if number else label, folder))
            entries += folders[folder]
    return entries


def list_hits(titled: Iterable[SessionRecord], hits: Sequence[SearchHit]) -> list[ListEntry]:
    """Sessions whose title (or tag, model, folder) matches, then matches in texts, session by session."""
    by_title = {record.id: record for record in titled}
    for hit in hits:
        if hit.kind == "title":
            by_title.setdefault(hit.session.id, hit.session)
    rows: list[ListEntry] = [SessionEntry(record) for record in by_title.values()]
    places: dict[str, list[SearchHit]] = {}
    for hit in hits:
        if hit.kind != "title":
            places.setdefault(hit.session.id, []).append(hit)
    if places:
        rows.append(Heading(IN_TEXT))
    rows += [HitEntry(hit, number == 0) for group in places.values() for number, hit in enumerate(group)]
    return rows


def haystack(record: SessionRecord, folder: str) -> str:
    """What a filter looks into: everything that a row shows."""
    tags = " ".join(f"#{tag}" for tag in record.tags)
    return f"{record.title}\n{tags}\n{record.model}\n{folder}".casefold()


def words_of(query: str) -> tuple[str, ...]:
    """What must all be there."""
    return tuple(dict.fromkeys(query.casefold().split()))


def day_of(moment: float) -> int:
    """The local day of a Unix time, as `date.toordinal` counts."""
    try:
        year, month, day, *_ = time.localtime(moment)
        return date(year, month, day).toordinal()
    except (OverflowError, ValueError, OSError):
        return 1  # not a valid date: a damaged record stays in the list, at the end


def _span(day: int) -> tuple[float, float]:
    """Unix times between which it is this local day."""
    first, after = date.fromordinal(day).timetuple(), date.fromordinal(day + 1).timetuple()
    try:
        return time.mktime((*first[:8], -1)), time.mktime((*after[:8], -1))
    except (OverflowError, ValueError):
        return 0.0, 0.0


def day_name(day: int, today: int) -> str:
    """Today, Yesterday, the weekday within a week, then the month, with its year if that is not the present one."""
    match today - day:
        case 1:
            return "Yesterday"
        case ago if ago <= 0:
            return "Today"  # or a clock that was set back
        case ago if ago < 7:
            return _WEEKDAYS[date.fromordinal(day).weekday()]
    then, now = date.fromordinal(day), date.fromordinal(today)
    month = _MONTHS[then.month - 1]
    return month if then.year == now.year else f"{month} {then.year}"


def _families(sessions: Sequence[SessionRecord]) -> Iterator[list[SessionEntry]]:
    """Sessions with their forks, the family that was last active first."""
    ids = {record.id for record in sessions}
    forks: dict[str, list[SessionRecord]] = {}
    roots = []
    for record in sessions:
        if record.parent_id is not None and record.parent_id in ids and record.parent_id != record.id:
            forks.setdefault(record.parent_id, []).append(record)
        else:
            roots.append(record)
    seen: set[str] = set()
    families = [(root.active, [SessionEntry(root)]) for root in roots if root.id not in forks]
    trees = [_tree(root, forks, seen) for root in roots if root.id in forks]
    if len(families) + len(seen) < len(sessions):  # a cycle of parents, which has no root
        known = seen | {root.id for root in roots}
        trees += [_tree(record, forks, seen) for record in sessions if record.id not in known]
    families += [(max(row.record.active for row in tree), tree) for tree in trees if tree]
    families.sort(key=itemgetter(0), reverse=True)
    return (family for _, family in families)


def _tree(root: SessionRecord, forks: dict[str, list[SessionRecord]], seen: set[str]) -> list[SessionEntry]:
    """The family of one root, each once, parents before their forks, older forks first."""
    rows: list[SessionEntry] = []
    waiting = [(root, "", "", 0)]
    while waiting:
        record, branch, below, depth = waiting.pop()
        if record.id in seen:
            continue
        seen.add(record.id)
        rows.append(SessionEntry(record, branch, below))
        children = sorted(forks.get(record.id, ()), key=lambda fork: fork.created)
        stem = below if depth < DEEPEST else below[:-2]
        for number, child in reversed(list(enumerate(children))):
            last = number == len(children) - 1
            waiting.append((child, stem + ("└ " if last else "├ "), stem + ("  " if last else "│ "), depth + 1))
    return rows
