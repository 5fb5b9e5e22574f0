"""An opening or a fork that fails: in the session that was open, or at an end that is said; never a dead prompt."""

import sqlite3
from contextlib import closing
from pathlib import Path

from oi_tui.app.engine.core.events import Emit, ExecutionStarted, TurnEnded
from oi_tui.app.engine.core.protocol import Failed
from oi_tui.app.engine.core.verbs import Fork, Open, Submit
from oi_tui.app.engine.kernels.base import Kernel, RunResult
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.testing import FakeKernel, FakeKernels, FakeModel
from support.front import Front, engine

CODE = "Run.\n```python\nx\n```\n"


class LockingKernel(FakeKernel):
    """Another program takes the database when the run ends."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.blocked = True
        self.other = sqlite3.connect(path)

    async def run(self, source: str, block_id: str, emit: Emit) -> RunResult:
        try:
            return await super().run(source, block_id, emit)
        finally:
            self.other.execute("BEGIN IMMEDIATE")


class FailingKernels(FakeKernels):
    """Has a defect."""

    def started_kernels(self) -> tuple[Kernel, ...]:
        raise RuntimeError("a defect")


async def last_failure(front: Front) -> Failed:
    """The one that is the end."""
    failed = await front.until(lambda reply: isinstance(reply, Failed) and reply.fatal)
    assert isinstance(failed, Failed)
    return failed


async def test_a_fork_that_fails_twice_is_the_end_and_the_session_can_be_opened_again(tmp_path: Path) -> None:
    kernel = LockingKernel(tmp_path / "sessions.db")
    with closing(kernel.other):
        async with engine(tmp_path, FakeModel(CODE), kernels=FakeKernels(python=kernel)) as front:
            await front.client.send(Open())
            await front.client.send(Submit(text="run"))
            await front.until_event(ExecutionStarted)
            session_id = front.transcript.session_id
            await front.client.send(Fork(block_id=front.transcript.blocks[0].id))
            failed = await last_failure(front)
            assert "locked" in failed.title
            kernel.other.rollback()
        async with engine(tmp_path, FakeModel("Two.")) as front:
            await front.client.send(Open(session_id=session_id))
            ended = await front.turn("go on")
            assert isinstance(ended, TurnEnded)
            assert ended.reason == "done"


async def test_a_fork_is_refused_before_anything_is_left_where_nothing_can_be_written(tmp_path: Path) -> None:
    kernel = FakeKernel()
    kernel.blocked = True
    with closing(sqlite3.connect(tmp_path / "sessions.db")) as other:
        async with engine(tmp_path, FakeModel(CODE), kernels=FakeKernels(python=kernel)) as front:
            await front.client.send(Open())
            await front.client.send(Submit(text="run"))
            await front.until_event(ExecutionStarted)
            other.execute("BEGIN IMMEDIATE")
            await front.client.send(Submit(text="next"))  # something that is not written yet
            await front.client.send(Fork(block_id=front.transcript.blocks[0].id))
            failed = await front.until(lambda reply: isinstance(reply, Failed))
            assert isinstance(failed, Failed)
            other.rollback()
            assert not failed.fatal
            assert kernel.state == "busy"  # it runs, still


async def test_a_defect_while_another_session_is_opened_is_the_end_and_said_in_plain_words(tmp_path: Path) -> None:
    kernels = iter((FakeKernels(), FailingKernels()))
    async with engine(tmp_path, FakeModel("One."), kernels=lambda ties: next(kernels)) as front:
        await front.client.send(Open())
        await front.turn("first")
        await front.client.send(Open())
        failed = await last_failure(front)
        assert (failed.title, failed.exit_code) == ("The session could not be opened.", 5)
        assert "a defect" in failed.details
    with closing(Store(tmp_path / "sessions.db")) as store:
        assert "first" in [record.title for record in store.sessions()]
