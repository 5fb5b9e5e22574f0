"""Calls of tools: offered, decided about, run, told to the model, kept, exported, as code is."""

import asyncio
import contextlib
import json

import pytest

from oi_tui.app.engine.agent.execution import GIVE_UP
from oi_tui.app.engine.core.blocks import CallBlock, CodeBlock, NoticeBlock, ProseBlock
from oi_tui.app.engine.core.chat_model import TextDelta, ToolDelta
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.events import (
    AnyEvent,
    CallFinished,
    CallStarted,
    DecisionMade,
    ExecutionFinished,
    ExecutionStarted,
    KernelChanged,
    NoticeAdded,
    OutputAdded,
    ProgressReported,
    StepStarted,
    TurnEnded,
    TurnStarted,
)
from oi_tui.app.engine.core.outputs import ErrorOutput, Progress
from oi_tui.app.engine.core.values import Confinement
from oi_tui.app.engine.log.audit.fold import AuditFold
from oi_tui.app.engine.log.audit.records import RunBegan, Surroundings
from oi_tui.app.engine.policy.decision import Policy
from oi_tui.app.engine.policy.rules import Base, Effect, WrongRule, short_form
from oi_tui.app.engine.testing import FakeModel
from oi_tui.app.engine.tools.tool import Arguments, Capabilities, ToolFailed, ToolOutput
from oi_tui.app.engine.tools.toolbox import Toolbox
from oi_tui.app.engine.transcript.event_log import fold_events
from oi_tui.app.engine.transcript.from_blocks import events_of_blocks
from oi_tui.app.engine.transcript.transcript import Transcript
from support.kinds import narrow
from support.tool_calls import answer, ask_once, call, calls, make, text_of, tool
from support.turns import play


async def test_a_call_is_offered_decided_about_run_and_told_to_the_model() -> None:
    model = FakeModel(answer(*call()), "Done.")
    session = make(model)
    events = await play(session, session.run("shout"))
    assert [spec.name for spec in model.requests[0].tools] == ["execute", "shout"]
    (block,) = calls(session)
    assert (block.tool, block.state, json.loads(block.source), text_of(block)) == ("shout", "ok", {"text": "hi"}, "HI")
    kinds = (CallFinished, DecisionMade, ExecutionStarted, ExecutionFinished)
    assert [type(event) for event in events if isinstance(event, kinds)] == list(kinds)
    assert not any(isinstance(event, KernelChanged) for event in events)
    *_, asked, told = model.requests[1].messages
    assert (asked.calls[0].name, json.loads(asked.calls[0].arguments)) == ("shout", {"text": "hi"})
    assert (told.role, told.call_id, told.text) == ("tool", "call-0", "HI")


async def test_L9_code_and_calls_of_one_answer_run_in_order_and_after_a_failure_the_rest_does_not() -> None:
    async def fail(arguments: Arguments, output: ToolOutput) -> None:
        raise ToolFailed("The bell is broken.")

    code = [ToolDelta(index=1, id="call-1", name="execute", arguments='{"language": "python", "code": "1"}')]
    model = FakeModel(answer(*call(), *code, *call(name="ring", index=2), *call(index=3)), "Done.")
    writes = Capabilities(destroys=False, network=False)
    ring = tool(fail, name="ring", capabilities=writes, confinement=Confinement(sandboxed=True, offline=True))
    session = make(model, tool(), ring)
    await play(session, session.run("go"))
    blocks = [block for block in session.transcript.blocks if isinstance(block, CallBlock | CodeBlock)]
    assert [block.state for block in blocks] == ["ok", "ok", "error", "refused"]
    assert blocks[3].refusal == "an earlier call of the same answer did not succeed"
    results = [message.text for message in model.requests[1].messages if message.role == "tool"]
    assert results[2] == "The bell is broken."


@pytest.mark.parametrize("arguments", ['{"text": "hi"', "[1]", "no JSON", '{"text": '])
async def test_a_call_whose_arguments_are_no_object_is_never_run(arguments: str) -> None:
    session = make(FakeModel(answer(*call(arguments)), "Well."))
    await play(session, session.run("go"))
    assert [block.state for block in calls(session)] == ["cut"]


async def test_arguments_that_do_not_fit_the_schema_are_told_to_the_model_and_nothing_runs() -> None:
    ran: list[Arguments] = []

    async def note(arguments: Arguments, output: ToolOutput) -> None:
        ran.append(arguments)

    model = FakeModel(answer(*call('{"text": 3}')), "Well.")
    session = make(model, tool(note))
    await play(session, session.run("go"))
    assert ran == []
    assert model.requests[1].messages[-1].text == "The arguments do not fit at text: 3 is not of type 'string'"


async def test_what_a_tool_raises_is_its_error_output_and_the_turn_goes_on() -> None:
    async def fail(arguments: Arguments, output: ToolOutput) -> None:
        raise ZeroDivisionError("by zero")

    session = make(FakeModel(answer(*call()), "Well."), tool(fail))
    await play(session, session.run("go"))
    (block,) = calls(session)
    assert (block.state, block.outputs) == (
        "error",
        (ErrorOutput(name="ZeroDivisionError", value="by zero", traceback=("ZeroDivisionError: by zero",)),),
    )
    assert narrow(session.transcript.blocks[-1], ProseBlock).text == "Well."


async def test_progress_is_told_while_it_runs_and_gone_when_it_is_over() -> None:
    async def count(arguments: Arguments, output: ToolOutput) -> None:
        for number in range(3):
            output.report(number, 3, "counting")
            output.print(f"{number}\n")

    session = make(FakeModel(answer(*call()), "Done."), tool(count))
    events = await play(session, session.run("go"))
    told = [event.progress for event in events if isinstance(event, ProgressReported)]
    assert told == [Progress(done=number, total=3, message="counting") for number in range(3)]
    (block,) = calls(session)
    assert (block.progress, text_of(block)) == (None, "0\n1\n2\n")


async def test_an_interrupt_cancels_the_call_and_the_turn_goes_on() -> None:
    async def sleep(arguments: Arguments, output: ToolOutput) -> None:
        output.print("begun\n")
        await asyncio.Event().wait()

    model = FakeModel(answer(*call()), "Well.")
    session = make(model, tool(sleep))

    def stop(event: AnyEvent) -> None:
        if isinstance(event, OutputAdded):
            session.interrupt()

    await play(session, session.run("go"), stop)
    assert [block.state for block in calls(session)] == ["interrupted"]
    assert model.requests[1].messages[-1].text == "begun\n[interrupted by the user]"


async def test_a_call_that_ignores_its_cancellation_is_given_up_when_the_turn_is_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("oi_tui.app.engine.tools.tool_runner.GRACE", 0.01)
    release = asyncio.Event()

    async def insist(arguments: Arguments, output: ToolOutput) -> None:
        output.print("begun\n")
        while not release.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await release.wait()

    session = make(FakeModel(answer(*call()), "Well."), tool(insist))

    def stop(event: AnyEvent) -> None:
        if isinstance(event, OutputAdded):
            session.interrupt(turn=True)

    try:
        await play(session, session.run("go"), stop)
        assert [block.state for block in calls(session)] == ["interrupted"]
        titles = [block.title for block in session.transcript.blocks if isinstance(block, NoticeBlock)]
        assert titles == ["The tool shout ignored the interrupt.", "You stopped the turn."]
    finally:
        release.set()  # else the loop never ends


async def test_a_call_that_goes_on_has_no_kernel_that_could_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oi_tui.app.engine.tools.tool_runner.GRACE", 0.01)
    release = asyncio.Event()

    async def insist(arguments: Arguments, output: ToolOutput) -> None:
        output.print("begun\n")
        while not release.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await release.wait()

    session = make(FakeModel(answer(*call()), "Well."), tool(insist))

    def stop(event: AnyEvent) -> None:
        if isinstance(event, OutputAdded):
            session.interrupt()
        if isinstance(event, NoticeAdded):
            release.set()

    events = await play(session, session.run("go"), stop)
    told = [(event.title, event.hint) for event in events if isinstance(event, NoticeAdded)]
    assert told == [("The call still runs: it ignored every interrupt.", GIVE_UP)]


def test_a_call_that_was_running_when_the_program_ended_reports_no_progress_any_more() -> None:
    events: list[AnyEvent] = [
        TurnStarted(block_id="b0", text="go"),
        StepStarted(number=1),
        CallStarted(block_id="b1", tool="shout"),
        CallFinished(block_id="b1", tool="shout", source="{}"),
        DecisionMade(block_id="b1", verdict="run", decider="mode", source="{}"),
        ExecutionStarted(block_id="b1", generation=1),
        ProgressReported(block_id="b1", progress=Progress(done=1, total=2)),
        TurnEnded(reason="engine_lost"),
    ]
    block = narrow(fold_events(events).blocks[-1], CallBlock)
    assert (block.state, block.progress) == ("interrupted", None)


async def test_a_flood_of_a_tool_is_capped_like_that_of_a_kernel() -> None:
    async def flood(arguments: Arguments, output: ToolOutput) -> str:
        output.print("x" * 3_000_000)
        return "y" * 3_000_000

    session = make(FakeModel(answer(*call()), "Well."), tool(flood))
    await play(session, session.run("go"))
    (block,) = calls(session)
    assert block.state == "ok"
    assert len(text_of(block)) < 1_000_000
    assert block.dropped > 2_000_000


# -- deciding ----------------------------------------------------------------------------------------------------


async def test_the_person_is_asked_with_the_arguments_as_they_will_run_and_can_edit_them() -> None:
    session = make(FakeModel(answer(*call('{"text":"\\u0068i"}')), "Done."), approve="ask")
    (asked,) = await ask_once(session, "edit", '{"text": "you"}')
    assert asked.labels == ("runs without a sandbox",)
    assert (asked.tool, asked.language, asked.source) == ("shout", "", '{\n  "text": "hi"\n}')
    (block,) = calls(session)
    assert (block.is_edited, text_of(block)) == (True, "YOU")


async def test_always_holds_for_this_call_and_no_other() -> None:
    again = [answer(*call()), answer(*call('{"text": "you"}')), answer(*call())]
    session = make(FakeModel(*again, "Done."), approve="ask")
    asked = await ask_once(session, "always")
    assert [json.loads(event.source)["text"] for event in asked] == ["hi", "you"]


async def test_always_of_one_tool_does_not_hold_for_another_with_the_same_arguments() -> None:
    again = [answer(*call()), answer(*call(name="whisper")), answer(*call())]
    session = make(FakeModel(*again, "Done."), tool(), tool(name="whisper"), approve="ask")
    asked = await ask_once(session, "always")
    assert [event.tool for event in asked] == ["shout", "whisper"]


async def test_in_the_mode_auto_a_tool_without_a_sandbox_is_asked_about_and_one_within_is_not() -> None:
    auto, held = Policy(mode="auto"), Confinement(sandboxed=True, offline=True)
    inside = tool(name="inside", confinement=held)
    model = FakeModel(answer(*call(name="inside")), answer(*call()), "Done.")
    session = make(model, inside, tool(), policy=auto)
    (asked,) = await ask_once(session, "run")
    assert (asked.tool, asked.why) == (
        "shout",
        "asked because of the mode “auto”, which needs a sandbox to run anything without asking",
    )


async def test_in_the_mode_auto_what_may_change_something_or_reach_out_says_so() -> None:
    bold = tool(capabilities=Capabilities())
    session = make(FakeModel(answer(*call()), "Done."), bold, policy=Policy(mode="auto"))
    (asked,) = await ask_once(session, "skip")
    assert asked.labels == ("runs without a sandbox", "network", "may change or delete files or data")


@pytest.mark.parametrize(
    ("rule", "verdict", "state"),
    [("Tool(shout)", "deny", "refused"), ("Tool(sh*)", "allow", "ok"), ("Edit(.git/**)", "deny", "refused")],
)
async def test_rules_speak_of_tools_by_name_and_of_the_paths_in_their_arguments(
    rule: str, verdict: Effect, state: str
) -> None:
    rules = (short_form(rule, verdict), short_form("Tool(shout)", "allow"))
    policy = Policy(mode="default", rules=rules, base=Base(cwd="/work", home="/home"))
    bold = tool(capabilities=Capabilities(network=False))
    session = make(FakeModel(answer(*call('{"text": ".git/config"}')), "Done."), bold, policy=policy)
    assert await ask_once(session, "skip") == []
    assert [block.state for block in calls(session)] == [state]


def test_a_rule_that_allows_every_tool_is_refused() -> None:
    with pytest.raises(WrongRule, match="an allowed tool is named"):
        short_form("Tool(*)", "allow")


async def test_what_can_carry_away_a_secret_is_asked_about_though_a_rule_allows_it() -> None:
    rules = (short_form("Tool(shout)", "allow"),)
    fetch = tool(capabilities=Capabilities(writes=False))
    session = make(FakeModel(answer(*call('{"text": "~/.ssh/id_rsa"}')), "Done."), fetch, policy=Policy(rules=rules))
    (asked,) = await ask_once(session, "skip")
    assert "a secret and content from others" in asked.why


async def test_U27_a_call_within_the_models_thinking_is_never_proposed() -> None:
    model = FakeModel(answer(TextDelta(text="<think>I could "), *call(), TextDelta(text="</think>")), "Well.")
    session = make(model)
    events = await play(session, session.run("go"))
    assert not any(isinstance(event, ExecutionStarted) for event in events)
    assert [block.state for block in calls(session)] == ["refused"]


async def test_a_tool_that_is_not_here_any_more_is_named_and_nothing_runs() -> None:
    session = make(FakeModel(answer(*call(name="gone")), "Well."))
    await play(session, session.run("go"))
    assert calls(session) == []  # the raw call is prose: nobody can run it


def test_two_tools_of_one_name_and_names_that_no_provider_takes_are_refused(caplog: pytest.LogCaptureFixture) -> None:
    assert Toolbox((tool(), tool(), tool(name="execute"))).names == {"shout"}
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]
    with pytest.raises(SettingsError):
        tool(name="no spaces")


# -- keeping -----------------------------------------------------------------------------------------------------


async def played() -> Transcript:
    session = make(FakeModel(answer(TextDelta(text="Now.\n"), *call()), "Done."))
    await play(session, session.run("go"))
    return session.transcript


async def test_blocks_of_calls_turn_into_events_and_back() -> None:
    blocks = (await played()).blocks
    again = [block for block in fold_events(events_of_blocks(blocks)).blocks if isinstance(block, CallBlock)]
    assert again == [block for block in blocks if isinstance(block, CallBlock)]


async def test_the_audit_log_names_the_tool_and_the_digest_of_its_arguments() -> None:
    session = make(FakeModel(answer(*call()), "Done."))
    fold = AuditFold(Surroundings(cwd="/work", sandbox="workspace-write"), str)
    began: list[RunBegan] = []

    def follow(event: AnyEvent) -> None:
        if isinstance(event, ExecutionStarted):
            block = session.transcript.block(event.block_id)
            assert isinstance(block, CallBlock)
            began.append(fold.begin(event, block, 0.0))
        else:
            fold.take(event, 0.0)

    events = await play(session, session.run("go"), follow)
    (decided,) = (event for event in events if isinstance(event, DecisionMade))
    told = [(record.tool, record.language, record.verdict, record.sandbox) for record in began]
    assert told == [("shout", "", decided.verdict, "danger-full-access")]
