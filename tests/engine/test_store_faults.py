"""Whatever happens to the program, the disk or the file: nothing that was written is lost, and it is said plainly."""

import asyncio
import os
import random
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oi_tui.app.engine.core.errors import StoreError
from oi_tui.app.engine.core.events import AnyEvent, NoticeAdded, OutputAdded
from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.log.store import MIGRATIONS, Store
from oi_tui.app.engine.log.writer import LogWriter
from oi_tui.app.engine.transcript.event_log import fold_events
from support.killing import script, states_of_script, what_is_wrong
from support.sessions import code, no_giving_up, printed, prose, turn

TESTS = Path(__file__).parents[1]
TIMES = 50
NOBODY = 65534


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    opened = Store(path)
    yield opened
    opened.close()


def keep(store: Store, *turns: list[AnyEvent], name: str = "one") -> None:
    store.create(name, 1.0, "/work")
    for events in turns:
        store.append(name, events)


# -- the program ends


def test_L19_killed_at_fifty_random_points_everything_up_to_the_last_completed_event_is_there(tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(10**6)
    command = [sys.executable, "-m", "support.killing", str(tmp_path), str(TIMES), str(seed)]
    environment = os.environ | {"PYTHONPATH": str(TESTS)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    said = [int(line) for line in done.stdout.split()]
    states = states_of_script()
    assert len(said) == TIMES
    assert len(set(said)) > TIMES // 4, f"the points are not at random: {said}"
    for number, written in enumerate(said):
        assert what_is_wrong(tmp_path / f"{number}.db", written, states) == "", f"seed {seed}, point {number}"


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_however_events_are_cut_into_batches_and_programs_the_fold_is_the_same(data: st.DataObject) -> None:
    events = script()[: data.draw(st.integers(1, 90))]
    with TemporaryDirectory() as folder, closing(Store(Path(folder, "sessions.db"))) as store:
        store.create("one", 1.0, "/work")
        now = 0.0
        writer = LogWriter(store, "one", no_giving_up, clock=lambda: now)
        rest = events
        while rest:
            size, wait = data.draw(st.integers(1, 12)), data.draw(st.sampled_from([0.0, 0.3]))
            now += wait
            for event in rest[:size]:
                writer.append(event)
            writer.write_due()
            rest = rest[size:]
            if data.draw(st.booleans()):  # the next program knows nothing of what this one had in mind
                writer.write()
                store._reading = None
        assert asyncio.run(writer.finish()) is None
        assert fold_events(store.load("one")) == fold_events(events)
        folded = fold_events(events)
        assert store.record("one").turns == len(store.prompts(99))
        assert len([block for block in folded.blocks if block.id.startswith("u")]) == store.record("one").turns


# -- the disk


def test_a_full_disk_is_said_so_and_what_was_written_is_there(path: Path) -> None:
    """A limit on the size of files is what a full disk looks like to whoever writes."""
    program = (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "from oi_tui.app.engine.core.errors import StoreError\n"
        "from oi_tui.app.engine.log.store import Store\n"
        "from support.sessions import turn, prose\n"
        "store = Store(Path(sys.argv[1])); store.create('one', 1.0, '/work')\n"
        "store.append('one', turn('a', 'hello', prose('p', 'kept')))\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))\n"
        "try: store.append('one', turn('b', 'x' * 400_000))\n"
        "except StoreError as error: print(error.title, error.hint)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))\n"
        "store.append('one', turn('c', 'there is room again'))\n"
    )
    environment = os.environ | {"PYTHONPATH": str(TESTS)}
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "disk" in done.stdout
    assert "Everything saved before is safe." in done.stdout
    with closing(Store(path)) as store:
        prompts = [prompt.text for prompt in store.prompts(9)]
        assert prompts == ["there is room again", "hello"]
        assert len(store.search("kept")) == 1


def test_a_large_output_that_cannot_be_written_is_said_so_and_nothing_else_is_lost(store: Store, path: Path) -> None:
    keep(store, turn("a", "hello"))
    path.with_name("blobs").write_text("a file where a folder should be")
    picture = OutputAdded(block_id="c", output=RichOutput(data={"image/png": "A" * 100_000}))
    before = store.load("one")
    with pytest.raises(StoreError, match="large output cannot be written"):
        store.append("one", [picture])
    assert store.load("one") == before
    store.append("one", turn("b", "still here"))
    assert store.record("one").turns == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody who may not write")
def test_a_folder_that_can_only_be_read_is_said_so(store: Store, path: Path) -> None:
    keep(store, turn("a", "hello"))
    store.close()
    path.parent.chmod(0o755)
    before = path.read_bytes()
    program = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from oi_tui.app.engine.core.errors import StoreError\n"
        "from oi_tui.app.engine.log.store import Store\n"
        f"os.setgid({NOBODY}); os.setuid({NOBODY})\n"
        "try:\n"
        "    store = Store(Path(sys.argv[1]))\n"
        "    store.create('two', 1.0, '/work')\n"
        "except StoreError as error: print(error.title, error.hint)\n"
    )
    reach = [folder for folder in path.parents if folder.is_relative_to("/tmp") and folder != Path("/tmp")]
    for folder in reach:
        folder.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert f"{path} cannot be written" in done.stdout
    assert "read-only" in done.stdout
    assert path.read_bytes() == before


# -- the file


def load(path: Path) -> None:
    with closing(Store(path)) as store:
        store.load("one")


@pytest.mark.parametrize("how", ["cut", "garbage"])
def test_a_damaged_file_is_said_so_with_what_is_wrong_and_left_as_it_is(path: Path, how: str) -> None:
    with closing(Store(path)) as store:
        keep(store, *(turn(f"u{number}", f"prompt {number} " * 50) for number in range(60)))
    content = bytearray(path.read_bytes())
    if how == "cut":
        del content[len(content) // 2 :]
    else:
        content[8192 : len(content) - 8192] = b"\xa5" * (len(content) - 16384)
    path.write_bytes(content)
    with pytest.raises(StoreError, match="is damaged") as error:
        load(path)
    assert "Keep a copy" in error.value.hint
    assert error.value.details
    assert path.read_bytes() == bytes(content)


def test_a_file_of_a_newer_program_is_not_even_given_another_journal(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE future (x)")
        db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    db.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="newer") as error:
        Store(path)
    assert "nothing in the file was changed" in error.value.hint
    assert path.read_bytes() == before


def test_a_file_that_another_program_keeps_locked_is_said_so_and_written_later(store: Store, path: Path) -> None:
    keep(store, turn("a", "hello"))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match=r"Another program keeps .* locked"):
        store.append("one", turn("b", "wait"))
    assert len(store.search("hello")) == 1  # reading goes on
    other.execute("ROLLBACK")
    other.close()
    store.append("one", turn("b", "wait"))
    assert store.record("one").turns == 2


def test_two_programs_write_at_the_same_time(path: Path, store: Store) -> None:
    store.create("one", 1.0, "/work")
    store.create("two", 1.0, "/work")
    failed: list[StoreError] = []

    def write(mine: str) -> None:
        try:
            with closing(Store(path)) as other:
                for number in range(20):
                    other.append("one", turn(f"{mine}{number}", "both", prose(f"p{mine}{number}", "a", "b")))
                    other.append(mine, turn(f"o{mine}{number}", "own", code(f"c{mine}{number}", "1", printed("x"))))
        except StoreError as error:
            failed.append(error)

    store.create("x", 1.0, "/work")
    store.create("y", 1.0, "/work")
    threads = [threading.Thread(target=write, args=(name,)) for name in ("x", "y")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failed == []
    assert [store.record(name).turns for name in ("one", "x", "y")] == [40, 20, 20]
    names = [block.id for block in fold_events(store.load("one")).blocks if block.id.startswith("p")]
    assert sorted(names) == sorted(f"p{mine}{number}" for mine in "xy" for number in range(20))
    assert len(store.prompts(1000)) == 80


# -- large outputs


def test_large_outputs_are_files_that_only_the_person_reads_and_come_back_byte_for_byte(
    store: Store, path: Path
) -> None:
    data = {
        "text/plain": "small",
        "image/png": "iVBOR" * 20_000,
        "text/html": "<p>ž\x00\u202e</p>" * 10_000,
        "application/json": {"rows": [[n, str(n), None] for n in range(20_000)]},
        "application/x": {"digest": "a" * 64, "size": 3},
        "text/short": "x" * 63_000,
    }
    events = turn("u", "draw", code("c", "plot()", RichOutput(data=data), RichOutput(data=data)))
    keep(store, events)
    assert fold_events(store.load("one")) == fold_events(events)
    files = [file for file in path.with_name("blobs").rglob("*/*") if file.is_file()]
    assert len(files) == 3  # what is the same is kept once
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    assert all(file.name.startswith(file.parent.name) for file in files)
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT max(length(event)) FROM events").fetchone()[0] < 70_000
    db.close()


def test_a_missing_or_damaged_file_costs_that_output_and_is_told(store: Store, path: Path) -> None:
    first = RichOutput(data={"image/png": "A" * 100_000})
    second = RichOutput(data={"image/png": "B" * 100_000, "text/plain": "<Figure>"})
    third = RichOutput(data={"image/png": "C" * 100_000})
    events = turn("u", "draw", code("c", "plot()", first, second, third))
    keep(store, events)
    for file in path.with_name("blobs").rglob("*/*"):
        match file.read_bytes()[:1]:
            case b"A":
                file.unlink()
            case b"B":
                file.write_bytes(b"B" * 99_999 + b"?")
    loaded = store.load("one")
    outputs = [event.output for event in loaded if isinstance(event, OutputAdded)]
    assert [output.data for output in outputs if isinstance(output, RichOutput)] == [
        {"text/plain": "[image/png: the file of this output is missing or damaged]"},
        {"text/plain": "<Figure>"},
        third.data,
    ]
    assert isinstance(loaded[-1], NoticeAdded)
    assert loaded[-1].title.startswith("2 large outputs of this session cannot be shown")
    assert store.count("one") == len(loaded) - 1
    store.append("one", turn("v", "draw again", code("d", "plot()", first, second)))
    assert [event for event in store.load("one") if isinstance(event, NoticeAdded)] == []  # they are back


def test_what_a_kernel_sends_is_never_taken_for_a_file_of_ours(store: Store, path: Path) -> None:
    keep(store, turn("a", "x", code("c", "1", RichOutput(data={"image/png": "A" * 100_000}))), name="other")
    (file,) = (file for file in path.with_name("blobs").rglob("*/*") if file.is_file())
    forged = RichOutput(
        data={"image/png": {"digest": file.name, "size": 100_000, "json": False}, "text/plain": file.name}
    )
    events = turn("b", "y", code("d", "2", forged))
    keep(store, events)
    assert fold_events(store.load("one")) == fold_events(events)
