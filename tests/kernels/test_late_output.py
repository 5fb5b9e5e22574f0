"""What a run puts out after its end: it comes with its own run, bounded, and never ends up in another one."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from oi_tui.app.engine.core.events import (
    AnyEvent,
    OutputAdded,
    OutputDropped,
    OutputKept,
    OutputTailMoved,
    OutputUpdated,
)
from oi_tui.app.engine.core.outputs import ErrorOutput, RichOutput, StreamOutput
from oi_tui.app.engine.kernels.base import Kernel, RunRequest, RunResult
from oi_tui.app.engine.kernels.output_stream import ERRORS_LIMIT, LATE_INTERVAL, OutputStream
from oi_tui.app.engine.testing import stdout_output
from support.runs import Collected, collect, without_ids

LIMIT = 20.0
"""Seconds."""


@dataclass
class Late:
    """What came of one run after its end."""

    run: Collected = field(default_factory=Collected)
    events: list[AnyEvent] = field(default_factory=list)
    over: bool = False
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def take(self, event: AnyEvent) -> None:
        """One more, of the run or late."""
        if not self.over:
            self.run.take(event)
            return
        self.events.append(without_ids(event))
        self.news.set()

    def end(self, result: RunResult) -> None:
        """From now on it is late."""
        self.run.events.append(result)
        self.over = True

    def text(self) -> str:
        """On either stream."""
        outputs = [event.output for event in self.events if isinstance(event, OutputAdded)]
        return "".join(output.text for output in outputs if isinstance(output, StreamOutput))

    async def until(self, wanted: Callable[["Late"], bool]) -> None:
        """Wait until it holds of what came."""
        async with asyncio.timeout(LIMIT):
            while not wanted(self):
                self.news.clear()
                await self.news.wait()


async def followed(kernel: Kernel, source: str) -> Late:
    """Run the source to its end, and listen on."""
    late = Late()
    async with asyncio.timeout(LIMIT):
        late.end(await kernel.run(source, "c", late.take))
    return late


# -- a run by itself -------------------------------------------------------------------------------------


async def ended(cap: int = 1_000, spill: Path | None = None, before: str = "") -> tuple[OutputStream, Late]:
    """A run that has come to its end."""
    late = Late()
    run = OutputStream(RunRequest("1", "c", late.take, cap, spill))
    run.stream("stdout", before)
    run.finish(RunResult(status="ok"))
    late.end(await run.result())
    return run, late


async def test_k18_late_output_is_gathered_and_told_a_few_times_a_second() -> None:
    run, late = await ended()
    for _ in range(100):
        run.stream("stdout", "x")
    assert late.events == []
    await late.until(lambda late: bool(late.events))
    assert late.events == [OutputAdded(block_id="", output=StreamOutput(name="stdout", text="x" * 100))]
    assert LATE_INTERVAL >= 0.1


async def test_k18_late_output_comes_behind_the_end_however_soon_it_is_there() -> None:
    late = Late()
    run = OutputStream(RunRequest("1", "c", late.take, 1_000, None))
    run.stream("stdout", "on time, ")
    run.finish(RunResult(status="ok"))
    run.stream("stdout", "late")
    late.end(await run.result())
    assert late.run.events == [stdout_output("on time, "), RunResult(status="ok")]
    await late.until(lambda late: late.text() == "late")


async def test_k18_late_output_shares_the_cap_of_its_run_and_is_counted(tmp_path: Path) -> None:
    run, late = await ended(cap=20_000, spill=tmp_path, before="y" * 15_000)
    for _ in range(100):
        run.stream("stdout", "x" * 1_000)
    await late.until(lambda late: any(isinstance(event, OutputTailMoved) for event in late.events))
    (tail,) = (event.tail for event in late.events if isinstance(event, OutputTailMoved))
    assert len(late.text()) == 5_000
    assert tail.left_out_characters + len(tail.text) == 95_000
    (filed,) = (event for event in late.events if isinstance(event, OutputKept))
    assert "after its end" in filed.whole.missing
    assert Path(filed.whole.path).read_text() == "y" * 15_000


async def test_k18_late_displays_and_errors_are_bounded() -> None:
    run, late = await ended(cap=1_000)
    run.display(RichOutput(data={"text/plain": "1"}, display_id="d"))
    run.update(RichOutput(data={"text/plain": "2"}, display_id="d"))
    for _ in range(ERRORS_LIMIT + 5):
        run.error(ErrorOutput(name="E", value="v"))
    for _ in range(50):
        run.display(RichOutput(data={"text/plain": "12345"}))
    await late.until(lambda late: bool(late.events))
    assert (
        OutputUpdated(block_id="", display_id="d", output=RichOutput(data={"text/plain": "2"}, display_id="d"))
        in late.events
    )
    assert len(late.events) < ERRORS_LIMIT + 15
    await late.until(lambda late: any(isinstance(event, OutputDropped) for event in late.events))


async def test_k18_a_late_question_and_a_late_line_belong_to_nobody() -> None:
    run, late = await ended()
    run.ask("name? ", password=False)
    run.line(1)
    run.stream("stdout", "end")
    await late.until(lambda late: bool(late.events))
    assert late.events == [OutputAdded(block_id="", output=StreamOutput(name="stdout", text="end"))]


async def test_a_defect_of_who_listens_is_raised_to_who_waits_and_not_blamed_on_the_kernel() -> None:
    def break_down(event: AnyEvent) -> None:
        raise RuntimeError("a defect")

    run = OutputStream(RunRequest("1", "c", break_down, 1_000, None))
    run.stream("stdout", "x")
    with pytest.raises(RuntimeError, match="a defect"):
        await asyncio.wait_for(run.result(), LIMIT)
    assert not run.over.is_set()
    run.finish(RunResult(status="ok"))
    assert run.over.is_set()


# -- real kernels ------------------------------------------------------------------------------------------

TASK = """\
import asyncio
async def _later():
    await asyncio.sleep(0.2)
    print('of the task')
    await asyncio.sleep(0.4)
    print('of the task again')
    1 / 0
_task = asyncio.create_task(_later())
"""

THREAD = """\
import threading, time
def _work():
    time.sleep(0.2)
    print('of the thread')
    time.sleep(0.4)
    print('of the thread again')
    threading.Thread(target=print, args=('of its child',)).start()
threading.Thread(target=_work).start()
"""

SUBPROCESS = """\
import subprocess
_ = subprocess.Popen(['bash', '-c', 'sleep 0.2; echo of the process; sleep 0.4; echo of the process again'])
"""

BUSY = "import asyncio\nawait asyncio.sleep(1)\nprint('own')"


@pytest.mark.kernel
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("source", "words", "last"),
    [
        pytest.param(TASK, "of the task\nof the task again\n", "", id="k19-task"),
        pytest.param(THREAD, "of the thread\nof the thread again\nof its child\n", "", id="k18-thread"),
        pytest.param(SUBPROCESS, "of the process\nof the process again\n", "", id="k18-process"),
    ],
)
async def test_k18_k19_what_comes_late_belongs_to_the_cell_that_started_it(
    python: Kernel, source: str, words: str, last: str
) -> None:
    late = await followed(python, source)
    assert late.run.text() == ""
    assert (await collect(python, BUSY)).text() == "own\n"
    await late.until(lambda late: late.text().replace("\r", "") == words)


@pytest.mark.kernel
@pytest.mark.asyncio(loop_scope="module")
async def test_k18_a_pool_of_an_earlier_cell_prints_in_the_cell_that_uses_it(python: Kernel) -> None:
    await followed(
        python,
        "import sys, concurrent.futures\npool = concurrent.futures.ThreadPoolExecutor(1)\npool.submit(int).result()",
    )
    run = await collect(python, "pool.submit(print, 'in the pool').result()")
    assert run.text() == "in the pool\n"


@pytest.mark.kernel
@pytest.mark.asyncio(loop_scope="module")
async def test_k18_nothing_of_ours_is_seen_in_threads_and_processes(python: Kernel) -> None:
    source = (
        "import threading, subprocess, os\nt = threading.Thread(target=int); t.start(); t.join()\n"
        "print(sorted(n for n in (*vars(t), *vars(threading)) if 'oi' in n.replace('join', '')), t.run.__self__ is t)\n"
        "print(subprocess.run(['echo', 'direct'], stdout=1).returncode)"
    )
    run = await collect(python, source)
    assert sorted(run.text().splitlines()) == ["0", "[] True", "direct"]


@pytest.mark.kernel
@pytest.mark.asyncio(loop_scope="module")
async def test_k18_output_of_a_thread_after_a_restart_is_of_nobody(make_python: Callable[..., Kernel]) -> None:
    kernel = make_python()
    late = await followed(kernel, THREAD.replace("0.4", "2"))
    await kernel.restart()
    await collect(kernel, "1")
    assert "again" not in late.text()
