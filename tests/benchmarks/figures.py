"""Numbers as they stand in RESULTS.md."""

import os
import statistics
from collections.abc import Iterable, Sequence

ROUNDS = int(os.environ.get("BENCHMARK_ROUNDS", "11"))


def middle(seconds: Sequence[float]) -> str:
    """Median and, in brackets, minimum, in milliseconds."""
    return f"{statistics.median(seconds) * 1000:.0f} ({min(seconds) * 1000:.0f})"


def spread(seconds: Sequence[float]) -> tuple[str, str, str, str]:
    """p50, p90, p99 and maximum in milliseconds."""
    ordered = sorted(seconds)
    chosen = (ordered[min(len(ordered) - 1, int(len(ordered) * share))] for share in (0.5, 0.9, 0.99, 1.0))
    p50, p90, p99, most = (f"{value * 1000:.1f}" for value in chosen)
    return p50, p90, p99, most


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """How much larger the median is."""
    return statistics.median(ours) / statistics.median(theirs)


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n"
