"""Runs of a kernel, collected and bounded in time."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field

from oi_tui.app.engine.core.outputs import ErrorOutput, RichOutput, StreamOutput, Tail, WholeOutput
from oi_tui.app.engine.kernels.base import (
    InputWanted,
    InterruptMeans,
    Kernel,
    LineReached,
    OutputArrived,
    OutputFiled,
    RunEvent,
    RunFinished,
    TailMoved,
)

LIMIT = 30.0
"""Seconds after which a run in a test has failed."""


@dataclass
class Collected:
    """What a run gave."""

    events: list[RunEvent] = field(default_factory=list)

    @property
    def finished(self) -> RunFinished:
        """Its last event, which is the only one of its kind."""
        ends = [event for event in self.events if isinstance(event, RunFinished)]
        assert ends == self.events[-1:]
        return ends[0]

    @property
    def outputs(self) -> list[StreamOutput | RichOutput | ErrorOutput]:
        """All outputs in order."""
        return [event.output for event in self.events if isinstance(event, OutputArrived)]

    @property
    def error(self) -> ErrorOutput:
        """The error; there must be exactly one."""
        (error,) = (output for output in self.outputs if isinstance(output, ErrorOutput))
        return error

    @property
    def lines(self) -> list[int]:
        """The lines that were reported as active."""
        return [event.line for event in self.events if isinstance(event, LineReached)]

    def text(self, name: str = "stdout") -> str:
        """All text of one stream."""
        return "".join(o.text for o in self.outputs if isinstance(o, StreamOutput) and o.name == name)

    def tail(self, name: str = "stdout") -> Tail:
        """The last end that was told of one stream."""
        return [event.tail for event in self.events if isinstance(event, TailMoved) and event.name == name][-1]

    @property
    def whole(self) -> WholeOutput:
        """What was told last of the file with all output."""
        return [event.whole for event in self.events if isinstance(event, OutputFiled)][-1]

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
    async with asyncio.timeout(LIMIT), aclosing(kernel.run(source)) as events:
        async for event in events:
            collected.events.append(event)
            if isinstance(event, InputWanted):
                await kernel.answer(remaining.pop(0))
    assert not remaining, "not all answers were asked for"
    return collected


async def interrupted(
    kernel: Kernel, source: str, when: Callable[[RunEvent], bool]
) -> tuple[Collected, InterruptMeans]:
    """Run the source and interrupt it at the first event that `when` accepts; also by which means it ended."""
    collected = Collected()
    interruption: asyncio.Task[InterruptMeans] | None = None
    async with asyncio.timeout(LIMIT), aclosing(kernel.run(source)) as events:
        async for event in events:
            collected.events.append(event)
            if interruption is None and when(event):
                interruption = asyncio.create_task(kernel.interrupt())
    assert interruption is not None, "the run ended before it could be interrupted"
    return collected, await interruption


def prints(text: str) -> Callable[[RunEvent], bool]:
    """Accepts stream output that contains `text`."""
    return lambda event: (
        isinstance(event, OutputArrived) and isinstance(event.output, StreamOutput) and text in event.output.text
    )
