"""The one door: each event is kept once by each of those who keep it, and they agree."""

import asyncio
import resource
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from itertools import count
from pathlib import Path

import pytest

from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.errors import AuditError
from oi_tui.app.engine.core.events import (
    CodeFinished,
    ExecutionStarted,
    OutputAdded,
    ProseGrew,
    SessionOpened,
    TurnEnded,
)
from oi_tui.app.engine.core.protocol import Batch
from oi_tui.app.engine.core.settings import LoopSection, ModelSection, Settings
from oi_tui.app.engine.core.verbs import Open
from oi_tui.app.engine.log.audit.audit_hook import AuditTrail
from oi_tui.app.engine.log.audit.log import find_log
from oi_tui.app.engine.log.audit.records import DecisionWasMade, RunBegan, Surroundings, decode
from oi_tui.app.engine.log.audit.verify import verify_folder
from oi_tui.app.engine.log.log import Log
from oi_tui.app.engine.log.recording.form import VERSION, Header, Told, read_recording
from oi_tui.app.engine.log.recording.tape import Tape
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.secrets.redaction import Redactor
from oi_tui.app.engine.session.engine import Engine
from oi_tui.app.engine.session.outbox import Send
from oi_tui.app.engine.session.services import Services
from oi_tui.app.engine.testing import FakeKernel, FakeKernels, FakeModel, FakeModels, stdout_output
from oi_tui.app.engine.transcript.event_log import fold_events
from oi_tui.app.engine.trust.change_scan import FolderScanner
from oi_tui.app.frontend.client import LocalClient
from support.front import Front, kernels_of_first
from support.sessions import no_giving_up, turn

CODE = "I will add.\n\n```python\n1+1\n```"


def trail_in(folder: Path) -> AuditTrail:
    return AuditTrail(
        folder=folder / "audit",
        surroundings=Surroundings(cwd="/work", sandbox="danger-full-access"),
        make_watch=lambda: FolderScanner([folder / "none"]),
        sandboxed=False,
    )


@asynccontextmanager
async def kept(
    folder: Path, model: FakeModel, name: str = "recording", kernels: FakeKernels | None = None
) -> AsyncIterator[Front]:
    """A front end of an engine that keeps everything; the recording has this name."""
    header = Header(format="oi-tui/recording", version=VERSION, created=0.0)
    tape = Tape(folder / name, header, Redactor(), count().__next__)
    settings = Settings(model=ModelSection(name="fake/model", titles=False), loop=LoopSection(approve="auto"))

    def made(send: Send) -> Engine:
        store = Store(folder / "sessions.db")
        services = Services(
            setup=Configure(settings=settings, cwd="/work"),
            models=FakeModels(model),
            make_kernels=kernels_of_first(kernels),
            send=send,
            log=Log(store=store, trail=trail_in(folder), tape=tape),
        )
        return Engine(services)

    client = LocalClient(made)
    try:
        yield Front(client)
    finally:
        await client.close()
        tape.close()


async def opened(front: Front, session_id: str | None = None) -> None:
    await front.client.send(Open(session_id=session_id))
    await front.until(
        lambda reply: (
            isinstance(reply, Batch)
            and not reply.replay
            and any(isinstance(event, SessionOpened) for event in reply.events)
        )
    )


async def test_what_happened_is_the_same_wherever_it_is_kept(tmp_path: Path) -> None:
    async with kept(tmp_path, FakeModel(CODE, "It is 2.", chunk=3)) as front:
        await opened(front)
        await front.turn("add")
        seen, session_id = front.transcript.blocks, front.transcript.session_id
    recording = read_recording(tmp_path / "recording")
    with closing(Store(tmp_path / "sessions.db")) as store:
        stored = store.load(session_id)
    told = [event for line in recording.lines if isinstance(line.what, Told) for event in line.what.events]
    assert (
        fold_events(stored).blocks == fold_events(told).blocks == fold_events(list(recording.events())).blocks == seen
    )
    log = find_log(tmp_path / "audit", session_id)
    assert log is not None
    entries = [decode(line) for line in log.read_bytes().splitlines()]
    blocks = [entry.record.block_id for entry in entries if entry and isinstance(entry.record, RunBegan)]
    assert blocks == [event.block_id for event in stored if isinstance(event, ExecutionStarted)]
    assert all(verdict.intact for verdict in verify_folder(tmp_path / "audit"))


async def test_the_store_merges_what_streamed_and_a_recording_has_each_piece_with_its_time(tmp_path: Path) -> None:
    async with kept(tmp_path, FakeModel("One word after the other.", chunk=2)) as front:
        await opened(front)
        await front.turn("tell me")
        session_id = front.transcript.session_id
    with closing(Store(tmp_path / "sessions.db")) as store:
        assert len([event for event in store.load(session_id) if isinstance(event, ProseGrew)]) == 1
    recording = read_recording(tmp_path / "recording")
    pieces = [line for line in recording.lines if isinstance(line.what, Told) and _grew(line.what)]
    assert len(pieces) > 5
    assert len({line.at for line in pieces}) == len(pieces)


def _grew(told: Told) -> bool:
    return any(isinstance(event, ProseGrew) for event in told.events)


async def test_a_session_that_is_gone_on_with_is_recorded_with_what_was_before(tmp_path: Path) -> None:
    async with kept(tmp_path, FakeModel(CODE, "It is 2.")) as front:
        await opened(front)
        await front.turn("add")
        session_id = front.transcript.session_id
    async with kept(tmp_path, FakeModel("Still 2."), "resumed") as front:
        await opened(front, session_id)
        await front.turn("and now?")
        seen = front.transcript.blocks
    recording = read_recording(tmp_path / "resumed")
    assert fold_events(list(recording.events())).blocks == seen
    (past,) = [told for _, told in recording.batches() if told.replay]
    assert (past.further, past.more) == (False, False)


@pytest.mark.parametrize("chosen", ["a stored one", "a new one"])
async def test_of_several_sessions_in_a_recording_the_last_is_the_one(tmp_path: Path, chosen: str) -> None:
    async with kept(tmp_path, FakeModel("First."), "other") as front:
        await opened(front)
        await front.turn("one")
        session_id = front.transcript.session_id
    async with kept(tmp_path, FakeModel("Second.", "Third.")) as front:
        await opened(front)
        await front.turn("two")
        await opened(front, session_id if chosen == "a stored one" else None)
        await front.turn("three")
        seen = front.transcript.blocks
    recording = read_recording(tmp_path / "recording")
    assert fold_events(list(recording.events())).blocks == seen
    starts = [told for _, told in recording.batches() if told.replay and not told.further]
    assert len(starts) == 1


async def test_what_comes_late_of_a_session_that_was_left_is_not_kept_in_the_next_one(tmp_path: Path) -> None:
    kernel = FakeKernel()
    async with kept(tmp_path, FakeModel(CODE, "It is 2."), kernels=FakeKernels(python=kernel)) as front:
        await opened(front)
        await front.turn("add")
        (tell_late,) = kernel.late
        await opened(front)
        await front.turn("and now?")
        session_id = front.transcript.session_id
        tell_late(stdout_output("late"))
    with closing(Store(tmp_path / "sessions.db")) as store:
        stored = store.load(session_id)
    recorded = list(read_recording(tmp_path / "recording").events())
    assert [event for event in (*stored, *recorded) if isinstance(event, OutputAdded)] == []


async def test_deleting_a_session_leaves_digests_and_no_source(tmp_path: Path) -> None:
    source = "print('a secret plan of mine')"
    async with kept(tmp_path, FakeModel(f"```python\n{source}\n```", "Done.")) as front:
        await opened(front)
        await front.turn("go")
        session_id = front.transcript.session_id
    with closing(Store(tmp_path / "sessions.db")) as store:
        assert [event.source for event in store.load(session_id) if isinstance(event, CodeFinished)] == [source]
        store.remove(session_id)
    log = find_log(tmp_path / "audit", session_id)
    assert log is not None
    records = [entry.record for line in log.read_bytes().splitlines() if (entry := decode(line))]
    decided = [record.sha256 for record in records if isinstance(record, DecisionWasMade)]
    assert decided == [record.sha256 for record in records if isinstance(record, RunBegan)]
    assert len(decided) == 1
    assert b"secret plan" not in b"".join(path.read_bytes() for path in (tmp_path / "audit").iterdir())
    assert all(verdict.intact for verdict in verify_folder(tmp_path / "audit"))


async def test_whatever_else_cannot_be_written_a_run_that_is_not_on_record_does_not_begin(tmp_path: Path) -> None:
    (tmp_path / "audit").write_text("in the way")
    async with kept(tmp_path, FakeModel(CODE)) as front:
        await opened(front)
        ended = await front.turn("add")
        assert isinstance(ended, TurnEnded)
        session_id = front.transcript.session_id
    assert ended.reason == "kernel_error"
    with closing(Store(tmp_path / "sessions.db")) as store:
        assert not any(isinstance(event, ExecutionStarted) for event in store.load(session_id))
    told = [event for event in read_recording(tmp_path / "recording").events() if isinstance(event, ExecutionStarted)]
    assert told == []


async def test_a_recording_that_cannot_go_on_is_told_of_once(tmp_path: Path) -> None:
    header = Header(format="oi-tui/recording", version=VERSION, created=0.0)
    tape = Tape(tmp_path / "recording", header, Redactor(), count().__next__)
    told: asyncio.Queue[tuple[str, ...]] = asyncio.Queue()
    log = Log(tape=tape).session()
    log.begin("one", (), note=lambda *said: told.put_nowait(said), gave_up=no_giving_up)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))  # for whoever writes, a full disk
    try:
        for event in turn("u", "x" * 10_000):
            log.append(event)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    for event in turn("v", "there is room again"):
        log.append(event)
    async with asyncio.timeout(5):
        level, title, _, _ = await told.get()
    assert (level, title.partition(":")[0]) == ("warning", "The recording ends here")
    assert await log.end() is None
    assert told.empty()
    tape.close()


async def test_without_a_session_nothing_may_run(tmp_path: Path) -> None:
    log = Log(trail=trail_in(tmp_path))
    block = CodeBlock(id="b", language="python", source="1", state="proposed")
    with pytest.raises(AuditError):
        await log.session().seal(ExecutionStarted(block_id="b", generation=1), block)
