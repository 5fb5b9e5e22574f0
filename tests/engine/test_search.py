"""A word that somebody remembers leads to the session, whatever they type."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oi_tui.app.engine.core.errors import StoreError
from oi_tui.app.engine.core.events import (
    AnyEvent,
    CodeGrew,
    CodeStarted,
    ExecutionStarted,
    OutputAdded,
    ProseGrew,
    ProseStarted,
    TurnEnded,
)
from oi_tui.app.engine.core.outputs import ErrorOutput, RichOutput
from oi_tui.app.engine.core.session_records import SearchHit
from oi_tui.app.engine.log.store import Store, find_session
from oi_tui.app.engine.log.store.words import plain_letters, read_query, snippet
from support.sessions import code, printed, prose, turn


def keep(store: Store, name: str, *turns: list[AnyEvent], title: str = "") -> None:
    store.create(name, 1.0, "/work")
    for events in turns:
        store.append(name, events)
    if title:
        store.entitle(name, title)


def places(hits: tuple[SearchHit, ...]) -> list[tuple[str, str, str]]:
    return [(hit.session.id, hit.kind, hit.block_id) for hit in hits]


def shown(hit: SearchHit) -> str:
    return "".join(f"[{piece.text}]" if piece.matched else piece.text for piece in hit.snippet)


def test_prompts_answers_code_outputs_and_titles_are_found_where_they_stand(store: Store) -> None:
    rich = RichOutput(data={"text/plain": "a figure of zebras", "image/png": "zebras"})
    keep(
        store,
        "one",
        turn(
            "u",
            "count the giraffes",
            prose("p", "There are ", "ele", "phants."),
            code("c", "tiger()", printed("lion\n")),
        ),
        turn("v", "more", code("d", "leopard()", rich, edited="panther()")),
        title="Animals of Africa",
    )
    assert places(store.search("giraffes")) == [("one", "prompt", "u")]
    assert places(store.search("elephants")) == [("one", "answer", "p")]
    assert places(store.search("tiger")) == [("one", "code", "c")]
    assert places(store.search("lion")) == [("one", "output", "c")]
    assert places(store.search("africa")) == [("one", "title", "")]
    assert places(store.search("zebras")) == [("one", "output", "d")]
    assert places(store.search("panther")) == [("one", "code", "d")]
    assert store.search("leopard") == ()  # what was edited before it ran


def test_diacritics_and_case_do_not_count_and_the_last_word_may_be_a_beginning(store: Store) -> None:
    keep(store, "one", turn("u", "Příliš žluťoučký kůň of the ÅNGSTRÖM family"))
    for query in ("zlutoucky", "PRILIS kun", "angstr", "prilis žlu", "ångström", "kůň"):
        assert places(store.search(query)) == [("one", "prompt", "u")], query
    assert store.search("prili family") == ()  # only the last one
    assert shown(store.search("kun fam")[0]) == "Příliš žluťoučký [kůň] of the ÅNGSTRÖM [family]"


def test_words_need_not_stand_together_and_phrases_must(store: Store) -> None:
    keep(store, "one", turn("u", "read the csv file"))
    keep(store, "two", turn("u", "pd.read_csv('a')"))
    assert {hit.session.id for hit in store.search("csv read")} == {"one", "two"}
    assert {hit.session.id for hit in store.search("read_csv")} == {"two"}
    assert {hit.session.id for hit in store.search('"the csv"')} == {"one"}
    assert store.search('"csv the"') == ()
    assert places(store.search('"the cs')) == [("one", "prompt", "u")]  # not closed yet
    assert store.search('"the cs"') == ()


def test_one_hit_for_each_kind_and_session_titles_and_newer_ones_first(store: Store) -> None:
    keep(store, "one", turn("a", "whale", prose("b", "whale")), turn("c", "whale again"))
    keep(store, "two", turn("d", "whale"))
    keep(store, "three", title="whale")
    assert places(store.search("whale")) == [
        ("three", "title", ""),
        ("two", "prompt", "d"),
        ("one", "prompt", "c"),
        ("one", "answer", "b"),
    ]
    assert len(store.search("whale", limit=2)) == 2


def test_a_frequent_word_is_found_whole_and_as_a_beginning(store: Store) -> None:
    for number in range(60):
        keep(store, f"s{number}", turn("u", "frequently used words"))
    for query in ("frequently", "frequent", "fre", "words", "frequently used wo"):
        hits = store.search(query)
        assert len(hits) == 50, query
        assert hits[0].session.id == "s59"
        assert any(piece.matched for piece in hits[0].snippet), query


def test_a_snippet_is_one_line_around_the_match_without_anything_a_terminal_obeys(store: Store) -> None:
    text = "start " + "word " * 200 + "\x1b[31mneedle\x07\u202e\n\n\tin   hay " + "word " * 200
    keep(store, "one", turn("u", text))
    (hit,) = store.search("needle")
    line = shown(hit)
    assert "[needle] in hay" in line
    assert line.startswith("…word")
    assert line.endswith("…")
    assert len(line) < 160
    assert line.isprintable()


def test_answers_that_were_broken_off_are_found(store: Store) -> None:
    store.create("one", 1.0, "/work")
    store.append("one", [ProseStarted(block_id="p"), ProseGrew(block_id="p", text="unfinished symphony")])
    store.append("one", [CodeStarted(block_id="c", language="python"), CodeGrew(block_id="c", text="overture(")])
    assert store.search("symphony") == ()
    store.append("one", [TurnEnded(reason="engine_lost")])
    assert places(store.search("symphony")) == [("one", "answer", "p")]
    assert places(store.search("overture")) == [("one", "code", "c")]


def test_what_was_half_open_when_a_program_ended_is_found_by_the_next_one(tmp_path: Path) -> None:
    first = Store(tmp_path / "sessions.db")
    first.create("one", 1.0, "/work")
    first.append(
        "one", [*turn("u", "hello")[:2], ProseStarted(block_id="p"), ProseGrew(block_id="p", text="half a sen")]
    )
    first.append("one", [ProseGrew(block_id="p", text="tence")])
    first.close()
    second = Store(tmp_path / "sessions.db")
    second.append("one", [TurnEnded(reason="engine_lost")])
    assert places(second.search("sentence")) == [("one", "answer", "p")]
    assert places(second.search("hello")) == [("one", "prompt", "u")]
    assert second.record("one").turns == 1
    second.close()


def test_a_long_output_is_found_by_its_beginning_and_its_end(store: Store) -> None:
    pieces = [
        printed("beginning\n"),
        *(printed("\x1b[32mx\x1b[0m" * 500 + "\n") for _ in range(100)),
        printed("finale\n"),
    ]
    error = ErrorOutput(
        name="ValueError", value="bad", traceback=("Traceback", "\x1b[31mValueError\x1b[0m: catastrophe")
    )
    events = turn("u", "go", code("c", "run()", *pieces))
    end = next(n for n, event in enumerate(events) if type(event).__name__ == "ExecutionFinished")
    keep(store, "one", [*events[:end], OutputAdded(block_id="c", output=error), *events[end:]])
    for word in ("beginning", "finale", "catastrophe"):
        assert places(store.search(word)) == [("one", "output", "c")], word


def test_code_that_runs_again_has_its_newest_output(store: Store) -> None:
    events = code("c", "f()", printed("first\n"))
    again: list[AnyEvent] = [
        ExecutionStarted(block_id="c", generation=2),
        OutputAdded(block_id="c", output=printed("second\n")),
        events[-1],
    ]
    keep(store, "one", events, again)
    assert store.search("first") == ()
    assert places(store.search("second")) == [("one", "output", "c")]


def test_find_takes_an_id_its_beginning_or_words_and_names_the_candidates(store: Store) -> None:
    keep(store, "abc1", turn("u", "rare word"), title="Reading data")
    keep(store, "abd2", turn("u", "other data"), title="Plot")
    keep(store, "abd22", turn("u", "nothing"))
    assert find_session(store, "abc1") == find_session(store, "abc") == find_session(store, "rare wo") == "abc1"
    assert find_session(store, "abd2") == "abd2"  # it is one, though another begins with it
    assert find_session(store, "data") == "abc1"  # in a title
    for text, told in (
        ("ab", "abc1  Reading data"),
        ("nowhere", "sessions"),
        (" ", "abc1  Reading data"),
        ("%", "sessions"),
    ):
        with pytest.raises(StoreError) as error:
            find_session(store, text)
        assert told in error.value.hint, text


def test_an_index_that_is_damaged_costs_nothing_but_a_while(tmp_path: Path) -> None:
    store = Store(tmp_path / "sessions.db")
    keep(store, "one", turn("u", "hello"), title="Greeting")
    store.close()
    with sqlite3.connect(tmp_path / "sessions.db") as db:
        db.execute("UPDATE search_data SET block = randomblob(length(block))")
    db.close()
    store = Store(tmp_path / "sessions.db")
    store.append("one", turn("v", "goodbye"))
    assert [type(event).__name__ for event in store.load("one")].count("TurnStarted") == 2
    store.search("hello")
    while store.tidy(1.0):
        pass
    assert places(store.search("hello")) == [("one", "prompt", "u")]
    assert places(store.search("goodbye")) == [("one", "prompt", "v")]
    assert places(store.search("greeting")) == [("one", "title", "")]
    store.close()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = Store(tmp_path_factory.mktemp("search") / "sessions.db")
    keep(store, "one", turn("u", 'NEAR AND OR NOT ( ) * ^ : "x" col:y a-b {z} İstanbul ﬁne ß'))
    yield store
    store.close()


syntax = st.sampled_from(
    ['"', "'", "*", "(", ")", "AND", "NOT", "NEAR(", "^", ":", "-", "{", "}", "\x00", "\x01", "a", " "]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=300)
@given(st.one_of(st.text(max_size=60), st.lists(syntax, max_size=30).map("".join), st.lists(syntax).map(" ".join)))
def test_no_query_is_an_error(filled: Store, text: str) -> None:
    for hit in filled.search(text):
        assert "".join(piece.text for piece in hit.snippet)


@pytest.mark.parametrize(
    "query", ["\ud800", "a" * 100_000, "x " * 5_000, '"' * 999, "near", "AND", "a-b", "istan", "fine", "ß"]
)
def test_what_might_be_misread_is_only_looked_for(filled: Store, query: str) -> None:
    filled.search(query)


@given(st.text(max_size=80), st.text(max_size=10))
def test_a_snippet_keeps_the_places_of_the_text(text: str, query: str) -> None:
    assert len(plain_letters(text)) == len(text)
    read = read_query(query)
    if read is not None:
        line = "".join(piece.text for piece in snippet(text, read))
        assert (
            line.strip("…").split() == text[:140].split() or "…" in line or any(p.matched for p in snippet(text, read))
        )


def test_U5_what_hides_in_code_is_written_out_where_it_was_found(store: Store) -> None:
    keep(store, "one", turn("u", "go", code("c", "if user != 'admin\u202e ': # only for guests")))
    (hit,) = store.search("guests")
    assert shown(hit) == "…'admin<U+202E> ': # only for [guests]"
