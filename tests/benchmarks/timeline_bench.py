"""What the timeline costs: run by hand, `python tests/benchmarks/timeline_bench.py`; prints one table.

CPU seconds of the whole app, headless, with 30 frames a second asked for and a screen of 120x40.
The stream is fed as fast as frames are drawn, one frame for every `STEP` tokens, which is the rate
of a model that writes 1,000 tokens a second.
"""

import asyncio
import resource
import time
from collections.abc import Awaitable, Callable, Iterator

from textual.app import App, ComposeResult
from textual.geometry import Size

from oi_tui.app.engine.blocks import Block, CodeBlock, ProseBlock
from oi_tui.app.engine.outputs import StreamOutput
from oi_tui.widgets.timeline.view import Timeline

TOKEN = 4
STEP = 33
PARAGRAPH = "Some **prose** with `code`, a [link](https://example.org) and words enough to wrap a few times. " * 3
LIST_AND_TABLE = "- one item\n- another item\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
ELEMENT = f"## Heading\n\n{PARAGRAPH}\n\n{LIST_AND_TABLE}```python\nx = 1\n```\n\n"


class Bench(App[None]):
    """Only a timeline."""

    def compose(self) -> ComposeResult:
        yield Timeline()


def tokens(text: str) -> Iterator[str]:
    """The text as it grows, a frame's worth at a time."""
    for end in range(STEP * TOKEN, len(text) + STEP * TOKEN, STEP * TOKEN):
        yield text[:end]


async def frame(timeline: Timeline) -> None:
    """One frame, now."""
    timeline._frame()
    timeline.render_lines(timeline.size.region)
    await asyncio.sleep(0)


async def prose_stream(timeline: Timeline) -> None:
    """20,000 tokens of mixed Markdown."""
    text = (ELEMENT * 400)[: 20_000 * TOKEN]
    start = time.process_time()
    marks = {5_000: 0.0, 10_000: 0.0, 20_000: 0.0}
    timeline.reset([])
    for version in tokens(text):
        timeline.put(0, ProseBlock(id="p", text=version))
        await frame(timeline)
        for mark in marks:
            if not marks[mark] and len(version) >= mark * TOKEN:
                marks[mark] = time.process_time() - start
    for mark, seconds in marks.items():
        row(f"prose stream, {mark:,} tokens", f"{seconds:.2f} s CPU", f"{seconds / mark * 1000:.3f} ms a token")


async def fence_stream(timeline: Timeline) -> None:
    """A fence of 2,000 lines inside prose, then the same as a code block."""
    source = "".join(f"    value_{number} = compute({number}, 'text')  # comment\n" for number in range(2_000))
    versions = list(tokens(source))
    timeline.reset([])
    start = time.process_time()
    for version in versions:
        timeline.put(0, ProseBlock(id="p", text="```python\n" + version))
        await frame(timeline)
    row(
        "fence of 2,000 lines, streamed", f"{time.process_time() - start:.2f} s CPU", f"{len(source) // TOKEN:,} tokens"
    )
    timeline.reset([])
    start = time.process_time()
    for version in versions:
        timeline.put(0, CodeBlock(id="c", language="python", source=version))
        await frame(timeline)
    row("code of 2,000 lines, streamed", f"{time.process_time() - start:.2f} s CPU", "")


async def many_blocks(timeline: Timeline) -> None:
    """100,000 blocks."""
    blocks: list[Block] = [ProseBlock(id=str(number), text=PARAGRAPH, state="complete") for number in range(100_000)]
    start = time.process_time()
    timeline.reset(blocks)
    await frame(timeline)
    row("100,000 blocks, mount", f"{time.process_time() - start:.2f} s CPU", rss())
    await timed("  append one, draw", timeline, lambda number: timeline.put(100_000 + number, blocks[number]))
    await timed("  wheel up, draw", timeline, lambda _: timeline._move(-3))
    await timed("  jump anywhere, draw", timeline, lambda number: timeline._view.jump(number * 7_919 % 100_000))
    start = time.process_time()
    for width in (100, 60, 120):
        timeline._view.resize(width, 40)
        await frame(timeline)
    row("  resize, draw", f"{(time.process_time() - start) / 3 * 1000:.1f} ms CPU", "")
    timeline.reset([])


async def long_list(timeline: Timeline) -> None:
    """One list of 500 items: a single Markdown element."""
    text = "".join(f"{number}. item number {number} of a long list\n" for number in range(500))
    timeline.reset([])
    start = time.process_time()
    for version in tokens(text):
        timeline.put(0, ProseBlock(id="p", text=version))
        await frame(timeline)
    row("list of 500 items, streamed", f"{time.process_time() - start:.2f} s CPU", f"{len(text) // TOKEN:,} tokens")


async def flood(timeline: Timeline) -> None:
    """2 MB of output, coalesced to 30 pieces a second."""
    line = "\x1b[32mstep\x1b[0m something happened at a place of some name\n"
    text = line * (2_000_000 // len(line))
    timeline.reset([])
    start = time.process_time()
    for end in range(50_000, len(text), 50_000):
        output = StreamOutput(name="stdout", text=text[:end])
        timeline.put(0, CodeBlock(id="c", language="python", source="go()", state="running", outputs=(output,)))
        await frame(timeline)
    row("2 MB of coloured output", f"{time.process_time() - start:.2f} s CPU", f"{text.count(chr(10)):,} lines")


async def timed(name: str, timeline: Timeline, act: Callable[[int], object], times: int = 200) -> None:
    """CPU of an action and the frame after it."""
    start = time.process_time()
    for number in range(times):
        act(number)
        await frame(timeline)
    row(name, f"{(time.process_time() - start) / times * 1000:.2f} ms CPU", "")


def row(name: str, cost: str, note: str) -> None:
    """A row of the table."""
    print(f"{name:<34}{cost:>16}   {note}")


def rss() -> str:
    """Largest memory of this process so far."""
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB"


async def main() -> None:
    """All rows."""
    benches: tuple[Callable[[Timeline], Awaitable[None]], ...] = (
        prose_stream,
        fence_stream,
        long_list,
        flood,
        many_blocks,
    )
    for bench in benches:
        app = Bench()
        async with app.run_test(size=Size(120, 40)):
            await bench(app.query_one(Timeline))


if __name__ == "__main__":
    asyncio.run(main())
