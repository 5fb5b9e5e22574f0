"""The log of events on disk: what is written is there, whatever happens."""

import asyncio
import json
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.errors import OiTuiError, StoreError
from oi_tui.app.engine.core.events import (
    ActiveLineChanged,
    AnyEvent,
    CodeGrew,
    CodeStarted,
    ExecutionStarted,
    OutputAdded,
    ProseGrew,
    ProseStarted,
    TurnStarted,
)
from oi_tui.app.engine.core.outputs import StreamOutput
from oi_tui.app.engine.files.paths import private_dir
from oi_tui.app.engine.log.log import Log
from oi_tui.app.engine.log.store import Store, find_session
from oi_tui.app.engine.log.writer import LogWriter
from oi_tui.app.engine.transcript.coalesce import coalesce
from oi_tui.app.engine.transcript.event_log import fold_events
from support.sessions import no_giving_up

EVENTS: tuple[AnyEvent, ...] = (
    TurnStarted(block_id="u", text="hello\x1b[31m \u202e", files=("a.csv",)),
    ProseStarted(block_id="p"),
    ProseGrew(block_id="p", text="one "),
    ProseGrew(block_id="p", text="two"),
)


def test_events_come_back_in_order_and_equal(store: Store) -> None:
    store.create("one", 1.0, "/work")
    store.append("one", EVENTS[:2])
    store.append("one", EVENTS[2:])
    assert store.load("one") == EVENTS


def test_sessions_are_listed_by_last_use_with_the_title_first_given(store: Store) -> None:
    for name in ("one", "two"):
        store.create(name, 1.0, "/work")
    store.append("two", EVENTS)
    store.entitle("two", "first")
    store.entitle("two", "second")
    assert [(record.id, record.title) for record in store.sessions()] == [("two", "first"), ("one", "")]
    assert find_session(store, "tw") == "two"
    with pytest.raises(StoreError, match="No session"):
        find_session(store, "x")


VISIT = """
import sys; from pathlib import Path; from oi_tui.app.engine.log.store import Store
Store(Path(sys.argv[1])).close()
"""
COUNT = "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute('SELECT count(*) FROM events').fetchone()[0])"


def apart(program: str, path: Path) -> bytes:
    """What another process says that does this to the file."""
    done = subprocess.run([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, check=True, timeout=60)
    return done.stdout


def test_L19_a_program_that_comes_and_goes_takes_nothing_from_one_that_has_the_file_twice(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    with closing(Store(path)) as engine:
        engine.create("one", 1.0, "/work")
        with closing(Store(path)):  # as what looks through past sessions has it, beside the engine
            engine.append("one", EVENTS[:2])
            apart(VISIT, path)
            engine.append("one", EVENTS[2:])
            assert int(apart(COUNT, path)) == len(EVENTS)  # committed is there for everybody, and after a kill


def test_a_file_that_is_no_database_is_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    path.write_bytes(b"not a database at all" * 100)
    with pytest.raises(StoreError, match=r"sessions\.db"):
        Store(path)


def test_L21_a_folder_that_cannot_be_written_is_a_clear_error() -> None:
    folder = Path("/proc/oi-tui")  # nobody can write there, not even root
    with pytest.raises(OiTuiError, match="Cannot write in /proc/oi-tui"):
        private_dir(folder)
    with pytest.raises(StoreError, match=r"sessions\.db"):
        Store(folder / "sessions.db")


def test_facts_are_remembered(store: Store) -> None:
    assert store.recall("model") == ""
    store.remember("model", "a")
    store.remember("model", "b")
    assert store.recall("model") == "b"


def test_text_that_streams_is_written_after_a_quarter_of_a_second_and_completed_things_at_once(store: Store) -> None:
    store.create("one", 1.0, "/work")
    now = [10.0]
    writer = LogWriter(store, "one", no_giving_up, clock=lambda: now[0])
    writer.append(ProseGrew(block_id="p", text="a"))
    writer.write_due()
    assert store.load("one") == ()
    assert writer.waiting
    now[0] = 10.3
    writer.append(ProseGrew(block_id="p", text="b"))
    writer.write_due()
    assert store.load("one") == (ProseGrew(block_id="p", text="ab"),)
    now[0] = 10.31
    writer.append(ProseStarted(block_id="q"))
    writer.write_due()
    assert store.load("one")[-1] == ProseStarted(block_id="q")


class SlowDisk(Store):
    """One whose disk takes as long as it is told to, or has failed."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.waits, self.there, self.fails = threading.Event(), threading.Event(), False
        self._sync, self.sync = self.sync, self.sync_slowly

    def sync_slowly(self) -> None:
        self.waits.set()
        assert self.there.wait(10)
        if self.fails:
            raise StoreError("The disk failed.")
        self._sync()


@pytest.fixture
def slow_disk(tmp_path: Path) -> Iterator[SlowDisk]:
    with closing(SlowDisk(tmp_path / "slow.db")) as opened:
        opened.create("one", 1.0, "/work")
        yield opened
        opened.there.set()


async def test_code_does_not_run_before_what_led_to_it_would_outlive_a_loss_of_power(slow_disk: SlowDisk) -> None:
    log = Log(store=slow_disk).session()
    log.begin("one", (), note=lambda *_: None, gave_up=no_giving_up)
    asked = TurnStarted(block_id="u", text="Delete it.")
    block = CodeBlock(id="c", language="python", source="1", state="proposed")
    log.append(asked)
    sealing = asyncio.ensure_future(log.seal(ExecutionStarted(block_id="c", generation=1), block))
    assert await asyncio.to_thread(slow_disk.waits.wait, 10)
    assert slow_disk.load("one") == (asked,)
    assert not sealing.done()
    slow_disk.there.set()
    async with asyncio.timeout(10):
        await sealing
        assert await log.end() is None


async def test_nothing_waits_for_the_disk_while_code_runs_and_the_end_does(slow_disk: SlowDisk) -> None:
    writer = LogWriter(slow_disk, "one", no_giving_up)
    keeping = asyncio.create_task(writer.keep())
    for number in range(3):
        writer.append(TurnStarted(block_id=f"{number}", text="Go on."))
        writer.write_due()
    assert await asyncio.to_thread(slow_disk.waits.wait, 10)
    assert len(slow_disk.load("one")) == 3
    keeping.cancel()
    finishing = asyncio.create_task(writer.finish())
    await asyncio.sleep(0)
    assert not finishing.done()
    slow_disk.there.set()
    async with asyncio.timeout(10):
        assert await finishing is None


async def test_after_a_failure_of_the_disk_each_write_waits_for_it(slow_disk: SlowDisk) -> None:
    def waits() -> bool:
        """SQLite's own word for it: 2 is FULL, 1 is NORMAL."""
        return slow_disk._db.row("PRAGMA synchronous") == (2,)

    slow_disk.there.set()
    writer = LogWriter(slow_disk, "one", no_giving_up)
    slow_disk.fails = True
    found = []
    for number in range(2):
        writer.append(TurnStarted(block_id=f"{number}", text="Go on."))
        writer.write_due()
        found.append(waits())
        await writer.sync()
    assert found == [False, True]
    slow_disk.remember("model", "a")  # whatever is not of a session that is open
    assert waits()


def test_what_led_to_a_run_outlives_the_program_before_the_code_runs(store: Store) -> None:
    store.create("one", 1.0, "/work")
    log = Log(store=store).session()
    log.begin("one", (), note=lambda *_: None, gave_up=no_giving_up)
    asked, started = TurnStarted(block_id="u", text="Delete it."), ExecutionStarted(block_id="c", generation=1)
    log.append(asked)
    log.append(started)
    assert store.load("one") == (asked, started)  # nothing had time to write: the loop has not turned once


def test_stored_events_are_plain_json_with_a_type(tmp_path: Path, store: Store) -> None:
    store.create("one", 1.0, "/work")
    store.append("one", EVENTS[:1])
    with sqlite3.connect(tmp_path / "sessions.db") as db:
        (text,) = db.execute("SELECT event FROM events").fetchone()
    db.close()
    assert json.loads(text)["type"] == "TurnStarted"


pieces = st.sampled_from(["a", "b\n", "é", ""])
deltas = st.one_of(
    st.builds(lambda t: ProseGrew(block_id="p", text=t), pieces),
    st.builds(lambda t: CodeGrew(block_id="c", text=t), pieces),
    st.builds(
        lambda n, t: OutputAdded(block_id="c", output=StreamOutput(name=n, text=t)),
        st.sampled_from(["stdout", "stderr"]),
        pieces,
    ),
    st.builds(lambda n: ActiveLineChanged(block_id="c", line=n), st.integers(1, 9)),
)


@given(st.lists(deltas, max_size=30))
def test_coalescing_changes_nothing_that_the_fold_sees(events: list[AnyEvent]) -> None:
    opening: list[AnyEvent] = [ProseStarted(block_id="p"), CodeStarted(block_id="c", language="python")]
    merged = coalesce(opening + events)
    assert fold_events(merged) == fold_events(opening + events)
    assert coalesce(merged) == merged
