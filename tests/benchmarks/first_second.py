"""The first second: something to see, a prompt answered, keys echoed, and what the program costs by then."""

import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

import psutil
from figures import ROUNDS, Budget, judge, middle, ratio, share, table
from outside import Family, echoes
from programs import OI_TUI, READY, oi_tui, scripted_server
from yardstick import Yardstick

from support.terminal import Terminal, clean_env

REST = 10.0
RESTS = 3
"""Of the starts, those in which nobody types for so long."""
KEYS = 40
ANSWER, FIRST_SECONDS, KEY, RUN, MEMORY = 0.6, 0.8, 0.025, 1.5, 140
"""Limits: seconds of the reference machine from the first frame to an answer, of CPU in the first ten seconds, of a
key, of a run with one cell; and MB."""
BEFORE = {"answer": "3300", "rest": "3100", "memory": "297", "key": "100", "run": "4150"}
"""Of these, before they were worked on: the review of performance, on a quiet machine."""
PRINT = ("python", "-c", "print('starting')")
SKELETON = "starting"


class Home:
    """A home in which the program ran before, so that it has its colours there."""

    def __init__(self, url: str, folder: Path) -> None:
        self.env = clean_env(folder)
        self.argv = oi_tui(url, Path(gettempdir()))
        self.folder = folder
        with self.start() as terminal:
            terminal.wait_for(READY)
            kept = Path(self.env["XDG_CACHE_HOME"], "oi-tui", "first-frame")
            terminal.wait_until(kept.exists, "the look kept")

    def start(self, argv: tuple[str, ...] = ()) -> Terminal:
        return Terminal(argv or self.argv, env=self.env, cwd=self.folder, columns=120, rows=40, timeout=60)

    def seen(self, argv: tuple[str, ...], text: str) -> float:
        """Seconds until this text is on the screen."""
        with self.start(argv) as terminal:
            return terminal.wait_for(text) - terminal.started


def answered(home: Home) -> tuple[float, float]:
    """Seconds from the first frame, at which a prompt is typed, to its answer; CPU of all processes by then."""
    with home.start() as terminal:
        shown = terminal.wait_for("sk, or")
        terminal.send("go\r")
        return terminal.wait_for("Hello.") - shown, Family(terminal).cpu


def rested(home: Home) -> tuple[float, float]:
    """CPU seconds of all processes in the first seconds, and their memory at the end, in MB."""
    with home.start() as terminal:
        terminal.wait_for(READY)
        time.sleep(max(0.0, terminal.started + REST - time.perf_counter()))
        family = Family(terminal)
        return family.cpu, family.rss


def typed(home: Home) -> list[float]:
    """Seconds until each key is on the screen, from the first frame on."""
    with home.start() as terminal:
        terminal.wait_for("sk, or")
        return echoes(terminal, KEYS)


def cold_run(home: Home) -> tuple[float, float]:
    """`oi-tui run` with one cell: seconds, and CPU seconds of it and what it started."""
    before = psutil.Process().cpu_times()
    begun = time.perf_counter()
    program = (str(OI_TUI), "run", "--yes", *home.argv[1:], "add")
    subprocess.run(program, env=home.env, cwd=home.folder, capture_output=True, check=True, timeout=60)
    after = psutil.Process().cpu_times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - begun, used


def main() -> None:
    """Measure and print the section."""
    bare = Yardstick()
    prints, skeletons, frames, answers, rests, keys, runs = [], [], [], [], [], [], []
    with (
        TemporaryDirectory() as one,
        TemporaryDirectory() as two,
        scripted_server("Hello.") as url,
        scripted_server("```python\nprint(1 + 1)\n```", "It is 2.") as coding,
    ):
        home, other = Home(url, Path(one)), Home(coding, Path(two))
        for number in range(ROUNDS):
            prints.append(home.seen((str(OI_TUI.with_name("python")), *PRINT[1:]), SKELETON))
            skeletons.append(home.seen(home.argv, SKELETON))
            frames.append(home.seen(home.argv, "sk, or"))
            bare.measure()
            answers.append(answered(home))
            keys.append(max(typed(home)))
            bare.measure()
            if number < RESTS:
                rests.append(rested(home))
            runs.append(cold_run(other))
    answer, cpu = ([pair[part] for pair in answers] for part in (0, 1))
    resting, memory = ([pair[part] for pair in rests] for part in (0, 1))
    walls, used = ([pair[part] for pair in runs] for part in (0, 1))
    skeleton = ratio(skeletons, prints)
    rows = [
        ("`python -c print`, ms", "", middle(prints)),
        ("the skeleton of the screen, ms", "", middle(skeletons)),
        ("a bare Textual app, ms", "", middle([frame.wall for frame in bare.frames])),
        ("the first frame, ms", "", middle(frames)),
        ("a prompt typed at the first frame answered, ms", BEFORE["answer"], middle(answer)),
        ("CPU of all processes by then, ms", "", middle(cpu)),
        (f"CPU of all processes in the first {REST:.0f} s, ms", BEFORE["rest"], middle(resting)),
        ("memory of all processes then, MB", BEFORE["memory"], f"{share(memory, 0.5):.0f}"),
        (f"the slowest of {KEYS} keys from the first frame on, ms", BEFORE["key"], middle(keys)),
        ("the slowest of all starts, ms", "", f"{max(keys) * 1000:.0f}"),
        ("`oi-tui run` with one cell, ms", BEFORE["run"], middle(walls)),
        ("CPU of it, ms", "", middle(used)),
    ]
    print("## The first second\n")
    print(f"{ROUNDS} starts of each, by turns where they are compared; median and (minimum).")
    print("The server answers at once.\n")
    print(bare.sentence())
    print(table(("", "before", "seen"), rows))
    late, spent, most = share(answer, 0.5), share(resting, 0.5), share(memory, 0.5)
    slowest, whole = share(keys, 0.5), share(walls, 0.5)
    judge(
        Budget("the skeleton", "<= 3 times `python -c print`", f"{skeleton:.2f} times", skeleton <= 3, middle(prints)),
        bare.hold("a prompt typed at the first frame", late, ANSWER, "wall"),
        bare.hold("CPU of the first ten seconds", spent, FIRST_SECONDS, "cpu"),
        Budget("memory at rest", f"<= {MEMORY} MB", f"{most:.0f} MB", most <= MEMORY),
        bare.hold("the slowest key from the first frame on", slowest, KEY, "wall"),
        bare.hold("`oi-tui run` with one cell", whole, RUN, "wall"),
    )


if __name__ == "__main__":
    main()
