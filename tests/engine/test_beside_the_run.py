"""What happens beside a run: output after its end, a kernel that does not respond, how the code was stopped."""

import asyncio
from pathlib import Path

import pytest

from oi_tui.app.engine.agent.emitter import Observer
from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.blocks import CodeBlock, NoticeBlock
from oi_tui.app.engine.core.endings import Ending
from oi_tui.app.engine.core.events import (
    AnyEvent,
    DecisionRequested,
    ExecutionFinished,
    InputRequested,
    NoticeAdded,
    OutputAdded,
    SessionOpened,
)
from oi_tui.app.engine.core.outputs import StreamOutput
from oi_tui.app.engine.core.settings import LoopSection
from oi_tui.app.engine.core.verbs import Decide, Open, Run
from oi_tui.app.engine.kernels.base import InterruptMeans, RunResult
from oi_tui.app.engine.testing import FakeKernel, FakeKernels, FakeModel, Script, asks, stdout_output
from support.front import engine
from support.kinds import narrow
from support.recording_observer import RecordingObserver
from support.turns import play

LATE = StreamOutput(name="stdout", text="late\n")


def make(kernel: FakeKernel, told: Observer | None = None, *, can_ask: bool = True, time_limit: float = 0.0) -> Session:
    """A session without a model, which is not needed for the person's own code."""
    observers, settings = () if told is None else (told,), LoopSection()
    kernels = FakeKernels(python=kernel)
    return Session(
        kernels=kernels, settings=settings, model=None, can_ask=can_ask, observers=observers, time_limit=time_limit
    )


async def ran(session: Session, source: str) -> None:
    """The person's own code, run within bounded time."""
    async with asyncio.timeout(10):
        await session.run_code("python", source)


def code(session: Session) -> CodeBlock:
    """The only one there is."""
    (block,) = (block for block in session.transcript.blocks if isinstance(block, CodeBlock))
    return block


async def test_k18_late_output_is_added_to_its_block_and_told() -> None:
    kernel, told = FakeKernel(), RecordingObserver()
    session = make(kernel, told)
    await ran(session, "1")
    told.events.clear()
    (late,) = kernel.late
    late(stdout_output("late\n"))
    assert told.events == [OutputAdded(block_id=code(session).id, output=LATE)]
    assert code(session).state == "ok"
    assert code(session).outputs == (StreamOutput(name="stdout", text="1late\n"),)


async def test_k18_late_output_of_a_block_that_is_gone_is_dropped() -> None:
    kernel, told = FakeKernel(), RecordingObserver()
    session = make(kernel, told)
    await ran(session, "1")
    told.events.clear()
    session.forget()
    told.events.clear()
    (late,) = kernel.late
    late(stdout_output("late\n"))
    assert told.events == []


async def test_k18_late_output_reaches_the_front_end_and_is_there_when_the_session_is_opened_again(
    tmp_path: Path,
) -> None:
    kernel = FakeKernel()
    async with engine(tmp_path, FakeModel([]), kernels=FakeKernels(python=kernel)) as front:
        await front.client.send(Open())
        await front.until_event(SessionOpened)
        session_id = front.transcript.session_id
        await front.client.send(Run(language="python", source="first"))
        await front.until_event(ExecutionFinished)
        await front.client.send(Run(language="python", source="second"))
        await front.until_event(ExecutionFinished)
        late = kernel.late[0]
        late(stdout_output("late\n"))
        await front.until_event(OutputAdded)
        blocks = front.transcript.blocks
    async with engine(tmp_path, FakeModel([])) as front:
        await front.client.send(Open(session_id=session_id))
        await front.until_event(SessionOpened)
        assert front.transcript.blocks[: len(blocks)] == blocks
    texts = [block.outputs for block in blocks if isinstance(block, CodeBlock)]
    assert texts == [
        (StreamOutput(name="stdout", text="firstlate\n"),),
        (StreamOutput(name="stdout", text="second"),),
    ]


async def test_k23_a_kernel_that_does_not_respond_is_told_with_what_can_be_done() -> None:
    script: Script = {
        "1": [
            NoticeAdded(block_id="", level="warning", title="It is stuck."),
            NoticeAdded(block_id="", level="info", title="Again."),
            RunResult(status="ok"),
        ]
    }
    session = make(FakeKernel(script))
    await ran(session, "1")
    warning, info = (block for block in session.transcript.blocks if isinstance(block, NoticeBlock))
    assert (warning.level, warning.title) == ("warning", "It is stuck.")
    assert "second interrupt" in warning.hint
    assert (info.level, info.title, info.hint) == ("info", "Again.", "")
    assert code(session).state == "ok"


async def test_k23_a_kernel_that_does_not_respond_is_interrupted_where_nobody_can_be_asked() -> None:
    kernel = FakeKernel(
        {"1": [NoticeAdded(block_id="", level="warning", title="It is stuck."), RunResult(status="ok")]}
    )
    kernel.blocked = kernel.stubborn = True
    session = make(kernel, can_ask=False)
    await ran(session, "1")
    assert code(session).state == "interrupted"
    titles = [block.title for block in session.transcript.blocks if isinstance(block, NoticeBlock)]
    assert titles == ["It is stuck.", "The python kernel ignored the interrupt and was restarted."]


async def test_R17_a_run_on_a_server_waits_for_its_connection_where_nobody_can_be_asked() -> None:
    kernel = FakeKernel(
        {"1": [NoticeAdded(block_id="", level="warning", title="No connection."), RunResult(status="ok")]}
    )
    kernel.elsewhere = True
    session = make(kernel, can_ask=False)
    await ran(session, "1")
    assert code(session).state == "ok"
    (notice,) = (block for block in session.transcript.blocks if isinstance(block, NoticeBlock))
    assert (notice.title, "waits" in notice.hint) == ("No connection.", True)


async def test_R14_at_its_time_limit_code_is_stopped_and_its_kernel_kept_for_the_person_who_is_there() -> None:
    kernel = FakeKernel()
    kernel.blocked = True
    session = make(kernel, time_limit=0.01)
    await ran(session, "1")
    assert code(session).state == "interrupted"
    assert code(session).ending == Ending(stage="running", cause="limit")
    kernel.stubborn = True
    told = RecordingObserver()
    session = make(kernel, told, time_limit=0.01)
    running = asyncio.create_task(ran(session, "2"))
    notice = await told.until(lambda event: isinstance(event, NoticeAdded))
    assert "still runs" in narrow(notice, NoticeAdded).title
    session.interrupt(turn=True)
    await running


async def test_R14_one_run_can_be_given_another_time_limit_with_the_yes() -> None:
    kernel = FakeKernel()
    kernel.blocked = True
    model = FakeModel("```python\n1\n```", "I see.")
    session = Session(kernels=FakeKernels(python=kernel), settings=LoopSection(), model=model, time_limit=3_600.0)

    def approve(event: AnyEvent) -> None:
        if isinstance(event, DecisionRequested):
            session.decide(Decide(request_id=event.request_id, verdict="run", time_limit=0.01))

    await play(session, session.run("go"), approve)
    assert code(session).ending == Ending(stage="running", cause="limit")
    assert "[cut off: it reached its time limit]" in model.requests[1].messages[-1].text


async def test_R14_while_code_waits_for_the_person_its_time_does_not_run_out() -> None:
    told = RecordingObserver()
    kernel, other = FakeKernel({"input()": [asks("? "), RunResult(status="ok")]}), FakeKernel()
    session = make(kernel, told, time_limit=0.01)
    running = asyncio.create_task(ran(session, "input()"))
    asked = narrow(await told.until(lambda event: isinstance(event, InputRequested)), InputRequested)
    other.blocked = True
    await ran(make(other, time_limit=0.03), "1")  # so that three times its limit have passed
    assert code(session).state == "running"
    await session.answer(asked.request_id, "yes")
    await running
    assert code(session).state == "ok"


async def test_k16_code_that_asks_where_nobody_can_answer_is_interrupted_and_told() -> None:
    kernel = FakeKernel({"input()": [asks("? "), RunResult(status="ok")]})
    kernel.stubborn = True
    session = make(kernel, can_ask=False)
    await ran(session, "input()")
    assert code(session).state == "interrupted"
    assert kernel.answers == []
    titles = [block.title for block in session.transcript.blocks if isinstance(block, NoticeBlock)]
    assert "nobody to answer" in titles[0]
    assert "restarted" in titles[1]


@pytest.mark.parametrize(
    ("means", "words"),
    [
        ("signal", ""),
        ("second_signal", "second SIGINT"),
        ("request", "control channel"),
        ("kill", "SIGKILL"),
        ("restart", "restarted"),
    ],
)
async def test_r1_the_screen_says_what_stopped_the_code_unless_it_was_the_first_signal(
    means: InterruptMeans, words: str
) -> None:
    kernel = FakeKernel()
    kernel.blocked, kernel.stops_by = True, means
    session = make(kernel, lambda event: session.interrupt(turn=True) if isinstance(event, OutputAdded) else None)
    await ran(session, "1")
    assert code(session).state == "interrupted"
    titles = [block.title for block in session.transcript.blocks if isinstance(block, NoticeBlock)]
    assert len(titles) == bool(words)
    assert all(words in title for title in titles)


async def test_k20_code_that_goes_on_after_an_interrupt_is_told_while_it_does() -> None:
    kernel = FakeKernel()
    kernel.blocked = kernel.stubborn = True
    told = RecordingObserver()
    session = make(kernel, told)
    running = asyncio.create_task(ran(session, "1"))
    async with asyncio.timeout(10):
        while kernel.state != "busy":  # noqa: ASYNC110 - a state sets no event
            await asyncio.sleep(0)
        session.interrupt()
        notice = await told.until(lambda event: isinstance(event, NoticeAdded))
        assert isinstance(notice, NoticeAdded)
        assert "still runs" in notice.title
        assert "second interrupt" in notice.hint
        assert code(session).state == "running"
        session.interrupt(turn=True)
        await running
    assert code(session).state == "interrupted"
