"""Runs every benchmark in a process of its own and writes what they say to RESULTS.md.

    python tests/benchmarks/run.py [--rounds N] [NAME ...]

Each benchmark prints Markdown. Whatever it compares, it compares within one run, by turns, so that ratios hold
on a slow or busy machine where the milliseconds do not.
"""

import argparse
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE / "RESULTS.md"
BENCHMARKS = ("first_frame", "key_echo", "warm_run", "timeline_bench")
TIME_LIMIT = 900


def heading() -> str:
    """Where and with what it was measured."""
    libraries = ", ".join(f"{name} {version(name)}" for name in ("textual", "jupyter_client", "ipykernel"))
    return (
        "# Benchmarks\n\n"
        f"Written by `make bench` on {datetime.now(UTC):%Y-%m-%d}: Python {platform.python_version()}, {libraries}, "
        f"{platform.system()}, {os.cpu_count()} shared cores. Trust the ratios: both sides were measured "
        "by turns in the same run.\n"
    )


def run(name: str, rounds: int) -> str:
    """The Markdown of one benchmark; what went wrong stands in its place."""
    environment = os.environ | {"PYTHONPATH": str(HERE.parent), "BENCHMARK_ROUNDS": str(rounds)}
    command = [sys.executable, str(HERE / f"{name}.py")]
    try:
        finished = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        return f"## {name}\n\nNot finished within {TIME_LIMIT} s.\n"
    if finished.returncode:
        return f"## {name}\n\nFailed with exit code {finished.returncode}.\n"
    text = finished.stdout.strip()
    return f"{text}\n" if text.startswith("## ") else f"## {name}\n\n```text\n{text}\n```\n"


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description="Measure, and write RESULTS.md.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}; all without one")
    parser.add_argument("--rounds", type=int, default=11)
    options = parser.parse_args()
    sections = [heading()]
    for name in options.names or [name for name in BENCHMARKS if (HERE / f"{name}.py").exists()]:
        sections.append(run(name, options.rounds))
        print(sections[-1], flush=True)
    if not options.names:
        RESULTS.write_text("\n".join(sections), encoding="utf-8")


if __name__ == "__main__":
    main()
