"""The way to the disk, while another program has the file, and when there is no way; and the way to a front end."""

import asyncio
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from oi_tui.app.engine.core.errors import StoreError
from oi_tui.app.engine.core.events import AnyEvent, TurnEnded
from oi_tui.app.engine.core.protocol import REPLAYED, Failed
from oi_tui.app.engine.core.verbs import Open, Submit
from oi_tui.app.engine.log.store import Store, StoreBusy
from oi_tui.app.engine.log.writer import ATTEMPTS, HELD, EventStore, LogWriter
from oi_tui.app.engine.session.outbox import replay_batches
from oi_tui.app.engine.testing import FakeModel
from oi_tui.app.engine.transcript.event_log import fold_events
from support.front import engine
from support.sessions import prose, turn

FIRST, SECOND, THIRD = (turn(name, f"prompt {name}", prose(f"p{name}", "a", "b")) for name in ("u", "v", "w"))


class Writer(LogWriter):
    """A writer that remembers what it told."""

    def __init__(self, store: EventStore, *, held: int = HELD) -> None:
        self.told: list[StoreError] = []
        super().__init__(store, "one", self.told.append, held=held)

    def take(self, events: Iterable[AnyEvent]) -> None:
        for event in events:
            self.append(event)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with closing(Store(path)) as opened:
        opened.create("one", 1.0, "/work")
        yield opened


@pytest.fixture
def writer(store: Store) -> Writer:
    return Writer(store)


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

    def append(self, session_id: str, events: Iterable[AnyEvent], *, patience: float, sync: bool) -> None:
        """See `EventStore`."""
        try:
            self._store.append(session_id, events, patience=patience, sync=sync)
        except StoreError:
            self.attempts.put_nowait(False)
            raise
        self.attempts.put_nowait(True)

    def sync(self) -> None:
        """See `EventStore`."""
        self._store.sync()


async def ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def test_a_locked_file_is_tried_again_however_often_it_was(store: Store, writer: Writer, path: Path) -> None:
    with locked(path):
        writer.take(FIRST)
        for _ in range(ATTEMPTS + 1):
            assert isinstance(writer.write(), StoreBusy)
    writer.take(SECOND)
    assert writer.write() is None
    assert writer.told == []
    assert fold_events(store.load("one")) == fold_events([*FIRST, *SECOND])


async def test_what_happens_while_the_file_is_locked_is_written_when_it_is_free_again(store: Store, path: Path) -> None:
    watched = Watched(store)
    writer = Writer(watched)
    keeping = asyncio.create_task(writer.keep())
    async with asyncio.timeout(10):
        with locked(path):
            writer.take(FIRST)
            assert [await watched.attempts.get() for _ in range(2)] == [False, False]
            writer.take(SECOND)
        assert await watched.attempts.get()
    await ended(keeping)
    assert fold_events(store.load("one")) == fold_events([*FIRST, *SECOND])
    assert writer.told == []


def test_what_waits_for_a_locked_file_is_bounded(store: Store, path: Path) -> None:
    writer = Writer(store, held=200)
    with locked(path):
        writer.take(FIRST)
        writer.write()
    assert [error.title.split(". ")[0] for error in writer.told] == ["Nothing more of this session is written down"]


def test_a_store_that_fails_for_good_is_told_once_and_plainly(store: Store, writer: Writer) -> None:
    store.remove("one")
    for event in FIRST:
        writer.append(event)
        writer.write()
    (error,) = writer.told
    assert error.title == "Nothing more of this session is written down. There is no session one."


async def test_at_the_end_it_is_waited_for_a_locked_file(store: Store, path: Path) -> None:
    watched = Watched(store)
    writer = Writer(watched)
    writer.take(THIRD)
    async with asyncio.timeout(10):
        with locked(path):
            finishing = asyncio.create_task(writer.finish())
            assert not await watched.attempts.get()
        assert await finishing is None
    assert fold_events(store.load("one")) == fold_events(THIRD)


async def test_an_end_that_is_not_written_down_is_told_and_logged(
    tmp_path: Path, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with engine(tmp_path, FakeModel("Hello.")) as front:
        await front.client.send(Open())
        await front.turn("hello")
        with locked(path):
            await front.client.send(Submit(text="the last"))
            await front.until_event(TurnEnded)
            await front.client.close()
            told = await front.until(lambda reply: isinstance(reply, Failed))
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
