"""A fork: another session that begins as this one did. The old branch is kept, whatever happens to the new one."""

from pathlib import Path

from oi_tui.app.engine.blocks import Block, CodeBlock, NoticeBlock, ProseBlock, UserBlock
from oi_tui.app.engine.events import ExecutionStarted, SessionOpened, TurnEnded
from oi_tui.app.engine.protocol import Batch, Failed
from oi_tui.app.engine.store import Store
from oi_tui.app.engine.testing import FakeKernel, FakeKernels, FakeModel
from oi_tui.app.engine.verbs import Fork, Open, Place, Retry, Submit, UseModel
from support.front import Front, engine

CODE = "```python\n1+1\n```"


def said(front: Front) -> list[Block]:
    """What was said and run, without the program's own notices."""
    return [block for block in front.transcript.blocks if not isinstance(block, NoticeBlock)]


def prompts(front: Front) -> list[UserBlock]:
    return [block for block in front.transcript.blocks if isinstance(block, UserBlock)]


async def fork(front: Front, block_id: str, place: Place = "after") -> str:
    """Fork and wait until the new session is open; returns its id."""
    old = front.transcript.session_id
    await front.client.send(Fork(block_id=block_id, place=place))
    await front.until(
        lambda reply: (
            isinstance(reply, Batch)
            and any(isinstance(event, SessionOpened) and event.session_id != old for event in reply.events)
        )
    )
    return front.transcript.session_id


async def test_before_a_prompt_everything_above_it_is_there_and_the_old_branch_keeps_all(tmp_path: Path) -> None:
    async with engine(tmp_path, FakeModel("One.", "Two.", "Another two.")) as front:
        await front.client.send(Open())
        await front.turn("first")
        await front.turn("second")
        old, whole = front.transcript.session_id, said(front)
        new = await fork(front, prompts(front)[1].id, "before")
        assert said(front) == whole[:2]
        await front.turn("second, put otherwise")
        assert [block.text for block in prompts(front)] == ["first", "second, put otherwise"]
        await front.client.send(Open(session_id=old))
        await front.until(lambda _: said(front) == whole)
    store = Store(tmp_path / "sessions.db")
    assert store.record(new).parent_id == old
    store.close()


async def test_the_model_is_told_the_new_branch_and_nothing_of_the_old(tmp_path: Path) -> None:
    model = FakeModel("One.", "Two.", "Three.")
    async with engine(tmp_path, model) as front:
        await front.client.send(Open())
        await front.turn("first")
        await front.turn("a mistake")
        await fork(front, prompts(front)[1].id, "before")
        await front.turn("better")
    texts = [message.text for message in model.requests[-1].messages]
    assert texts[1:] == ["first", "One.", "better"]


async def test_retrying_an_answer_is_a_fork_behind_its_prompt(tmp_path: Path) -> None:
    model = FakeModel("Bad.", "Good.")
    async with engine(tmp_path, model) as front:
        await front.client.send(Open())
        await front.turn("say something")
        await fork(front, prompts(front)[0].id, "after")
        await front.client.send(Retry())
        await front.until_event(TurnEnded)
        assert [block.text for block in said(front) if isinstance(block, ProseBlock)] == ["Good."]


async def test_the_kernels_and_the_model_go_on_and_a_notice_says_so(tmp_path: Path) -> None:
    kernels = FakeKernels()
    async with engine(tmp_path, FakeModel(CODE, "2."), kernels=kernels) as front:
        await front.client.send(Open())
        await front.client.send(UseModel(name="fake/other"))
        await front.turn("add")
        code = next(block for block in front.transcript.blocks if isinstance(block, CodeBlock))
        await fork(front, code.id, "after")
        assert kernels.started()[0].generation == 1
        assert front.transcript.model == "fake/other"
        notice = front.transcript.blocks[-1]
        assert isinstance(notice, NoticeBlock)
        assert "the kernels still hold what later code did" in notice.title
        assert code in front.transcript.blocks


async def test_grants_are_not_taken_along(tmp_path: Path) -> None:
    model = FakeModel(CODE, "2.", CODE, "2.")
    async with engine(tmp_path, model, approve="ask") as front:
        await front.client.send(Open())
        await front.client.send(Submit(text="add"))
        await front.decide("always")
        await front.until_event(TurnEnded)
        await fork(front, said(front)[-1].id, "after")
        await front.client.send(Submit(text="add again"))
        await front.decide("skip")


async def test_a_fork_of_a_fork_shares_what_both_shared(tmp_path: Path) -> None:
    async with engine(tmp_path, FakeModel("One.", "Two.", "Three.")) as front:
        await front.client.send(Open())
        await front.turn("first")
        await front.turn("second")
        second = await fork(front, prompts(front)[1].id, "before")
        await front.turn("third")
        await fork(front, prompts(front)[0].id, "after")
        assert [block.text for block in prompts(front)] == ["first"]
        await front.client.send(Open(session_id=second))
        await front.until(lambda _: [block.text for block in prompts(front)] == ["first", "third"])


async def test_what_runs_is_broken_off_and_the_fork_is_at_rest(tmp_path: Path) -> None:
    kernel = FakeKernel()
    kernel.blocked = True
    async with engine(tmp_path, FakeModel(CODE), kernels=FakeKernels(python=kernel)) as front:
        await front.client.send(Open())
        await front.client.send(Submit(text="run for ever"))
        await front.until_event(ExecutionStarted)
        await fork(front, prompts(front)[0].id, "after")
        assert not front.transcript.turn_open
        assert [type(block) for block in said(front)] == [UserBlock]


async def test_a_block_that_is_not_there_leaves_the_session_as_it_was(tmp_path: Path) -> None:
    async with engine(tmp_path, FakeModel("One.", "Two.")) as front:
        await front.client.send(Open())
        await front.turn("first")
        before = front.transcript.session_id
        await front.client.send(Fork(block_id="nowhere"))
        failed = await front.until(lambda reply: isinstance(reply, Failed))
        assert isinstance(failed, Failed)
        assert "no such block" in failed.title
        await front.turn("go on")
        assert front.transcript.session_id == before
        assert [block.text for block in prompts(front)] == ["first", "go on"]
