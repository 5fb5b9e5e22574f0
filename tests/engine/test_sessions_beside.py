"""Several sessions at work in one engine: each has kernels, policy, budget and logs of its own; no other is touched."""

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, closing
from itertools import count
from pathlib import Path

import pytest

from oi_tui.app.engine.core.blocks import CodeBlock, ProseBlock, UserBlock
from oi_tui.app.engine.core.chat_model import ChatRequest, Delta
from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.events import (
    DecisionMade,
    DecisionRequested,
    ExecutionFinished,
    ExecutionStarted,
    InputRequested,
    KernelChanged,
    SessionOpened,
    SettingsChanged,
    TurnEnded,
    TurnStarted,
)
from oi_tui.app.engine.core.library_verbs import FindSessions
from oi_tui.app.engine.core.protocol_lines import decode_request
from oi_tui.app.engine.core.settings import ModelSection, Settings
from oi_tui.app.engine.core.values import ApprovalMode
from oi_tui.app.engine.core.verbs import (
    AddRule,
    Answer,
    Decide,
    Fork,
    Interrupt,
    Leave,
    Open,
    Restart,
    SetApproval,
    SetBudget,
    Submit,
)
from oi_tui.app.engine.kernels.base import RunResult
from oi_tui.app.engine.log.audit.audit_hook import AuditTrail
from oi_tui.app.engine.log.audit.log import find_log
from oi_tui.app.engine.log.audit.records import NetworkWasRefused, RunBegan, Surroundings, decode
from oi_tui.app.engine.log.audit.verify import verify_folder
from oi_tui.app.engine.log.log import Log
from oi_tui.app.engine.log.recording.form import VERSION, Asked, Header, read_recording
from oi_tui.app.engine.log.recording.tape import Tape
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.sandbox.hosts import Refusal
from oi_tui.app.engine.secrets.redaction import Redactor
from oi_tui.app.engine.session.engine import Engine
from oi_tui.app.engine.session.services import KernelTies, Services
from oi_tui.app.engine.testing import FakeKernel, FakeKernels, FakeModel, FakeModels, asks, stdout_output
from oi_tui.app.engine.transcript.event_log import fold_events
from oi_tui.app.engine.trust.change_scan import FolderScanner
from oi_tui.app.frontend.client import LocalClient
from support.front import engine
from support.kinds import Kind, of
from support.many import ManyFront, OwnModels, many

EIGHT = range(8)
VICTIM = 3


def code(source: str) -> str:
    return f"```python\n{source}\n```"


def working_kernel(number: int) -> FakeKernel:
    """Waits for a line in the middle of its run, so that all can be at work at once; that of the victim dies then."""
    end = RunResult(status="died", detail="It was killed.") if number == VICTIM else RunResult(status="ok")
    return FakeKernel({f"work({number})": [asks("go? "), stdout_output(f"result {number}"), end]})


def trail_in(folder: Path) -> AuditTrail:
    return AuditTrail(
        folder=folder / "audit",
        surroundings=Surroundings(cwd="/work", sandbox="danger-full-access"),
        make_watch=lambda: FolderScanner([folder / "none"]),
        sandboxed=False,
    )


def records(folder: Path, session_id: str, kind: type[Kind]) -> list[Kind]:
    log = find_log(folder / "audit", session_id)
    lines = [] if log is None else log.read_bytes().splitlines()
    return of(kind, [entry.record for line in lines if (entry := decode(line))])


def claimed(folder: Path) -> set[str]:
    return {name.removesuffix(".lock") for name in os.listdir(folder / "open")}


async def ended_for_good(kernel: FakeKernel) -> None:
    async with asyncio.timeout(10):
        await kernel.closed.wait()


@asynccontextmanager
async def sessions(
    folder: Path, *models: FakeModel, kernels: list[FakeKernel] | None = None, approve: ApprovalMode = "auto"
) -> AsyncIterator[tuple[ManyFront, list[str], list[KernelTies]]]:
    """As many sessions as models, their ids, and the ties of their kernels; each has the kernel of its number."""
    ties: list[KernelTies] = []

    def make_kernels(given: KernelTies) -> FakeKernels:
        ties.append(given)
        return FakeKernels(python=kernels[len(ties) - 1] if kernels else FakeKernel())

    own = OwnModels(*models)
    async with (
        engine(folder, models[0], models=own, kernels=make_kernels, trail=trail_in(folder), approve=approve) as front,
        many(front.client) as following,
    ):
        yield following, [await following.open() for _ in models], ties


async def test_eight_sessions_work_at_once_and_the_end_of_one_kernel_touches_one(tmp_path: Path) -> None:
    models = [FakeModel(code(f"work({number})"), f"Done {number}.") for number in EIGHT]
    kernels = [working_kernel(number) for number in EIGHT]
    async with sessions(tmp_path, *models, kernels=kernels) as (front, ids, _):
        assert claimed(tmp_path) == set(ids)
        for number, session_id in enumerate(ids):
            await front.send(Submit(session_id=session_id, text=f"go {number}"))
        asked = [await front.until_event(session_id, InputRequested) for session_id in ids]
        assert [kernel.state for kernel in kernels] == ["busy"] * 8  # all of them at once
        for session_id, question in zip(ids, asked, strict=True):
            assert isinstance(question, InputRequested)
            await front.send(Answer(session_id=session_id, request_id=question.request_id, text="on"))
        ended = [await front.until_event(session_id, TurnEnded) for session_id in ids]
        assert [event.reason for event in ended if isinstance(event, TurnEnded)] == ["done"] * 8
        for number, session_id in enumerate(ids):
            prompt, block, *notes, answer = front.transcripts[session_id].blocks
            assert isinstance(prompt, UserBlock)
            assert isinstance(block, CodeBlock)
            assert isinstance(answer, ProseBlock)
            assert (prompt.text, block.source) == (f"go {number}", f"work({number})")
            assert answer.text.strip() == f"Done {number}."
            died = [event for event in front.of(session_id, KernelChanged) if event.state == "dead"]
            status = "died" if number == VICTIM else "ok"
            assert [event.status for event in front.of(session_id, ExecutionFinished)] == [status]
            assert (bool(died), bool(notes)) == ((number == VICTIM,) * 2)
        assert [kernel.ran for kernel in kernels] == [[f"work({number})"] for number in EIGHT]
        seen = {session_id: front.transcripts[session_id].blocks for session_id in ids}
        runs = {session_id: front.of(session_id, ExecutionStarted) for session_id in ids}
        await front.leave(ids[0])
        assert claimed(tmp_path) == set(ids[1:])
        await ended_for_good(kernels[0])
        assert [kernel.state for kernel in kernels[1:]].count("idle") == 6  # all but the victim's
    assert claimed(tmp_path) == set()
    assert [kernel.state for kernel in kernels] == ["dead"] * 8
    with closing(Store(tmp_path / "sessions.db")) as store:
        assert {session_id: fold_events(store.load(session_id)).blocks for session_id in ids} == seen
        assert {record.title for record in store.sessions()} == {f"go {number}" for number in EIGHT}
    for session_id in ids:
        (began,) = records(tmp_path, session_id, RunBegan)
        assert [began.block_id] == [event.block_id for event in runs[session_id]]
    reports = verify_folder(tmp_path / "audit")
    assert {report.name for report in reports} >= set(ids)
    assert all(report.intact for report in reports)


async def test_a_grant_a_rule_and_a_mode_of_one_session_count_in_no_other(tmp_path: Path) -> None:
    models = [FakeModel(code("1+1"), "Done.") for _ in range(3)]
    models[0].answers += models[0].answers
    async with sessions(tmp_path, *models, approve="ask") as (front, (granted, ruled, other), _):
        await front.send(Submit(session_id=granted, text="add"))
        asked = await front.until_event(granted, DecisionRequested)
        assert isinstance(asked, DecisionRequested)
        await front.send(Decide(session_id=granted, request_id=asked.request_id, verdict="always"))
        await front.until_event(granted, TurnEnded)
        await front.send(Submit(session_id=granted, text="again"))
        await front.until_event(granted, TurnEnded, 2)
        assert [event.decider for event in front.of(granted, DecisionMade)] == ["person", "grant"]
        await front.send(AddRule(session_id=ruled, verdict="deny", rule="Python"))
        await front.send(Submit(session_id=ruled, text="add"))
        await front.until_event(ruled, TurnEnded)
        assert [event.decider for event in front.of(ruled, DecisionMade)] == ["rule"]
        await front.send(SetApproval(session_id=ruled, mode="auto"))
        await front.send(Submit(session_id=other, text="add"))
        asked = await front.until_event(other, DecisionRequested)
        assert isinstance(asked, DecisionRequested)
        await front.send(Decide(session_id=granted, request_id=asked.request_id, verdict="run"))  # not its question
        await front.send(Decide(session_id=other, request_id=asked.request_id, verdict="stop"))
        await front.until_event(other, TurnEnded)
        assert [event.verdict for event in front.of(other, DecisionMade)] == ["stop"]
        assert front.of(ruled, ExecutionStarted) == front.of(other, ExecutionStarted) == []
        assert front.failures == []


async def test_a_budget_of_one_session_is_spent_in_no_other(tmp_path: Path) -> None:
    models = [FakeModel("One.", "Two.") for _ in range(2)]
    async with sessions(tmp_path, *models) as (front, (one, other), _):
        for session_id in (one, other):
            await front.send(SetBudget(session_id=session_id, max_tokens=150))
        await front.send(Submit(session_id=one, text="first"))
        await front.until_event(one, TurnEnded)
        await front.send(SetBudget(session_id=one, max_tokens=1))
        await front.send(Submit(session_id=one, text="second"))
        stopped = await front.until_event(one, TurnEnded, 2)
        await front.send(Submit(session_id=other, text="first"))
        ended = await front.until_event(other, TurnEnded)
        assert isinstance(stopped, TurnEnded)
        assert isinstance(ended, TurnEnded)
        assert (stopped.reason, ended.reason) == ("budget", "done")
        limits = [event.max_tokens for event in front.of(other, SettingsChanged)]
        assert limits[-1] == 150


async def test_an_interrupt_a_restart_and_the_end_of_one_session_stop_no_other(tmp_path: Path) -> None:
    kernels = [FakeKernel() for _ in range(3)]
    for kernel in kernels:
        kernel.blocked = True
    models = [FakeModel(code(f"x = {number}"), "Done.") for number in range(3)]
    async with sessions(tmp_path, *models, kernels=kernels) as (front, (one, two, three), _):
        for session_id in (one, two, three):
            await front.send(Submit(session_id=session_id, text="go"))
            await front.until_event(session_id, ExecutionStarted)
        await front.send(Restart(session_id=three))  # waits for its turn, in its own session
        await front.send(Interrupt(session_id=one, turn=True))
        ended = await front.until_event(one, TurnEnded)
        assert isinstance(ended, TurnEnded)
        assert ended.reason == "interrupted"
        await front.send(Leave(session_id=two))
        assert [kernel.interrupts for kernel in kernels] == [1, 0, 0]
        assert kernels[2].state == "busy"
        await front.send(Interrupt(turn=False))  # "" is the one that was opened last
        ended = await front.until_event(three, TurnEnded)
        assert isinstance(ended, TurnEnded)
        assert ended.reason == "done"


async def test_what_is_meant_for_a_session_that_was_left_is_answered_and_done_in_no_other(tmp_path: Path) -> None:
    kernels = [FakeKernel(), FakeKernel()]
    waiting = iter(kernels)
    async with (
        engine(
            tmp_path,
            FakeModel(code("1+1")),
            kernels=lambda ties: FakeKernels(python=next(waiting)),
            approve="ask",
        ) as one,
        many(one.client) as front,
    ):
        await front.send(Open())
        await front.until(lambda: front.events)
        (left,) = front.events
        await front.send(Submit(text="go"))
        asked = await front.until_event(left, DecisionRequested)
        assert isinstance(asked, DecisionRequested)
        await front.send(Open())
        await front.send(Decide(session_id=left, request_id=asked.request_id, verdict="run"))
        await front.send(Submit(session_id=left, text="and then this"))
        await front.until(lambda: len(front.failures) == 2)
        await front.until(lambda: len(front.events) == 2)
        (shown,) = front.events.keys() - {left}
        assert [(failed.fatal, failed.session_id) for failed in front.failures] == [(False, "")] * 2
        assert "not open" in front.failures[0].title
        assert front.failures[1].details == "and then this"
        await front.send(Submit(session_id=shown, text="of its own"))
        await front.until_event(shown, DecisionRequested)
        assert [event.text for event in front.of(shown, TurnStarted)] == ["of its own"]
        assert kernels[0].ran == kernels[1].ran == []
        assert front.of(left, DecisionMade) == []


async def test_a_session_is_open_once_and_may_be_opened_again_when_it_was_left(tmp_path: Path) -> None:
    async with sessions(tmp_path, *(FakeModel("One.", "Two.") for _ in range(2))) as (front, (one, other), _):
        await front.send(Submit(session_id=one, text="first"))
        await front.until_event(one, TurnEnded)
        await front.send(Open(session_id=one, beside=True))
        await front.send(Open(session_id=one))  # it would leave the other for one that is open already
        await front.until(lambda: len(front.failures) == 2)
        assert {failed.title for failed in front.failures} == {"This session is open already."}
        await front.leave(other)
        await front.leave(one)
        await front.send(Submit(text="nobody is there"))
        await front.until(lambda: len(front.failures) == 3)
        assert not front.failures[2].fatal
        await front.send(FindSessions())
        assert claimed(tmp_path) == set()


async def test_after_all_were_left_one_is_opened_again_with_its_past(tmp_path: Path) -> None:
    models = [FakeModel("One."), FakeModel("Two.")]
    async with sessions(tmp_path, models[0]) as (front, (one,), _):
        await front.send(Submit(session_id=one, text="first"))
        await front.until_event(one, TurnEnded)
        await front.leave(one)
        before = front.transcripts[one].blocks
    async with sessions(tmp_path, *models) as (front, _, _):
        again = await front.open(one)
        assert again == one
        assert front.transcripts[one].blocks == before


async def test_a_fork_takes_the_kernels_of_its_session_with_all_that_they_tell(tmp_path: Path) -> None:
    kernels = [FakeKernel(), FakeKernel()]
    models = [FakeModel(code("x = 1"), "Done.", code("y = 2"), "Done."), FakeModel("Beside.")]
    async with sessions(tmp_path, *models, kernels=kernels) as (front, (one, other), ties):
        await front.send(Submit(session_id=one, text="go"))
        await front.until_event(one, TurnEnded)
        known = set(front.events)
        await front.send(Fork(session_id=one, block_id=front.transcripts[one].blocks[0].id))
        await front.until(lambda: front.events.keys() - known)
        (fork,) = front.events.keys() - known
        assert len(ties) == 2  # no kernels were made for it
        assert kernels[0].state == "idle"
        await front.send(Submit(session_id=fork, text="go on"))
        await front.until_event(fork, TurnEnded)
        assert kernels[0].ran == ["x = 1", "y = 2"]
        ties[0].on_refusal(Refusal("example.org:443", "not on the list"))
        assert len(records(tmp_path, fork, NetworkWasRefused)) == 1
        assert records(tmp_path, one, NetworkWasRefused) == records(tmp_path, other, NetworkWasRefused) == []
        assert claimed(tmp_path) == {fork, other}
        await front.leave(fork)
        await ended_for_good(kernels[0])
        assert kernels[1].state == "cold"
        await front.send(Submit(session_id=other, text="still here?"))
        await front.until_event(other, TurnEnded)
    assert all(report.intact for report in verify_folder(tmp_path / "audit"))


async def test_a_session_that_can_do_no_more_work_is_left_and_the_others_go_on(tmp_path: Path) -> None:
    class Defect(BaseException):
        pass

    class BrokenModel(FakeModel):
        """Raises what no job expects."""

        def stream(self, request: ChatRequest) -> AsyncGenerator[Delta, None]:
            raise Defect

    async with sessions(tmp_path, FakeModel("One."), BrokenModel("x")) as (front, (one, other), _):
        await front.send(Submit(session_id=other, text="go"))
        await front.until(lambda: front.failures)
        (failed,) = front.failures
        assert (failed.session_id, failed.fatal) == (other, False)
        assert claimed(tmp_path) == {one}
        await front.send(Submit(session_id=one, text="go"))
        await front.until_event(one, TurnEnded)


async def test_a_recording_is_of_one_session_at_a_time(tmp_path: Path) -> None:
    header = Header(format="oi-tui/recording", version=VERSION, created=0.0)
    tape = Tape(tmp_path / "recording", header, Redactor(), count().__next__)
    setup = Configure(settings=Settings(model=ModelSection(name="fake/model", titles=False)), cwd="/work")
    models = FakeModels(FakeModel("One.", "Two."))
    client = LocalClient(
        lambda send: Engine(
            Services(setup=setup, models=models, make_kernels=lambda ties: FakeKernels(), send=send, log=Log(tape=tape))
        )
    )
    async with many(client) as front:
        one = await front.open()  # there is no other yet
        await front.send(Open(beside=True))
        await front.until(lambda: front.failures)
        assert "recording" in front.failures[0].title
        await front.send(Submit(session_id=one, text="still here?"))
        await front.until_event(one, TurnEnded)
        await client.close()
    recording = read_recording(tmp_path / "recording")
    assert [event.session_id for event in recording.events() if isinstance(event, SessionOpened)] == [one]
    asked = [line.what.verb for line in recording.lines if isinstance(line.what, Asked)]
    assert [verb.session_id for verb in asked if isinstance(verb, Submit)] == [""]  # all of it is about this one


@pytest.mark.parametrize("line", [b'{"type":"Submit","text":"x"}', b'{"type":"Interrupt","turn":true}'])
def test_a_line_from_before_there_were_several_is_about_the_session_that_was_opened_last(line: bytes) -> None:
    verb = decode_request(line)
    assert isinstance(verb, Submit | Interrupt)
    assert verb.session_id == ""
