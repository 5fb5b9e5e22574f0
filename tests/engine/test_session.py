"""The loop, with the shipped fakes: what is asked, decided, run, told to the model, and why a turn ends."""

import asyncio
import hashlib
import threading
from collections.abc import Sequence

import msgspec
import pytest

from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.blocks import CodeBlock, NoticeBlock, ProseBlock, ThoughtBlock, UserBlock
from oi_tui.app.engine.core.chat_model import (
    AnswerEnded,
    AnswerUsage,
    Delta,
    Retrying,
    TextDelta,
    ThoughtDelta,
    ToolDelta,
)
from oi_tui.app.engine.core.errors import KernelError, ModelError
from oi_tui.app.engine.core.events import (
    AnyEvent,
    CodeFinished,
    CodeStarted,
    DecisionMade,
    DecisionRequested,
    Emit,
    ExecutionFinished,
    ExecutionStarted,
    InputAnswered,
    InputRequested,
    KernelChanged,
    NoticeAdded,
    OutputAdded,
    ProseGrew,
    RetryScheduled,
    StepStarted,
    TurnEnded,
    TurnStarted,
    UsageReported,
)
from oi_tui.app.engine.core.outputs import ErrorOutput, StreamName, StreamOutput
from oi_tui.app.engine.core.settings import LoopSection
from oi_tui.app.engine.core.values import ApprovalMode
from oi_tui.app.engine.core.verbs import Decide
from oi_tui.app.engine.kernels.base import RunResult, in_block
from oi_tui.app.engine.secrets.redaction import Redacted, Redactor
from oi_tui.app.engine.testing import (
    FakeKernel,
    FakeKernels,
    FakeModel,
    Happenings,
    Script,
    ScriptedAnswer,
    asks,
    stdout_output,
    text_result,
)
from oi_tui.app.engine.text.mime import report
from oi_tui.app.engine.text.thoughts import thought_title
from oi_tui.app.engine.transcript.event_log import fold_events
from oi_tui.app.engine.transcript.from_blocks import events_of_blocks
from oi_tui.app.engine.transcript.transcript import Transcript
from support.kinds import narrow, of
from support.recording_observer import RecordingObserver
from support.turns import end_of, play

ADD = "I'll add.\n\n```python\n1+1\n```\n"
TWO: Happenings = [text_result("2"), RunResult(status="ok")]
FAILED: Happenings = [
    OutputAdded(block_id="", output=ErrorOutput(name="ValueError", value="no", traceback=("ValueError: no",))),
    RunResult(status="error"),
]


def make(
    model: FakeModel,
    kernel: FakeKernel | None = None,
    *,
    approve: ApprovalMode = "auto",
    can_ask: bool = True,
    max_steps: int = 20,
    shell: FakeKernel | None = None,
) -> Session:
    kernels = {"python": kernel or FakeKernel({"1+1": TWO})}
    if shell is not None:
        kernels["shell"] = shell
    settings = LoopSection(approve=approve, max_steps=max_steps)
    return Session(kernels=FakeKernels(**kernels), settings=settings, model=model, can_ask=can_ask)


def codes(session: Session) -> list[CodeBlock]:
    return [block for block in session.transcript.blocks if isinstance(block, CodeBlock)]


def last_message(model: FakeModel, request: int = -1) -> str:
    return model.requests[request].messages[-1].text


async def test_a_turn_asks_runs_tells_the_model_and_ends_with_its_answer() -> None:
    model = FakeModel(ADD, "It is 2.")
    kernel = FakeKernel({"1+1": TWO})
    session = make(model, kernel)
    events = await play(session, session.run("add one and one"))
    assert kernel.ran == ["1+1"]
    assert "2" in last_message(model)
    assert events[-1] == TurnEnded(reason="done")
    user, intro, code, answer = session.transcript.blocks
    assert (user, intro, answer) == (
        UserBlock(id=user.id, text="add one and one"),
        ProseBlock(id=intro.id, text="I'll add.", state="complete", step=1),
        ProseBlock(id=answer.id, text="It is 2.", state="complete", step=2),
    )
    assert isinstance(code, CodeBlock)
    assert (code.source, code.state) == ("1+1", "ok")


async def test_folding_the_events_again_gives_an_equal_transcript() -> None:
    session = make(FakeModel(ADD, "It is 2."))
    events = await play(session, session.run("add"))
    again = Transcript()
    for event in events:
        again.apply(event)
    assert again == session.transcript


async def test_L4_nothing_has_run_while_the_question_is_up_and_run_gives_the_result() -> None:
    kernel = FakeKernel({"1+1": TWO})
    session = make(FakeModel(ADD, "It is 2."), kernel, approve="ask")
    ran_before: list[list[str]] = []

    def approve(event: AnyEvent) -> None:
        if isinstance(event, DecisionRequested):
            ran_before.append(list(kernel.ran))
            assert session.decide(Decide(request_id=event.request_id, verdict="run"))

    events = await play(session, session.run("add"), approve)
    assert ran_before == [[]]
    assert kernel.ran == ["1+1"]
    assert of(OutputAdded, events)[0].output == text_result("2").output


async def test_a_decision_for_an_unknown_or_decided_request_changes_nothing() -> None:
    session = make(FakeModel(ADD, "Done."), approve="ask")
    assert not session.decide(Decide(request_id="nobody", verdict="run"))
    results: list[bool] = []

    def decide_thrice(event: AnyEvent) -> None:
        if isinstance(event, DecisionRequested):
            results.append(session.decide(Decide(request_id="another", verdict="run")))
            results.append(session.decide(Decide(request_id=event.request_id, verdict="run")))
            results.append(session.decide(Decide(request_id=event.request_id, verdict="stop")))

    events = await play(session, session.run("add"), decide_thrice)
    assert results == [False, True, False]
    assert events[-1] == TurnEnded(reason="done")


async def test_L15_a_refusal_with_a_reason_reaches_the_model_and_the_turn_goes_on() -> None:
    model = FakeModel(ADD, "Then I will not.")
    kernel = FakeKernel()
    session = make(model, kernel, approve="ask")

    def refuse(event: AnyEvent) -> None:
        if isinstance(event, DecisionRequested):
            session.decide(Decide(request_id=event.request_id, verdict="skip", reason="use numpy instead"))

    events = await play(session, session.run("add"), refuse)
    assert kernel.ran == []
    assert "use numpy instead" in last_message(model)
    assert events[-1] == TurnEnded(reason="done")


@pytest.mark.parametrize("answered", ["1+1 ", "1+2", ""])
async def test_U1_a_yes_for_another_source_than_the_one_that_was_asked_about_is_none(answered: str) -> None:
    kernel = FakeKernel()
    session = make(FakeModel(ADD, "Two."), kernel, approve="ask")
    counted: list[bool] = []

    def answer(event: AnyEvent) -> None:
        if isinstance(event, DecisionRequested):
            assert event.sha256 == hashlib.sha256(b"1+1").hexdigest()
            counted.append(session.decide(Decide(request_id=event.request_id, verdict="run", source=answered)))
            assert kernel.ran == []
            counted.append(session.decide(Decide(request_id=event.request_id, verdict="run", source="1+1")))

    await play(session, session.run("add"), answer)
    assert counted == [False, True]
    assert kernel.ran == ["1+1"]


async def test_U1_a_yes_for_a_kernel_that_ended_meanwhile_is_asked_for_again() -> None:
    kernel = FakeKernel()
    session = make(FakeModel("```python\nx = 1\n```", ADD, "Two."), kernel, approve="ask")
    whys: list[str] = []

    def answer(event: AnyEvent) -> None:
        if isinstance(event, DecisionRequested):
            whys.append(event.why)
            if len(whys) == 2:
                kernel.state = "dead"
            session.decide(Decide(request_id=event.request_id, verdict="run"))

    await play(session, session.run("add"), answer)
    assert kernel.ran == ["x = 1", "1+1"]
    assert len(whys) == 3
    assert "its kernel ended while you were asked" in whys[2]


async def test_U3_an_answer_counts_for_its_own_question_only() -> None:
    kernel = FakeKernel()
    session = make(FakeModel(ADD, "```python\n2+2\n```", "Done."), kernel, approve="ask")
    ids: list[str] = []

    def answer(event: AnyEvent) -> None:
        if isinstance(event, DecisionRequested):
            ids.append(event.request_id)
            if len(ids) == 2:
                assert not session.decide(Decide(request_id=ids[0], verdict="run"))  # late, for the first
                assert kernel.ran == ["1+1"]
            assert session.decide(Decide(request_id=ids[-1], verdict="run" if len(ids) == 1 else "skip"))
            assert not session.decide(Decide(request_id=ids[-1], verdict="run"))  # a second answer

    await play(session, session.run("add"), answer)
    assert kernel.ran == ["1+1"]


async def test_a_refusal_without_a_reason_ends_the_turn_and_is_told_with_the_next_prompt() -> None:
    model = FakeModel(ADD, "All right.")
    session = make(model, approve="ask")

    def refuse(event: AnyEvent) -> None:
        if isinstance(event, DecisionRequested):
            session.decide(Decide(request_id=event.request_id, verdict="skip"))

    events = await play(session, session.run("add"), refuse)
    assert end_of(events).reason == "refused"
    assert len(model.requests) == 1
    await play(session, session.run("what else?"))
    assert "the user refused it" in last_message(model)


async def test_L16_edited_code_is_what_runs_it_is_stamped_and_the_model_is_told() -> None:
    model = FakeModel(ADD, "Three.")
    kernel = FakeKernel()
    session = make(model, kernel, approve="ask")

    def edit(event: AnyEvent) -> None:
        if isinstance(event, DecisionRequested):
            session.decide(Decide(request_id=event.request_id, verdict="edit", source="1+2"))

    await play(session, session.run("add"), edit)
    assert kernel.ran == ["1+2"]
    (code,) = codes(session)
    assert (code.source, code.original, code.is_edited) == ("1+2", "1+1", True)
    told = last_message(model)
    assert "edited" in told
    assert "1+2" in told


async def test_always_runs_the_same_source_without_asking_again_and_no_other() -> None:
    other = "```python\n2+2\n```"
    same = "```python\n1+1\n```"
    model = FakeModel(same, other, same, "Done.")
    session = make(model, FakeKernel(), approve="ask")
    asked: list[str] = []

    def always(event: AnyEvent) -> None:
        if isinstance(event, DecisionRequested):
            asked.append(event.source)
            session.decide(Decide(request_id=event.request_id, verdict="always"))

    events = await play(session, session.run("add"), always)
    assert asked == ["1+1", "2+2"]
    assert [made.decider for made in of(DecisionMade, events)] == ["person", "person", "grant"]


async def test_stop_at_the_question_ends_the_turn() -> None:
    model = FakeModel(ADD, "All right.")
    session = make(model, approve="ask")

    def stop(event: AnyEvent) -> None:
        if isinstance(event, DecisionRequested):
            session.decide(Decide(request_id=event.request_id, verdict="stop"))

    events = await play(session, session.run("add"), stop)
    assert end_of(events).reason == "stopped"
    assert codes(session)[0].state == "refused"
    await play(session, session.run("what else?"))
    assert "[not run: the user stopped the turn]" in last_message(model)
    assert "refused" not in last_message(model)


async def test_code_behind_the_one_that_was_stopped_at_is_not_said_to_follow_a_refusal() -> None:
    model = FakeModel("```python\na\n```\nand\n```python\nb\n```", "ok")
    session = make(model, approve="ask")

    def stop(event: AnyEvent) -> None:
        if isinstance(event, DecisionRequested):
            session.decide(Decide(request_id=event.request_id, verdict="stop"))

    await play(session, session.run("x"), stop)
    await play(session, session.run("what else?"))
    assert "refused" not in last_message(model)


async def test_code_before_an_interrupt_of_the_answer_was_not_refused() -> None:
    model = FakeModel(f"{ADD}\nand then\n\nmore words\n", "ok")
    session = make(model, approve="ask")

    def interrupt(event: AnyEvent) -> None:
        if isinstance(event, CodeFinished):
            session.interrupt(turn=True)

    events = await play(session, session.run("add"), interrupt)
    assert end_of(events).reason == "interrupted"
    await play(session, session.run("what else?"))
    assert "[not run: the user stopped the turn]" in last_message(model)


async def test_approval_never_runs_nothing_and_says_why() -> None:
    kernel = FakeKernel()
    events = await play(session := make(FakeModel(ADD), kernel, approve="never"), session.run("add"))
    assert kernel.ran == []
    assert end_of(events).reason == "refused"


async def test_ask_without_anybody_to_ask_runs_nothing() -> None:
    kernel = FakeKernel()
    events = await play(session := make(FakeModel(ADD), kernel, approve="ask", can_ask=False), session.run("add"))
    assert kernel.ran == []
    assert end_of(events).reason == "refused"
    assert "nobody" in end_of(events).detail


async def test_two_blocks_of_one_answer_run_in_order_and_after_a_failure_the_second_does_not() -> None:
    both = "```python\na\n```\nand\n```python\nb\n```"
    kernel = FakeKernel()
    await play(session := make(FakeModel(both, "ok"), kernel), session.run("x"))
    assert kernel.ran == ["a", "b"]
    kernel = FakeKernel({"a": FAILED})
    session = make(FakeModel(both, "ok"), kernel)
    await play(session, session.run("x"))
    assert kernel.ran == ["a"]
    assert [code.state for code in codes(session)] == ["error", "refused"]


async def test_L9_two_parallel_native_calls_run_in_order_and_each_gets_its_result() -> None:
    calls: Sequence[Delta] = [
        ToolDelta(index=0, id="one", name="execute", arguments='{"language": "python", '),
        ToolDelta(index=1, id="two", name="execute", arguments='{"language": "python", "code": "b"}'),
        ToolDelta(index=0, arguments='"code": "a"}'),
        AnswerEnded(reason="tool_calls"),
    ]
    model = FakeModel(calls, "Both done.")
    kernel = FakeKernel()
    await play(session := make(model, kernel), session.run("do both"))
    assert kernel.ran == ["a", "b"]
    assistant, first, second = model.requests[1].messages[-3:]
    assert [call.id for call in assistant.calls] == ["one", "two"]
    assert [(first.role, first.call_id), (second.role, second.call_id)] == [("tool", "one"), ("tool", "two")]
    assert "a" in first.text
    assert "b" in second.text


async def test_the_step_cap_ends_the_turn_and_it_can_go_on() -> None:
    answers = [f"```python\n{n}\n```" for n in range(4)]
    model = FakeModel(*answers, "Done.")
    session = make(model, FakeKernel(), max_steps=2)
    events = await play(session, session.run("loop"))
    assert end_of(events).reason == "step_cap"
    assert len(model.requests) == 2
    events = await play(session, session.go_on())
    assert end_of(events).reason == "step_cap"
    events = await play(session, session.go_on())
    assert end_of(events).reason == "done"


def many(count: int) -> str:
    return "\n".join(f"```python\n{number}\n```" for number in range(count))


async def test_U25_of_one_answer_twenty_actions_run_before_the_turn_ends_where_nobody_can_be_asked() -> None:
    kernel = FakeKernel()
    session = make(FakeModel(many(3_000), "Done."), kernel, can_ask=False)
    events = await play(session, session.run("go"), limit=60)
    assert len(kernel.ran) == 20
    detail = "Not run: 20 actions of this answer have run without a question."
    assert end_of(events) == TurnEnded(reason="step_cap", detail=detail)
    assert {block.state for block in codes(session)[20:]} == {"refused"}


async def test_U25_the_person_is_asked_whatever_the_mode_before_each_further_twenty_of_an_answer() -> None:
    kernel, asked = FakeKernel(), list[tuple[int, str]]()
    session = make(FakeModel(many(50), many(20), "Done."), kernel)

    def approve(event: AnyEvent) -> None:
        if isinstance(event, DecisionRequested):
            asked.append((len(kernel.ran), event.why))
            session.decide(Decide(request_id=event.request_id, verdict="run"))

    events = await play(session, session.run("go"), approve)
    why = "20 actions of this answer have run without a question"
    assert asked == [(20, why), (40, why)]
    assert (end_of(events).reason, len(kernel.ran)) == ("done", 70)


async def test_L12_the_same_code_three_times_is_asked_about_and_ends_the_turn_where_nobody_is() -> None:
    same = FakeModel("```python\nf()\n```")
    kernel = FakeKernel({"f()": FAILED})
    events = await play(session := make(same, kernel, can_ask=False), session.run("loop"))
    assert end_of(events).reason == "repeated"
    assert len(kernel.ran) == 2
    asked: list[str] = []
    session = make(same, FakeKernel({"f()": FAILED}))

    def stop(event: AnyEvent) -> None:
        if isinstance(event, DecisionRequested):
            asked.append(event.why)
            session.decide(Decide(request_id=event.request_id, verdict="stop"))

    await play(session, session.run("loop"), stop)
    assert asked == ["this code has run 2 times in this turn"]


async def test_L12_the_same_traceback_twice_is_asked_about() -> None:
    answers = [f"```python\nf({n})\n```" for n in range(5)]
    kernel = FakeKernel(lambda source: FAILED)
    events = await play(session := make(FakeModel(*answers), kernel, can_ask=False), session.run("loop"))
    assert end_of(events).reason == "repeated"
    assert "ValueError: no" in end_of(events).detail
    assert len(kernel.ran) == 2


async def test_code_that_just_succeeded_is_not_run_again_without_a_question() -> None:
    kernel = FakeKernel({"1+1": TWO})
    events = await play(session := make(FakeModel(ADD), kernel, can_ask=False), session.run("add"))
    assert kernel.ran == ["1+1"]
    assert end_of(events).reason == "repeated"


@pytest.mark.parametrize("partial", ["", "Half an ans"])
async def test_L10_a_model_error_keeps_the_partial_text_and_the_session_goes_on(partial: str) -> None:
    error = ModelError("cut", "The answer broke off.", hint="Try again.")
    broken: ScriptedAnswer = [TextDelta(text=partial), error] if partial else [error]
    model = FakeModel(broken, "Fine now.")
    session = make(model)
    events = await play(session, session.run("hello"))
    assert events[-1] == TurnEnded(reason="model_error", detail="The answer broke off.")
    notice = session.transcript.blocks[-1]
    told = NoticeBlock(id=notice.id, level="error", title="The answer broke off.", hint="Try again.")
    assert notice == msgspec.structs.replace(told, remedies=("retry", "model"))
    if partial:
        prose = session.transcript.blocks[1]
        assert prose == ProseBlock(id=prose.id, text=partial, state="cut", step=1)
    again = Transcript()
    for event in events:
        again.apply(event)
    assert again == session.transcript
    events = await play(session, session.go_on())
    assert end_of(events).reason == "done"


async def test_code_that_was_broken_off_is_never_run() -> None:
    kernel = FakeKernel()
    broken: ScriptedAnswer = [TextDelta(text="```python\nrm("), ModelError("cut", "Broke off.")]
    session = make(FakeModel(broken), kernel)
    await play(session, session.run("x"))
    assert kernel.ran == []
    assert codes(session)[0].state == "cut"
    length: ScriptedAnswer = [TextDelta(text="```python\nrm("), AnswerEnded(reason="length")]
    session = make(FakeModel(length), kernel)
    events = await play(session, session.run("x"))
    assert kernel.ran == []
    assert of(NoticeAdded, events)


async def test_retries_usage_and_steps_are_told() -> None:
    model = FakeModel([Retrying(delay=1.5, why="busy", attempt=1, attempts=3), TextDelta(text="hi"), AnswerEnded()])
    events = await play(session := make(model), session.run("hello"))
    assert of(RetryScheduled, events) == [RetryScheduled(delay=1.5, why="busy", attempt=1, attempts=3)]
    assert [step.number for step in of(StepStarted, events)] == [1]
    session = make(FakeModel("hi"))
    events = await play(session, session.run("hello"))
    assert len(of(UsageReported, events)) == 1
    assert session.transcript.usage.input_tokens == 100


async def test_an_interrupt_of_the_run_stops_the_cell_tells_the_model_and_the_turn_goes_on() -> None:
    kernel = FakeKernel({"1+1": [stdout_output("working\n"), RunResult(status="ok")]})
    kernel.blocked = True
    model = FakeModel(ADD, "You stopped it.")
    session = make(model, kernel)

    def interrupt(event: AnyEvent) -> None:
        if isinstance(event, OutputAdded):
            session.interrupt()

    events = await play(session, session.run("add"), interrupt)
    assert of(ExecutionFinished, events)[0].status == "interrupted"
    assert "interrupted by the user" in last_message(model)
    assert end_of(events).reason == "done"


async def test_L3_stopping_the_turn_stops_the_cell_and_asks_the_model_no_more() -> None:
    kernel = FakeKernel({"1+1": [stdout_output("working\n"), RunResult(status="ok")]})
    kernel.blocked = True
    model = FakeModel(ADD)
    session = make(model, kernel)

    def stop(event: AnyEvent) -> None:
        if isinstance(event, OutputAdded):
            session.interrupt(turn=True)

    events = await play(session, session.run("add"), stop)
    assert kernel.interrupts == 1
    assert len(model.requests) == 1
    assert end_of(events).reason == "interrupted"


class Slow(Redactor):
    """Looks for secrets for as long as it is held."""

    def __init__(self) -> None:
        super().__init__()
        self.looks, self.go = threading.Event(), threading.Event()

    def redact(self, text: str) -> Redacted:
        self.looks.set()
        assert self.go.wait(10)
        return super().redact(text)


async def test_L3_an_interrupt_while_a_long_session_is_looked_through_sends_nothing() -> None:
    model, redactor = FakeModel("One."), Slow()
    session = Session(kernels=FakeKernels(), settings=LoopSection(), model=model, redactor=redactor)
    playing = asyncio.create_task(play(session, session.run("go")))
    assert await asyncio.to_thread(redactor.looks.wait, 10)
    session.interrupt(turn=False)
    events = await playing
    redactor.go.set()
    assert isinstance(events[-1], TurnEnded)
    assert end_of(events).reason == "interrupted"
    assert not model.requests


async def test_N2_a_run_that_ignores_the_interrupt_costs_the_kernel_only_when_the_turn_is_stopped() -> None:
    kernel = FakeKernel({"1+1": [stdout_output("deaf\n"), RunResult(status="ok")]})
    kernel.blocked = kernel.stubborn = True
    session = make(FakeModel(ADD), kernel)

    def stop(event: AnyEvent) -> None:
        if isinstance(event, OutputAdded):
            session.interrupt()
            asyncio.get_running_loop().call_later(0.1, lambda: session.interrupt(turn=True))

    events = await play(session, session.run("add"), stop)
    assert kernel.interrupts == 2
    states = [event.state for event in of(KernelChanged, events)]
    assert states == ["starting", "busy", "interrupting", "interrupting", "idle"]
    assert of(ExecutionFinished, events)[0].status == "interrupted"
    went_on, restarted, stopped = of(NoticeAdded, events)
    assert "still runs" in went_on.title
    assert "restarted" in restarted.title
    assert stopped.title == "You stopped the turn."
    assert end_of(events).reason == "interrupted"


async def test_R1_an_interrupt_while_the_kernel_starts_keeps_the_code_from_running() -> None:
    kernel = FakeKernel({"1+1": TWO})
    starting = kernel.starting = asyncio.Event()
    session = make(FakeModel(ADD, "You stopped it."), kernel)

    def stop(event: AnyEvent) -> None:
        if isinstance(event, KernelChanged) and event.state == "starting":
            asyncio.get_running_loop().call_soon(session.interrupt)
            asyncio.get_running_loop().call_soon(starting.set)

    events = await play(session, session.run("add"), stop)
    assert kernel.ran == []
    assert of(ExecutionFinished, events)[0].status == "interrupted"
    assert end_of(events).reason == "done"


async def test_always_does_not_outlive_the_kernel_it_was_given_for() -> None:
    same = "```python\nf()\n```"
    kernel = FakeKernel({"f()": FAILED})
    session = make(FakeModel(same, "Done.", same, "Done."), kernel, approve="ask")
    asked: list[str] = []

    def always(event: AnyEvent) -> None:
        if isinstance(event, DecisionRequested):
            asked.append(event.source)
            session.decide(Decide(request_id=event.request_id, verdict="always"))

    await play(session, session.run("one"), always)
    await kernel.restart()
    await play(session, session.run("two"), always)
    assert asked == ["f()", "f()"]


async def test_an_interrupt_while_the_model_hangs_ends_the_turn_and_keeps_the_text() -> None:
    never = asyncio.Event()
    model = FakeModel([TextDelta(text="Let me think"), never, TextDelta(text=" more")])
    session = make(model)

    def stop(event: AnyEvent) -> None:
        if isinstance(event, ProseGrew):
            asyncio.get_running_loop().call_soon(session.interrupt)

    events = await play(session, session.run("hello"), stop)
    assert end_of(events).reason == "interrupted"
    assert narrow(session.transcript.blocks[-2], ProseBlock).state == "cut"
    assert narrow(session.transcript.blocks[-1], NoticeBlock).title == "You stopped the turn."
    assert model.closed == 1


async def test_an_interrupt_of_the_turn_while_a_question_is_up_refuses_it() -> None:
    kernel = FakeKernel()
    session = make(FakeModel(ADD), kernel, approve="ask")

    def stop(event: AnyEvent) -> None:
        if isinstance(event, DecisionRequested):
            session.interrupt(turn=True)

    events = await play(session, session.run("add"), stop)
    assert kernel.ran == []
    assert end_of(events).reason == "interrupted"


async def test_R4_a_run_that_wants_input_asks_and_the_answer_is_no_event_and_goes_to_no_model() -> None:
    script: Script = {"1+1": [asks("name? "), stdout_output("hi\n"), RunResult(status="ok")]}
    kernel = FakeKernel(script)
    model = FakeModel(ADD, "Done.")
    session = make(model, kernel)
    tasks: list[asyncio.Task[bool]] = []

    def answer(event: AnyEvent) -> None:
        if isinstance(event, InputRequested):
            tasks.append(asyncio.create_task(session.answer(event.request_id, "s3cret")))

    events = await play(session, session.run("ask me"), answer)
    assert kernel.answers == ["s3cret"]
    assert [answered.cancelled for answered in of(InputAnswered, events)] == [False]
    assert "s3cret" not in repr(events)
    assert "s3cret" not in repr(model.requests)
    assert await tasks[0]
    assert not await session.answer("late", "x")


class Overtaken(FakeKernel):
    """Its question arrives before what was printed: they take different ways."""

    async def run(self, source: str, block_id: str, emit: Emit) -> RunResult:
        given = asyncio.Event()
        self.given = given
        for event in (asks("name? "), stdout_output("before\n")):
            emit(in_block(event, block_id))
        await given.wait()
        emit(in_block(stdout_output("after\n"), block_id))
        return RunResult(status="ok")

    async def answer(self, text: str) -> None:
        await super().answer(text)
        self.given.set()


async def test_R4_output_that_comes_after_the_question_does_not_take_it_away() -> None:
    kernel = Overtaken()
    session = make(FakeModel(ADD, "Done."), kernel)
    asked: list[str] = []
    tasks: list[asyncio.Task[bool]] = []

    def answer(event: AnyEvent) -> None:
        if isinstance(event, InputRequested):
            asked.append(event.request_id)
        if isinstance(event, OutputAdded) and not tasks:
            tasks.extend(asyncio.create_task(session.answer(asked[0], word)) for word in ("first", "second"))

    async with asyncio.timeout(10):
        events = await play(session, session.run("ask me"), answer)
    assert [await task for task in tasks] == [True, False]
    assert kernel.answers == ["first"]
    assert [answered.cancelled for answered in of(InputAnswered, events)] == [False]


async def test_input_with_nobody_to_answer_interrupts_the_run() -> None:
    kernel = FakeKernel({"1+1": [asks("name? "), stdout_output("hi\n"), RunResult(status="ok")]})
    model = FakeModel(ADD, "Done.")
    events = await play(session := make(model, kernel, can_ask=False), session.run("ask me"))
    assert of(ExecutionFinished, events)[0].status == "interrupted"
    assert "[cut off: there was nobody to ask]" in last_message(model)


async def test_a_kernel_that_cannot_start_ends_the_turn_in_plain_words() -> None:
    kernel = FakeKernel()
    kernel.fails = KernelError("The python kernel did not start.", hint="Install ipykernel.")
    session = make(FakeModel(ADD), kernel)
    events = await play(session, session.run("add"))
    assert events[-1] == TurnEnded(reason="kernel_error", detail="The python kernel did not start.")
    (code,) = codes(session)
    assert code.state == "died"
    assert report(code, 100) == "[approved, not started: it could not be started]"


async def test_R3_a_kernel_that_dies_is_reported_and_the_turn_goes_on_with_the_model_told() -> None:
    died = [RunResult(status="died", detail="The python kernel ended (exit code 1).")]
    model = FakeModel(ADD, "It died.")
    session = make(model, FakeKernel({"1+1": died}))
    events = await play(session, session.run("add"))
    notice = of(NoticeAdded, events)[0]
    assert "exit code 1" in notice.title
    assert "/restart" in notice.hint
    assert "all variables are lost" in last_message(model)
    assert end_of(events).reason == "done"


async def test_two_languages_have_their_own_kernels() -> None:
    answer = "```bash\nls\n```\nthen\n```python\n1\n```"
    python, shell = FakeKernel(), FakeKernel(language="shell")
    await play(session := make(FakeModel(answer, "ok"), python, shell=shell), session.run("x"))
    assert (python.ran, shell.ran) == (["1"], ["ls"])


async def test_the_persons_own_code_runs_without_a_question_and_the_model_sees_it_later() -> None:
    model = FakeModel("I see.")
    kernel = FakeKernel()
    session = make(model, kernel, approve="ask")
    events = await play(session, session.run_code("python", "x = 5"))
    assert kernel.ran == ["x = 5"]
    assert not of(DecisionRequested, events)
    await play(session, session.run("what is x?"))
    assert "x = 5" in last_message(model)


async def test_cancelling_a_turn_in_the_middle_leaves_no_run_behind() -> None:
    kernel = FakeKernel({"1+1": [stdout_output("a"), stdout_output("b"), RunResult(status="ok")]})
    kernel.blocked = True
    session = make(FakeModel(ADD), kernel)
    observer = RecordingObserver()
    session.emitter.observers = (observer,)
    running = asyncio.create_task(session.run("add"))
    async with asyncio.timeout(10):
        await observer.until(lambda event: isinstance(event, ExecutionStarted))
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert kernel.state == "idle"
    assert not observer.of(TurnEnded)


async def test_L6_reset_clears_and_two_sessions_share_nothing() -> None:
    one, two = make(FakeModel("one")), make(FakeModel("two"))
    await play(one, one.run("hello"))
    assert two.transcript.blocks == []
    one.choices.set_approval("never")
    assert (one.transcript.approval, two.transcript.approval) == ("never", "ask")
    assert one.kernels.get("python") is not two.kernels.get("python")
    one.forget()
    assert one.transcript.blocks == []
    await play(one, one.run("again"))
    assert len(narrow(one.choices.model, FakeModel).requests[-1].messages) == 2


async def test_L6_a_path_that_does_not_exist_is_accepted_as_text() -> None:
    model = FakeModel("ok")
    session = make(model)
    events = await play(session, session.run("look at it", files=("/no/such/file.csv",)))
    assert events[0] == TurnStarted(
        block_id=narrow(events[0], TurnStarted).block_id, text="look at it", files=("/no/such/file.csv",)
    )
    assert "/no/such/file.csv" in last_message(model)


async def test_an_empty_answer_is_said() -> None:
    session = make(FakeModel([AnswerEnded()]))
    events = await play(session, session.run("hello"))
    assert "empty answer" in of(NoticeAdded, events)[0].title
    assert end_of(events).reason == "done"


async def test_without_a_model_the_turn_ends_with_what_to_do() -> None:
    session = Session(kernels=FakeKernels(), settings=LoopSection())
    events = await play(session, session.run("hello"))
    assert end_of(events).reason == "model_error"
    assert "/model" in of(NoticeAdded, events)[0].hint


async def test_every_proposal_is_decided_before_it_runs() -> None:
    session = make(FakeModel(ADD, "Done."))
    events = await play(session, session.run("add"))
    order = [type(e) for e in events if isinstance(e, CodeFinished | DecisionMade | ExecutionStarted)]
    assert order == [CodeFinished, DecisionMade, ExecutionStarted]
    assert isinstance(events[0], TurnStarted)


def test_stream_outputs_join_only_their_own_kind() -> None:
    transcript = Transcript()
    from_kernel: list[tuple[StreamName, str]] = [("stdout", "a"), ("stdout", "b"), ("stderr", "c"), ("stdout", "d")]
    transcript.apply(CodeStarted(block_id="x", language="python"))
    for name, text in from_kernel:
        transcript.apply(OutputAdded(block_id="x", output=StreamOutput(name=name, text=text)))
    block = narrow(transcript.block("x"), CodeBlock)
    assert [(o.name, o.text) for o in of(StreamOutput, block.outputs)] == [
        ("stdout", "ab"),
        ("stderr", "c"),
        ("stdout", "d"),
    ]


@pytest.mark.parametrize("opening", ["<think>", ""], ids=["opened", "opened_in_the_prompt"])
@pytest.mark.parametrize("approve", ["auto", "ask"])
async def test_U27_what_the_model_only_thought_is_never_run_and_never_asked_about(
    opening: str, approve: ApprovalMode
) -> None:
    model = FakeModel(f"{opening}Perhaps\n```python\nrm\n```\nBetter not.\n</think>\n\n{ADD}", "It is 2.")
    kernel = FakeKernel({"1+1": TWO})
    session = make(model, kernel, approve=approve)

    def allow(event: AnyEvent) -> None:
        if isinstance(event, DecisionRequested):
            session.decide(Decide(request_id=event.request_id, verdict="run"))

    events = await play(session, session.run("add"), allow)
    assert kernel.ran == ["1+1"]
    assert [event.source for event in of(DecisionRequested, events)] == (["1+1"] if approve == "ask" else [])
    assert events[-1] == TurnEnded(reason="done")
    again = Transcript()
    for event in events:
        again.apply(event)
    assert again == session.transcript
    if not opening:
        assert [(code.source, code.state) for code in codes(session)] == [("rm", "refused"), ("1+1", "ok")]
        assert "it was part of the model's thinking" in last_message(model)


async def test_L25_thoughts_are_kept_counted_and_told_to_nobody_again() -> None:
    usage = AnswerUsage(input_tokens=5, output_tokens=50, thought_tokens=40)
    first: list[Delta] = [
        ThoughtDelta(text="Hm. "),
        ThoughtDelta(text="```python\nrm\n```"),
        TextDelta(text=ADD),
        usage,
    ]
    model, kernel = FakeModel(first, "It is 2."), FakeKernel({"1+1": TWO})
    session = make(model, kernel, approve="auto")
    await play(session, session.run("add"))
    assert kernel.ran == ["1+1"]
    thought, *_ = (block for block in session.transcript.blocks if isinstance(block, ThoughtBlock))
    assert (thought.text, thought.tokens, thought.state) == ("Hm. ```python\nrm\n```", 40, "complete")
    assert thought.seconds is not None
    assert thought_title(thought) == f"thought for {thought.seconds:.1f} s · 40 tokens"
    assert "Hm." not in "".join(message.text for message in model.requests[-1].messages)
    spent = msgspec.structs.replace(session.transcript.usage, cost=0.5, priced=0.5)
    again = fold_events(events_of_blocks(session.transcript.blocks, spent))
    assert again.usage == spent, "the tokens of a thought are none that cost anew"
    assert again.blocks[1] == thought


async def test_U27_an_answer_that_is_all_thinking_runs_nothing() -> None:
    kernel = FakeKernel()
    call = ToolDelta(index=0, id="c1", name="execute", arguments='{"code": "rm"}')
    session = make(FakeModel([TextDelta(text="<think>\n```python\nrm\n```\n"), call]), kernel)
    events = await play(session, session.run("go"))
    assert kernel.ran == []
    assert events[-1] == TurnEnded(reason="done")
    assert [(code.call_id, code.state) for code in codes(session)] == [("c1", "refused")]
