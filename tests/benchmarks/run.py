"""Runs every benchmark in a process of its own and writes what they say to RESULTS.md.

    python tests/benchmarks/run.py [--rounds N] [NAME ...]

Each benchmark prints Markdown and says which budgets were met; all budgets stand in a table at the head. Whatever
is compared, is compared within one run, by turns, so that ratios hold on a slow or busy machine where the
milliseconds do not. Without names it takes 20 minutes, and some more when the peers are installed first; with names,
what the others said stays.
"""

import argparse
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from figures import budget_table

HERE = Path(__file__).parent
RESULTS = HERE / "RESULTS.md"
BENCHMARKS = (
    *(
        "first_second",
        "first_frame",
        "idle",
        "idle_plugins",
        "key_echo",
        "warm_run",
        "timeline_bench",
        "streaming",
        "clients",
        "flow",
        "flood",
    ),
    *(
        "completing",
        "viewer_bench",
        "sessions_bench",
        "sessions",
        "resume",
        "context",
        "sanitiser",
        "sandbox_start",
        "made_files",
        "kept_folder",
        "audit",
        "size",
        "peers",
    ),
)
BY_HAND = ("Start", "Tests", "Red team", "Profiles")
"""Sections that no benchmark writes, and that stay; `make redteam` writes the last."""
TIME_LIMIT = 1800
"""Seconds for one of them: installing the peers is in it."""


def heading() -> str:
    """Where and with what it was measured."""
    libraries = ", ".join(f"{name} {version(name)}" for name in ("textual", "jupyter_client", "ipykernel"))
    return (
        "# Benchmarks\n\n"
        f"Written by `make bench`, last on {datetime.now(UTC):%Y-%m-%d}: Python {platform.python_version()}, "
        f"{libraries}, {platform.system()}, {os.cpu_count()} shared cores. Trust the ratios: both sides were measured "
        "by turns in the same run."
    )


def run(name: str, rounds: int, budgets: Path) -> str:
    """The Markdown of one benchmark, which adds to the file of budgets; what went wrong stands in its place."""
    environment = os.environ | {"PYTHONPATH": str(HERE.parent), "BENCHMARK_ROUNDS": str(rounds)}
    environment["BENCHMARK_BUDGETS"] = str(budgets)
    command = [sys.executable, str(HERE / f"{name}.py")]
    try:
        finished = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        return f"## {name}\n\nNot finished within {TIME_LIMIT} s.\n"
    if finished.returncode:
        return f"## {name}\n\nFailed with exit code {finished.returncode}.\n"
    return f"{finished.stdout.strip()}\n"


def parts(text: str) -> dict[str, str]:
    """The sections of a file of results by their headings."""
    return {section.split("\n", 1)[0]: section.strip() for section in f"\n{text}".split("\n## ")[1:]}


def rows(table: str) -> dict[str, str]:
    """The rows of a table by their first cell."""
    return {line.split(" | ")[0]: line for line in table.splitlines() if line.startswith("| ")}


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description="Measure, and write RESULTS.md.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}; all without one")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--dry", action="store_true", help="only print")
    options = parser.parse_args()
    found = ""
    with TemporaryDirectory() as folder:
        budgets = Path(folder, "budgets.jsonl")
        budgets.touch()
        for name in options.names or BENCHMARKS:
            said = run(name, options.rounds, budgets)
            print(said, flush=True)
            found += f"\n{said}"
        head = budget_table(budgets.read_text(encoding="utf-8").splitlines())
    print(head)
    if options.dry:
        return
    before = parts(RESULTS.read_text(encoding="utf-8"))
    if not options.names:
        before = {name: text for name, text in before.items() if name in BY_HAND}
    old = before.pop("Budgets", "")
    kept = rows(old) | rows(head) if old else rows(head)
    budget = "\n".join(["Budgets\n", *kept.values()])
    sections = {"Budgets": budget} | before | parts(found)
    RESULTS.write_text(
        "\n\n".join([heading(), *(f"## {section}" for section in sections.values())]) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
