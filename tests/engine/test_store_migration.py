"""Files of earlier programs: listed at once, looked through when there is time, and nothing in them is lost."""

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from oi_tui.app.engine.core.events import AnyEvent
from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.log.store import MIGRATIONS, Store
from oi_tui.app.engine.transcript.event_log import fold_events
from support.sessions import code, printed, prose, turn

SCHEMA_1 = """
    CREATE TABLE sessions (
        id TEXT PRIMARY KEY, created REAL NOT NULL, active REAL NOT NULL,
        cwd TEXT NOT NULL, title TEXT NOT NULL DEFAULT ''
    );
    CREATE TABLE events (
        session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
        seq INTEGER NOT NULL, at REAL NOT NULL, event TEXT NOT NULL,
        PRIMARY KEY (session_id, seq)
    ) WITHOUT ROWID;
    CREATE INDEX sessions_active ON sessions(active);
    CREATE TABLE remembered (key TEXT PRIMARY KEY, value TEXT NOT NULL);
    PRAGMA journal_mode = WAL;
    PRAGMA user_version = 1;
"""
"""As the first program wrote it. A copy on purpose: what `MIGRATIONS` says may not change it."""

LARGE = RichOutput(data={"image/png": "A" * 100_000})
OLD = [
    *turn(
        "u1", "read the old data", prose("p1", "I will ", "read ", "it."), code("c1", "open('a')", printed("fine\n"))
    ),
    *turn("u2", "draw", code("c2", "plot()", LARGE)),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "sessions.db"
    with sqlite3.connect(path) as db:
        db.executescript(SCHEMA_1)
        for number, name in enumerate(("old", "older", "empty")):
            title = "" if name == "empty" else f"The {name} one"
            db.execute("INSERT INTO sessions VALUES (?, 1.0, ?, '/work', ?)", (name, 100.0 - number, title))
        for name in ("old", "older"):
            rows = [(name, n, 1000.0 + n, msgspec.json.encode(event).decode()) for n, event in enumerate(OLD, 1)]
            db.executemany("INSERT INTO events VALUES (?, ?, ?, ?)", rows)
        db.execute("INSERT INTO remembered VALUES ('model', 'small')")
    db.close()
    return path


def test_the_sessions_of_schema_1_are_listed_at_once_and_searched_when_there_was_time(path: Path) -> None:
    with closing(Store(path)) as store:
        assert [(record.id, record.title) for record in store.sessions()] == [
            ("old", "The old one"),
            ("older", "The older one"),
            ("empty", ""),
        ]
        assert store.recall("model") == "small"
        assert [hit.session.id for hit in store.search("older")] == ["older"]  # in titles
        assert store.search("read") == ()
        assert store.count_unindexed() == 3
        assert store.tidy(10.0) is False
        assert store.count_unindexed() == 0
        assert {(hit.session.id, hit.kind) for hit in store.search("read")} == {
            (name, kind) for name in ("old", "older") for kind in ("prompt", "answer")
        }
        record = store.record("old")
        assert (record.turns, record.input_tokens, record.cost, record.active) == (2, 200, 0.5, 100.0)
        assert fold_events(store.load("old")) == fold_events(OLD)
        assert store.prompts(1)[0].text == "draw"


def test_a_step_of_upkeep_is_bounded_and_says_that_more_is_left(path: Path) -> None:
    with closing(Store(path)) as store:
        assert store.tidy(0.0) is True
        assert store.count_unindexed() == 3


def test_a_session_of_schema_1_that_goes_on_is_looked_through_first(path: Path) -> None:
    with closing(Store(path)) as store:
        new: list[AnyEvent] = turn("u3", "and now for something")
        store.append("old", new)
        assert fold_events(store.load("old")) == fold_events([*OLD, *new])
        assert store.record("old").turns == 3
        assert {hit.kind for hit in store.search("read")} == {"prompt", "answer"}
        assert store.count_unindexed() == 2


def test_a_long_session_is_looked_through_in_steps_also_while_it_goes_on(path: Path) -> None:
    events = [
        event for number in range(120) for event in turn(f"t{number}", f"long{number}", prose(f"q{number}", *"abc"))
    ]
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM events WHERE session_id = 'older'")
        db.execute("UPDATE sessions SET active = 1000.0 WHERE id = 'older'")
        rows = [("older", n, 1000.0 + n, msgspec.json.encode(event).decode()) for n, event in enumerate(events, 1)]
        db.executemany("INSERT INTO events VALUES (?, ?, ?, ?)", rows)
    db.close()
    with closing(Store(path)) as store:
        new: list[AnyEvent] = turn("new", "the newest")
        store.append("older", new)  # the first step
        assert store.search("long0") != ()
        assert store.search("newest") == store.search("long119") == ()
        assert store.count_unindexed() == 3
        while store.tidy(0.001):
            pass
        assert store.search("newest") != () != store.search("long119")
        assert store.record("older").turns == len(store.prompts(999)) - 2 == 121
        store.append("older", turn("newer", "still newer"))
        assert fold_events(store.load("older")) == fold_events([*events, *new, *turn("newer", "still newer")])
        assert store.record("older").turns == 122


def test_a_title_of_schema_1_came_from_the_prompt(path: Path) -> None:
    with closing(Store(path)) as store:
        store.entitle("old", "another prompt")
        assert store.record("old").title == "The old one"
        store.entitle("old", "better", "model")
        assert store.record("old").title == "better"


def test_an_event_that_cannot_be_read_keeps_its_session_out_of_the_search_only(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("UPDATE events SET event = '{}' WHERE session_id = 'older' AND seq = 3")
    db.close()
    with closing(Store(path)) as store:
        assert store.tidy(10.0) is False
        assert {hit.session.id for hit in store.search("read")} == {"old"}
        assert len(store.sessions()) == 3


def test_a_migration_that_breaks_off_leaves_the_file_as_it_was(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE texts (in_the_way)")
    db.close()
    for _ in range(2):
        with pytest.raises(Exception, match="texts"):
            Store(path)
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (1,)
        assert [row[1] for row in db.execute("PRAGMA table_info(sessions)")][-1] == "title"
        db.execute("DROP TABLE texts")
    db.close()
    with closing(Store(path)) as store:
        assert fold_events(store.load("old")) == fold_events(OLD)


def test_a_migrated_file_is_like_a_new_one(path: Path, tmp_path: Path) -> None:
    def shape(file: Path) -> list[tuple[str, str]]:
        with closing(Store(file)), sqlite3.connect(file) as db:
            found = db.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall()
            assert db.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
        db.close()
        return [(name, " ".join((sql or "").split())) for name, sql in found]

    assert shape(path) == shape(tmp_path / "new.db")


OWN_FILES = {"ledger.py", "cached_model.py", "checkpoints.py", "function_search.py"}
"""Each has a file of its own with one or two tables, and all SQL about it."""


def test_no_word_of_sql_stands_in_another_module() -> None:
    folder = Path(__file__).parents[2] / "app"
    words = ("SELECT ", "INSERT ", "DELETE FROM", "UPDATE sessions", "PRAGMA ", "BEGIN IMM")
    spoken = [
        path.name
        for path in folder.rglob("*.py")
        if path.name not in {"statements.py", *OWN_FILES}
        and any(word in path.read_text(encoding="utf-8") for word in words)
    ]
    assert spoken == []
