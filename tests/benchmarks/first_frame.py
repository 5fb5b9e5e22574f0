"""How long until a person sees the program, against a bare Textual app; and where the time goes."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import gettempdir

from figures import ROUNDS, Budget, judge, middle, ratio, table
from programs import BARE, oi_tui, scripted_server
from yardstick import Frame, first_frame

BUDGET, BEFORE = 1.15, 1.35
"""Times the bare app's, and what it was before this was worked on."""
IMPORT_TIME = re.compile(r"import time:\s+(?P<own>\d+) \|\s+\d+ \| (?P<indent>\s*)(?P<name>\S+)")
SETS = {"bare": "textual.app, textual.widgets._text_area", "oi-tui": "oi_tui.app.tui"}


def imports(modules: str) -> tuple[int, Counter[str]]:
    """How many modules an import brings, and the milliseconds of each top-level package."""
    command = [sys.executable, "-X", "importtime", "-c", f"import {modules}"]
    lines = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=True).stderr.splitlines()
    found = [match for line in lines if (match := IMPORT_TIME.match(line))]
    spent: Counter[str] = Counter()
    for match in found:
        parts = match["name"].split(".")
        spent[".".join(parts[:2]) if parts[0] == "oi_tui" else parts[0]] += int(match["own"])
    return len(found), Counter({name: own // 1000 for name, own in spent.items()})


def compared() -> tuple[str, list[Budget]]:
    """The table of first frames, and the verdicts."""
    with scripted_server("Hello.") as url:
        programs = {"bare Textual app": BARE, "oi-tui": oi_tui(url, Path(gettempdir()))}
        seen: dict[str, list[Frame]] = {name: [] for name in programs}
        for number in range(ROUNDS + 1):
            for name, argv in programs.items():
                measured = first_frame(argv)
                if number:  # the first round warms the disk
                    seen[name].append(measured)
    clocks, processors = ({name: [pair[i] for pair in pairs] for name, pairs in seen.items()} for i in (0, 1))
    ours, bare = "oi-tui", "bare Textual app"
    rows = [(name, middle(clocks[name]), middle(processors[name])) for name in programs]
    by_clock, by_processor = (f"{ratio(seconds[ours], seconds[bare]):.2f}" for seconds in (clocks, processors))
    rows.append(("ratio", by_clock, by_processor))
    budgets = []
    for what, kept in (("first frame", clocks), ("first frame, CPU", processors)):
        found = ratio(kept[ours], kept[bare])
        said = f"{middle(kept[ours])} ms, {found:.2f} times"
        limit = f"<= {BUDGET} times the bare app (before: {BEFORE})"
        budgets.append(Budget(what, limit, said, found <= BUDGET, f"{middle(kept[bare])} ms"))
    return table(("", "first frame, ms: median (min)", "CPU of the process, ms"), rows), budgets


def breakdown() -> str:
    """Where the imports of both go."""
    counted = {name: imports(modules) for name, modules in SETS.items()}
    packages = {name for _, spent in counted.values() for name, own in spent.items() if own >= 2}
    ordered = sorted(packages, key=lambda name: -counted["oi-tui"][1][name])
    rows: list[tuple[object, ...]] = [(name, *(spent[name] for _, spent in counted.values())) for name in ordered]
    rows.append(("modules in all", *(count for count, _ in counted.values())))
    return table(("import, own ms", *counted), rows)


if __name__ == "__main__":
    print("## First frame\n")
    print("From the start of the process until the text area stands on a screen of 120x40;")
    print(f"{ROUNDS} rounds by turns after a warm-up. Budget: {BUDGET} times the bare app, which is one text area.\n")
    frames, budgets = compared()
    print(frames)
    print("One run of each under `-X importtime` (which slows imports down); packages with 2 ms or more.\n")
    print(breakdown())
    judge(*budgets)
