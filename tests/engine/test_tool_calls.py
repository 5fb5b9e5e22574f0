"""Tools that call tools, and results that come when their call is over."""

import asyncio

import pytest

from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.blocks import NoticeBlock
from oi_tui.app.engine.core.events import AnyEvent, DecisionRequested, ExecutionFinished, ExecutionStarted
from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.core.values import Confinement
from oi_tui.app.engine.core.verbs import Decide
from oi_tui.app.engine.policy.decision import Policy
from oi_tui.app.engine.policy.rule_text import parse_short
from oi_tui.app.engine.testing import FakeModel
from oi_tui.app.engine.tools.later import LaterResult, Pending
from oi_tui.app.engine.tools.tool import Arguments, CallingOutput
from oi_tui.app.engine.tools.tool_runner import ToolRunner
from support.sessions import seal_telling
from support.tool_calls import answer, ask_once, call, calls, make, text_of, tool
from support.turns import play

OPEN = {"type": "object"}
SAFE = Confinement(sandboxed=True, offline=True)


async def ask_shout(arguments: Arguments, output: CallingOutput) -> str:
    return f"it said {await output.call('shout', {'text': 'hi'})}"


def outer(**about: object) -> Session:
    return make(
        FakeModel(answer(*call("{}", name="outer")), "Done."),
        tool(ask_shout, name="outer", schema=OPEN, **about),
        tool(),
        approve="ask",
    )


async def test_G10_a_tool_calls_a_tool_and_that_is_a_block_of_its_own_with_its_caller() -> None:
    session = outer(may_call=("shout",))
    sealed: list[str] = []
    session._runs._seal = seal_telling(lambda started, block: sealed.append(block.caller))
    asked = await ask_once(session, "run")
    first, second = calls(session)
    assert (text_of(first), text_of(second), second.caller) == ("it said HI", "HI", first.id)
    assert sealed == ["", first.id]
    assert [one.may_call for one in asked] == [("shout",)]
    assert second.allowance == "named in the question about tool outer"


async def test_G10_what_the_question_did_not_name_is_asked_about() -> None:
    session = outer()
    asked = await ask_once(session, "run")
    assert [(one.tool, one.asked_by) for one in asked] == [("outer", ""), ("shout", "tool outer")]
    assert [block.state for block in calls(session)] == ["ok", "ok"]


async def test_G10_a_rule_that_asks_or_denies_wins_over_the_question_that_named_the_tool() -> None:
    for verdict, questions, state in (("ask", 2, "ok"), ("deny", 1, "error")):
        session = outer(may_call=("shout",))
        session.decisions.policy = Policy(rules=tuple(parse_short(("Tool(shout)",), verdict, "a test")))  # type: ignore[arg-type]  # a literal in a loop
        asked = await ask_once(session, "run")
        assert len(asked) == questions
        assert calls(session)[0].state == state


async def test_G10_depth_and_number_are_bounded_and_what_is_not_there_is_said() -> None:
    async def deeper(arguments: Arguments, output: CallingOutput) -> str:
        return await output.call("deeper", {})

    async def many(arguments: Arguments, output: CallingOutput) -> str:
        for _ in range(30):
            await output.call("shout", {"text": "x"})
        return "never"

    async def absent(arguments: Arguments, output: CallingOutput) -> str:
        return await output.call("recall", {})

    said = []
    for run, name in ((deeper, "deeper"), (many, "many"), (absent, "absent")):
        session = make(FakeModel(answer(*call("{}", name=name)), "Done."), tool(run, name=name, schema=OPEN), tool())
        await play(session, session.run("go"))
        said.append((calls(session)[0].outputs[-1].value, len(calls(session))))  # type: ignore[union-attr]  # an error
    assert said[0] == ("Calls within calls go 3 levels deep at most.", 4)
    assert said[1] == ("This call has made 20 calls, and may make no more.", 21)
    assert said[2] == ("There is no tool named recall.", 1)


async def test_G10_an_interrupt_of_the_caller_ends_what_it_called_first() -> None:
    there = asyncio.Event()

    async def wait(arguments: Arguments, output: CallingOutput) -> None:
        there.set()
        await asyncio.Event().wait()

    model = FakeModel(answer(*call("{}", name="outer")), "Done.")
    session = make(model, tool(ask_shout, name="outer", schema=OPEN), tool(wait))
    ended: list[str] = []

    def follow(event: AnyEvent) -> None:
        if isinstance(event, ExecutionFinished):
            ended.append(event.block_id)

    session.emitter.observers = (follow,)
    async with asyncio.timeout(10):
        turn = asyncio.create_task(session.run("go"))
        await there.wait()
        session.interrupt()
        await turn
    first, second = calls(session)
    assert [first.state, second.state] == ["interrupted", "interrupted"]
    assert ended == [second.id, first.id]


async def test_G10_a_call_that_is_asked_about_when_its_caller_is_stopped_is_not_run() -> None:
    model = FakeModel(answer(*call("{}", name="outer")), "Done.")
    rules = tuple(parse_short(("Tool(shout)",), "ask", "a test"))
    session = make(model, tool(ask_shout, name="outer", schema=OPEN), tool(), policy=Policy(rules=rules))

    def stop(event: AnyEvent) -> None:
        if isinstance(event, DecisionRequested):
            asyncio.get_running_loop().call_soon(lambda: session.interrupt(turn=True))

    events = await play(session, session.run("go"), stop)
    assert len([event for event in events if isinstance(event, ExecutionStarted)]) == 1
    assert [block.state for block in calls(session)] == ["interrupted", "refused"]
    assert session.transcript.pending_decision is None


async def test_G10_the_person_refuses_what_was_called_and_the_turn_ends_after_its_caller() -> None:
    session = outer()
    verdicts = {"outer": "run", "shout": "skip"}

    def decide(event: AnyEvent) -> None:
        if isinstance(event, DecisionRequested):
            session.decide(Decide(request_id=event.request_id, verdict=verdicts[event.tool]))  # type: ignore[arg-type]  # a literal in a table

    await play(session, session.run("go"), decide)
    assert [block.state for block in calls(session)] == ["error", "refused"]
    assert session.transcript.ended == "refused"


async def test_G11_a_pending_call_lets_the_turn_go_on_and_its_result_is_read_at_the_next_step() -> None:
    kept: list[LaterResult] = []

    async def train(arguments: Arguments, output: CallingOutput) -> Pending:
        kept.append(output.finish_later())
        return Pending("The job is in the queue.")

    model = FakeModel(answer(*call("{}", name="train")), "It waits.", "It is done.")
    session = make(model, tool(train, name="train", schema=OPEN))
    await play(session, session.run("go"))
    assert model.requests[1].messages[-1].text == "pending: The job is in the queue."
    await asyncio.to_thread(kept[0].finish, "accuracy 0.9")
    await asyncio.sleep(0)
    (block,) = calls(session)
    assert text_of(block).endswith("accuracy 0.9")
    await play(session, session.run("and?"))
    told = [message.text for message in model.requests[2].messages]
    assert any("The result of the tool train that was pending has come.\naccuracy 0.9" in text for text in told)


async def test_G11_a_later_result_comes_once_is_bounded_and_may_be_a_failure() -> None:
    kept: list[LaterResult] = []

    async def train(arguments: Arguments, output: CallingOutput) -> Pending:
        kept.append(output.finish_later())
        return Pending()

    model = FakeModel(answer(*call("{}", name="train")), answer(*call('{"a": 1}', name="train")), "Done.")
    session = make(model, tool(train, name="train", schema=OPEN))
    await play(session, session.run("go"))
    kept[0].fail("The machine is gone.")
    with pytest.raises(ValueError, match="one result"):
        kept[0].finish("x")
    with pytest.raises(TypeError):
        kept[1].finish(3)  # type: ignore[arg-type]  # a tool's mistake
    kept[1].finish(RichOutput(data={"text/plain": "x" * 3_000_000}))
    notices = [block for block in session.transcript.blocks if isinstance(block, NoticeBlock)]
    assert [one.level for one in notices] == ["warning", "info"]
    assert len(notices[1].to_model) < 21_000
    assert "more characters are left out" in text_of(calls(session)[1])


async def test_a_call_from_where_nothing_can_be_called_fails() -> None:
    said: list[AnyEvent] = []
    runner = ToolRunner(tool(ask_shout, schema=OPEN))
    assert (await runner.run("{}", "b", said.append)).status == "error"
