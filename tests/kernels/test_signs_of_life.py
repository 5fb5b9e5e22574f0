"""A kernel that gives no sign of life is told and, where it is beyond help, ended; a busy one is left alone."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from oi_tui.app.engine.kernels.base import RunEvent, RunFinished, SignsChanged
from oi_tui.app.engine.kernels.jupyter import JupyterKernel
from oi_tui.app.engine.kernels.liveness import (
    AGAIN,
    DEAF,
    SILENT,
    STOPPED,
    STUCK,
    WAITS,
    LivenessTimeouts,
    LivenessWatch,
)
from oi_tui.app.engine.kernels.output_stream import OutputStream
from support.runs import collect, interrupted

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
    body: Body, *, taken: bool = False, until: Callable[[list[RunEvent]], bool]
) -> tuple[list[RunEvent], str]:
    """What is told of a run before `until` holds, and how the kernel was ended, if it was."""
    run, dooms = OutputStream("1", 1_000, None), [""]
    run.taken = taken

    def doom(how: str) -> None:
        dooms.append(how)
        run.finish(RunFinished(status="died", detail=how))

    watching = asyncio.create_task(LivenessWatch(run, body, SHORT, doom).watch())
    told: list[RunEvent] = []
    async with asyncio.timeout(10):
        async for event in run.events():
            told.append(event)
            if until(told):
                run.finish(RunFinished(status="ok"))
        await watching
    return told, dooms[-1]


async def test_k23_a_stopped_process_is_told_and_nothing_is_ended() -> None:
    body = Body()
    body.heart, body.is_stopped = False, True

    def until(told: list[RunEvent]) -> bool:
        body.heart = True
        return len(told) == 2

    told, doom = await watched(body, taken=True, until=until)
    assert told == [
        SignsChanged(text=STOPPED),
        SignsChanged(text=AGAIN, responds=True),
        RunFinished(status="ok"),
    ]
    assert doom == ""


async def test_k23_a_process_that_is_stuck_is_told_as_that() -> None:
    body = Body()
    body.heart = False
    told, _ = await watched(body, until=lambda told: True)
    assert told[0] == SignsChanged(text=STUCK)


async def test_k24_a_run_that_is_never_begun_by_a_kernel_that_answers_nothing_ends_it() -> None:
    body = Body()
    body.control = False
    told, doom = await watched(body, until=lambda told: False)
    assert doom == DEAF
    assert [event.responds for event in told if isinstance(event, SignsChanged)] == [False]


async def test_k24_a_kernel_that_answers_after_all_is_left_alone() -> None:
    body = Body()
    body.control = False
    run = OutputStream("1", 1_000, None)
    watching = asyncio.create_task(
        LivenessWatch(run, body, SHORT, lambda how: run.finish(RunFinished(status="died"))).watch()
    )
    told: list[RunEvent] = []
    async with asyncio.timeout(10):
        async for event in run.events():
            told.append(event)
            run.taken = True
            if event == SignsChanged(text=AGAIN, responds=True):
                run.finish(RunFinished(status="ok"))
        await watching
    assert told == [SignsChanged(text=SILENT), SignsChanged(text=AGAIN, responds=True), RunFinished(status="ok")]


@pytest.mark.parametrize("control", [True, None])
async def test_k24_a_run_that_has_to_wait_is_told_once_and_the_kernel_left_alone(control: bool | None) -> None:
    body = Body()
    body.control = control
    dooms: list[str] = []
    run = OutputStream("1", 1_000, None)
    watching = asyncio.create_task(LivenessWatch(run, body, SHORT, dooms.append).watch())
    async with asyncio.timeout(10):
        while body.looks <= 3:  # noqa: ASYNC110 - a count sets no event
            await asyncio.sleep(0.01)
        run.finish(RunFinished(status="ok"))
        await watching
        told = [event async for event in run.events()]
    assert dooms == []
    assert told == [SignsChanged(text=WAITS, responds=True), RunFinished(status="ok")]


async def test_k23_a_run_that_is_soon_over_is_not_looked_at() -> None:
    body, run = Body(), OutputStream("1", 1_000, None)
    watching = asyncio.create_task(LivenessWatch(run, body, SHORT, lambda how: None).watch())
    await asyncio.sleep(0)
    run.finish(RunFinished(status="ok"))
    async with asyncio.timeout(10):
        await watching
    assert body.looks == 0


# -- real kernels ------------------------------------------------------------------------------------------

STOP = "import os, signal\nkept = 41\nos.kill(os.getpid(), signal.SIGSTOP)\nwhile True: pass"


def stopped(event: RunEvent) -> bool:
    """Whether it tells of the stopped process."""
    return event == SignsChanged(text=STOPPED)


@pytest.mark.kernel
@pytest.mark.asyncio(loop_scope="module")
async def test_k23_a_stopped_kernel_is_told_and_an_interrupt_wakes_it_with_its_state(make_python: MakePython) -> None:
    kernel = make_python(patience=QUICK)
    run, means = await interrupted(kernel, STOP, stopped)
    assert run.finished.status == "interrupted"
    assert means in ("signal", "second_signal")
    assert (await collect(kernel, "kept + 1")).result == "42"


@pytest.mark.kernel
@pytest.mark.asyncio(loop_scope="module")
async def test_k23_a_busy_loop_and_a_held_lock_have_a_heart_that_beats(make_python: MakePython) -> None:
    kernel = make_python(patience=QUICK)
    source = "import time, re\nend = time.time() + 1.2\nwhile time.time() < end: pass\n_ = sum(range(6 * 10**7))"
    run = await collect(kernel, source)
    assert not any(isinstance(event, SignsChanged) for event in run.events)
    assert run.finished == RunFinished(status="ok")


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
    assert SignsChanged(text=WAITS, responds=True) in run.events
    assert (run.result, kernel.generation) == ("'there'", 1)


@pytest.mark.kernel
@pytest.mark.asyncio(loop_scope="module")
async def test_k4_a_kernel_that_said_it_would_exit_and_does_not_is_ended(make_python: MakePython) -> None:
    kernel = make_python()
    run = await collect(kernel, "print('kept')\nget_ipython().kernel.shell.exit_now = False\nget_ipython().ask_exit()")
    assert run.text() == "kept\n"
    assert run.finished.status == "died"
    assert kernel.state == "dead"
