"""What the program costs while nothing happens: CPU of the screen, the engine and a kernel together."""

import time
from pathlib import Path
from tempfile import gettempdir

from figures import Budget, judge, table
from outside import Family
from programs import BARE, READY, oi_tui, scripted_server, shown

from support.terminal import Terminal

SECONDS = 20.0
WINDOW = 2.0
"""Seconds that are looked at to tell an import in the background, which takes a whole core, from rest."""
BUSY = 0.05
"""Of a core."""
LONGEST_SETTLING = 120.0
"""Seconds; whoever is not at rest by then is measured as it is."""

MOST = 0.005


def settle(terminal: Terminal) -> None:
    """Wait until what is imported in the background has been."""
    deadline = time.perf_counter() + LONGEST_SETTLING
    calm = 0
    while calm < 2 and time.perf_counter() < deadline:
        family = Family(terminal)
        cpu, begun = family.cpu, time.perf_counter()
        time.sleep(WINDOW)
        used = (family.cpu - cpu) / (time.perf_counter() - begun)
        calm = calm + 1 if used < BUSY else 0


def measured(terminal: Terminal) -> tuple[float, float, list[str]]:
    """The share of one core over `SECONDS`, MB of memory, and both of each process."""
    settle(terminal)
    family = Family(terminal)
    before, cpu, begun = family.parts, family.cpu, time.perf_counter()
    time.sleep(SECONDS)
    spent, after = time.perf_counter() - begun, family.parts
    used = (family.cpu - cpu) / spent
    each = [
        f"{name.partition(' ')[2]} {100 * (after[name][0] - before[name][0]) / spent:.2f} % {after[name][1]:.0f} MB"
        for name in before
    ]
    return used, family.rss, each


def bare() -> tuple[float, float, list[str]]:
    """The yardstick."""
    with shown(BARE) as terminal:
        terminal.wait_for(READY)
        return measured(terminal)


def fresh(url: str) -> tuple[float, float, list[str]]:
    """Ours as it starts: screen and engine."""
    with shown(oi_tui(url, Path(gettempdir()))) as terminal:
        terminal.wait_for(READY)
        return measured(terminal)


def used(url: str) -> tuple[float, float, list[str]]:
    """Ours after an answer and some code: screen, engine, and a kernel that has run something."""
    with shown(oi_tui(url, Path(gettempdir()))) as terminal:
        terminal.wait_for(READY)
        terminal.send("%python 6*7\r")
        terminal.wait_for("✓ python", 60)
        terminal.send("go\r")
        terminal.wait_for("Hello.", 60)
        return measured(terminal)


def main() -> None:
    """Measure all three and print the section."""
    with scripted_server("Hello.") as url:
        seen = {"bare Textual app": bare(), "oi-tui, just started": fresh(url), "oi-tui, a kernel warm": used(url)}
    rows = [(name, f"{100 * cpu:.2f}", f"{rss:.0f}", "; ".join(each)) for name, (cpu, rss, each) in seen.items()]
    print("## Idle\n")
    print(f"CPU of all processes over {SECONDS:.0f} s in which nothing happens, as a share of one core, on 120x40; in")
    print("the bare app the cursor blinks.\n")
    print(table(("", "CPU, %", "RSS, MB", "of which"), rows))
    yardstick, _, worst = (cpu for cpu, _, _ in seen.values())
    judge(
        Budget(
            "idle, with a kernel",
            f"< {100 * MOST:.1f} % CPU",
            f"{100 * worst:.2f} %",
            worst < MOST,
            f"{100 * yardstick:.2f} %",
        )
    )


if __name__ == "__main__":
    main()
