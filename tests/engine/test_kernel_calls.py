"""What running code calls, with the shipped fakes: each call is an action that is decided, run, told and bounded."""

import asyncio
import json

from oi_tui.app.engine.agent.kernel_calls import MOST_CALLS
from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.blocks import ActionBlock, CallBlock, CodeBlock
from oi_tui.app.engine.core.events import (
    ActiveLineChanged,
    AnyEvent,
    DecisionMade,
    DecisionRequested,
    ExecutionFinished,
    ExecutionStarted,
    InputRequested,
    TurnEnded,
    UsageReported,
)
from oi_tui.app.engine.core.kernel_call import CALL_MARK, read_call
from oi_tui.app.engine.core.outcomes import Verdict
from oi_tui.app.engine.core.settings import LoopSection
from oi_tui.app.engine.core.values import ApprovalMode, Confinement, KernelCall
from oi_tui.app.engine.core.verbs import Decide
from oi_tui.app.engine.formats.lmc.writer import LmcWriter
from oi_tui.app.engine.kernels.base import RunResult
from oi_tui.app.engine.log.audit.fold import AuditFold
from oi_tui.app.engine.log.audit.records import RunBegan, RunEnded, Surroundings
from oi_tui.app.engine.secrets.redaction import Redactor
from oi_tui.app.engine.testing import FakeKernel, FakeKernels, FakeModel, stdout_output
from oi_tui.app.engine.transcript.event_log import fold_events
from oi_tui.app.engine.transcript.from_blocks import events_of_blocks
from support.recording_observer import RecordingObserver
from support.turns import play

CELL = "```python\ncell\n```"
OVER = RunResult(status="ok")


def runs(code: str, language: str = "shell", number: int = 1) -> InputRequested:
    return InputRequested(
        request_id="",
        block_id="",
        prompt="",
        call=KernelCall(number=number, method="run", text=code, language=language),
    )


def asks_model(prompt: str, number: int = 1) -> InputRequested:
    return InputRequested(
        request_id="", block_id="", prompt="", call=KernelCall(number=number, method="ask", text=prompt)
    )


class House:
    """A session whose Python cell makes these calls."""

    def __init__(
        self,
        *calls: AnyEvent,
        approve: ApprovalMode = "auto",
        answers: tuple[str, ...] = (CELL, "Done."),
        redactor: Redactor | None = None,
        max_tokens: int = 0,
    ) -> None:
        sandboxed = Confinement(sandboxed=True, offline=True)
        self.python = FakeKernel({"cell": [*calls, OVER]}, confinement=sandboxed)
        self.shell = FakeKernel(language="shell", confinement=sandboxed)
        self.model = FakeModel(*answers)
        self.session = Session(
            kernels=FakeKernels(python=self.python, shell=self.shell),
            settings=LoopSection(approve=approve, max_tokens=max_tokens),
            model=self.model,
            redactor=redactor,
        )

    @property
    def replies(self) -> list[dict[str, object]]:
        return [json.loads(answer) for answer in self.python.answers]

    def called(self) -> list[ActionBlock]:
        blocks = self.session.transcript.blocks
        return [block for block in blocks if isinstance(block, CodeBlock | CallBlock) and block.caller]


def decide(session: Session, verdict: Verdict, reason: str = "") -> RecordingObserver:
    """Runs the cell, and answers so what is asked about the code that it calls."""

    def react(event: AnyEvent) -> None:
        if isinstance(event, DecisionRequested):
            said: Verdict = "run" if event.language == "python" else verdict
            session.decide(Decide(request_id=event.request_id, verdict=said, reason=reason))

    observer = RecordingObserver(react)
    session.emitter.observers = (observer,)
    return observer


async def test_L38_code_that_is_called_is_a_block_of_its_own_and_its_output_comes_back() -> None:
    house = House(runs("ls"))
    events = await play(house.session, house.session.run("go"))
    (called,) = house.called()
    cell = next(block for block in house.session.transcript.blocks if isinstance(block, CodeBlock))
    assert (called.source, called.runs_in, called.state, called.caller) == ("ls", "shell", "ok", cell.id)
    assert house.replies == [{"number": 1, "text": "ls"}]
    assert house.shell.ran == ["ls"]
    of_called = [type(event) for event in events if getattr(event, "block_id", "") == called.id]
    assert of_called.index(DecisionMade) < of_called.index(ExecutionStarted)
    assert not [event for event in events if isinstance(event, InputRequested)]
    assert events[-1] == TurnEnded(reason="done")


async def test_L38_the_model_reads_what_its_code_prints_and_not_what_that_called() -> None:
    house = House(runs("ls"))
    await play(house.session, house.session.run("go"))
    assert "ls" not in "".join(message.text for message in house.model.requests[1].messages[1:])


async def test_U31_what_code_calls_is_asked_about_and_a_refusal_is_an_error_in_it() -> None:
    house = House(runs("rm -r x"), approve="ask")
    observer = decide(house.session, "skip", "keep x")
    await house.session.run("go")
    assert [event.source for event in observer.of(DecisionRequested)] == ["cell", "rm -r x"]
    assert house.shell.ran == []
    assert house.replies == [{"number": 1, "refusal": "Not run: keep x."}]
    assert observer.of(TurnEnded)[-1].reason == "done"


async def test_U31_a_refusal_without_a_reason_ends_the_turn_once_the_cell_is_over() -> None:
    house = House(runs("rm -r x"), approve="ask")
    observer = decide(house.session, "skip")
    await house.session.run("go")
    assert house.shell.ran == []
    assert observer.of(ExecutionFinished)[-1].status == "ok"
    assert observer.of(TurnEnded)[-1].reason == "refused"


async def test_U31_stop_at_the_question_about_what_was_called_interrupts_the_cell() -> None:
    house = House(runs("rm -r x"), approve="ask")
    observer = decide(house.session, "stop")
    await house.session.run("go")
    assert (house.shell.ran, house.replies) == ([], [])
    assert observer.of(ExecutionFinished)[-1].status == "interrupted"
    assert observer.of(TurnEnded)[-1].reason == "stopped"


async def test_U31_the_mode_never_and_a_rule_that_denies_hold_for_what_code_calls() -> None:
    house = House(runs("rm -r x"), asks_model("x", 2), runs("ls", number=3))
    house.session.decisions.add_rule("deny", "Shell(rm *)")
    house.session.decisions.add_rule("deny", "Tool(ask_model)")
    await play(house.session, house.session.run("go"))
    assert house.shell.ran == ["ls"]
    assert "denied" in str(house.replies[0]["refusal"])
    assert "denied" in str(house.replies[1]["refusal"])
    assert len(house.model.requests) == 2

    typed = House(runs("ls"), asks_model("x", 2), approve="never")
    await play(typed.session, typed.session.run_code("python", "cell"))
    assert typed.shell.ran == []
    assert typed.model.requests == []
    assert all(reply["refusal"] for reply in typed.replies)


async def test_U33_the_question_says_which_running_code_asks() -> None:
    house = House(ActiveLineChanged(block_id="", line=1), runs("rm -r data"), approve="ask")
    observer = decide(house.session, "run")
    await play(house.session, house.session.run("go"))
    asked = [event.asked_by for event in observer.events if isinstance(event, DecisionRequested)]
    assert asked == ["", "python · cell"]


async def test_L38_an_unknown_language_and_the_callers_own_are_clear_errors() -> None:
    house = House(runs("x", "cobol"), runs("1", "python", 2))
    await play(house.session, house.session.run("go"))
    assert "There are: python, shell" in str(house.replies[0]["refusal"])
    assert "waits for the call" in str(house.replies[1]["refusal"])
    assert house.called() == []


async def test_U31_calls_are_bounded_in_number_length_and_depth() -> None:
    house = House(*(runs("ls", number=number) for number in range(MOST_CALLS + 1)), runs("x" * 200_000))
    await play(house.session, house.session.run("go"))
    assert house.shell.ran == ["ls"] * MOST_CALLS
    assert all("no more" in str(reply["refusal"]) for reply in house.replies[MOST_CALLS:])

    deep = House(runs("deeper"))
    deep.shell.script = {"deeper": [runs("ls", "python", 7), OVER]}
    await play(deep.session, deep.session.run("go"))
    assert "any further" in deep.shell.answers[0]
    assert deep.python.ran == ["cell"]

    long = House(runs("x" * 100_001))
    await play(long.session, long.session.run("go"))
    assert "100,000" in str(long.replies[0]["refusal"])

    flood = House(runs("ls"))
    flood.shell.script = {"ls": [stdout_output("y" * 300_000), OVER]}
    await play(flood.session, flood.session.run("go"))
    assert len(str(flood.replies[0]["text"])) < 101_000


async def test_U31_code_on_another_machine_can_call_nothing_here() -> None:
    house = House(runs("ls"), asks_model("x", 2))
    house.python.elsewhere = True
    decide(house.session, "run")
    await house.session.run("go")
    assert house.shell.ran == []
    assert len(house.model.requests) == 2
    assert all("another machine" in str(reply["refusal"]) for reply in house.replies)


async def test_L38_a_model_that_code_asks_sees_the_prompt_alone_and_counts() -> None:
    secret = "sk-very-secret-value-1234567890"
    house = House(asks_model(f"key {secret}"), answers=(CELL, "four", "Done."), redactor=Redactor({"KEY": secret}))
    events = await play(house.session, house.session.run("go"))
    assert house.replies == [{"number": 1, "text": "four"}]
    asked = house.model.requests[1]
    assert asked.tools == ()
    assert [message.role for message in asked.messages] == ["system", "user"]
    assert secret not in asked.messages[1].text
    assert "KEY" in asked.messages[1].text
    assert [event.aside for event in events if isinstance(event, UsageReported)] == [False, True, False]
    (called,) = house.called()
    assert called.runs_in == "tool ask_model"
    assert all("ask_model" not in tool.name for request in house.model.requests for tool in request.tools)


async def test_L11_what_code_asks_is_paid_from_the_same_budget() -> None:
    house = House(asks_model("x"), max_tokens=50)
    await play(house.session, house.session.run("go"))
    assert len(house.model.requests) == 1
    assert "has spent" in str(house.replies[0]["refusal"])


async def test_L3_an_interrupt_stops_the_cell_and_what_it_called() -> None:
    house = House(runs("ls"))
    house.shell.blocked = True

    def react(event: AnyEvent) -> None:
        if isinstance(event, ExecutionStarted) and house.shell.state == "idle":
            house.session.interrupt()

    observer = RecordingObserver(react)
    house.session.emitter.observers = (observer,)
    await house.session.run("go")
    states = [event.status for event in observer.of(ExecutionFinished)]
    assert states == ["interrupted", "interrupted"]


async def test_L3_an_interrupt_takes_back_the_question_about_what_was_called() -> None:
    house = House(runs("ls"), approve="ask")

    def react(event: AnyEvent) -> None:
        match event:
            case DecisionRequested(language="python"):
                house.session.decide(Decide(request_id=event.request_id, verdict="run"))
            case DecisionRequested():
                house.session.interrupt()
            case _:
                pass

    observer = RecordingObserver(react)
    house.session.emitter.observers = (observer,)
    await house.session.run("go")
    assert house.shell.ran == []
    assert house.called()[0].state == "refused"
    assert [event.status for event in observer.of(ExecutionFinished)] == ["interrupted"]


async def test_U31_the_audit_log_has_both_runs_with_their_ends() -> None:
    house = House(runs("ls"))
    fold = AuditFold(Surroundings(cwd="/w", sandbox="none"), str)
    records: list[object] = []

    def take(event: AnyEvent) -> None:
        if isinstance(event, ExecutionStarted):
            block = house.session.transcript.block(event.block_id)
            assert isinstance(block, CodeBlock)
            records.append(fold.begin(event, block, 1.0))
        records.append(fold.take(event, 1.0))

    house.session.emitter.observers = (take,)
    await house.session.run("go")
    ran = [record for record in records if isinstance(record, RunBegan | RunEnded)]
    assert [type(record).__name__ for record in ran] == ["RunBegan", "RunBegan", "RunEnded", "RunEnded"]
    assert [record.language for record in ran if isinstance(record, RunBegan)] == ["python", "shell"]
    assert [record.output_characters for record in ran if isinstance(record, RunEnded)] == [2, 0]


async def test_L1_each_message_of_a_session_with_calls_has_one_start_and_one_end() -> None:
    house = House(stdout_output("a\n"), runs("ls"), stdout_output("b\n"))
    late = stdout_output("late\n")

    def react(event: AnyEvent) -> None:
        if isinstance(event, DecisionMade) and event.source == "ls":
            house.python.late[-1](late)  # what it printed before the call may come after it

    events = await play(house.session, house.session.run("go"), react)
    writer, open_runs = LmcWriter(), 0
    chunks = [chunk for event in events for chunk in writer.chunks(event)]
    for chunk in chunks:
        open_runs += bool(chunk.get("start")) - bool(chunk.get("end"))
        assert open_runs in (0, 1)
    consoles = [chunk for chunk in chunks if chunk.get("type") == "console" and chunk.get("content")]
    texts = [(chunk["block"], chunk["content"]) for chunk in consoles if chunk.get("format") == "output"]
    assert [text for _, text in texts] == ["a\n", "late\n", "ls", "b\n"]
    assert texts[0][0] == texts[1][0] == texts[3][0] != texts[2][0]


async def test_L5_a_session_with_calls_is_the_same_when_it_is_read_again() -> None:
    house = House(runs("ls"), asks_model("x", 2), answers=(CELL, "four", "Done."))
    events = await play(house.session, house.session.run("go"))
    blocks = list(house.session.transcript.blocks)
    assert list(fold_events(events).blocks) == blocks
    again = fold_events(list(events_of_blocks(blocks)))
    assert [getattr(block, "caller", "") for block in again.blocks] == [getattr(b, "caller", "") for b in blocks]


def test_U31_a_question_that_only_looks_like_a_call_is_a_question() -> None:
    for question in ("name? ", CALL_MARK, f"{CALL_MARK}[]", f'{CALL_MARK}{{"number": 1, "method": "rm"}}', "\0oi-tui"):
        assert read_call(question) is None
    said = CALL_MARK + json.dumps({"number": 3, "method": "run", "text": "ls", "language": "shell"})
    assert read_call(said) == KernelCall(number=3, method="run", text="ls", language="shell")


async def test_U31_a_refusal_in_the_persons_own_cell_does_not_end_the_turn_after_it() -> None:
    house = House(runs("ls"), approve="ask", answers=(CELL, "Done."))
    observer = decide(house.session, "skip")
    await house.session.run_code("python", "cell")
    assert "refused" in str(house.replies[0]["refusal"])
    house.python.script = {"cell": [OVER]}
    await house.session.run("go")
    assert observer.of(TurnEnded)[-1].reason == "done"


async def test_U31_what_was_called_ends_with_a_kernel_that_dies_under_its_call() -> None:
    house = House(runs("ls"))
    house.shell.blocked = True

    def react(event: AnyEvent) -> None:
        if isinstance(event, ExecutionStarted) and house.shell.state == "idle":
            answering.append(asyncio.create_task(house.python.answer("")))  # the caller goes on, and ends

    answering: list[asyncio.Task[None]] = []
    house.python.script = {"cell": [runs("ls"), RunResult(status="died")]}
    observer = RecordingObserver(react)
    house.session.emitter.observers = (observer,)
    await house.session.run("go")
    assert [event.status for event in observer.of(ExecutionFinished)] == ["interrupted", "died"]
