"""What is known of a session without reading it, forks, and what goes when a session goes."""

import sqlite3
import time
from pathlib import Path

import pytest

from oi_tui.app.engine.core.errors import StoreError
from oi_tui.app.engine.core.events import (
    AnyEvent,
    ConversationCleared,
    OutputKept,
    SessionOpened,
    SettingsChanged,
    UsageReported,
)
from oi_tui.app.engine.core.outputs import RichOutput, StreamOutput, WholeOutput
from oi_tui.app.engine.core.session_records import TITLE_LIMIT
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.transcript.event_log import fold_events
from support.sessions import code, printed, prose, turn

FIRST = turn("u1", "read the data", prose("p1", "I will ", "read ", "it."), code("c1", "open('a')", printed("ok\n")))
SECOND = turn("u2", "now plot it", prose("p2", "Here."))


def kept(store: Store, *turns: list[AnyEvent], name: str = "one") -> str:
    store.create(name, 1.0, "/work")
    for events in turns:
        store.append(name, events)
    return name


# -- what is counted


def test_turns_tokens_cost_and_model_are_counted_as_events_are_appended(store: Store) -> None:
    opened = SessionOpened(session_id="one", created=1.0, cwd="/work", model="small", approval="ask")
    kept(store, [opened], FIRST, [SettingsChanged(model="large", approval="ask")], SECOND)
    store.append("one", [UsageReported(input_tokens=1, output_tokens=2)])
    record = store.record("one")
    assert (record.turns, record.input_tokens, record.output_tokens, record.cost) == (2, 201, 22, 0.5)
    assert (record.model, record.created, record.cwd) == ("large", 1.0, "/work")
    assert record.active > 1.0
    assert store.sessions() == (record,)


def test_the_cost_is_unknown_until_one_step_had_a_price(store: Store) -> None:
    kept(store, [UsageReported(input_tokens=1, output_tokens=2)])
    assert store.record("one").cost is None


def test_a_conversation_that_was_cleared_has_no_turns_but_what_it_cost(store: Store) -> None:
    kept(store, FIRST, [ConversationCleared()])
    record = store.record("one")
    assert (record.turns, record.input_tokens, record.cost) == (0, 100, 0.25)
    assert store.search("read") == ()


def test_a_session_that_is_not_there_is_said_so(store: Store) -> None:
    for act in (store.record, store.load, store.count, store.remove, store.edit):
        with pytest.raises(StoreError, match="There is no session nope"):
            act("nope")
    with pytest.raises(StoreError, match="There is no session nope"):
        store.append("nope", FIRST)


# -- titles, tags, archive


def test_the_persons_title_stays_and_the_models_goes_before_that_of_the_prompt(store: Store) -> None:
    kept(store)
    store.entitle("one", "from the prompt")
    store.entitle("one", "from the next prompt")
    assert store.record("one").title == "from the prompt"
    store.entitle("one", "by the model", "model")
    store.entitle("one", "from the prompt", "prompt")
    assert store.record("one").title == "by the model"
    assert store.edit("one", title="  mine\x1b[31m\n too ").title == "mine too"
    store.entitle("one", "by the model again", "model")
    assert store.record("one").title == "mine too"
    store.edit("one", title="")
    store.entitle("one", "made anew", "model")
    assert store.record("one").title == "made anew"
    assert len(store.edit("one", title="x" * 1000).title) == TITLE_LIMIT


def test_tags_are_plain_sorted_and_found(store: Store) -> None:
    kept(store, FIRST)
    record = store.edit("one", tags=("#Zeta", "alpha", "alpha ", "\x1b", ""))
    assert record.tags == ("alpha", "Zeta")
    (hit,) = store.search("zeta")
    assert (hit.kind, hit.session.id) == ("title", "one")


def test_archived_and_deleted_sessions_are_not_listed_and_come_back(store: Store) -> None:
    kept(store, FIRST)
    store.edit("one", archived=True)
    assert (store.sessions(), len(store.sessions(archived=True))) == ((), 1)
    assert (store.search("read"), len(store.search("read", archived=True))) == ((), 2)
    store.edit("one", archived=False, deleted=True)
    assert (store.sessions(), store.sessions(archived=True), store.search("read"), store.prompts(9)) == ((),) * 4
    assert store.record("one").deleted
    store.edit("one", deleted=False)
    assert len(store.sessions()) == 1
    assert len(store.search("read")) == 2
    assert fold_events(store.load("one")) == fold_events(FIRST)


def test_the_list_has_a_folder_and_a_limit(store: Store) -> None:
    for number in range(5):
        store.create(f"s{number}", float(number), "/a" if number % 2 else "/b")
    assert [record.id for record in store.sessions(cwd="/a")] == ["s3", "s1"]
    assert [record.id for record in store.sessions(limit=2)] == ["s4", "s3"]


# -- forks


def test_a_fork_begins_with_what_it_shares_and_goes_on_by_itself(store: Store) -> None:
    kept(store, FIRST, SECOND)
    store.edit("one", title="Data", tags=("x",))
    whole = store.load("one")
    shared = whole[: next(n for n, event in enumerate(whole) if getattr(event, "block_id", "") == "u2")]
    store.create("two", 2.0, "/work", parent=("one", len(shared)))
    assert store.load("two") == shared
    assert store.count("two") == len(shared)
    record = store.record("two")
    assert (record.parent_id, record.title, record.tags, record.turns) == ("one", "Data", ("x",), 1)
    assert (record.input_tokens, record.cost) == (0, None)  # that was spent by the other
    store.append("two", turn("u3", "another way"))
    store.append("one", turn("u4", "as before"))
    assert fold_events(store.load("two")) == fold_events([*shared, *turn("u3", "another way")])
    assert store.record("two").turns == 2
    store.entitle("two", "another way")
    assert store.record("two").title == "another way"


def test_the_end_of_a_long_session_is_read_alone_also_where_it_is_shared(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    picture = RichOutput(data={"image/png": "A" * 100_000})
    kept(store, FIRST, SECOND, turn("u3", "draw", code("c3", "plot()", picture)))
    store.create("two", 2.0, "/work", parent=("one", store.count("one")))
    store.append("two", turn("u4", "another way"))
    both, length = store.load("two"), store.count("two")
    assert store.ending("two") == []
    monkeypatch.setattr("oi_tui.app.engine.log.store.store.LONG", length)
    for count in (1, 3, 9, length, length + 1):
        monkeypatch.setattr("oi_tui.app.engine.log.store.store.ENDING", count)
        assert store.ending("two") == list(both[-count:])


def test_a_fork_of_a_fork_may_begin_before_the_first_fork(store: Store) -> None:
    kept(store, FIRST, SECOND)
    whole = store.load("one")
    store.create("two", 2.0, "/work", parent=("one", 10))
    store.append("two", turn("u3", "another way"))
    both = store.load("two")
    for number in (0, 4, 10, 12, len(both), len(both) + 9):
        store.create(f"three{number}", 3.0, "/work", parent=("two", number))
        assert store.load(f"three{number}") == both[:number]
        assert store.count(f"three{number}") == len(both[:number])
    assert both[:10] == whole[:10]


def test_what_was_shared_stays_when_the_other_is_removed_for_good(store: Store, tmp_path: Path) -> None:
    large = RichOutput(data={"image/png": "A" * 100_000})
    kept(store, FIRST, turn("u2", "draw", code("c2", "plot()", large)), SECOND)
    store.create("two", 2.0, "/work", parent=("one", len(store.load("one"))))
    store.append("two", turn("u3", "another way"))
    store.create("three", 3.0, "/work", parent=("two", 5))
    store.create("four", 3.0, "/work", parent=("two", store.count("two")))
    store.append("four", SECOND)
    before = {name: store.load(name) for name in ("two", "three", "four")}
    store.remove("one")
    assert {name: store.load(name) for name in before} == before
    assert store.record("two").turns == 4
    assert "two" in {hit.session.id for hit in store.search("plot")}
    store.remove("two")
    assert {name: store.load(name) for name in ("three", "four")} == {k: before[k] for k in ("three", "four")}
    store.append("four", SECOND)
    assert store.load("four")[: len(before["four"])] == before["four"]
    assert store.record("four").parent_id is None
    assert len(list((tmp_path / "blobs").rglob("*/*"))) == 1
    store.remove("four")
    store.remove("three")
    assert list((tmp_path / "blobs").rglob("*/*")) == []
    assert store.sessions() == ()


def test_what_was_shared_over_two_stays_when_first_the_one_between_is_removed(store: Store) -> None:
    kept(store, FIRST)
    store.create("two", 2.0, "/work", parent=("one", store.count("one")))
    store.append("two", SECOND)
    store.create("three", 3.0, "/work", parent=("two", store.count("two") - 1))
    store.append("three", turn("u3", "another way"))
    before = store.load("three")
    for name in ("two", "one"):
        store.remove(name)
        assert store.load("three") == before
        assert store.record("three").turns == 3
    assert store.record("three").parent_id is None
    assert {hit.session.id for hit in store.search("data")} == {"three"}


def test_a_removed_session_leaves_nothing_behind(store: Store, tmp_path: Path) -> None:
    kept(store, FIRST)
    store.remove("one")
    db = sqlite3.connect(tmp_path / "sessions.db")
    for table in ("sessions", "events", "texts", "blob_uses"):
        assert db.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), table
    assert db.execute("SELECT count(*) FROM search WHERE search MATCH 'read'").fetchone() == (0,)
    db.execute("INSERT INTO search(search) VALUES ('integrity-check')")
    db.close()


def test_the_whole_of_a_long_output_goes_with_its_session_and_no_other_file_does(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "outputs"
    folder.mkdir()
    ours, theirs, shared = folder / "a.txt", tmp_path / "mine.txt", folder / "b.txt"
    for file in (ours, theirs, shared):
        file.write_text("x")
    kept(store, [*FIRST, *(OutputKept(block_id="c1", whole=WholeOutput(path=str(p))) for p in (ours, theirs))])
    kept(store, [OutputKept(block_id="c1", whole=WholeOutput(path=f"{folder}/../mine.txt"))], name="two")
    kept(store, [*FIRST, OutputKept(block_id="c1", whole=WholeOutput(path=str(shared)))], name="three")
    store.create("four", 1.0, "/work", parent=("three", store.count("three")))
    for name in ("one", "two", "three"):
        store.remove(name)
    assert [file.exists() for file in (ours, theirs, shared)] == [False, True, True]


def test_the_whole_of_a_long_output_stays_while_a_fork_of_the_same_session_names_it(
    store: Store, tmp_path: Path
) -> None:
    file = tmp_path / "outputs" / "output-1.txt"
    file.parent.mkdir()
    file.write_text("x")
    kept(store, [*FIRST, OutputKept(block_id="c1", whole=WholeOutput(path=str(file)))])
    for name in ("two", "three"):
        store.create(name, 1.0, "/work", parent=("one", store.count("one")))
    for name in ("one", "two"):
        store.remove(name)
        assert file.exists(), name
    store.remove("three")
    assert not file.exists()


def test_what_cannot_be_read_of_a_session_does_not_keep_it_from_being_removed(store: Store, tmp_path: Path) -> None:
    kept(store, FIRST)
    with sqlite3.connect(tmp_path / "sessions.db") as db:
        db.execute(
            "INSERT INTO events (session_id, seq, at, event) VALUES ('one', 99, 1.0, ?)",
            ['{"type":"OutputKept","whole":1}'],
        )
        db.execute("UPDATE sessions SET deleted = 1.0")
    db.close()
    assert store.tidy(5.0) is False
    with pytest.raises(StoreError):
        store.record("one")


def test_nobody_else_may_read_the_file(store: Store, tmp_path: Path) -> None:
    kept(store, FIRST)
    assert {file.stat().st_mode & 0o777 for file in tmp_path.glob("sessions.db*")} == {0o600}


def test_a_session_deleted_long_ago_is_removed_in_time(store: Store, tmp_path: Path) -> None:
    kept(store, FIRST)
    kept(store, FIRST, name="two")
    for name in ("one", "two"):
        store.edit(name, deleted=True)
    with sqlite3.connect(tmp_path / "sessions.db") as db:
        db.execute("UPDATE sessions SET deleted = 1.0 WHERE id = 'one'")
    db.close()
    assert store.tidy(5.0) is False
    with pytest.raises(StoreError):
        store.record("one")
    assert store.record("two").deleted


def test_a_deleted_session_that_is_gone_on_with_is_deleted_no_longer(store: Store, tmp_path: Path) -> None:
    kept(store, FIRST)
    store.edit("one", deleted=True)
    with sqlite3.connect(tmp_path / "sessions.db") as db:
        db.execute("UPDATE sessions SET deleted = 1.0")
    db.close()
    store.append("one", SECOND)
    assert [record.id for record in store.sessions()] == ["one"]
    assert store.tidy(5.0) is False
    assert store.record("one").turns == 2


def test_a_session_that_is_brought_back_while_old_ones_are_removed_stays(store: Store) -> None:
    kept(store, FIRST)
    store.remove("one", deleted_before=time.time())
    store.edit("one", deleted=True)
    store.remove("one", deleted_before=1.0)
    assert store.record("one").turns == 1
    store.remove("one", deleted_before=time.time() + 1)
    assert store.sessions() == ()


# -- fewer rows that say the same


def test_pieces_become_one_when_their_block_is_complete_and_the_fold_is_the_same(store: Store) -> None:
    aside = StreamOutput(name="stderr", text="!")
    rich = RichOutput(data={"text/plain": "1"})
    outputs: list[StreamOutput | RichOutput] = [
        printed("a"),
        printed("b"),
        rich,
        printed("c"),
        aside,
        aside,
        printed("d"),
        printed("e"),
    ]
    events = turn("u", "go", prose("p", *"streaming words"), code("c", "print(1)", *outputs))
    store.create("one", 1.0, "/work")
    store.create("piecemeal", 1.0, "/work")
    store.append("one", events)
    for event in events:
        store.append("piecemeal", [event])
    assert fold_events(store.load("one")) == fold_events(store.load("piecemeal")) == fold_events(events)
    assert store.load("one") == store.load("piecemeal")
    kinds = [type(event).__name__ for event in store.load("one")]
    assert (kinds.count("ProseGrew"), kinds.count("CodeGrew"), kinds.count("OutputAdded")) == (1, 0, 5)
    assert "ActiveLineChanged" not in kinds


def test_what_another_session_builds_on_is_not_rewritten(store: Store) -> None:
    events = turn("u", "go", prose("p", *"streaming"), code("c", "print(1)", printed("a")))
    store.create("one", 1.0, "/work")
    store.append("one", events[:6])
    store.create("two", 1.0, "/work", parent=("one", 6))
    store.append("one", events[6:])
    assert store.load("two") == tuple(events[:6])
    assert fold_events(store.load("one")) == fold_events(events)


# -- prompts


def test_past_prompts_come_newest_first_whole_and_page_by_page(store: Store) -> None:
    long = "x" * 300_000 + "\x1b[31m end"
    kept(store, turn("a", "first"), turn("b", long))
    kept(store, turn("c", "third"), name="two")
    first = store.prompts(2)
    assert [prompt.text for prompt in first] == ["third", long]
    assert [prompt.session_id for prompt in first] == ["two", "one"]
    assert [prompt.text for prompt in store.prompts(2, before=first[-1].place)] == ["first"]
