"""`oi-tui sessions`: what was done before, for people and for programs."""

import json
import os
import sqlite3
import stat
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from oi_tui.app.cli import program
from oi_tui.app.engine.core.blocks import UserBlock
from oi_tui.app.engine.core.errors import OiTuiError, SettingsError, StoreError
from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.log.recording.form import read_recording
from oi_tui.app.engine.log.store import Claims, Store
from oi_tui.app.engine.transcript.event_log import fold_events
from oi_tui.app.resuming import Opening, find_opening, stored_session
from support.sessions import code, printed, prose, turn
from support.terminal import Terminal

READING = turn("u1", "read the \x1b[31mdata", prose("p1", "I read *it*."), code("c1", "print(6*7)", printed("42\n")))
PLOT = turn("u2", "plot it", code("c2", "plot()", RichOutput(data={"image/png": "iVBORw0KGgo="})))

OI_TUI = str(Path(sys.executable).with_name("oi-tui"))
Run = Callable[..., Result]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    data = tmp_path / "data" / "oi-tui"
    data.mkdir(parents=True)
    with closing(Store(data / "sessions.db")) as store:
        for name, events, title in (("aaa1", READING, "Reading \x1b[2J\u202edata"), ("bbb2", PLOT, "日本語の題名")):
            store.create(name, 1.0, str(tmp_path))
            store.append(name, events)
            store.entitle(name, title)
        store.create("empty", 1.0, "/work")
    return data


@pytest.fixture
def run(home: Path, tmp_path: Path) -> Run:
    runner = CliRunner(env={"XDG_DATA_HOME": str(home.parent), "HOME": str(tmp_path)})

    def ran(*args: str, data: str | None = None) -> Result:
        result = runner.invoke(program, ["sessions", *args], input=data)
        if isinstance(result.exception, OiTuiError):
            raise result.exception
        assert result.exception is None, result.exc_info
        return result

    return ran


def objects(result: Result) -> list[dict[str, Any]]:
    assert result.stdout.isascii()
    values = json.loads(result.stdout)
    assert isinstance(values, list)
    assert all(isinstance(value, dict) and value["id"] for value in values)
    return values


def test_the_list_has_what_happened_newest_first_and_nothing_a_terminal_obeys(run: Run) -> None:
    for listed in (run(), run("list")):
        head, first, second = listed.stdout.splitlines()
        assert head.split() == ["id", "last", "used", "turns", "title", "folder"]
        assert first.startswith("bbb2  20")
        assert "日本語の題名" in first
        assert second.split()[3:] == ["1", "Reading", "data", "~"]
        assert listed.stdout.replace("\n", "").isprintable()


def test_json_has_every_field_also_where_it_is_empty(run: Run, tmp_path: Path) -> None:
    first, second = objects(run("--json"))
    assert [first["id"], second["id"]] == ["bbb2", "aaa1"]
    assert (second["turns"], second["cost"], second["cwd"], second["parent_id"]) == (1, 0.25, str(tmp_path), None)
    assert objects(run("list", "--json", "--limit", "1")) == [first]
    assert objects(run("list", "--json", "--archived")) == []


def test_search_finds_and_says_where(run: Run) -> None:
    (hit,) = objects(run("search", "--json", "read", "dat"))
    assert (hit["id"], hit["kind"], hit["block_id"], hit["snippet"]) == ("aaa1", "prompt", "u1", "read the data")
    assert [piece["text"] for piece in hit["pieces"] if piece["matched"]] == ["read", "data"]
    lines = run("search", "42").stdout.splitlines()
    assert [line.split()[3:] for line in lines[1:]] == [["output", "42"]]
    nothing = run("search", "nowhere")
    assert (nothing.stdout, nothing.stderr) == ("", "Found nowhere.\n")


def test_show_prints_a_session_as_text_by_id_or_by_words(run: Run) -> None:
    shown = run("show", "aaa").stdout
    assert shown == run("show", "read the").stdout
    assert "> read the data" in shown
    assert "print(6*7)" in shown
    assert "\x1b" not in shown
    assert [block["id"] for block in objects(run("show", "aaa1", "--json"))] == ["u1", "p1", "c1"]


def test_what_is_exported_can_be_imported_again(run: Run, home: Path, tmp_path: Path) -> None:
    for suffix in ("ipynb", "json"):
        path = tmp_path / f"out.{suffix}"
        (told,) = objects(run("export", "aaa1", "--output", str(path), "--json"))
        assert (told["id"], told["path"]) == ("aaa1", str(path))
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        (imported,) = objects(run("import", str(path), "--json"))
        assert imported["title"] == "Reading data"
        with closing(Store(home / "sessions.db")) as store:
            blocks = fold_events(store.load(imported["id"])).blocks
            assert [type(block).__name__ for block in blocks] == ["UserBlock", "ProseBlock", "CodeBlock"]
            assert store.record(imported["id"]).turns == 1
    assert len(objects(run("search", "6 7", "--json"))) == 3


def test_export_writes_to_standard_output_and_over_a_file_only_when_told(run: Run, tmp_path: Path) -> None:
    assert "print(6*7)" in run("export", "aaa1", "--format", "md").stdout
    path = tmp_path / "out.md"
    path.write_text("mine")
    with pytest.raises(SettingsError, match="there already"):
        run("export", "aaa1", "--output", str(path))
    assert path.read_text() == "mine"
    run("export", "aaa1", "--output", str(path), "--force")
    assert "print(6*7)" in path.read_text()
    with pytest.raises(SettingsError, match="format"):
        run("export", "aaa1", "--output", str(tmp_path / "out"))
    with pytest.raises(SettingsError, match="cannot be written"):
        run("export", "aaa1", "--output", str(tmp_path / "no" / "out.md"))
    assert sorted(os.listdir(tmp_path)) == ["data", "out.md"]


def test_a_file_that_is_no_session_leaves_none(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.ipynb"
    path.write_text("[1, 2")
    with pytest.raises(OiTuiError):
        run("import", str(path))
    assert len(objects(run("--json"))) == 2


def test_devices_pipes_and_huge_files_are_not_imported_and_not_waited_for(run: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "link.json").symlink_to("/dev/zero")
    for name in ("pipe.json", "link.json"):
        with pytest.raises(SettingsError, match="is no plain file, but a device, a pipe or a folder"):
            run("import", str(tmp_path / name))
        with pytest.raises(StoreError, match="is no plain file"):
            read_recording(tmp_path / name)
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate(500_000_001)
    with pytest.raises(SettingsError, match="is larger than 500 MB"):
        run("import", str(large))
    assert len(objects(run("--json"))) == 2


def test_a_long_session_is_imported_in_steps_between_which_others_may_write(
    run: Run, home: Path, tmp_path: Path
) -> None:
    path = tmp_path / "long.json"
    texts = [f"prompt {number}" for number in range(2_500)]
    path.write_text(json.dumps([{"role": "user", "type": "message", "content": text} for text in texts]))
    (imported,) = objects(run("import", str(path), "--json"))
    with closing(Store(home / "sessions.db")) as store:
        blocks = fold_events(store.load(imported["id"])).blocks
        assert [block.text for block in blocks if isinstance(block, UserBlock)] == texts
    with closing(sqlite3.connect(home / "sessions.db")) as db:
        (steps,) = db.execute("SELECT count(DISTINCT at) FROM events WHERE session_id = ?", [imported["id"]]).fetchone()
    assert steps >= 2


@pytest.mark.parametrize(
    "damage", [b"\xff" * 12, b"\xa8\x1d\n\x91(\x00Z~\x89\xdd\xba\x89"], ids=["corrupt", "no-memory"]
)
def test_a_search_makes_a_damaged_index_anew_and_finds(run: Run, home: Path, damage: bytes) -> None:
    with closing(sqlite3.connect(home / "sessions.db")) as db, db:
        db.execute("UPDATE search_data SET block = ? WHERE id = 10", [damage])  # what the index consists of
    found = run("search", "plot", "--json")
    assert {hit["id"] for hit in objects(found)} == {"bbb2"}
    assert "Looking through 3 sessions" in found.stderr


def test_rm_takes_ids_only_and_removes_for_good(run: Run) -> None:
    with pytest.raises(StoreError, match="There is no session read"):
        run("rm", "read the")
    assert [record["id"] for record in objects(run("rm", "aaa1", "aaa", "--json"))] == ["aaa1"]
    assert [record["id"] for record in objects(run("--json"))] == ["bbb2"]
    with pytest.raises(StoreError):
        run("rm", "bbb2", "aaa1")
    assert len(objects(run("--json"))) == 1  # all or none


@pytest.mark.pty
def test_on_a_terminal_the_table_fits_and_rm_asks(
    home: Path, clean_env: dict[str, str], terminal: Callable[..., Terminal], tmp_path: Path
) -> None:
    with closing(Store(home / "sessions.db")) as store:
        store.edit("aaa1", title="a title that is much too long for a terminal of so few columns " * 2)
    env = clean_env | {"XDG_DATA_HOME": str(home.parent)}
    shown = terminal([OI_TUI, "sessions"], env=env, cwd=tmp_path, columns=60, rows=10, timeout=30)
    shown.wait_for("bbb2")
    shown.wait_for("a title that is")
    shown.wait_exit()
    assert len(shown.screen.strip().splitlines()) == 3, shown.screen
    asked = terminal([OI_TUI, "sessions", "rm", "aaa1"], env=env, cwd=tmp_path, columns=60, rows=10, timeout=30)
    asked.wait_for("Remove? This cannot be undone.")
    asked.send("n\r")
    assert asked.wait_exit() == 130
    early = terminal([OI_TUI, "sessions", "rm", "aaa1"], env=env, cwd=tmp_path, columns=60, rows=10, timeout=30)
    early.send("y\r")  # U2: before anything was shown
    early.wait_for("Remove? This cannot be undone.")
    early.send("n\r")
    assert early.wait_exit() == 130
    with closing(Store(home / "sessions.db")) as store:
        assert len(store.sessions()) == 3


def test_title_tags_and_forks_from_the_command_line(run: Run) -> None:
    assert run("title", "aaa1", "Monthly", "means").stdout == "aaa1  Monthly means\n"
    assert run("tag", "aaa1", "weather", "#2026").stdout == "aaa1  #2026  #weather\n"
    (tagged,) = objects(run("tag", "aaa1", "--remove", "weather", "--json"))
    assert (tagged["title"], tagged["tags"]) == ("Monthly means", ["2026"])
    assert run("tag", "aaa1", "--remove").stdout == "aaa1\n"
    (forked,) = objects(run("fork", "aaa1", "--json"))
    assert (forked["parent_id"], forked["title"], forked["turns"]) == ("aaa1", "Monthly means", 1)
    assert run("show", forked["id"]).stdout == run("show", "aaa1").stdout
    with pytest.raises(StoreError, match="No sessions that begin with aaa1 run detached"):
        run("stop", "aaa1")


def test_a_session_that_is_open_elsewhere_is_forked_looked_at_or_left_as_the_flag_says(
    run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(home.parent))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert find_opening("aaa1", "/", None) == Opening("aaa1")
    claims = Claims.for_database(home / "sessions.db")
    claims.take("aaa1")
    monkeypatch.setattr("oi_tui.app.resuming.CLAIM_PATIENCE", 0)
    try:
        with pytest.raises(StoreError, match="open in another oi-tui") as refused:
            find_opening("aaa1", "/", None)  # nobody is at a terminal
        assert "--if-open fork" in refused.value.hint
        assert find_opening("aaa1", "/", "new") == Opening()
        looked = find_opening("aaa1", "/", "look")
        with closing(Store(home / "sessions.db")) as store:
            assert (looked.session_id, looked.past) == ("aaa1", store.load("aaa1"))
            for forked in (find_opening("aaa1", "/", "fork").session_id, stored_session("aaa1", "fork")):
                assert forked is not None
                assert store.record(forked).parent_id == "aaa1"
        assert stored_session("aaa1", "new") is None
    finally:
        claims.keep_only()
