"""How a session reads in a narrow row, whatever its title holds."""

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_tui.app.engine.core.session_records import SearchHit, SessionRecord, SnippetPart
from oi_tui.widgets.sessions.listing import Heading, HitEntry, ListEntry, SessionEntry
from oi_tui.widgets.sessions.row_view import RowRenderer, age_text, cut_left, explain_no_rows, folder_text, snippet_line

NOW = datetime(2026, 6, 17, 12, 0).timestamp()  # noqa: DTZ001 # the list is in local time


def record(title: str = "Monthly mean of score", **more: Any) -> SessionRecord:
    given: dict[str, Any] = {"id": "s1", "created": NOW, "active": NOW - 130, "cwd": "/home/me/data", "title": title}
    return SessionRecord(**given | more)


def pen(width: int = 33, *, current: str = "", words: tuple[str, ...] = ()) -> RowRenderer:
    return RowRenderer(width, now=NOW, home="/home/me", here="/home/me/data", current=current, words=words)


def read(entry: ListEntry, **look: Any) -> list[str]:
    return [str(line) for line in pen(**look).lines(entry, "none")]


def test_a_session_is_a_title_with_its_age_and_a_line_of_facts() -> None:
    row = SessionEntry(record(model="openai/qwen-1.5b", turns=4, cost=0.0312, input_tokens=900, output_tokens=200))
    assert read(row, width=41) == [
        "  Monthly mean of score            2 min ",
        "  qwen-1.5b · 4 turns · $0.03 · 1.1k tok ",
    ]
    assert read(row)[1].rstrip() == "  qwen-1.5b · 4 turns · $0.03"


def test_the_open_session_and_the_cursor_have_a_sign_beside_their_colour() -> None:
    row = SessionEntry(record())
    assert read(row, current="s1")[0].startswith("  ● Monthly")
    assert [str(line)[0] for line in pen().lines(row, "here")] == ["▌", "▌"]


def test_a_long_title_is_cut_and_a_session_without_one_says_so() -> None:
    assert (
        read(SessionEntry(record("Fix the parser tests that fail on Windows only")))[0]
        == "  Fix the parser tests th… 2 min "
    )
    assert "nothing asked yet" in read(SessionEntry(record("  ")))[0]


def test_a_fork_stands_beside_its_line() -> None:
    row = SessionEntry(record(model="m"), "├ ", "│ ")
    assert [line.rstrip() for line in read(row)] == ["  ├ Monthly mean of score  2 min", "  │ m"]


@pytest.mark.parametrize("width", [12, 20, 33, 60])
@pytest.mark.parametrize(
    "title",
    [
        "データを読み込んで月ごとの平均を出してください",
        "👩‍🔬👩‍🔬👩‍🔬 plots",
        "מה ממוצע הציונים לפי חודש",
        "é" * 60,
        "\x1b]0;x\x07[bold]\u202e\n\t",
    ],
)
def test_a_row_is_exactly_as_wide_as_there_is_room(width: int, title: str) -> None:
    hit = SearchHit(
        session=record(title), kind="output", snippet=(SnippetPart(text=title), SnippetPart(text=title, matched=True))
    )
    entries: list[ListEntry] = [
        SessionEntry(record(title, tags=(title,), model=title), "│ └ ", "│   "),
        HitEntry(hit, True),
        Heading("Wednesday", f"/home/me/{title}"),
        Heading("", title * 9),
    ]
    drawn = [line for entry in entries for line in pen(width, words=("p",)).lines(entry, "here")]
    assert {line.cell_length for line in drawn} == {width}
    assert not {"\x1b", "\x07", "\u202e", "\n", "\t"} & set("".join(map(str, drawn)))


@given(st.text(max_size=60), st.integers(1, 40))
def test_any_title_at_any_width(title: str, width: int) -> None:
    assert {line.cell_length for line in pen(width).lines(SessionEntry(record(title)), "here")} == {width}


def test_what_was_looked_for_is_marked_in_the_title_and_in_the_snippet() -> None:
    title = pen(words=("mean",)).lines(SessionEntry(record()), "none")[0]
    assert "mean" in {str(title)[span.start : span.end] for span in title.spans if "underline" in str(span.style)}
    hit = SearchHit(
        session=record(),
        kind="answer",
        snippet=(SnippetPart(text="The monthly "), SnippetPart(text="MEAN", matched=True), SnippetPart(text=" rises")),
    )
    drawn = snippet_line(hit, 40)
    assert str(drawn) == "The monthly MEAN rises"
    assert [str(drawn)[span.start : span.end] for span in drawn.spans if "underline" in str(span.style)] == ["MEAN"]


def test_the_match_is_in_view_however_much_stands_before_it() -> None:
    hit = SearchHit(
        session=record(), kind="code", snippet=(SnippetPart(text="x" * 200), SnippetPart(text="mean", matched=True))
    )
    assert "mean" in str(snippet_line(hit, 24))


@pytest.mark.parametrize(
    ("ago", "text"),
    [(5, "now"), (-50, "now"), (3500, "58 min"), (3 * 3600, "3 h"), (26 * 3600, "10:00"), (40 * 86400, "8 May")],
)
def test_an_age_is_told_in_the_unit_that_one_thinks_in(ago: float, text: str) -> None:
    assert age_text(NOW - ago, NOW) == text


def test_a_time_that_no_calendar_has_is_unknown() -> None:
    assert age_text(-1e300, NOW) == "?"


def test_a_folder_reads_as_in_a_shell_and_keeps_its_end() -> None:
    assert folder_text("/home/me", "/home/me") == "~"
    assert folder_text("/home/me/data", "/home/me") == "~/data"
    assert folder_text("/home/mean", "/home/me") == "/home/mean"
    assert cut_left("/srv/very/long/path", 8) == "…ng/path"


def test_where_there_is_nothing_words_say_why() -> None:
    assert "“zz”" in explain_no_rows("zz", archived=False)
    assert "archived" in explain_no_rows("", archived=True)
    assert "No sessions yet" in explain_no_rows("", archived=False)
