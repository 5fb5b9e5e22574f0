"""What an answer costs while it arrives at 1,000 tokens a second: `streaming.py WAY TOKENS KIND` prints JSON.

An answer is Markdown of which three quarters are one fence; a token is four characters.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Protocol

from figures import Budget, exponent, judge, medians, share, table
from stage import Fold, staged, watched
from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Log, Markdown
from textual.widgets.markdown import MarkdownStream

from oi_tui.app.engine.core.events import ProseGrew, ProseStarted
from oi_tui.widgets.timeline.view import Timeline

TOKEN = 4
PACE = 1_000
BATCH = 1 / 60
"""Seconds between two batches: what the engine sends. A way that is late gets them one after the other, as they lie
in the socket."""

FENCE_SHARE = 0.1
"""Lines of the fence for each token: 20,000 tokens have one of 2,000 lines."""

LENGTHS = (5_000, 10_000, 20_000)
MARKDOWN_LENGTHS = (1_250, 2_500)
"""With a fence of 250 lines `Markdown` is far behind already; one of 2,000 was given up after 900 s."""

ROUNDS = 2
MOST, SLOPE = 5.0, 1.1

PROSE = (
    "Some **prose** with `code`, a [link](https://example.org), and words enough to wrap. " * 4
    + "\n\n## A heading\n\n- one item\n- another *item*\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
)


class Way(Protocol):
    """One way to show it."""

    @property
    def widget(self) -> Widget:
        """What shows it."""
        ...

    async def write(self, text: str) -> None:
        """More of the answer."""
        ...

    async def finish(self) -> None:
        """Return when all of it was taken."""
        ...


class Ours:
    """The fold and the timeline."""

    def __init__(self) -> None:
        self.widget = Timeline()
        self._fold = Fold(self.widget)
        self._fold.apply([ProseStarted(block_id="p")])

    async def write(self, text: str) -> None:
        """One batch of the engine's."""
        self._fold.apply([ProseGrew(block_id="p", text=text)])

    async def finish(self) -> None:
        """Nothing is held back."""


class Plain:
    """Textual's log: plain text that does not wrap."""

    def __init__(self) -> None:
        self.widget = Log()

    async def write(self, text: str) -> None:
        """At once."""
        self.widget.write(text)

    async def finish(self) -> None:
        """Nothing is held back."""


class Streamed:
    """Textual's Markdown and its stream."""

    def __init__(self) -> None:
        self._markdown = Markdown()
        self.widget = VerticalScroll(self._markdown)
        self._stream: MarkdownStream | None = None

    async def write(self, text: str) -> None:
        """Into the stream, which takes pieces together when it is behind."""
        if self._stream is None:
            self.widget.anchor()
            self._stream = Markdown.get_stream(self._markdown)
        await self._stream.write(text)

    async def finish(self) -> None:
        """Wait until it has caught up."""
        assert self._stream is not None
        await self._stream.stop()


WAYS: dict[str, type[Ours | Plain | Streamed]] = {"ours": Ours, "log": Plain, "markdown": Streamed}


def answer(tokens: int, *, fenced: bool) -> str:
    """Markdown of so many tokens."""
    size = tokens * TOKEN
    if not fenced:
        return (PROSE * (size // len(PROSE) + 1))[:size]
    lines = (f"    value_{n} = f({n}, 'text')  # note {n}" for n in range(int(tokens * FENCE_SHARE)))
    fence = "```python\n" + "".join(f"{line[:29]:<29}\n" for line in lines) + "```\n\n"
    rest = size - len(fence)
    text = (PROSE * (rest // len(PROSE) + 1))[:rest]
    half = text.rfind("\n\n", 0, rest // 2) + 2
    return text[:half] + fence + text[half:]


async def streamed(way: Way, text: str) -> dict[str, float]:
    """CPU and wall seconds, and how late the loop was, from the first token to the last frame."""
    size = round(PACE * BATCH) * TOKEN
    async with staged(way.widget) as stage, watched() as late:
        written, cpu, begun = stage.bytes_written, time.process_time(), time.perf_counter()
        for number, start in enumerate(range(0, len(text), size), 1):
            await asyncio.sleep(max(0.0, begun + number * BATCH - time.perf_counter()))
            await way.write(text[start : start + size])
        await way.finish()
        await stage.drawn()
        return {
            "cpu": time.process_time() - cpu,
            "wall": stage.last_frame - begun,
            "late": share(late, 0.99),
            "latest": max(late),
            "written": stage.bytes_written - written,
        }


def measured(way: str, tokens: int, kind: str = "fenced") -> dict[str, float]:
    """The figures of one answer, from a process of its own."""
    command = [sys.executable, __file__, way, str(tokens), kind]
    result: dict[str, float] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return result


def row(name: str, tokens: int, seen: Mapping[str, float]) -> tuple[str, ...]:
    """A row of the table."""
    times = f"{seen['wall']:.1f}", f"{seen['cpu']:.2f}", f"{seen['cpu'] / tokens * 1000:.2f}"
    late = f"{seen['late'] * 1000:.0f} / {seen['latest'] * 1000:.0f}"
    return name, f"{tokens:,}", *times, late, f"{seen['written'] / 1e6:.1f}"


def main() -> None:
    """Measure all and print the section."""
    rounds = [{length: measured("ours", length) for length in LENGTHS} for _ in range(ROUNDS)]
    ours = {length: medians(each[length] for each in rounds) for length in LENGTHS}
    log = measured("log", LENGTHS[-1])
    theirs = {length: measured("markdown", length) for length in MARKDOWN_LENGTHS}
    plain = {way: measured(way, LENGTHS[0], "plain") for way in ("ours", "markdown")}
    slope, their_slope = (exponent({n: seen["cpu"] for n, seen in costs.items()}) for costs in (ours, theirs))
    print("## A long answer\n")
    print(
        f"Markdown at {PACE:,} tokens a second, four characters each, in batches of a 60th of a second; three quarters"
    )
    print("are one fence (20,000 tokens: 2,000 lines). A whole app on 120x40 that paints into a terminal which drops")
    print(
        f"everything; the timeline is fed by events through the fold (medians of {ROUNDS}), `Markdown` by `get_stream`."
    )
    print("Late: how long after its time a timer of 4 ms came, 99th of a hundred and worst: what a key would wait.\n")
    rows = [row("oi-tui's timeline", length, seen) for length, seen in ours.items()]
    rows.append(row("`Log`: plain, unwrapped", LENGTHS[-1], log))
    rows += [row("`Markdown`", length, seen) for length, seen in theirs.items()]
    rows += [
        row(f"{name}, no fence", LENGTHS[0], plain[way])
        for way, name in (("ours", "oi-tui's timeline"), ("markdown", "`Markdown`"))
    ]
    print(table(("", "tokens", "wall, s", "CPU, s", "CPU, ms a token", "late, ms", "MB written"), rows))
    print(f"CPU grows with the length to the power of {slope:.2f}, with `Markdown` of {their_slope:.2f}, measured from")
    print("{:,} to {:,} tokens there: beyond a fence of 250 lines it does not keep up,".format(*MARKDOWN_LENGTHS))
    print("and one of 2,000 lines had not ended after 900 s when it was tried once.\n")
    most, longest = ours[LENGTHS[-1]]["cpu"], f"{MARKDOWN_LENGTHS[-1]:,} tokens"
    judge(
        Budget(
            "20,000 tokens with a fence of 2,000 lines",
            f"<= {MOST:.0f} CPU-seconds",
            f"{most:.2f} s",
            most <= MOST,
            f"{log['cpu']:.1f} s as plain text in a `Log`",
            f"{theirs[MARKDOWN_LENGTHS[-1]]['cpu']:.0f} s for the first {longest}",
        ),
        Budget(
            "its CPU by its length", "linear", f"power {slope:.2f}", slope <= SLOPE, "-", f"power {their_slope:.2f}"
        ),
    )


if __name__ == "__main__":
    match sys.argv[1:]:
        case [name, size, kind]:
            print(json.dumps(asyncio.run(streamed(WAYS[name](), answer(int(size), fenced=kind == "fenced")))))
        case _:
            main()
