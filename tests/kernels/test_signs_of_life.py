"""A kernel that gives no sign of life is told and, where it is beyond help, ended; a busy one is left alone."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from oi_tui.app.engine.core.events import AnyEvent, NoticeAdded
from oi_tui.app.engine.kernels.base import RunRequest, RunResult
from oi_tui.app.engine.kernels.jupyter import JupyterKernel
from oi_tui.app.engine.kernels.liveness import (
    AGAIN,
    CUT_OFF,
    DEAF,
    SILENT,
    STOPPED,
    STUCK,
    WAITS,
    LivenessTimeouts,
    LivenessWatch,
)
from oi_tui.app.engine.kernels.output_stream import OutputStream
from support.runs import collect, events_of, make_run, without_ids

SHORT = LivenessTimeouts(pause=0.05, heart=0.1, start=0.05, reply=0.1, last=0.1)
"""For what is not a real kernel."""

QUICK = LivenessTimeouts(pause=0.2, heart=0.6, start=0.4, reply=1.0, last=1.0)

MakePython = Callable[..., JupyterKernel]


class Body:
    """A kernel that can be looked at, and does what a test says."""

    def __init__(self) -> None:
        self.heart = True
        self.is_stopped = False
        self.control: bool | None = True
        """Whether its control channel answers; None: it has none."""
        self.looks = 0

    async def beats(self, within: float) -> bool:
        self.looks += 1
        if not self.heart:
            await asyncio.sleep(within)
        return self.heart

    def ask_control(self) -> Awaitable[object] | None:
        if self.control is None:
            return None
        answer: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        if self.control:
            answer.set_result({})
        return answer


async def watched(
    body: Body, *, taken: bool = False, elsewhere: bool = False, until: Callable[[list[AnyEvent]], bool]
) -> tuple[list[AnyEvent | RunResult], str]:
    """What is told of a run before `until` holds, and how the kernel was ended, if it was."""
    told: list[AnyEvent] = []
    dooms = [""]

    def take(event: AnyEvent) -> None:
        told.append(without_ids(event))
        if until(told):
            run.finish(RunResult(status="ok"))

    run = OutputStream(RunRequest("1", "c", take, 1_000, None))
    run.taken = taken

    def doom(how: str) -> None:
        dooms.append(how)
        run.finish(RunResult(status="died", detail=how))

    watching = asyncio.create_task(LivenessWatch(run, body, SHORT, doom, elsewhere=elsewhere).watch())
    async with asyncio.timeout(10):
        result = await run.result()
        await watching
    return [*told, result], dooms[-1]


async def test_k23_a_stopped_process_is_told_and_nothing_is_ended() -> None:
    body = Body()
    body.heart, body.is_stopped = False, True

    def until(told: list[AnyEvent]) -> bool:
        body.heart = True
        return len(told) == 2

    told, doom = await watched(body, taken=True, until=until)
    assert told == [
        NoticeAdded(block_id="", level="warning", title=STOPPED),
        NoticeAdded(block_id="", level="info", title=AGAIN),
        RunResult(status="ok"),
    ]
    assert doom == ""


async def test_k23_a_process_that_is_stuck_is_told_as_that() -> None:
    body = Body()
    body.heart = False
    told, _ = await watched(body, until=lambda told: True)
    assert told[0] == NoticeAdded(block_id="", level="warning", title=STUCK)


async def test_R17_a_server_that_is_out_of_reach_is_not_told_as_a_process_that_is_stuck() -> None:
    body = Body()
    body.heart = False
    told, _ = await watched(body, until=lambda told: True, elsewhere=True)
    assert told[0] == NoticeAdded(block_id="", level="warning", title=CUT_OFF)


async def test_k24_a_run_that_is_never_begun_by_a_kernel_that_answers_nothing_ends_it() -> None:
    body = Body()
    body.control = False
    told, doom = await watched(body, until=lambda told: False)
    assert doom == DEAF
    assert [event.level for event in told if isinstance(event, NoticeAdded)] == ["warning"]


async def test_k24_a_kernel_that_answers_after_all_is_left_alone() -> None:
    body = Body()
    body.control = False
    told: list[AnyEvent] = []

    def take(event: AnyEvent) -> None:
        told.append(without_ids(event))
        run.taken = True
        if told[-1] == NoticeAdded(block_id="", level="info", title=AGAIN):
            run.finish(RunResult(status="ok"))

    run = OutputStream(RunRequest("1", "c", take, 1_000, None))
    watching = asyncio.create_task(
        LivenessWatch(run, body, SHORT, lambda how: run.finish(RunResult(status="died"))).watch()
    )
    async with asyncio.timeout(10):
        result = await run.result()
        await watching
    assert [*told, result] == [
        NoticeAdded(block_id="", level="warning", title=SILENT),
        NoticeAdded(block_id="", level="info", title=AGAIN),
        RunResult(status="ok"),
    ]


@pytest.mark.parametrize("control", [True, None])
async def test_k24_a_run_that_has_to_wait_is_told_once_and_the_kernel_left_alone(control: bool | None) -> None:
    body = Body()
    body.control = control
    dooms: list[str] = []
    run = make_run(cap=1_000)
    watching = asyncio.create_task(LivenessWatch(run, body, SHORT, dooms.append).watch())
    async with asyncio.timeout(10):
        while body.looks <= 3:  # noqa: ASYNC110 - a count sets no event
            await asyncio.sleep(0.01)
        run.finish(RunResult(status="ok"))
        await watching
        told = await events_of(run)
    assert dooms == []
    assert told == [NoticeAdded(block_id="", level="info", title=WAITS), RunResult(status="ok")]


async def test_k23_a_run_that_is_soon_over_is_not_looked_at() -> None:
    body, run = Body(), make_run(cap=1_000)
    watching = asyncio.create_task(LivenessWatch(run, body, SHORT, lambda how: None).watch())
    await asyncio.sleep(0)
    run.finish(RunResult(status="ok"))
    async with asyncio.timeout(10):
        await watching
    assert body.looks == 0


# -- real kernels ------------------------------------------------------------------------------------------


@pytest.mark.kernel
@pytest.mark.asyncio(loop_scope="module")
async def test_k23_a_busy_loop_and_a_held_lock_have_a_heart_that_beats(make_python: MakePython) -> None:
    kernel = make_python(patience=QUICK)
    source = "import time, re\nend = time.time() + 1.2\nwhile time.time() < end: pass\n_ = sum(range(6 * 10**7))"
    run = await collect(kernel, source)
    assert not any(isinstance(event, NoticeAdded) for event in run.events)
    assert run.finished == RunResult(status="ok")


DEAFEN = """\
_kernel = get_ipython().kernel
def _nothing(*_arguments, **_named): pass
async def _wait(*_arguments, **_named): pass
import asyncio
def _deafen():
    _kernel.process_one = _wait
    _kernel.dispatch_shell = _kernel.dispatch_control = _wait
    _kernel.shell_stream.on_recv(_nothing); _kernel.control_stream.on_recv(_nothing)
asyncio.get_running_loop().call_later(0.05, _deafen)
"""


@pytest.mark.kernel
@pytest.mark.asyncio(loop_scope="module")
async def test_k24_a_kernel_that_never_replies_is_ended_and_the_next_run_has_a_fresh_one(
    make_python: MakePython,
) -> None:
    kernel = make_python(patience=QUICK)
    await collect(kernel, DEAFEN)
    await asyncio.sleep(0.1)
    run = await collect(kernel, "1")
    assert run.finished.status == "died"
    assert "answered nothing any more" in run.finished.detail
    assert kernel.state == "dead"
    assert (await collect(kernel, "1 + 1")).result == "2"
    assert kernel.generation == 2


@pytest.mark.kernel
@pytest.mark.asyncio(loop_scope="module")
async def test_k24_a_run_behind_a_busy_task_waits_and_says_so(make_python: MakePython) -> None:
    kernel = make_python(patience=QUICK)
    await collect(kernel, "import asyncio, time\n_ = asyncio.get_running_loop().call_later(0.01, time.sleep, 1.5)")
    await asyncio.sleep(0.05)
    run = await collect(kernel, "'there'")
    assert NoticeAdded(block_id="", level="info", title=WAITS) in run.events
    assert (run.result, kernel.generation) == ("'there'", 1)


@pytest.mark.kernel
@pytest.mark.asyncio(loop_scope="module")
async def test_k4_a_kernel_that_said_it_would_exit_and_does_not_is_ended(make_python: MakePython) -> None:
    kernel = make_python()
    run = await collect(kernel, "print('kept')\nget_ipython().kernel.shell.exit_now = False\nget_ipython().ask_exit()")
    assert run.text() == "kept\n"
    assert run.finished.status == "died"
    assert kernel.state == "dead"
