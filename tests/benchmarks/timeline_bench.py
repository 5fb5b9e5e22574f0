"""What many blocks cost: mounting them, one more, another width, another theme, and memory.

Each way to show them runs in a process of its own, `timeline_bench.py PART KIND`, which prints JSON.
"""

import asyncio
import gc
import json
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Awaitable, Callable

import psutil
from figures import Budget, judge, medians, table
from kinds import KINDS, Kind, Told
from stage import Stage, staged

ROUNDS = {"ours": 3, "log": 3, "static": 1, "markdown": 1}
"""Processes for each kind, by turns; those that need one are a hundred times away."""

APPENDS = 5
LOADED = 1_000
"""Puts in a row, for what one takes by itself."""

MEMORY = {"ours": (10_000, 60_000), "log": (10_000, 60_000), "static": (500, 2_500), "markdown": (100, 500)}
"""Blocks before and after, the difference of which is divided by their number."""

MOUNT, APPEND, BYTES = 1.5, 0.001, 1024


async def loaded(kind: Kind) -> dict[str, float]:
    """CPU seconds of everything that happens to a long timeline."""
    async with staged(kind.widget) as stage:
        cpu, begun = time.process_time(), time.perf_counter()
        await kind.fill(0, kind.most)
        await stage.drawn()
        seen = {"mount": time.process_time() - cpu, "mount, wall": stage.last_frame - begun}
        number = iter(range(kind.most, 2 * kind.most))

        async def append() -> None:
            await kind.append(next(number))

        seen["append, drawn"] = await cost(stage, append, APPENDS)
        seen["put"] = await bare_put(stage, kind, next(number))
        places = iter((0.1, 0.9, 0.3, 0.7, 0.5))
        seen["jump"] = await cost(stage, lambda: kind.jump(next(places)), 5)
        widths = iter((100, 60, 120))
        seen["resize"] = await cost(stage, lambda: stage.resize(next(widths)), 3)
        lights = iter((True, False))

        def recolour() -> None:
            light = next(lights)
            stage.theme = "textual-light" if light else "textual-dark"
            kind.recolour(light)

        seen["theme"] = await cost(stage, recolour, 2)
        return seen


async def bare_put(stage: Stage, kind: Kind, first: int) -> float:
    """Wall seconds of telling the widget about one more block, without the frame that shows it."""
    if not kind.name.startswith("oi-tui"):
        return 0.0  # to mount is to lay out: there is nothing to tell apart
    taken = []
    for number in range(first, first + LOADED):
        begun = time.perf_counter()
        await kind.append(number)
        taken.append(time.perf_counter() - begun)
    await stage.drawn()
    return statistics.median(taken)


async def cost(stage: Stage, act: Callable[[], Awaitable[None] | None], times: int) -> float:
    """CPU seconds of an action with all frames that follow from it: the median."""
    taken = []
    for _ in range(times):
        cpu = time.process_time()
        if (waited := act()) is not None:
            await waited
        await stage.drawn()
        taken.append(time.process_time() - cpu)
    return statistics.median(taken)


async def memory(name: str, *, traced: bool) -> dict[str, float]:
    """Bytes that one more block keeps, all of it and (`traced`, ours only) what Python took beside the text."""
    kind = Told() if name == "ours" else KINDS[name]()
    few, many = MEMORY[name]
    process = psutil.Process()

    def taken() -> int:
        gc.collect()
        if not traced:
            return int(process.memory_info().rss)
        assert isinstance(kind, Told)
        return tracemalloc.get_traced_memory()[0] - kind.text_bytes

    async with staged(kind.widget) as stage:
        if traced:
            tracemalloc.start()
        await kind.fill(0, few)
        await stage.drawn()
        before = taken()
        await kind.fill(few, many)
        await stage.drawn()
        return {"bytes": (taken() - before) / (many - few)}


def measured(*words: str) -> dict[str, float]:
    """The figures of one part and kind, from a process of its own."""
    command = [sys.executable, __file__, *words]
    result: dict[str, float] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return result


def main() -> None:
    """Measure all kinds by turns and print the section."""
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in KINDS}
    for number in range(max(ROUNDS.values())):
        for name in KINDS:
            if number < ROUNDS[name]:
                rounds[name].append(measured("loaded", name))
    seen = {name: medians(each) for name, each in rounds.items()}
    rss = {name: measured("memory", name)["bytes"] for name in KINDS}
    kept = measured("traced", "ours")["bytes"]
    print("## Many blocks\n")
    print("Paragraphs of 200 characters, every fifth block seven lines of code; each kind with as many as it bears.")
    print("A whole app on 120x40 that paints into a terminal which drops everything. CPU ms of the process with all")
    print("frames that follow: medians of 3 processes for the timeline and `Log`, by turns, of one for the others;")
    print("RSS is what one block more adds, text and all. To the timeline's resize belong new estimates of the heights")
    print("of all blocks, made in slices between frames.\n")
    actions = ("append, drawn", "jump", "resize", "theme")
    rows = [
        (
            kind.name,
            f"{kind.most:,}",
            f"{seen[name]['mount']:.2f} ({seen[name]['mount, wall']:.2f})",
            *(f"{seen[name][action] * 1000:.1f}" for action in actions),
            f"{rss[name] / 1024:.1f}",
        )
        for name, kind in KINDS.items()
    ]
    print(table(("", "blocks", "mount, CPU s (wall)", *actions, "RSS, KB a block"), rows))
    ours, log, static, markdown = seen.values()
    print(f"To put one block more takes {ours['put'] * 1e6:.0f} us; the frame that shows it follows within a 30th of a")
    print(f"second. Beside its text, a block that is not on the screen keeps {kept:.0f} bytes (tracemalloc, from")
    print("{:,} to {:,} blocks told of by events, transcript included).\n".format(*MEMORY["ours"]))
    few, fewer = f"{KINDS['static'].most:,}", f"{KINDS['markdown'].most:,}"
    judge(
        Budget(
            "100,000 blocks mounted",
            f"< {MOUNT} s",
            f"{ours['mount, wall']:.2f} s",
            ours["mount, wall"] < MOUNT,
            f"{log['mount, wall']:.2f} s as `Log` lines; {static['mount, wall']:.1f} s for {few} `Static`",
            f"{markdown['mount, wall']:.1f} s for {fewer}",
        ),
        Budget(
            "one more block, put",
            f"< {APPEND * 1000:.0f} ms",
            f"{ours['put'] * 1000:.3f} ms",
            ours["put"] < APPEND,
            f"{static['append, drawn'] * 1000:.0f} ms drawn, after {few} `Static`",
            f"{markdown['append, drawn'] * 1000:.0f} ms drawn, after {fewer}",
        ),
        Budget(
            "memory of a block off the screen, without its text",
            f"< {BYTES} bytes",
            f"{kept:.0f} bytes",
            kept < BYTES,
            f"{rss['static'] / 1024:.0f} KB for a `Static`, with it",
            f"{rss['markdown'] / 1024:.0f} KB, with it",
        ),
    )


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["loaded", name]:
            print(json.dumps(asyncio.run(loaded(KINDS[name]()))))
        case ["memory" | "traced" as part, name]:
            print(json.dumps(asyncio.run(memory(name, traced=part == "traced"))))
        case _:
            main()
