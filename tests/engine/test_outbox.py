"""The way to the disk, while another program has the file, and when there is no way."""

import asyncio
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from oi_tui.app.engine.core.errors import StoreError
from oi_tui.app.engine.core.events import AnyEvent
from oi_tui.app.engine.core.protocol import Failed, Reply
from oi_tui.app.engine.log.store import Recorder, Store, StoreBusy
from oi_tui.app.engine.log.store.recorder import ATTEMPTS
from oi_tui.app.engine.session.outbox import REPLAYED, Outbox, replay_batches
from oi_tui.app.engine.transcript.event_log import fold_events
from support.sessions import prose, turn

FIRST, SECOND, THIRD = (turn(name, f"prompt {name}", prose(f"p{name}", "a", "b")) for name in ("u", "v", "w"))


class Out(Outbox):
    """An outbox that remembers whom it told."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.told: list[StoreError] = []
        super().__init__(self._sent, self.told.append)

    async def _sent(self, reply: Reply) -> None:
        self.replies.append(reply)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with closing(Store(path)) as opened:
        opened.create("one", 1.0, "/work")
        yield opened


@pytest.fixture
def out(store: Store) -> Out:
    outbox = Out()
    outbox.record(Recorder(store, "one"))
    return outbox


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another program is in the middle of writing."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


class Watched:
    """A store that says how each attempt to write ended."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.attempts: asyncio.Queue[bool] = asyncio.Queue()

    def append(self, session_id: str, events: Iterable[AnyEvent], *, patience: float) -> None:
        """See `Log`."""
        try:
            self._store.append(session_id, events, patience=patience)
        except StoreError:
            self.attempts.put_nowait(False)
            raise
        self.attempts.put_nowait(True)


async def ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def test_a_locked_file_is_tried_again_however_often_it_was(store: Store, out: Out, path: Path) -> None:
    with locked(path):
        for event in FIRST:
            out.put(event)
        for _ in range(ATTEMPTS + 1):
            out.write()
    for event in SECOND:
        out.put(event)
    out.write()
    assert out.told == []
    assert fold_events(store.load("one")) == fold_events([*FIRST, *SECOND])


async def test_what_happens_while_the_file_is_locked_is_written_when_it_is_free_again(store: Store, path: Path) -> None:
    out, log = Out(), Watched(store)
    out.record(Recorder(log, "one"))
    keeping = asyncio.create_task(out.keep())
    async with asyncio.timeout(10):
        with locked(path):
            for event in FIRST:
                out.put(event)
            assert [await log.attempts.get() for _ in range(2)] == [False, False]
            for event in SECOND:
                out.put(event)
        assert await log.attempts.get()
    await ended(keeping)
    assert fold_events(store.load("one")) == fold_events([*FIRST, *SECOND])
    assert out.told == []


def test_what_waits_for_a_locked_file_is_bounded(store: Store, path: Path) -> None:
    out = Out()
    out.record(Recorder(store, "one", held=200))
    with locked(path):
        for event in FIRST:
            out.put(event)
        out.write()
    assert [error.title.split(". ")[0] for error in out.told] == ["Nothing more of this session is written down"]


def test_a_store_that_fails_for_good_is_told_once_and_plainly(store: Store, out: Out) -> None:
    store.remove("one")
    for event in FIRST:
        out.put(event)
        out.write()
    (error,) = out.told
    assert error.title == "Nothing more of this session is written down. There is no session one."


async def test_at_the_end_it_is_waited_for_a_locked_file(store: Store, path: Path) -> None:
    out, log = Out(), Watched(store)
    out.record(Recorder(log, "one"))
    for event in THIRD:
        out.put(event)
    async with asyncio.timeout(10):
        with locked(path):
            finishing = asyncio.create_task(out.finish())
            assert not await log.attempts.get()
        await finishing
    assert fold_events(store.load("one")) == fold_events(THIRD)
    assert out.replies == []


async def test_an_end_that_is_not_written_down_is_told_and_logged(
    out: Out, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for event in THIRD:
        out.put(event)
    with locked(path):
        await out.finish()
    (told,) = out.replies
    assert isinstance(told, Failed)
    assert told.title.startswith("The end of this session is not written down. Another program keeps")
    assert "The end of this session is not written down" in caplog.text


def test_a_locked_file_has_an_error_of_its_own(store: Store, path: Path) -> None:
    with locked(path), pytest.raises(StoreBusy):
        store.append("one", FIRST, patience=0.01)
    store.append("one", FIRST)
    assert store.record("one").turns == 1


@pytest.mark.parametrize("count", [0, 1, REPLAYED, REPLAYED + 1, 3 * REPLAYED])
def test_a_stored_session_is_told_in_parts_and_the_last_one_says_so(count: int) -> None:
    events = (FIRST * (count // len(FIRST) + 1))[:count]
    parts = list(replay_batches(events))
    assert [event for part in parts for event in part.events] == events
    assert [part.further for part in parts] == [False] + [True] * (len(parts) - 1)
    assert [part.more for part in parts] == [True] * (len(parts) - 1) + [False]
    assert all(part.replay and len(part.events) <= REPLAYED for part in parts)
