"""The first frame of a bare Textual app as the unit of time: what a budget in seconds means on another machine.

A budget in seconds was set on one quiet machine. Others are slower or faster, and a shared one is so from hour to
hour. So the bare app is measured in the same run, by turns with what is judged, and limit and figure are both told in
its frames.
"""

import statistics
from typing import Literal, NamedTuple

from figures import Budget, middle
from outside import processor_time
from programs import BARE, READY, shown

PAINTED = b"sk"
"""Of the text area's first words, in what is written: the cursor stands on the letter before."""


class Frame(NamedTuple):
    """Seconds from the start of a program to its first frame: on the clock, and of CPU."""

    wall: float
    cpu: float


REFERENCE = Frame(wall=0.253, cpu=0.230)
"""The bare app's where the budgets in seconds were set: medians of eleven starts of revision e748708, by turns with
oi-tui's, the machine calm before each (section 1 of the review of performance, columns "ready" and "CPU")."""


def first_frame(argv: tuple[str, ...]) -> Frame:
    """That of a program that shows `READY` in its text area."""
    with shown(argv) as terminal:
        terminal.wait_raw(PAINTED)
        spent = processor_time(terminal.process.pid)  # at once: the program goes on
        return Frame(terminal.wait_for(READY) - terminal.started, spent)


class Yardstick:
    """The bare app in this run."""

    def __init__(self) -> None:
        """Starts it once without a note, which warms the disk."""
        first_frame(BARE)
        self.frames: list[Frame] = []

    def measure(self) -> None:
        """Start it once more: before and between what is judged by it."""
        self.frames.append(first_frame(BARE))

    def hold(self, what: str, seconds: float, limit: float, kind: Literal["wall", "cpu"], told: str = "") -> Budget:
        """The verdict on a figure whose `limit` was set in seconds of the reference machine, by the frames of the bare
        app that each of them is. `told` is how the figure reads, else in milliseconds."""
        frames = [getattr(frame, kind) for frame in self.frames]
        least, found = limit / getattr(REFERENCE, kind), seconds / statistics.median(frames)
        unit = "bare frames" if kind == "wall" else "bare frames' CPU"
        return Budget(
            what,
            f"<= {least:.3g} {unit} ({milliseconds(limit)} there)",
            f"{found:.3g} ({told or milliseconds(seconds)})",
            found <= least,
            f"1 ({middle(frames)} ms)",
        )

    def sentence(self) -> str:
        """What its column means, for the head of a section."""
        walls, cpus = ([getattr(frame, kind) for frame in self.frames] for kind in Frame._fields)
        wall, cpu = (f"{seconds * 1000:.0f} ms" for seconds in REFERENCE)
        return (
            f"Limits in seconds were set where a bare Textual app had its first frame after {wall} and {cpu} of CPU.\n"
            f"In this run, by turns with the rest, it took {middle(walls)} ms and {middle(cpus)} ms of CPU. What is\n"
            "judged is how many of these frames a figure is, against how many its limit was there.\n"
        )


def milliseconds(seconds: float) -> str:
    """A time with three digits: 0.54 ms, 29.4 ms, 811 ms."""
    return f"{seconds * 1000:.3g} ms" if seconds < 1 else f"{seconds:.2f} s"
