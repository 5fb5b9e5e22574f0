"""One engine, several sessions one after the other: opening another leaves the first in order."""

from pathlib import Path

from oi_tui.app.engine.core.blocks import NoticeBlock
from oi_tui.app.engine.core.events import ConversationCleared, ExecutionStarted, NoticeAdded, SessionOpened, TurnEnded
from oi_tui.app.engine.core.protocol import Batch, Failed
from oi_tui.app.engine.core.verbs import Clear, Open, Run, Submit, UseModel
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.session.kernel_switch import FRESH
from oi_tui.app.engine.testing import FakeKernel, FakeKernels, FakeModel, FakeModels
from oi_tui.app.engine.transcript.transcript import Transcript
from support.front import Front, engine

CODE = "```python\n1+1\n```"


async def open_other(front: Front, session_id: str | None = None) -> str:
    """Ask for another session and wait until it is open; returns its id."""
    await front.client.send(Open(session_id=session_id))
    await front.until_event(SessionOpened)
    return front.transcript.session_id


async def test_another_session_starts_with_an_empty_transcript_and_the_same_model(tmp_path: Path) -> None:
    models = FakeModels(FakeModel("One.", "Two."))
    async with engine(tmp_path, models.model, models=models) as front:
        await front.client.send(Open())
        await front.turn("first")
        await front.client.send(UseModel(name="fake/other", api_base="http://127.0.0.1:1"))
        first = front.transcript.session_id
        second = await open_other(front)
        assert second != first
        assert isinstance(front.replies[-1], Batch)
        assert any(isinstance(reply, Batch) and reply.replay and not reply.events for reply in front.replies)
        assert front.transcript.blocks == []
        await front.turn("second")
        assert (front.transcript.model, front.transcript.api_base) == ("fake/other", "http://127.0.0.1:1")
    store = Store(tmp_path / "sessions.db")
    assert {record.title for record in store.sessions()} == {"first", "second"}
    store.close()


async def test_going_back_gives_the_first_session_again_and_says_that_its_kernels_are_fresh(tmp_path: Path) -> None:
    kernels = FakeKernels()
    async with engine(tmp_path, FakeModel(CODE, "2"), kernels=kernels) as front:
        await front.client.send(Open())
        await front.turn("add")
        first, blocks = front.transcript.session_id, front.transcript.blocks
        await open_other(front)
        assert kernels.get("python").state == "dead"
        await front.client.send(Open(session_id=first))
        await front.until(lambda reply: bool(front.transcript.blocks) and front.transcript.blocks[:-1] == blocks)
        notice = front.transcript.blocks[-1]
        assert isinstance(notice, NoticeBlock)
        assert "kernels are fresh" in notice.title


async def test_what_runs_is_broken_off_and_written_down_before_another_session_opens(tmp_path: Path) -> None:
    kernel = FakeKernel()
    kernel.blocked = True
    async with engine(tmp_path, FakeModel(CODE), kernels=FakeKernels(python=kernel)) as front:
        await front.client.send(Open())
        await front.client.send(Submit(text="run for ever"))
        await front.until_event(ExecutionStarted)
        first = front.transcript.session_id
        await open_other(front)
    store = Store(tmp_path / "sessions.db")
    stored = Transcript()
    for event in (events := store.load(first)):
        stored.apply(event)
    store.close()
    assert TurnEnded(reason="interrupted", detail="Another session was opened.") in events
    assert not stored.turn_open


async def test_a_session_that_cannot_be_read_leaves_the_open_one_as_it_is(tmp_path: Path) -> None:
    async with engine(tmp_path, FakeModel("One.", "Two.")) as front:
        await front.client.send(Open())
        await front.turn("first")
        before = front.transcript.session_id
        await front.client.send(Open(session_id="nowhere"))
        await front.turn("still here?")
        assert front.transcript.session_id == before
        (failed,) = [reply for reply in front.replies if isinstance(reply, Failed)]
        assert (failed.title, failed.fatal) == ("There is no session nowhere.", False)


async def test_code_after_the_switch_runs_in_a_kernel_of_its_own(tmp_path: Path) -> None:
    kernel = FakeKernel()
    async with engine(tmp_path, FakeModel(), kernels=FakeKernels(python=kernel)) as front:
        await front.client.send(Open())
        await front.client.send(Run(language="python", source="x = 1"))
        started = await front.until_event(ExecutionStarted)
        assert isinstance(started, ExecutionStarted)
        await open_other(front)
        await front.client.send(Run(language="python", source="x"))
        started = await front.until_event(ExecutionStarted)
        assert isinstance(started, ExecutionStarted)
        assert started.generation == 1
        assert kernel.ran == ["x = 1"]


async def test_a_session_in_which_nothing_happened_leaves_nothing_behind(tmp_path: Path) -> None:
    async with engine(tmp_path, FakeModel("One.")) as front:
        await front.client.send(Open())
        await front.until_event(SessionOpened)
        second = await open_other(front)
        await front.turn("hello")
        await open_other(front)
    store = Store(tmp_path / "sessions.db")
    assert [record.id for record in store.sessions()] == [second]
    store.close()


async def test_a_session_that_was_cleared_is_kept(tmp_path: Path) -> None:
    async with engine(tmp_path, FakeModel("One.")) as front:
        await front.client.send(Open())
        await front.turn("hello")
        await front.client.send(Clear())
        await front.until_event(ConversationCleared)
        first = front.transcript.session_id
    store = Store(tmp_path / "sessions.db")
    assert [record.id for record in store.sessions()] == [first]
    store.close()


async def test_a_session_in_which_nothing_happened_is_begun_anew_where_it_was_not_kept(tmp_path: Path) -> None:
    async with engine(tmp_path, FakeModel("One.")) as front:
        await front.client.send(Open())
        await front.until_event(SessionOpened)
        empty = front.transcript.session_id
    async with engine(tmp_path, FakeModel("One.")) as front:
        await front.client.send(Open(session_id=empty, anew=True))
        await front.until_event(SessionOpened)
        assert front.transcript.session_id not in ("", empty)
        await front.turn("first")
        kept = front.transcript.session_id
    async with engine(tmp_path, FakeModel("Two.")) as front:
        await front.client.send(Open(session_id=kept, anew=True))
        await front.until_event(SessionOpened)
        assert front.transcript.session_id == kept


async def test_that_kernels_are_fresh_is_not_said_twice_in_a_row(tmp_path: Path) -> None:
    async with engine(tmp_path, FakeModel(CODE, "Done."), approve="auto") as front:
        await front.client.send(Open())
        await front.turn("run it")
        session_id = front.transcript.session_id
    for time in range(3):
        async with engine(tmp_path, FakeModel("Two.")) as front:
            await front.client.send(Open(session_id=session_id))
            await front.until_event(NoticeAdded if time == 0 else SessionOpened)
    said = [block.title for block in front.transcript.blocks if isinstance(block, NoticeBlock)]
    assert said == [FRESH]
