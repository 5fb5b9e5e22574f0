"""The person makes a call again: decided about and on record like one of the model, and told to it as the person's."""

import asyncio

import pytest

from oi_tui.app.engine.core.blocks import CallBlock
from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.core.events import AnyEvent, DecisionRequested, ExecutionStarted
from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.core.values import ApprovalMode
from oi_tui.app.engine.core.verbs import Decide
from oi_tui.app.engine.log.audit.fold import AuditFold
from oi_tui.app.engine.log.audit.records import AnyRecord, DecisionWasMade, RunBegan, Surroundings
from oi_tui.app.engine.policy.decision import Policy
from oi_tui.app.engine.policy.rules import short_form
from oi_tui.app.engine.testing import FakeModel
from oi_tui.app.engine.tools.tool import Arguments
from oi_tui.app.engine.transcript.from_blocks import events_of_blocks
from oi_tui.app.engine.transcript.transcript import Transcript
from oi_tui.plugins.session_files import export_session, import_session
from support.kinds import of
from support.sessions import seal_telling
from support.tool_calls import answer, call, calls, make, text_of, tool
from support.turns import play


async def preview(arguments: Arguments) -> RichOutput:
    return RichOutput(data={"text/plain": f"says {arguments['text']}"})


async def call_again(
    approve: ApprovalMode = "auto",
    policy: Policy | None = None,
    decide: Decide | None = None,
) -> tuple[list[AnyEvent], CallBlock, FakeModel]:
    """A call of the model, then the same by the person, who answers the question with `decide`."""
    model = FakeModel(answer(*call()), "Done.", "I see.")
    session = make(model, tool(preview=preview, origin="plugin lab"), approve="auto")
    await play(session, session.run("go"))
    session.decisions.mode = approve
    session.decisions.policy = policy or session.decisions.policy
    first = calls(session)[0]
    assert first.state == "ok"

    def react(event: AnyEvent) -> None:
        if isinstance(event, DecisionRequested):
            wanted = decide or Decide(request_id="", verdict="run")
            session.decide(Decide(request_id=event.request_id, verdict=wanted.verdict, source=wanted.source))

    events = await play(session, session.call_tool(first.tool, first.source), react)
    again = calls(session)[1]
    await play(session, session.run("and now?"))
    return events, again, model


async def test_G14_a_call_is_made_again_after_a_question_in_the_mode_auto_too_and_the_model_reads_of_it() -> None:
    events, again, model = await call_again()
    [asked] = of(DecisionRequested, events)
    assert asked.why == "you want to call it again"
    assert asked.preview is not None
    assert asked.preview.data == {"text/plain": "says hi"}
    assert (again.author, again.step, again.state, text_of(again)) == ("user", 0, "ok", "HI")
    told = model.requests[-1].messages[-1]
    assert told.role == "user"
    assert told.text.startswith("I called the tool shout:")
    assert "HI" in told.text


async def test_G14_what_is_edited_in_the_question_is_what_is_called() -> None:
    edited = Decide(request_id="", verdict="edit", source='{"text": "ho"}')
    _, again, _ = await call_again(decide=edited)
    assert (again.source, text_of(again)) == ('{"text": "ho"}', "HO")


@pytest.mark.parametrize(
    ("approve", "policy", "refusal"),
    [
        ("auto", Policy(rules=(short_form("Tool(shout)", "deny"),)), "the rule Tool(shout)"),
        ("never", None, "nothing may be run in this session"),
    ],
)
async def test_G14_what_is_denied_by_rule_or_mode_is_not_called(
    approve: ApprovalMode, policy: Policy | None, refusal: str
) -> None:
    events, again, model = await call_again(approve, policy)
    assert of(DecisionRequested, events) == []
    assert again.state == "refused"
    assert refusal in again.refusal
    told = model.requests[-1].messages[-1].text
    assert told.startswith("I wanted to call the tool shout:")
    assert again.refusal in told


async def test_G14_a_refusal_ends_nothing_else_and_is_told() -> None:
    events, again, model = await call_again(decide=Decide(request_id="", verdict="skip"))
    assert of(ExecutionStarted, events) == []
    assert again.state == "refused"
    assert model.requests[-1].messages[-1].text.endswith("and now?")


async def test_G14_tools_that_are_gone_or_only_the_models_are_not_called() -> None:
    session = make(FakeModel(), tool(unasked="it does nothing"))
    with pytest.raises(KernelError, match="Only the model calls the tool shout"):
        await session.call_tool("shout", "{}")
    with pytest.raises(KernelError, match="There is no tool named gone"):
        await session.call_tool("gone", "{}")
    assert calls(session) == []


async def test_G14_the_audit_log_and_the_files_of_a_session_have_whose_call_it_was() -> None:
    session = make(FakeModel(), tool(origin="plugin lab"))
    fold, records = AuditFold(Surroundings(cwd="/", sandbox="none"), str), list[AnyRecord | None]()
    events: list[AnyEvent] = []

    def write(event: AnyEvent) -> None:
        events.append(event)
        records.append(fold.take(event, 0.0))
        if isinstance(event, DecisionRequested):
            session.decide(Decide(request_id=event.request_id, verdict="run"))

    session._runs._seal = seal_telling(lambda started, block: records.append(fold.begin(started, block, 0.0)))
    session.emitter.observers = (write,)
    async with asyncio.timeout(10):
        await session.call_tool("shout", '{"text": "hi"}')
    [made] = [one for one in records if isinstance(one, DecisionWasMade)]
    assert (made.tool, made.verdict, made.decider) == ("shout", "run", "person")
    [began] = [one for one in records if isinstance(one, RunBegan)]
    assert (began.author, began.tool, began.origin) == ("user", "shout", "plugin lab")
    [block] = calls(session)
    copies = [Transcript(), Transcript()]
    for event in events_of_blocks([block]):
        copies[0].apply(event)
    for event in import_session(export_session(events, "lmc"), "x.json").events:
        copies[1].apply(event)
    for transcript in copies:
        [copy] = [one for one in transcript.blocks if isinstance(one, CallBlock)]
        assert (copy.author, copy.tool, copy.source, copy.state) == ("user", "shout", block.source, "ok")
        assert text_of(copy) == "HI"
