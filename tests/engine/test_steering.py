"""What the user says while a turn runs: the model reads it at the next step; a pause ends the turn after a step."""

import asyncio
from collections.abc import Sequence

from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.blocks import CodeBlock, UserBlock
from oi_tui.app.engine.core.chat_model import ChatMessage, ToolDelta
from oi_tui.app.engine.core.events import AnyEvent, ExecutionStarted, SettingsChanged, TurnEnded, TurnStarted
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.outputs import StreamOutput
from oi_tui.app.engine.core.protocol import PromptsQueued
from oi_tui.app.engine.core.settings import LoopSection
from oi_tui.app.engine.core.verbs import Retry, Run, Submit
from oi_tui.app.engine.session.job_queue import JobQueue
from oi_tui.app.engine.testing import FakeKernel, FakeKernels, FakeModel, ScriptedAnswer
from support.turns import end_of, play

ADD = "```python\n1+1\n```"
NATIVE: ScriptedAnswer = [
    ToolDelta(index=0, id="c1", name="execute", arguments='{"language": "python", "code": "1+1"}')
]


class Said:
    """What was said and not read yet."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)

    async def take(self) -> Sequence[TurnStarted]:
        texts, self.texts = self.texts, []
        return [TurnStarted(block_id=new_id(), text=text) for text in texts]


def make(model: FakeModel, said: Said, *, complete: bool = False) -> Session:
    settings = LoopSection(approve="auto", complete=complete)
    return Session(kernels=FakeKernels(python=FakeKernel()), settings=settings, model=model, steers=said.take)


def roles(messages: Sequence[ChatMessage]) -> list[str]:
    return [message.role for message in messages]


async def test_L29_what_is_said_while_code_runs_is_read_with_its_output() -> None:
    model, said = FakeModel(ADD, "Fine."), Said()
    session = make(model, said)

    def say(event: AnyEvent) -> None:
        if isinstance(event, ExecutionStarted):
            said.texts.append("in hexadecimal, please")

    events = await play(session, session.run("add"), say)
    assert end_of(events).reason == "done"
    assert roles(model.requests[1].messages) == ["system", "user", "assistant", "user"]
    assert model.requests[1].messages[-1].text.endswith("in hexadecimal, please")
    kinds = [type(block) for block in session.transcript.blocks]
    assert kinds.index(CodeBlock) < len(kinds) - 1 - kinds[::-1].index(UserBlock)


async def test_L29_after_native_calls_it_comes_behind_their_results() -> None:
    model, said = FakeModel(NATIVE, "Fine."), Said()
    session = make(model, said)

    def say(event: AnyEvent) -> None:
        if isinstance(event, ExecutionStarted):
            said.texts.append("and now?")

    await play(session, session.run("add"), say)
    assert roles(model.requests[1].messages) == ["system", "user", "assistant", "tool", "user"]


async def test_L29_an_answer_that_would_have_ended_the_turn_is_followed_by_what_was_said_meanwhile() -> None:
    model, said = FakeModel("It is 2.", "It is 0x2."), Said()
    session = make(model, said)
    said.texts.append("in hexadecimal")
    events = await play(session, session.run("add"))
    assert [event.text for event in events if isinstance(event, TurnStarted)] == ["add", "in hexadecimal"]
    assert [event for event in events if isinstance(event, TurnEnded)] == [TurnEnded(reason="done")]
    assert model.requests[1].messages[-1].text == "in hexadecimal"


async def test_L29_a_queue_gives_steers_away_and_keeps_the_others() -> None:
    told: list[PromptsQueued] = []
    queue = JobQueue(told.append)
    queue.add(Submit(text="first"))
    await queue.next_job()
    queue.add(Submit(text="later"))
    queue.add(Run(language="python", source="1"))
    queue.add(Submit(text="now", steer=True))
    assert told[-1] == PromptsQueued(prompts=("later", "now"), steers=(False, True))
    assert [job.text for job in queue.take_steers()] == ["now"]
    assert told[-1] == PromptsQueued(prompts=("later",))
    assert queue.take_steers() == []
    queue.add(Submit(text="too late", steer=True))
    assert [await queue.next_job() for _ in range(3)] == [
        Submit(text="later"),
        Run(language="python", source="1"),
        Submit(text="too late", steer=True),
    ], "it begins a turn of its own"


async def test_L30_a_pause_ends_the_turn_after_the_step_and_it_can_be_continued() -> None:
    model = FakeModel(ADD, "Fine.")
    session = make(model, Said())
    events = await play(
        session,
        session.run("add"),
        lambda event: session.steering.pause() if isinstance(event, ExecutionStarted) else None,
    )
    assert end_of(events).reason == "paused"
    (code,) = (block for block in session.transcript.blocks if isinstance(block, CodeBlock))
    assert (code.state, code.outputs) == ("ok", (StreamOutput(name="stdout", text="1+1"),))
    events = await play(session, session.go_on())
    assert end_of(events).reason == "done"
    assert len(model.requests) == 2
    session.steering.pause()
    assert session.transcript.ended == "done", "nothing runs that could pause"


async def test_L30_a_steer_that_comes_with_a_pause_is_kept() -> None:
    said = Said()
    session = make(FakeModel(ADD, "Fine."), said)

    def pause(event: AnyEvent) -> None:
        if isinstance(event, ExecutionStarted):
            said.texts.append("wait")
            session.steering.pause()

    await play(session, session.run("add"), pause)
    assert said.texts == ["wait"]


async def test_L13_insisting_is_switched_on_and_off_while_a_session_goes_on() -> None:
    model = FakeModel("Hm.", "The task is done.", "Hm.")
    session = make(model, Said())
    session.choices.set_complete(True)
    async with asyncio.timeout(10):
        await session.run("go")
        assert len(model.requests) == 2
        session.choices.set_complete(False)
        await session.run("go")
    assert len(model.requests) == 3
    assert not session.transcript.complete
    assert SettingsChanged(model="", approval="ask").complete is False


async def test_L30_while_a_turn_pauses_prompts_wait_until_it_is_continued() -> None:
    told: list[PromptsQueued] = []
    queue = JobQueue(told.append)
    for text in ("first", "later"):
        queue.add(Submit(text=text))
    await queue.next_job()
    queue.hold(True)
    waiting = asyncio.create_task(queue.next_job())
    await asyncio.sleep(0)
    assert (told[-1], queue.is_busy) == (PromptsQueued(prompts=("later",)), False)
    queue.add(Retry())
    assert await waiting == Retry()
    assert await queue.next_job() == Submit(text="later")
    queue.add(Submit(text="again"))
    queue.hold(True)
    queue.add(Submit(text="instead"))
    assert [await queue.next_job(), await queue.next_job()] == [Submit(text="instead"), Submit(text="again")]
