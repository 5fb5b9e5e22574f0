"""What a request costs before it is sent: planned, counted and put together from a session of 10,000 blocks."""

import asyncio
import time
from collections.abc import Iterator

from figures import ROUNDS, Budget, judge, middle, table

from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.blocks import Block, CodeBlock, ProseBlock, UserBlock
from oi_tui.app.engine.core.events import ContextMarked, ProseFinished, ProseGrew, ProseStarted
from oi_tui.app.engine.core.outputs import StreamOutput
from oi_tui.app.engine.core.settings import LoopSection
from oi_tui.app.engine.testing import FakeKernels, FakeModel
from oi_tui.app.engine.transcript.event_log import fold_events
from oi_tui.app.engine.transcript.from_blocks import events_of_blocks

BLOCKS, LIMIT = 10_000, 0.020
"""Blocks, and the seconds that a request may take."""

OUTPUT = "2026-03-01 12:00:07  worker 3  job 8f31 ok, 0.331 s\n" * 20


def turns() -> Iterator[Block]:
    """A prompt, an answer with code and its output, and a last word, again and again."""
    for number in range(BLOCKS // 4):
        step = 2 * number + 1
        yield UserBlock(id=f"u{number}", text=f"Look at job {number} and say what was slow in it.")
        yield ProseBlock(id=f"p{number}", text="I read its log.", state="complete", step=step)
        output = StreamOutput(name="stdout", text=OUTPUT)
        yield CodeBlock(
            id=f"c{number}", source="print(log)", state="ok", step=step, language="python", outputs=(output,)
        )
        yield ProseBlock(id=f"a{number}", text="Nothing was slow.", state="complete", step=step + 1)


async def measure(window: int | None, *, marks: bool = False) -> tuple[float, list[float], int]:
    """Seconds of CPU time of the first request and of each further one, and the messages of the last."""
    model = FakeModel("A summary.")
    model.context_window = window
    session = Session(
        kernels=FakeKernels(), settings=LoopSection(), model=model, transcript=fold_events(events_of_blocks(turns()))
    )
    began = time.process_time()
    await session.dialogue.window.request(model)
    first, seconds, count = time.process_time() - began, [], 0
    for number in range(ROUNDS):
        session.emit(ProseStarted(block_id=f"n{number}"))
        session.emit(ProseGrew(block_id=f"n{number}", text="More."))
        session.emit(ProseFinished(block_id=f"n{number}"))
        if marks:
            session.emit(ContextMarked(block_id=f"u{number}", mark="pinned"))
        began = time.process_time()
        request = await session.dialogue.window.request(model)
        seconds.append(time.process_time() - began)
        count = len(request.messages) if request is not None else 0
    return first, seconds, count


async def main() -> None:
    """Measure and print."""
    print("## A request of a long session\n")
    print(f"{BLOCKS:,} blocks; CPU time in ms, median (minimum) of {ROUNDS} further requests, each with a new block.\n")
    cases = {
        "all of it goes": await measure(None),
        "100,000 tokens, the rest is summarised": await measure(100_000),
        "the same, and an old block was pinned": await measure(100_000, marks=True),
    }
    head = ("", "messages", "the first request", "a further one")
    rows = ((name, f"{count:,}", f"{1000 * first:.0f}", middle(all_)) for name, (first, all_, count) in cases.items())
    print(table(head, rows))
    worst = max(sorted(seconds)[len(seconds) // 2] for _, seconds, _ in cases.values())
    what = f"a further request of a session of {BLOCKS:,} blocks"
    judge(Budget(what, f"{1000 * LIMIT:.0f} ms", f"{1000 * worst:.1f} ms", worst <= LIMIT))


asyncio.run(main())
