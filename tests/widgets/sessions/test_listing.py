"""Which rows the list has: days, folders, families of forks, what a search found."""

import time
from datetime import datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from oi_tui.app.engine.core.session_records import SearchHit, SessionRecord, SnippetPart
from oi_tui.widgets.sessions.listing import (
    Heading,
    HitEntry,
    ListEntry,
    SessionEntry,
    day_name,
    day_of,
    haystack,
    list_hits,
    list_sessions,
    record_of,
    words_of,
)
from support.kinds import narrow

NOON = datetime(2026, 6, 17, 12, 0)  # a Wednesday  # noqa: DTZ001 # the list is in local time
NOW = NOON.timestamp()


def record(id_: str, *, ago: timedelta = timedelta(), cwd: str = "/a", **more: Any) -> SessionRecord:
    active = (NOON - ago).timestamp()
    return SessionRecord(id=id_, created=active, active=active, cwd=cwd, **more)


def session_of(entry: ListEntry) -> SessionRecord:
    return narrow(record_of(entry), SessionRecord)


def lines(*sessions: SessionRecord, here: str = "/a") -> list[str]:
    """The list as words: `= day folder`, or the tree and id of a session."""
    return [
        f"= {entry.label} {entry.folder}" if isinstance(entry, Heading) else f"{entry.branch}{entry.record.id}"
        for entry in list_sessions(sessions, now=NOW, here=here)
        if not isinstance(entry, HitEntry)
    ]


def test_sessions_stand_under_their_day() -> None:
    days = timedelta(days=1)
    found = lines(
        record("now"),
        record("old", ago=400 * days),
        record("month", ago=20 * days),
        record("monday", ago=2 * days),
        record("yesterday", ago=days),
        record("last thursday", ago=6 * days),
        record("week", ago=7 * days),
    )
    assert found == [
        "= Today /a", "now", "= Yesterday /a", "yesterday", "= Monday /a", "monday", "= Thursday /a", "last thursday",
        "= June /a", "week", "= May /a", "month", "= May 2025 /a", "old",
    ]  # fmt: skip


def test_the_days_are_those_of_the_calendar_and_not_of_24_hours() -> None:
    midnight = datetime(2026, 6, 17).timestamp()  # noqa: DTZ001 # local time
    today = day_of(midnight)
    assert day_name(day_of(midnight - 1), today) == "Yesterday"
    assert day_name(day_of(midnight + 90_000), today) == "Today"  # a clock that was set back
    assert day_of(1e300) == 1


def test_a_day_is_divided_by_folders_and_the_one_that_one_is_in_comes_first() -> None:
    hour = timedelta(hours=1)
    sessions = (record("1", cwd="/b"), record("2", ago=hour), record("3", ago=2 * hour, cwd="/b"))
    assert lines(*sessions) == ["= Today /a", "2", "=  /b", "1", "3"]
    assert lines(*sessions, here="/b") == ["= Today /b", "1", "3", "=  /a", "2"]


def test_forks_stand_under_their_parent_where_the_youngest_of_the_family_belongs() -> None:
    hour, day = timedelta(hours=1), timedelta(days=1)
    found = lines(
        record("other", ago=2 * hour),
        record("fork 2", ago=hour, parent_id="root", cwd="/b"),
        record("root", ago=3 * day, cwd="/b"),
        record("fork 1", ago=2 * day, parent_id="root", cwd="/b"),
        record("fork of 1", ago=day, parent_id="fork 1", cwd="/b"),
        here="/b",
    )
    assert found == ["= Today /b", "root", "├ fork 1", "│ └ fork of 1", "└ fork 2", "=  /a", "other"]


def test_a_fork_whose_parent_is_not_in_the_list_is_listed() -> None:
    assert lines(record("fork", parent_id="gone")) == ["= Today /a", "fork"]


@given(st.dictionaries(st.integers(0, 12), st.one_of(st.none(), st.integers(0, 15)), min_size=1))
def test_every_session_is_listed_once_whatever_the_parents_say(parents: dict[int, int | None]) -> None:
    sessions = [
        record(str(number), parent_id=None if parent is None else str(parent)) for number, parent in parents.items()
    ]
    rows = [entry for entry in list_sessions(sessions, now=NOW, here="/a") if isinstance(entry, SessionEntry)]
    assert sorted(row.record.id for row in rows) == sorted(map(str, parents))
    assert all(len(row.branch) == len(row.below) <= 8 for row in rows)


def test_a_long_line_of_forks_is_indented_a_few_levels_only() -> None:
    chain = [record(str(number), parent_id=str(number - 1) if number else None) for number in range(3000)]
    rows = [entry for entry in list_sessions(chain, now=NOW, here="/a") if isinstance(entry, SessionEntry)]
    assert len(rows) == 3000
    assert {len(row.branch) for row in rows} == {0, 2, 4, 6, 8}


def test_a_search_lists_titles_and_then_places_session_by_session() -> None:
    first, second = record("1", title="mean"), record("2")
    snippet = (SnippetPart(text="mean", matched=True),)
    hits = [
        SearchHit(session=second, kind="code", snippet=snippet, block_id="c"),
        SearchHit(session=first, kind="answer", snippet=snippet, block_id="a"),
        SearchHit(session=second, kind="output", snippet=snippet, block_id="c"),
        SearchHit(session=first, kind="title", snippet=snippet),
        SearchHit(session=record("3"), kind="title", snippet=snippet),
    ]
    found = list_hits([first], hits)
    told = [entry.label if isinstance(entry, Heading) else session_of(entry).id for entry in found]
    assert told == ["1", "3", "In the text", "2", "2", "1"]
    assert [entry.first for entry in found if isinstance(entry, HitEntry)] == [True, False, True]


def test_a_filter_looks_into_everything_that_a_row_shows() -> None:
    text = haystack(record("1", title="Monthly Mean", tags=("stats",), model="gpt-5"), "~/data")
    assert all(word in text for word in words_of("  MEAN #stats GPT ~/da mean "))
    assert words_of("b a b") == ("b", "a")


def test_the_local_day_follows_the_clock_of_the_machine() -> None:
    assert day_of(time.time()) == datetime.now().astimezone().date().toordinal()
