"""Real kernels of several sessions in one engine: the end of one is told in its session and touches no other."""

import os
import signal
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.events import (
    ExecutionFinished,
    InputRequested,
    KernelChanged,
    NoticeAdded,
    OutputAdded,
    TurnEnded,
)
from oi_tui.app.engine.core.outputs import StreamOutput
from oi_tui.app.engine.core.verbs import Answer, Leave, Run, Submit
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.pool import Kernels
from oi_tui.app.engine.log.audit.audit_hook import AuditTrail
from oi_tui.app.engine.log.audit.records import Surroundings
from oi_tui.app.engine.log.audit.verify import verify_folder
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.session.services import KernelTies
from oi_tui.app.engine.testing import FakeModel
from oi_tui.app.engine.transcript.event_log import fold_events
from oi_tui.app.engine.trust.change_scan import FolderScanner
from support.front import engine
from support.many import ManyFront, OwnModels, many

WORK = """```python
import os
name, said = {name!r}, input(str(os.getpid()))
print(name, said)
```"""


@pytest.fixture
def trail(tmp_path: Path) -> AuditTrail:
    return AuditTrail(
        folder=tmp_path / "audit",
        surroundings=Surroundings(cwd="/work", sandbox="danger-full-access"),
        make_watch=lambda: FolderScanner([tmp_path / "cwd"]),
        sandboxed=False,
    )


def printed(front: ManyFront, session_id: str) -> str:
    outputs = [event.output for event in front.of(session_id, OutputAdded) if isinstance(event, OutputAdded)]
    return "".join(output.text for output in outputs if isinstance(output, StreamOutput))


async def test_a_kernel_that_is_killed_ends_no_run_but_its_own(
    tmp_path: Path, kernel_environ: dict[str, str], trail: AuditTrail
) -> None:
    (tmp_path / "cwd").mkdir()
    launch = Launch(cwd=tmp_path / "cwd", environ=kernel_environ)
    names = ("killed", "second", "third")
    models = [FakeModel(WORK.format(name=name), f"Done, {name}.") for name in names]

    def make_kernels(ties: KernelTies) -> Kernels:
        return Kernels(launch)

    async with (
        engine(tmp_path, models[0], models=OwnModels(*models), kernels=make_kernels, trail=trail) as one,
        many(one.client) as front,
    ):
        ids = [await front.open() for _ in names]
        for session_id in ids:
            await front.send(Submit(session_id=session_id, text="go"))
        asked = [await front.until_event(session_id, InputRequested) for session_id in ids]  # all of them run now
        questions = [event for event in asked if isinstance(event, InputRequested)]
        pids = [int(question.prompt) for question in questions]
        assert len(set(pids)) == 3
        os.kill(pids[0], signal.SIGKILL)
        await front.until_event(ids[0], TurnEnded)
        assert [event.status for event in front.of(ids[0], ExecutionFinished)] == ["died"]
        assert "dead" in [event.state for event in front.of(ids[0], KernelChanged)]
        assert any("killed" in event.title for event in front.of(ids[0], NoticeAdded))
        for session_id, question in zip(ids[1:], questions[1:], strict=True):
            await front.send(Answer(session_id=session_id, request_id=question.request_id, text="to the end"))
            ended = await front.until_event(session_id, TurnEnded)
            assert isinstance(ended, TurnEnded)
            assert ended.reason == "done"
        assert [printed(front, session_id) for session_id in ids[1:]] == ["second to the end\n", "third to the end\n"]
        assert not front.of(ids[1], NoticeAdded) + front.of(ids[2], NoticeAdded)
        await front.send(Run(session_id=ids[0], language="python", source="print('again')"))  # in a fresh one
        await front.until_event(ids[0], ExecutionFinished, 2)
        assert printed(front, ids[0]) == "again\n"
        kernel = psutil.Process(pids[1])
        await front.send(Leave(session_id=ids[1]))
        assert psutil.pid_exists(pids[2])
    assert not kernel.is_running()
    with closing(Store(tmp_path / "sessions.db")) as store:
        stored = [fold_events(store.load(session_id)).blocks for session_id in ids]
    sources = [[block.source for block in blocks if isinstance(block, CodeBlock)] for blocks in stored]
    assert ["killed" in sources[0][0], "second" in sources[1][0], "third" in sources[2][0]] == [True] * 3
    assert [len(each) for each in sources] == [2, 1, 1]
    assert all(report.intact for report in verify_folder(tmp_path / "audit"))
