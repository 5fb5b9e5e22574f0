"""Row R16: what is missing is installed by the command that the person agreed to, on record before it runs."""

from pathlib import Path

import pytest

from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.blocks import CodeBlock, NoticeBlock
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.events import ExecutionFinished, ExecutionStarted, KernelChanged, NoticeAdded
from oi_tui.app.engine.core.outcomes import ExecutionStatus
from oi_tui.app.engine.core.settings import LoopSection
from oi_tui.app.engine.core.values import Confinement
from oi_tui.app.engine.core.verbs import InstallKernel, Interrupt, Open
from oi_tui.app.engine.kernels.base import RunResult
from oi_tui.app.engine.log.audit.audit_hook import AuditTrail
from oi_tui.app.engine.log.audit.log import find_log
from oi_tui.app.engine.log.audit.records import RunBegan, Surroundings, decode
from oi_tui.app.engine.session.kernel_switch import KernelSwitch
from oi_tui.app.engine.testing import FakeKernel, FakeKernels, FakeModel, stdout_output
from oi_tui.app.engine.trust.change_scan import FolderScanner
from support.front import Front, engine

AGREED = InstallKernel(name="old", command="install old")


def fakes(status: ExecutionStatus = "ok") -> dict[str, FakeKernel]:
    script = {"install old": (stdout_output("what pip says\n"), RunResult(status=status))}
    apart = Confinement(sandboxed=True, apart="/work/old")
    return {
        "python": FakeKernel(),
        "shell": FakeKernel(language="shell"),
        "installer": FakeKernel(script, language="shell", confinement=apart),
    }


def notices(front: Front) -> list[str]:
    return [block.title for block in front.transcript.blocks if isinstance(block, NoticeBlock)]


async def test_R16_after_the_installation_code_runs_there(tmp_path: Path) -> None:
    kernels = fakes()
    async with engine(tmp_path, FakeModel(), kernels=FakeKernels(**kernels)) as front:
        await front.client.send(Open())
        await front.client.send(AGREED)
        while "Code now runs in old. Variables are gone." not in notices(front):
            await front.until_event(NoticeAdded)
    (block,) = (block for block in front.transcript.blocks if isinstance(block, CodeBlock))
    assert (block.author, block.source, block.state) == ("user", "install old", "ok")
    assert kernels["installer"].ran == ["install old"]
    assert kernels["installer"].closed.is_set()
    assert kernels["shell"].ran == []
    told = {event.language: event.state for event in front.events if isinstance(event, KernelChanged)}
    assert told == {"shell": "cold", "python": "cold"}  # the shell of the session never ran; Python's is a fresh one


@pytest.mark.parametrize("status", ["error", "died"])
async def test_R16_where_it_fails_code_runs_where_it_ran(tmp_path: Path, status: ExecutionStatus) -> None:
    kernels = fakes(status)
    async with engine(tmp_path, FakeModel(), kernels=FakeKernels(**kernels)) as front:
        await front.client.send(Open())
        await front.client.send(AGREED)
        while "ipykernel was not installed in old." not in notices(front):
            await front.until_event(NoticeAdded)
    assert kernels["python"].generation == 0
    assert kernels["installer"].closed.is_set()


async def test_R16_another_command_than_the_one_agreed_to_does_not_run(tmp_path: Path) -> None:
    kernels = fakes()
    async with engine(tmp_path, FakeModel(), kernels=FakeKernels(**kernels)) as front:
        await front.client.send(Open())
        await front.client.send(InstallKernel(name="old", command="install older"))
        told = await front.until_event(NoticeAdded)
        assert told.title == "Not installed: another command would run now."
    assert kernels["installer"].ran == []


async def test_R16_it_can_be_cancelled(tmp_path: Path) -> None:
    kernels = fakes()
    kernels["installer"].blocked = True
    async with engine(tmp_path, FakeModel(), kernels=FakeKernels(**kernels)) as front:
        await front.client.send(Open())
        await front.client.send(AGREED)
        await front.until_event(ExecutionStarted)
        await front.client.send(Interrupt())
        finished = await front.until_event(ExecutionFinished)
        assert finished.status == "interrupted"
        await front.until_event(NoticeAdded)
    assert kernels["installer"].closed.is_set()
    assert kernels["python"].generation == 0


async def test_R16_it_is_stopped_when_it_takes_too_long() -> None:
    kernels = fakes()
    kernels["installer"].blocked = True
    source = FakeKernels(**kernels)
    session = Session(kernels=source, settings=LoopSection())
    await KernelSwitch(session, source, lambda _: None, install_time=0.05).install("old", "install old")
    told = [block.title for block in session.transcript.blocks if isinstance(block, NoticeBlock)]
    assert told == ["Stopped: nothing was installed within 0 minutes.", "ipykernel was not installed in old."]
    assert kernels["installer"].closed.is_set()
    with pytest.raises(SettingsError):
        await KernelSwitch(session, source, lambda _: None).install("old", "another")


@pytest.mark.parametrize(
    ("mode", "said"), [("read-only", "workspace-write"), ("lock read-only", "lock workspace-write")]
)
async def test_R16_what_it_may_do_is_on_record_before_it_runs(tmp_path: Path, mode: str, said: str) -> None:
    folder = tmp_path / "audit"
    where = Surroundings(cwd="/work", sandbox=mode, proof="self-test passed", network="none")
    trail = AuditTrail(folder=folder, surroundings=where, make_watch=lambda: FolderScanner((), None), sandboxed=True)
    async with engine(tmp_path, FakeModel(), kernels=FakeKernels(**fakes()), trail=trail) as front:
        await front.client.send(Open())
        await front.client.send(AGREED)
        await front.until_event(ExecutionFinished)
        log = find_log(folder, front.transcript.session_id)
        assert log is not None
        entries = [decode(line) for line in log.read_bytes().splitlines()]
    (began,) = (entry.record for entry in entries if entry is not None and isinstance(entry.record, RunBegan))
    assert (began.cwd, began.sandbox, began.network, began.author) == ("/work/old", said, "full", "user")
