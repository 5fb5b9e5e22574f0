"""Runs of a kernel, collected and bounded in time."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from weakref import WeakKeyDictionary

import msgspec

from oi_tui.app.engine.core.events import (
    ActiveLineChanged,
    AnyEvent,
    InputRequested,
    OutputAdded,
    OutputKept,
    OutputTailMoved,
)
from oi_tui.app.engine.core.outputs import ErrorOutput, RichOutput, StreamOutput, Tail, WholeOutput
from oi_tui.app.engine.kernels.base import InterruptMeans, Kernel, RunRequest, RunResult, in_block
from oi_tui.app.engine.kernels.jupyter_run import JupyterRun
from oi_tui.app.engine.kernels.output_stream import OutputStream
from oi_tui.app.engine.kernels.widget_displays import WidgetDisplays
from support.recording_observer import RecordingObserver

LIMIT = 30.0
"""Seconds after which a run in a test has failed."""


def without_ids(event: AnyEvent) -> AnyEvent:
    """An event of a run, comparable: without the ids that are made anew each time."""
    event = in_block(event, "")
    return msgspec.structs.replace(event, request_id="") if isinstance(event, InputRequested) else event


@dataclass
class Collected:
    """What a run gave."""

    events: list[AnyEvent | RunResult] = field(default_factory=list)
    """Without ids; the result is the last of those before the end."""

    def take(self, event: AnyEvent) -> None:
        """One more."""
        self.events.append(without_ids(event))

    @property
    def finished(self) -> RunResult:
        """The result, the last item."""
        ends = [event for event in self.events if isinstance(event, RunResult)]
        assert ends == self.events[-1:]
        return ends[0]

    @property
    def outputs(self) -> list[StreamOutput | RichOutput | ErrorOutput]:
        """All outputs in order."""
        return [event.output for event in self.events if isinstance(event, OutputAdded)]

    @property
    def error(self) -> ErrorOutput:
        """The error; there must be exactly one."""
        (error,) = (output for output in self.outputs if isinstance(output, ErrorOutput))
        return error

    @property
    def lines(self) -> list[int | None]:
        """The lines that were reported as active."""
        return [event.line for event in self.events if isinstance(event, ActiveLineChanged)]

    def text(self, name: str = "stdout") -> str:
        """All text of one stream."""
        return "".join(o.text for o in self.outputs if isinstance(o, StreamOutput) and o.name == name)

    def tail(self, name: str = "stdout") -> Tail:
        """The last reported tail of one stream."""
        return [event.tail for event in self.events if isinstance(event, OutputTailMoved) and event.name == name][-1]

    @property
    def whole(self) -> WholeOutput:
        """The last report about the file with all output."""
        return [event.whole for event in self.events if isinstance(event, OutputKept)][-1]

    @property
    def result(self) -> str:
        """Text of the value of the last expression."""
        (result,) = (o for o in self.outputs if isinstance(o, RichOutput) and o.is_result)
        text = result.data["text/plain"]
        assert isinstance(text, str)
        return text


async def collect(kernel: Kernel, source: str, *answers: str) -> Collected:
    """Run the source to its end, giving `answers` to what it asks."""
    remaining = list(answers)
    collected = Collected()
    answering: set[asyncio.Task[None]] = set()

    def take(event: AnyEvent) -> None:
        if not collected.events or not isinstance(collected.events[-1], RunResult):  # what comes late is left out
            collected.take(event)
        if isinstance(event, InputRequested):
            answering.add(asyncio.create_task(kernel.answer(remaining.pop(0))))

    async with asyncio.timeout(LIMIT):
        collected.events.append(await kernel.run(source, "c", take))
        await asyncio.gather(*answering)
    assert not remaining, "not all answers were asked for"
    return collected


async def interrupted(
    kernel: Kernel, source: str, when: Callable[[AnyEvent], bool]
) -> tuple[Collected, InterruptMeans]:
    """Run the source and interrupt it at the first event that `when` accepts; also by which means it ended."""
    collected = Collected()
    interruption: asyncio.Task[InterruptMeans] | None = None

    def take(event: AnyEvent) -> None:
        nonlocal interruption
        collected.take(event)
        if interruption is None and when(without_ids(event)):
            interruption = asyncio.create_task(kernel.interrupt())

    async with asyncio.timeout(LIMIT):
        collected.events.append(await kernel.run(source, "c", take))
    assert interruption is not None, "the run ended before it could be interrupted"
    return collected, await interruption


def prints(text: str) -> Callable[[AnyEvent], bool]:
    """Accepts stream output that contains `text`."""
    return lambda event: (
        isinstance(event, OutputAdded) and isinstance(event.output, StreamOutput) and text in event.output.text
    )


async def started(kernel: Kernel, source: str) -> asyncio.Task[RunResult]:
    """A run in progress, once it has printed that it is ready."""
    observer = RecordingObserver()
    running = asyncio.create_task(kernel.run(source, "c", observer))
    async with asyncio.timeout(LIMIT):
        await observer.until(prints("ready"))
    return running


async def abandon(running: asyncio.Task[RunResult]) -> None:
    """Wait no longer for the run, but until it is over."""
    running.cancel()
    await asyncio.wait([running])


# -- a run by itself -------------------------------------------------------------------------------------

_told: WeakKeyDictionary[OutputStream, Collected] = WeakKeyDictionary()


def make_run(
    source: str = "1",
    cap: int = 100_000,
    spill_dir: Path | None = None,
    *,
    make: Callable[[RunRequest], OutputStream] = OutputStream,
) -> OutputStream:
    """A run without a kernel, whose events are kept for `told` and `events_of`."""
    collected = Collected()
    run = make(RunRequest(source, "c", collected.take, cap, spill_dir))
    _told[run] = collected
    return run


def make_jupyter_run(source: str = "1", cap: int = 100_000, widgets: WidgetDisplays | None = None) -> JupyterRun:
    """The same, for messages of Jupyter; its output is what `told` and `events_of` know."""
    runs: list[JupyterRun] = []

    def make(request: RunRequest) -> OutputStream:
        runs.append(JupyterRun(request, widgets=widgets))
        return runs[0].output

    make_run(source, cap, make=make)
    return runs[0]


def told(run: OutputStream) -> list[AnyEvent | RunResult]:
    """What it has emitted so far, without ids."""
    return _told[run].events


async def events_of(run: OutputStream) -> list[AnyEvent | RunResult]:
    """All that it emitted up to its end, and how it ended."""
    async with asyncio.timeout(10):
        result = await run.result()
    return [*told(run), result]
