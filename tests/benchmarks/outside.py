"""What is measured of a program from outside: its processes, and how soon a key shows."""

import contextlib
import re
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from support.terminal import ScreenTimeout, Terminal

LETTERS = "QXZJVKWQJXZKVWJQZXKVQWJZXVKQJWZXVK" * 3
"""Capitals in an order that no answer has."""

GAP = 0.05
"""Seconds between two keys."""


class Family:
    """A program and everything that it started."""

    def __init__(self, terminal: Terminal) -> None:
        self._first = psutil.Process(terminal.process.pid)

    def members(self) -> Iterator[psutil.Process]:
        """Those that live."""
        yield self._first
        yield from self._first.children(recursive=True)

    @property
    def cpu(self) -> float:
        """CPU seconds of all so far, with those that have ended."""
        seconds = 0.0
        for process in self.members():
            with contextlib.suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                seconds += times.user + times.system + times.children_user + times.children_system
        return seconds

    @property
    def rss(self) -> float:
        """MB of memory of all, pages that they share counted once for each."""
        total = 0
        for process in self.members():
            with contextlib.suppress(psutil.NoSuchProcess):
                total += process.memory_info().rss
        return total / 1e6

    @property
    def parts(self) -> dict[str, tuple[float, float]]:
        """CPU seconds and MB of each."""
        parts = {}
        for number, process in enumerate(self.members()):
            with contextlib.suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                parts[f"{number} {process.name()}"] = times.user + times.system, process.memory_info().rss / 1e6
        return parts


def processor_time(pid: int) -> float:
    """CPU seconds of the threads of one process so far, finer than the ticks of the clock."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9


def echoes(
    terminal: Terminal, keys: int, *, over: re.Pattern[str] | None = None, patience: float = 20.0
) -> list[float]:
    """Seconds from each of so many key presses to the arrival of the output that shows it, at most until `over` shows.

    Empty where a first key does not show at all.
    """
    measured: list[float] = []
    for count in range(1, keys + 1):
        if over is not None and over.search(terminal.screen):
            break
        pressed = terminal.send(LETTERS[count - 1])
        try:
            arrived = terminal.wait_for(LETTERS[:count], patience)
        except ScreenTimeout:
            if measured:
                raise
            return []
        measured.append(arrived - pressed)
        time.sleep(GAP)
    return measured


def erase(terminal: Terminal, keys: int) -> None:
    """Take the letters of `echoes` back."""
    terminal.send("\x7f" * keys)
    terminal.wait_gone(LETTERS[:2])
