"""Calls of one answer that only read: decided about in turn, run side by side, told one after the other."""

import asyncio
import io
from collections.abc import Iterator

from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.blocks import CallBlock, CodeBlock
from oi_tui.app.engine.core.chat_model import ToolDelta
from oi_tui.app.engine.core.events import (
    AnyEvent,
    DecisionMade,
    DecisionRequested,
    ExecutionFinished,
    ExecutionStarted,
    InputRequested,
    OutputAdded,
    TurnEnded,
)
from oi_tui.app.engine.core.outcomes import Verdict
from oi_tui.app.engine.core.outputs import StreamOutput
from oi_tui.app.engine.core.values import Confinement
from oi_tui.app.engine.core.verbs import Decide
from oi_tui.app.engine.formats.lmc import LmcWriter
from oi_tui.app.engine.testing import FakeModel
from oi_tui.app.engine.tools.tool import Arguments, Capabilities, ToolFailed, ToolOutput
from oi_tui.app.engine.transcript.event_log import fold_events
from oi_tui.app.engine.transcript.serial_runs import SerialRuns
from oi_tui.app.headless.text_log import TextLog
from support.sessions import seal_telling
from support.tool_calls import answer, call, calls, make, text_of, tool
from support.turns import play

SAFE = Confinement(sandboxed=True, offline=True)
WRITES = Capabilities(destroys=False, network=False)
TWO = [*call('{"text": "a"}'), *call('{"text": "b"}', index=1)]


class Meeting:
    """A tool whose calls wait until so many are there."""

    def __init__(self, size: int) -> None:
        self._size, self._there, self._all = size, 0, asyncio.Event()

    async def run(self, arguments: Arguments, output: ToolOutput) -> str:
        self._there += 1
        output.print(f"{arguments['text']} is here\n")
        if self._there == self._size:
            self._all.set()
        async with asyncio.timeout(10):
            await self._all.wait()
        output.print(f"{arguments['text']} goes\n")
        return str(arguments["text"])


async def test_G5_calls_that_only_read_run_side_by_side_and_each_is_sealed_before_it_runs() -> None:
    model = FakeModel(answer(*TWO), "Done.")
    session, order = make(model, tool(Meeting(2).run)), list[str]()
    session._runs._seal = seal_telling(lambda started, block: order.append(block.source))
    events = await play(session, session.run("go"))
    assert [block.state for block in calls(session)] == ["ok", "ok"]
    assert order == [block.source for block in calls(session)]
    kinds = [type(event) for event in events if isinstance(event, DecisionMade | ExecutionStarted | ExecutionFinished)]
    assert kinds == [DecisionMade] * 2 + [ExecutionStarted] * 2 + [ExecutionFinished] * 2
    results = [message.text for message in model.requests[1].messages if message.role == "tool"]
    assert [text.split("\n")[0] for text in results] == ["a is here", "b is here"]


async def test_G5_code_and_calls_that_write_keep_their_order() -> None:
    running, most = list[str](), 0

    async def note(arguments: Arguments, output: ToolOutput) -> str:
        nonlocal most
        running.append(str(arguments["text"]))
        most = max(most, len(running))
        await asyncio.sleep(0)
        running.pop()
        return "ok"

    writing = tool(note, capabilities=WRITES, confinement=SAFE)
    code = [ToolDelta(index=2, id="call-2", name="execute", arguments='{"language": "python", "code": "1"}')]
    session = make(FakeModel(answer(*TWO, *code, *call('{"text": "c"}', index=3)), "Done."), writing)
    events = await play(session, session.run("go"))
    order = [event.block_id for event in events if isinstance(event, ExecutionStarted)]
    assert most == 1
    assert order == [block.id for block in session.transcript.blocks if isinstance(block, CallBlock | CodeBlock)]


async def test_G5_all_are_asked_about_before_one_runs_and_a_refusal_that_ends_the_turn_lets_none_run() -> None:
    session = make(FakeModel(answer(*TWO), "Done."), approve="ask")
    answers: Iterator[Verdict] = iter(("run", "stop"))

    def decide(event: AnyEvent) -> None:
        if isinstance(event, DecisionRequested):
            session.decide(Decide(request_id=event.request_id, verdict=next(answers)))

    events = await play(session, session.run("go"), decide)
    assert not any(isinstance(event, ExecutionStarted) for event in events)
    assert [block.state for block in calls(session)] == ["refused", "refused"]


async def test_G5_one_failure_does_not_stop_what_runs_beside_it_but_what_comes_after() -> None:
    async def fail(arguments: Arguments, output: ToolOutput) -> str:
        raise ToolFailed("No.")

    writing = tool(name="write", capabilities=WRITES, confinement=SAFE)
    deltas = [*call(name="fail"), *call(index=1), *call(name="write", index=2)]
    session = make(FakeModel(answer(*deltas), "Done."), tool(fail, name="fail"), tool(), writing)
    await play(session, session.run("go"))
    assert [block.state for block in calls(session)] == ["error", "ok", "refused"]


async def test_G5_an_interrupt_stops_all_of_them() -> None:
    there = asyncio.Event()

    async def wait(arguments: Arguments, output: ToolOutput) -> None:
        if arguments["text"] == "b":
            there.set()
        await asyncio.Event().wait()

    session = make(FakeModel(answer(*TWO), "Done."), tool(wait))
    async with asyncio.timeout(10):
        turn = asyncio.create_task(session.run("go"))
        await there.wait()
        session.interrupt()
        await turn
    assert [block.state for block in calls(session)] == ["interrupted", "interrupted"]


async def test_G5_two_that_ask_the_person_do_so_one_after_the_other() -> None:
    async def ask(arguments: Arguments, output: ToolOutput) -> str:
        return str(await output.ask(f"{arguments['text']}?"))

    session = make(FakeModel(answer(*TWO), "Done."), tool(ask))
    open_questions: list[str] = []
    most = 0

    def follow(event: AnyEvent) -> None:
        nonlocal most
        if isinstance(event, InputRequested):
            open_questions.append(event.request_id)
            most = max(most, len(open_questions))
            asyncio.get_running_loop().call_soon(reply, event)

    def reply(event: InputRequested) -> None:
        assert session.transcript.pending_input is event
        open_questions.remove(event.request_id)
        tasks.append(asyncio.ensure_future(session.answer(event.request_id, f"answer to {event.prompt}")))

    tasks: list[asyncio.Future[bool]] = []
    session.emitter.observers = (follow,)
    async with asyncio.timeout(10):
        await session.run("go")
    assert most == 1
    assert [text_of(block) for block in calls(session)] == ["answer to a?", "answer to b?"]


async def mixed_session() -> tuple[Session, list[AnyEvent]]:
    session = make(FakeModel(answer(*TWO), "Done."), tool(Meeting(2).run))
    return session, await play(session, session.run("go"))


async def test_G6_mixed_events_fold_to_the_same_blocks_in_either_order() -> None:
    session, events = await mixed_session()
    serial = SerialRuns()
    ordered = [one for event in events for one in serial.in_order(event)]
    assert sorted(map(repr, ordered)) == sorted(map(repr, events))
    assert fold_events(ordered) == fold_events(events)
    runs = [
        event.block_id for event in ordered if isinstance(event, ExecutionStarted | OutputAdded | ExecutionFinished)
    ]
    first, second = (block.id for block in calls(session))
    assert runs == [first] * runs.count(first) + [second] * runs.count(second)
    assert [text_of(block) for block in fold_events(events).blocks if isinstance(block, CallBlock)] == [
        "a is here\na goes\na",
        "b is here\nb goes\nb",
    ]


async def test_G6_lines_and_messages_tell_one_run_after_the_other() -> None:
    _, events = await mixed_session()
    err = io.StringIO()
    log, writer = TextLog(err), LmcWriter()
    chunks = []
    for event in events:
        log.tell(event)
        chunks += writer.chunks(event)
    said = err.getvalue()
    places = [said.index(text) for text in ("a is here", "a goes", "b is here", "b goes")]
    assert places == sorted(places)
    console = "".join(chunk.get("content", "") for chunk in chunks if chunk.get("type") == "console")
    assert console.index("a goes") < console.index("b is here")


def test_G6_what_never_ends_is_told_at_the_end_of_the_turn() -> None:

    serial = SerialRuns()
    events: list[AnyEvent] = [
        ExecutionStarted(block_id="a", generation=1),
        ExecutionStarted(block_id="b", generation=1),
        OutputAdded(block_id="b", output=StreamOutput(name="stdout", text="b")),
        TurnEnded(reason="done"),
    ]
    told = [[*serial.in_order(event)] for event in events]
    assert [len(one) for one in told] == [1, 0, 0, 3]
