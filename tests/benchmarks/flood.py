"""A flood of output, at the widget and through the whole program: `flood.py SINK` prints JSON.

The widget gets what the engine lets through of 1,000,000 lines; the program runs a shell command that prints them.
"""

import asyncio
import json
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import NamedTuple

from figures import Budget, judge, share, spread, table
from outside import Family, echoes
from programs import READY, oi_tui, scripted_server, shown
from stage import Fold, Stage, staged, watched
from textual.widgets import Log, RichLog

from oi_tui.app.engine.core.events import (
    AnyEvent,
    CodeFinished,
    CodeStarted,
    ExecutionStarted,
    OutputAdded,
    OutputTailMoved,
)
from oi_tui.app.engine.core.outputs import StreamOutput
from oi_tui.app.engine.core.settings import KernelSection
from oi_tui.app.engine.kernels.output_cap import OutputCap
from oi_tui.app.engine.kernels.output_stream import TAIL_INTERVAL
from oi_tui.widgets.timeline.view import Timeline

LINES = 1_000_000
WIDTH = 210
"""Characters of a line, its end included."""

PIECE = 65_536
PACE = 80e6
"""Bytes a second at which it comes: what a shell and a pipe give."""

BATCH = 1 / 30
"""Seconds between two batches."""

LESS = {"uncapped": 50_000, "log": 100_000, "rich": 10_000}
"""Lines for what would need minutes with all."""

KEYS = 80
"""As many as fit in one row of the prompt."""

IDLE = re.compile("no network {3}")
"""What the status line says before and after."""

RATE, FRAME = 60.0, 0.050


def pieces(lines: int) -> Iterator[str]:
    """The output as it is read from a pipe."""
    line = "{:07d} the mean of the scores rises from one month to the next " + "as the table above shows " * 6
    text = "".join(f"{line.format(number)[: WIDTH - 1]}\n" for number in range(PIECE // WIDTH * 20))
    left = lines * WIDTH
    while left > 0:
        for start in range(0, len(text), PIECE):
            piece = text[start : start + min(PIECE, left)]
            left -= len(piece)
            yield piece
            if left <= 0:
                return


async def paced(lines: int) -> AsyncIterator[list[str]]:
    """The pieces of each batch, as many as have come by then; a sink that is slow gets more at once."""
    begun, sent = time.perf_counter(), 0
    batch: list[str] = []
    for piece in pieces(lines):
        batch.append(piece)
        sent += len(piece)
        if sent >= (time.perf_counter() - begun) * PACE:
            yield batch
            batch = []
            await asyncio.sleep(BATCH)
    yield batch


class Watched(Timeline):
    """A timeline that notes what its frames cost."""

    def __init__(self) -> None:
        super().__init__()
        self.costs: list[float] = []

    def _draw(self) -> bool:
        begun = time.perf_counter()
        more = super()._draw()
        self.costs.append(time.perf_counter() - begun)
        return more


def feed(cap: OutputCap, batch: list[str], *, tail: bool) -> list[AnyEvent]:
    """The events that the engine makes of a batch: text up to the cap, then (`tail`) how the output ends by now."""
    shown = "".join(cap.admit("stdout", piece) for piece in batch)
    events: list[AnyEvent] = []
    if shown:
        events.append(OutputAdded(block_id="c", output=StreamOutput(name="stdout", text=shown)))
    if tail and (end := cap.tail("stdout")) is not None:
        events.append(OutputTailMoved(block_id="c", name="stdout", tail=end))
    return events


async def ours(folder: Path, lines: int, most: int) -> dict[str, float]:
    """What the engine lets through with a cap of `most` characters, folded and shown at 30 batches a second."""
    widget = Watched()
    cap = OutputCap(most, folder)
    async with staged(widget) as stage, watched() as late:
        fold = Fold(widget)
        started = (
            CodeStarted(block_id="c", language="shell"),
            CodeFinished(block_id="c", language="shell", source="yes"),
            ExecutionStarted(block_id="c", generation=1),
        )
        fold.apply(started)
        await stage.drawn()
        stage.frames.clear()
        widget.costs.clear()
        cpu, begun, handled = time.process_time(), time.perf_counter(), 0
        told = begun
        async for batch in paced(lines):
            tail = time.perf_counter() - told >= TAIL_INTERVAL
            told = time.perf_counter() if tail else told
            fold.apply(feed(cap, batch, tail=tail))
            handled += sum(map(len, batch))
        fed = time.perf_counter()
        await stage.drawn()
        wall = max(fed, stage.last_frame) - begun
        cap.spill.close()
        worst = max(widget.costs, default=0.0) + max(stage.frames, default=0.0)
        return figures(stage, handled, wall, time.process_time() - cpu, late) | {"frame": worst}


async def theirs(lines: int, widget: Log | RichLog) -> dict[str, float]:
    """The same pieces, to a widget of Textual's that takes text."""
    async with staged(widget) as stage, watched() as late:
        stage.frames.clear()
        cpu, begun, handled = time.process_time(), time.perf_counter(), 0
        async for batch in paced(lines):
            widget.write("".join(batch))
            handled += sum(map(len, batch))
        fed = time.perf_counter()
        await stage.drawn()
        wall = max(fed, stage.last_frame) - begun
        return figures(stage, handled, wall, time.process_time() - cpu, late) | {"frame": max(stage.frames)}


def figures(stage: Stage, handled: int, wall: float, cpu: float, late: list[float]) -> dict[str, float]:
    """What stands in the table."""
    rates = {"handled": handled, "wall": wall, "rate": handled / wall / 1e6, "cpu": cpu}
    return rates | {"late": share(late, 0.99), "latest": max(late), "frames": len(stage.frames)}


async def sink(name: str, folder: Path) -> dict[str, float]:
    """The figures of one sink."""
    match name:
        case "capped":
            return await ours(folder, LINES, KernelSection().output_cap)
        case "uncapped":
            return await ours(folder, LESS[name], LINES * WIDTH)
        case "log":
            return await theirs(LESS[name], Log())
        case _:
            return await theirs(LESS[name], RichLog())


SINKS = {
    "capped": "oi-tui's timeline, cap of 2 MB",
    "uncapped": "oi-tui's timeline, no cap",
    "log": "`Log`",
    "rich": "`RichLog`",
}


def measured(name: str) -> dict[str, float]:
    """The figures of one sink, from a process of its own."""
    command = [sys.executable, __file__, name]
    result: dict[str, float] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return result


class Outside(NamedTuple):
    """The whole program, seen from its terminal."""

    wall: float
    echoes: list[float]
    cpu: float
    rss: float


def outside() -> Outside:
    """A shell command of the person's that prints it all, and letters typed meanwhile."""
    line = ("a line of output " * 20)[: WIDTH - 1]
    with scripted_server("Hello.") as url, shown(oi_tui(url, Path(gettempdir()))) as terminal:
        terminal.wait_for(READY)
        terminal.send("!true\r")
        terminal.wait_for(IDLE)
        family = Family(terminal)
        cpu = family.cpu
        terminal.send(f"!yes '{line}' | head -n {LINES}")
        terminal.wait_for(f"head -n {LINES}")
        begun = terminal.send("\r")
        terminal.wait_gone(IDLE)
        seen = echoes(terminal, KEYS, over=IDLE)
        ended = terminal.wait_for(IDLE, 300)
        return Outside(ended - begun, seen, family.cpu - cpu, family.rss)


def main() -> None:
    """Measure all and print the section."""
    seen = {name: measured(name) for name in SINKS}
    whole = outside()
    rows = [
        (
            SINKS[name],
            f"{got['handled'] / 1e6:.0f}",
            f"{got['wall']:.2f}",
            f"{got['rate']:.1f}",
            f"{got['cpu']:.2f}",
            f"{got['frames']:.0f}",
            f"{got['frame'] * 1000:.0f}",
            f"{got['late'] * 1000:.0f} / {got['latest'] * 1000:.0f}",
        )
        for name, got in seen.items()
    ]
    size, pace = LINES * WIDTH / 1e6, PACE / 1e6
    print("## A flood of output\n")
    print(f"{LINES:,} lines of {WIDTH} characters ({size:.0f} MB) that come at {pace:.0f} MB/s. The timeline gets")
    print(
        "what the engine tells: text up to the cap, as events in at most 30 batches a second, then eight times a second"
    )
    print(
        "how the output ends by now; the rest goes to a file, and is handled with that. What could not bear all of it"
    )
    print(
        "gets less. Frame: the longest, from the blocks to the bytes for the terminal. Late: how long after its time a"
    )
    print("timer of 4 ms came, 99th of a hundred and worst.\n")
    print(table(("", "MB", "wall, s", "MB/s", "CPU, s", "frames", "frame, ms", "late, ms"), rows))
    rate = size / whole.wall
    print(f"From outside, `!yes ... | head -n {LINES}` in a terminal of 120x40 took {whole.wall:.2f} s, which is")
    print(f"{rate:.1f} MB/s, and {whole.cpu:.1f} CPU-seconds of all processes, the command's own among them; they held")
    print(f"{whole.rss:.0f} MB at its end. {len(whole.echoes)} keys pressed meanwhile showed after:\n")
    print(table(("ms", "p50", "p90", "p99", "max"), [("key to echo", *spread(whole.echoes))]))
    capped, log = seen["capped"], seen["log"]
    judge(
        Budget(
            "flood of 210 MB, at the widget",
            f">= {RATE:.0f} MB/s",
            f"{capped['rate']:.0f} MB/s",
            capped["rate"] >= RATE,
            f"{log['rate']:.1f} MB/s in a `Log`",
        ),
        Budget(
            "flood of 210 MB, the whole program",
            f">= {RATE:.0f} MB/s",
            f"{rate:.0f} MB/s",
            rate >= RATE,
        ),
        Budget(
            "longest frame in the flood",
            f"<= {FRAME * 1000:.0f} ms",
            f"{capped['frame'] * 1000:.0f} ms; loop late by {capped['latest'] * 1000:.0f} ms",
            max(capped["frame"], capped["latest"]) <= FRAME,
            f"loop late by {log['latest'] * 1000:,.0f} ms in a `Log` of 21 MB",
        ),
        Budget(
            "longest wait of a key in the flood, the whole program",
            f"<= {FRAME * 1000:.0f} ms",
            f"{max(whole.echoes) * 1000:.0f} ms",
            max(whole.echoes) <= FRAME,
        ),
    )


if __name__ == "__main__":
    match sys.argv[1:]:
        case [name]:
            with TemporaryDirectory() as folder:
                print(json.dumps(asyncio.run(sink(name, Path(folder)))))
        case _:
            main()
