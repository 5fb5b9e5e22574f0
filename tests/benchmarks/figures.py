"""Numbers as they stand in RESULTS.md, and the budgets they are held against."""

import json
import math
import os
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROUNDS = int(os.environ.get("BENCHMARK_ROUNDS", "11"))

BUDGETS_FILE = os.environ.get("BENCHMARK_BUDGETS", "")
"""Where `judge` notes its budgets for the table at the head of RESULTS.md; "" outside of `run.py`."""


class Budget(NamedTuple):
    """A limit, and what stands against it."""

    what: str
    limit: str
    measured: str
    met: bool
    bare: str = "-"
    """The same load on a bare Textual app or widget."""
    markdown: str = "-"
    """The same load on Textual's `Markdown`."""


def judge(*budgets: Budget) -> None:
    """Print which budgets were met, in one line, and keep them for the table of all."""
    words = [f"{budget.what}: {'met' if budget.met else f'MISSED ({budget.measured})'}" for budget in budgets]
    print(f"Verdict: {'; '.join(words)}.\n")
    if BUDGETS_FILE:
        with Path(BUDGETS_FILE).open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(budget) + "\n" for budget in budgets)


def budget_table(lines: Iterable[str]) -> str:
    """What `judge` kept, as the table at the head."""
    budgets = [Budget(*json.loads(line)) for line in lines]
    head = ("budget", "limit", "oi-tui", "", "bare Textual", "Textual's Markdown")
    order = ((b.what, b.limit, b.measured, "met" if b.met else "**missed**", b.bare, b.markdown) for b in budgets)
    return table(head, order)


def middle(seconds: Sequence[float]) -> str:
    """Median and, in brackets, minimum, in milliseconds."""
    return f"{statistics.median(seconds) * 1000:.0f} ({min(seconds) * 1000:.0f})"


def share(values: Sequence[float], part: float) -> float:
    """The value below which `part` of them lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def spread(seconds: Sequence[float]) -> tuple[str, str, str, str]:
    """p50, p90, p99 and maximum in milliseconds."""
    p50, p90, p99, most = (f"{share(seconds, part) * 1000:.1f}" for part in (0.5, 0.9, 0.99, 1.0))
    return p50, p90, p99, most


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """How much larger the median is."""
    return statistics.median(ours) / statistics.median(theirs)


def exponent(costs: Mapping[int, float]) -> float:
    """The power of the size with which the cost grows: least squares through the logarithms. 1 is linear."""
    sizes = [math.log(size) for size in costs]
    return statistics.linear_regression(sizes, [math.log(cost) for cost in costs.values()]).slope


def medians(rounds: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The median of every value over the rounds."""
    kept = list(rounds)
    return {name: statistics.median(each[name] for each in kept) for name in kept[0]}


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n"
