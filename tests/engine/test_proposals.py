"""What another assistant proposes, between turns: decided about like a model's, and given up where nobody answers."""

from oi_tui.app.engine.agent.conversation import Conversation
from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.agent.proposal import Proposal
from oi_tui.app.engine.core.events import AnyEvent, DecisionMade, DecisionRequested, ExecutionStarted, InputRequested
from oi_tui.app.engine.core.settings import LoopSection
from oi_tui.app.engine.core.values import ApprovalMode
from oi_tui.app.engine.core.verbs import Decide
from oi_tui.app.engine.kernels.base import RunResult
from oi_tui.app.engine.secrets.redaction import Redactor
from oi_tui.app.engine.session.proposed_job import ProposedJob
from oi_tui.app.engine.testing import FakeKernel, FakeKernels
from oi_tui.app.frontend.session_status import activity, lacks_model
from support.kinds import of
from support.turns import play

CODE = Proposal("b1", "print(1)", language="python")


def session_of(kernel: FakeKernel, approve: ApprovalMode = "ask") -> Session:
    return Session(kernels=FakeKernels(python=kernel), settings=LoopSection(approve=approve))


async def test_N15_a_question_that_is_given_up_is_refused_by_no_person_and_runs_nothing() -> None:
    kernel = FakeKernel()
    session = session_of(kernel)

    def leave_alone(event: AnyEvent) -> None:
        if isinstance(event, DecisionRequested):
            session.give_up_waiting("nobody came")

    events = await play(session, session.propose(CODE), leave_alone)
    (made,) = of(DecisionMade, events)
    assert (made.verdict, made.decider, made.reason) == ("skip", "rule", "nobody came")
    assert kernel.ran == []
    assert session.transcript.pending_decision is None
    word = ""
    for event in events:
        word = activity(event, word, turn_open=session.transcript.turn_open)
    assert word == ""  # nothing seems to go on


async def test_N15_an_answer_decides_and_a_stop_ends_the_call_alone() -> None:
    kernel = FakeKernel()
    session = session_of(kernel)
    verdicts = ["stop", "run"]

    def decide(event: AnyEvent) -> None:
        if isinstance(event, DecisionRequested):
            verdict = verdicts.pop(0)
            session.decide(Decide(request_id=event.request_id, verdict="run" if verdict == "run" else "stop"))

    await play(session, session.propose(CODE), decide)
    assert kernel.ran == []
    await play(session, session.propose(CODE._replace(block_id="b2")), decide)
    assert kernel.ran == ["print(1)"]


async def test_N15_in_the_mode_never_nothing_runs_and_nobody_is_asked() -> None:
    kernel = FakeKernel()
    events = await play(session := session_of(kernel, "never"), session.propose(CODE))
    assert not of(DecisionRequested, events)
    assert kernel.ran == []
    assert session.transcript.block("b1")


async def test_N15_input_that_nobody_gives_interrupts_the_run() -> None:
    asks = InputRequested(request_id="r", block_id="b1", prompt="Name?")
    kernel = FakeKernel({"print(1)": [asks, RunResult(status="ok")]})
    session = session_of(kernel, "auto")

    def leave_alone(event: AnyEvent) -> None:
        if isinstance(event, InputRequested):
            session.give_up_waiting("nobody came")

    await play(session, session.propose(CODE), leave_alone)
    assert kernel.interrupts
    assert session.transcript.pending_input is None


async def test_N16_what_is_given_up_before_its_turn_is_not_begun() -> None:
    kernel = FakeKernel()
    session, job = session_of(kernel, "auto"), ProposedJob(CODE)
    job.give_up(session, "too late")
    await job.perform(session)
    assert job.over.is_set()
    assert not session.transcript.has("b1")


async def test_N14_a_model_of_ours_reads_it_as_run_and_a_front_end_asks_for_no_model() -> None:
    session = session_of(FakeKernel(), "auto")
    assert lacks_model(session.transcript)
    events = await play(session, session.propose(CODE))
    assert of(ExecutionStarted, events)
    assert not lacks_model(session.transcript)
    told = Conversation(Redactor(), 1_000).messages(session.transcript.blocks, system="s")
    assert [message.role for message in told] == ["system", "assistant", "user"]
    assert "print(1)" in told[1].text
