"""What the events of a session come to in its audit log, and that nothing runs that could not be written down."""

import asyncio
import hashlib
import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from oi_tui.app.engine.core.blocks import CodeBlock, NoticeBlock
from oi_tui.app.engine.core.endings import Ending
from oi_tui.app.engine.core.errors import AuditError
from oi_tui.app.engine.core.events import (
    DecisionRequested,
    ExecutionFinished,
    ExecutionStarted,
    InputRequested,
    NoticeAdded,
    OutputAdded,
    RerunFinished,
    SecretsWithheld,
    SessionOpened,
    TurnEnded,
)
from oi_tui.app.engine.core.outputs import ErrorOutput
from oi_tui.app.engine.core.protocol import Batch
from oi_tui.app.engine.core.verbs import (
    Answer,
    Decide,
    Interrupt,
    Open,
    Rebuild,
    Restart,
    Run,
    SetBudget,
    Submit,
    UseModel,
)
from oi_tui.app.engine.kernels.base import RunResult
from oi_tui.app.engine.log.audit.audit_hook import AuditTrail
from oi_tui.app.engine.log.audit.auditor import Auditor
from oi_tui.app.engine.log.audit.log import HEADS
from oi_tui.app.engine.log.audit.records import (
    AnyRecord,
    DecisionWasMade,
    FilesWereLeft,
    InputWasAnswered,
    InputWasAsked,
    KernelBegan,
    KernelWasStopped,
    LogEntry,
    NetworkWasRefused,
    NoticeWasGiven,
    Record,
    RefusalsWereCounted,
    RunBegan,
    RunEnded,
    RunWasRefused,
    SecretsWereWithheld,
    SessionBegan,
    SessionLeft,
    SettingsWere,
    Surroundings,
    decode,
)
from oi_tui.app.engine.log.audit.verify import verify_folder
from oi_tui.app.engine.sandbox.hosts import Refusal
from oi_tui.app.engine.secrets.redaction import Redactor
from oi_tui.app.engine.testing import FakeKernel, FakeKernels, FakeModel, Happenings, asks
from oi_tui.app.engine.trust.change_scan import FolderScanner
from support.front import engine

WHERE = Surroundings(cwd="/work", sandbox="workspace-write", network="none", proof="self-test passed")
SECRET = "hunter2-correct-horse"
CODE = "```python\n1+1\n```"


def digest(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()


def trail(folder: Path, redactor: Redactor | None = None) -> AuditTrail:
    ticks = itertools.count(1000)
    return AuditTrail(
        folder=folder / "audit",
        surroundings=WHERE,
        make_watch=lambda: FolderScanner([folder / "workspace"]),
        sandboxed=True,
        redactor=redactor,
        clock=lambda: float(next(ticks)),
    )


def nobody_told(*said: str) -> None:
    raise AssertionError(said)


def auditor(folder: Path, session_id: str = "session") -> Auditor:
    return trail(folder).begin(session_id, nobody_told).auditor


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Path]:
    """A folder with a workspace in it, whose log is found to be intact at the end."""
    (tmp_path / "workspace").mkdir()
    yield tmp_path
    assert all(verdict.intact for verdict in verify_folder(tmp_path / "audit"))


def entries(folder: Path) -> list[LogEntry]:
    logs = [path for path in (folder / "audit").glob("*.jsonl") if path.name != HEADS]
    found = [decode(line) for path in sorted(logs) for line in path.read_bytes().splitlines()]
    assert None not in found
    return [entry for entry in found if entry is not None]


def records(folder: Path, *kinds: type[Record]) -> list[AnyRecord]:
    return [entry.record for entry in entries(folder) if not kinds or isinstance(entry.record, kinds)]


async def test_a_turn_is_written_down_from_the_question_to_the_end(here: Path) -> None:
    async with engine(here, FakeModel(CODE, "2"), approve="ask", trail=trail(here)) as front:
        await front.client.send(Open())
        await front.client.send(Submit(text="add"))
        asked = await front.until_event(DecisionRequested)
        assert records(here) == []
        await front.client.send(Decide(request_id=asked.request_id, verdict="edit", source="2+2"))
        await front.until_event(TurnEnded)
        block = front.transcript.blocks[1]
    began, decided, kernel, run, ended, left, closed = records(here)
    assert isinstance(began, SessionBegan)
    assert (began.surroundings, began.approval, began.resumed) == (WHERE, "ask", False)
    assert isinstance(decided, DecisionWasMade)
    assert decided == DecisionWasMade(
        block_id=block.id,
        language="python",
        sha256=digest("2+2"),
        verdict="edit",
        decider="person",
        request_id=asked.request_id,
        latency=decided.latency,
        proposed_sha256=digest("1+1"),
    )
    assert decided.latency is not None
    assert kernel == KernelBegan(language="python", generation=1, sandbox="workspace-write", proof="self-test passed")
    assert run == RunBegan(
        block_id=block.id,
        language="python",
        sha256=digest("2+2"),
        generation=1,
        author="assistant",
        cwd="/work",
        sandbox="workspace-write",
        network="none",
        approval="ask",
        verdict="edit",
        decider="person",
        request_id=asked.request_id,
        proof="self-test passed",
    )
    assert isinstance(ended, RunEnded)
    assert (ended.sha256, ended.status, ended.output_characters) == (digest("2+2"), "ok", len("2+2"))
    assert left == FilesWereLeft(block_id=block.id, changed=0)
    assert closed == SessionLeft()


async def test_a_kernel_on_another_machine_is_never_said_to_be_in_our_sandbox(here: Path) -> None:
    kernel = FakeKernel()
    kernel.elsewhere = True
    async with engine(here, FakeModel(), kernels=FakeKernels(python=kernel), trail=trail(here)) as front:
        await front.client.send(Open())
        await front.client.send(Run(language="python", source="mine"))
        await front.until_event(OutputAdded)
    (begun,) = records(here, KernelBegan)
    assert isinstance(begun, KernelBegan)
    assert (begun.sandbox, begun.proof) == ("danger-full-access", "")
    (run,) = records(here, RunBegan)
    assert isinstance(run, RunBegan)
    assert (run.sandbox, run.network) == ("danger-full-access", "full")


async def test_a_switch_of_the_model_is_written_down_before_code_of_the_new_one_runs(here: Path) -> None:
    async with engine(here, FakeModel(CODE, "2", CODE, "2"), trail=trail(here)) as front:
        await front.client.send(Open())
        await front.turn("add")
        await front.client.send(SetBudget(max_tokens=1_000_000))  # of no concern to the log
        await front.client.send(UseModel(name="other/model", api_base="http://127.0.0.1:1"))
        await front.turn("again")
    kinds = records(here, SessionBegan, SettingsWere, RunBegan)
    assert [type(record) for record in kinds] == [SessionBegan, RunBegan, SettingsWere, RunBegan]
    assert kinds[2] == SettingsWere(model="other/model", approval="auto", api_base="http://127.0.0.1:1")


async def test_the_persons_own_code_and_what_is_refused_are_written_down_too(here: Path) -> None:
    async with engine(here, FakeModel(CODE), approve="never", trail=trail(here)) as front:
        await front.client.send(Open())
        await front.turn("add")
        await front.client.send(Run(language="python", source="mine"))
        await front.until_event(OutputAdded)
    (refused,) = records(here, DecisionWasMade)
    assert isinstance(refused, DecisionWasMade)
    assert (refused.verdict, refused.decider, refused.sha256) == ("stop", "mode", digest("1+1"))
    (run,) = records(here, RunBegan)
    assert isinstance(run, RunBegan)
    assert (run.author, run.verdict, run.sha256) == ("user", "", digest("mine"))


async def test_errors_questions_interrupts_and_restarts_are_written_down_without_their_text(here: Path) -> None:
    failing: Happenings = [
        OutputAdded(block_id="", output=ErrorOutput(name="ValueError", value=SECRET)),
        RunResult(status="error"),
    ]
    asking: Happenings = [asks(f"{SECRET}? ", password=True), RunResult(status="ok")]
    kernel = FakeKernel({"fail": failing, "ask": asking})
    async with engine(here, FakeModel(), kernels=FakeKernels(python=kernel), trail=trail(here)) as front:
        await front.client.send(Open())
        await front.client.send(Run(language="python", source="fail"))
        await front.client.send(Run(language="python", source="ask"))
        asked_for = await front.until_event(InputRequested)
        await front.client.send(Answer(request_id=asked_for.request_id, text=SECRET))
        await front.until_event(ExecutionFinished)
        kernel.blocked = True
        await front.client.send(Run(language="python", source="long"))
        await front.until_event(OutputAdded)
        await front.client.send(Interrupt())
        await front.client.send(Restart())
        await front.until_event(NoticeAdded)
    failed, asked, stopped = records(here, RunEnded)
    assert isinstance(failed, RunEnded)
    assert isinstance(asked, RunEnded)
    assert isinstance(stopped, RunEnded)
    assert (failed.status, failed.error) == ("error", "ValueError")
    assert (asked.status, asked.questions) == ("ok", 1)
    assert (stopped.status, stopped.interrupts) == ("interrupted", 1)
    question, answer = records(here, InputWasAsked, InputWasAnswered)
    assert isinstance(question, InputWasAsked)
    assert isinstance(answer, InputWasAnswered)
    hows = [record.how for record in records(here, KernelWasStopped) if isinstance(record, KernelWasStopped)]
    assert hows == ["interrupting", "restarting"]
    generations = [record.generation for record in records(here, KernelBegan) if isinstance(record, KernelBegan)]
    assert generations == [1, 2]
    assert SECRET not in "".join(path.read_text() for path in (here / "audit").iterdir())


async def test_runs_that_are_repeated_are_written_down_before_they_run(here: Path) -> None:
    async with engine(here, FakeModel(CODE, "2"), trail=trail(here)) as front:
        await front.client.send(Open())
        await front.turn("add")
        await front.client.send(Rebuild(block_ids=(front.transcript.blocks[1].id,)))
        await front.until_event(RerunFinished)
    first, second = records(here, RunBegan)
    assert isinstance(first, RunBegan)
    assert isinstance(second, RunBegan)
    assert (first.again, second.again) == (False, True)
    assert first.sha256 == second.sha256 == digest("1+1")
    statuses = [record.status for record in records(here, RunEnded) if isinstance(record, RunEnded)]
    assert statuses == ["ok", "same"]


async def test_nothing_runs_that_cannot_be_written_down_and_the_session_stays_of_use(here: Path) -> None:
    audit = here / "audit"
    audit.write_text("in the way")
    kernel = FakeKernel()
    kernels = FakeKernels(python=kernel)
    model = FakeModel(CODE, "Hello.", CODE, "2")
    async with engine(here, model, kernels=kernels, trail=trail(here)) as front:
        await front.client.send(Open())
        ended = await front.turn("add")
        assert isinstance(ended, TurnEnded)
        assert (ended.reason, kernel.ran, kernel.state) == ("kernel_error", [], "idle")
        first, notice = [block for block in front.transcript.blocks if isinstance(block, NoticeBlock)]
        assert (first, first.level) == (front.transcript.blocks[0], "warning")
        assert first.title.startswith("No code can run here: what runs is written down before, and the folder ")
        assert notice.title.startswith("Not run: The audit log ")
        (code,) = [block for block in front.transcript.blocks if isinstance(block, CodeBlock)]
        assert (code.state, code.ending) == ("interrupted", Ending(stage="unstarted", cause="kernel"))
        await front.client.send(Run(language="python", source="mine"))
        await front.until(lambda reply: isinstance(reply, Batch) and "idle" in repr(reply.events[-1]))
        assert kernel.ran == []
        assert await front.turn("hello") == TurnEnded(reason="done")
        audit.unlink()
        assert await front.turn("add") == TurnEnded(reason="done")
        assert kernel.ran == ["1+1"]
    refused = [record.sha256 for record in records(here, RunWasRefused) if isinstance(record, RunWasRefused)]
    assert refused == [digest("1+1"), digest("mine")]
    assert len(records(here, RunBegan)) == 1
    assert len(records(here, NoticeWasGiven)) == 3


async def test_who_only_looks_around_or_talks_leaves_no_log(here: Path) -> None:
    async with engine(here, FakeModel("Hello."), trail=trail(here)) as front:
        await front.client.send(Open())
        await front.turn("hello")
    assert list((here / "audit").iterdir()) == []


async def test_a_session_that_is_opened_again_goes_on_in_its_own_log(here: Path) -> None:
    async with engine(here, FakeModel(CODE, "2"), trail=trail(here)) as front:
        await front.client.send(Open())
        await front.turn("add")
        session_id = front.transcript.session_id
    async with engine(here, FakeModel(CODE, "2"), trail=trail(here)) as front:
        await front.client.send(Open(session_id=session_id))
        await front.turn("again")
    began = [record for record in records(here, SessionBegan) if isinstance(record, SessionBegan)]
    assert [record.resumed for record in began] == [False, True]
    assert (began[0].heads_seq, began[1].heads_seq) == (0, 3)
    assert len(list((here / "audit").iterdir())) == 2


async def test_a_run_that_the_end_of_the_session_broke_off_is_closed_in_the_log(here: Path) -> None:
    kernel = FakeKernel()
    kernel.blocked = True
    async with engine(here, FakeModel(), kernels=FakeKernels(python=kernel), trail=trail(here)) as front:
        await front.client.send(Open())
        await front.client.send(Run(language="python", source="long"))
        await front.until_event(OutputAdded)
    *_, ended, left = records(here)
    assert isinstance(ended, RunEnded)
    assert (ended.status, left) == ("left", SessionLeft())


async def test_secrets_are_withheld_from_the_log_and_counted(here: Path) -> None:
    redactor = Redactor({"TOKEN": SECRET})
    async with engine(here, FakeModel(CODE, "Well."), approve="ask", trail=trail(here, redactor)) as front:
        await front.client.send(Open())
        await front.client.send(Submit(text="add"))
        asked = await front.until_event(DecisionRequested)
        reason = f"not with {SECRET} nor {SECRET}"
        await front.client.send(Decide(request_id=asked.request_id, verdict="skip", reason=reason))
        await front.until_event(TurnEnded)
    (refusal,) = [entry for entry in entries(here) if isinstance(entry.record, DecisionWasMade)]
    assert isinstance(refusal.record, DecisionWasMade)
    withheld = "[secret withheld: TOKEN]"
    assert refusal.record.reason == f"not with {withheld} nor {withheld}"
    assert refusal.withheld == 2


def test_what_the_model_is_not_told_is_counted_by_name(here: Path) -> None:
    seen = auditor(here)
    seen.take(SecretsWithheld(block_id="b", names=("TOKEN", "a key", "TOKEN")))
    seen.end()
    assert records(here)[0] == SecretsWereWithheld(block_id="b", count=3, names=("TOKEN", "a key"))


async def test_what_the_sandbox_refused_is_written_down_at_once_and_counted_when_the_run_is_over(here: Path) -> None:
    said: asyncio.Queue[tuple[str, ...]] = asyncio.Queue()
    seen = trail(here, Redactor({"TOKEN": SECRET})).begin("session", lambda *told: said.put_nowait(told))
    seen.take(SessionOpened(session_id="session", created=1.0, cwd="/work", model="m", approval="auto"))
    block = CodeBlock(id="b", language="python", source="fetch()", state="proposed")
    started = ExecutionStarted(block_id="b", generation=1)
    seen.seal(started, block)
    seen.take(started)
    for _ in range(1000):
        seen.note_refusal(Refusal("example.org:443", "not on the list"))
        seen.note_refusal(Refusal(f"{SECRET}.evil.example:443", "not on the list"))
    withheld = "[secret withheld: TOKEN].evil.example:443"
    assert records(here, NetworkWasRefused) == [
        NetworkWasRefused(block_id="b", host=host, why="not on the list") for host in ("example.org:443", withheld)
    ]
    seen.take(ExecutionFinished(block_id="b", status="ok", duration=0.1))
    assert records(here, RefusalsWereCounted) == [
        RefusalsWereCounted(block_id="b", count=2000, hosts=(("example.org:443", 1000), (withheld, 1000)))
    ]
    async with asyncio.timeout(5):
        level, title, hint, _ = await said.get()
    assert level == "warning"
    assert title.startswith("The sandbox refused the network: example.org (1,000 times), ")
    assert "sandbox.hosts" in hint
    await seen.end()
    assert said.empty()


async def test_what_a_run_left_behind_and_is_refused_is_told_when_the_next_run_begins(here: Path) -> None:
    said: asyncio.Queue[tuple[str, ...]] = asyncio.Queue()
    seen = trail(here).begin("session", lambda *told: said.put_nowait(told))
    seen.take(SessionOpened(session_id="session", created=1.0, cwd="/work", model="m", approval="auto"))
    for block_id in "ab":
        block = CodeBlock(id=block_id, language="python", source="1", state="proposed")
        started = ExecutionStarted(block_id=block_id, generation=1)
        seen.seal(started, block)
        seen.take(started)
        seen.take(ExecutionFinished(block_id=block_id, status="ok", duration=0.1))
        seen.note_refusal(Refusal("example.org:443", "not on the list"))
    async with asyncio.timeout(5):
        _, title, _, _ = await said.get()
    assert title == "The sandbox refused the network to what a run left behind: example.org."
    await seen.end()
    counted = [RefusalsWereCounted(block_id=name, count=1, hosts=(("example.org:443", 1),), late=True) for name in "ab"]
    assert records(here, RefusalsWereCounted) == counted
    seen.note_refusal(Refusal("example.org:443", "not on the list"))  # of a kernel that is being ended
    assert len(records(here, NetworkWasRefused)) == 2


async def test_what_is_about_to_run_is_on_disk_before_admit_returns(here: Path) -> None:
    seen = auditor(here)
    seen.take(SessionOpened(session_id="session", created=1.0, cwd="/work", model="m", approval="auto"))
    block = CodeBlock(id="b", language="python", source="print()", state="proposed")
    seen.admit(ExecutionStarted(block_id="b", generation=3), block)
    (run,) = records(here, RunBegan)
    assert isinstance(run, RunBegan)
    assert (run.sha256, run.generation) == (digest("print()"), 3)
    heads = (here / "audit" / HEADS).read_text()
    assert '"log_seq":2' in heads
    seen.end()


async def test_text_that_utf8_has_no_place_for_is_written_out_and_long_text_is_cut(here: Path) -> None:
    seen = auditor(here)
    block = CodeBlock(id="b", language="py\ud800", source="x" * 10_000 + "\udcff", state="proposed")
    seen.take(NoticeAdded(block_id="n", level="error", title="y" * 10_000))
    seen.admit(ExecutionStarted(block_id="b", generation=1), block)
    seen.end()
    notice, run, *_ = records(here)
    assert isinstance(notice, NoticeWasGiven)
    assert isinstance(run, RunBegan)
    assert (len(notice.title), run.language) == (501, "py\\ud800")


async def test_no_run_without_a_session_that_is_open(tmp_path: Path) -> None:
    block = CodeBlock(id="b", language="python", source="print()", state="proposed")
    left = auditor(tmp_path)
    left.end()
    with pytest.raises(AuditError):
        left.admit(ExecutionStarted(block_id="b", generation=1), block)


async def test_an_id_that_is_no_name_of_a_file_leads_nowhere(tmp_path: Path) -> None:
    seen = auditor(tmp_path, f"..{os.sep}outside")
    block = CodeBlock(id="b", language="python", source="print()", state="proposed")
    with pytest.raises(AuditError, match="no name of a file"):
        seen.admit(ExecutionStarted(block_id="b", generation=1), block)
    assert [path.name for path in tmp_path.iterdir()] == ["audit"]
    assert list((tmp_path / "audit").iterdir()) == []


async def test_records_that_cannot_be_written_for_long_are_counted_and_not_kept_for_ever(tmp_path: Path) -> None:
    (tmp_path / "audit").write_text("in the way")
    seen = auditor(tmp_path)
    for number in range(1500):
        seen.take(NoticeAdded(block_id=str(number), level="error", title="again"))
    (tmp_path / "audit").unlink()
    block = CodeBlock(id="b", language="python", source="x", state="proposed")
    seen.admit(ExecutionStarted(block_id="b", generation=1), block)
    notices = records(tmp_path, NoticeWasGiven)
    assert len(notices) == 1001
    assert isinstance(notices[-1], NoticeWasGiven)
    assert notices[-1].title.startswith("500 records")
    seen.end()
