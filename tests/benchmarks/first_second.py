"""The first second: something to see, a prompt answered, keys echoed, and what the program costs by then."""

import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

import psutil
from figures import ROUNDS, Budget, judge, middle, ratio, share, table
from outside import Family, echoes
from programs import BARE, OI_TUI, READY, oi_tui, scripted_server

from support.terminal import Terminal, clean_env

REST = 10.0
KEYS = 40
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
    with TemporaryDirectory() as one, TemporaryDirectory() as two, scripted_server("Hello.") as url:
        home = Home(url, Path(one))
        rounds = range(ROUNDS)
        prints, skeletons, frames, bares = [], [], [], []
        for _ in rounds:
            prints.append(home.seen((str(OI_TUI.with_name("python")), *PRINT[1:]), SKELETON))
            skeletons.append(home.seen(home.argv, SKELETON))
            frames.append(home.seen(home.argv, "sk, or"))
            bares.append(home.seen(BARE, READY))
        answers = [answered(home) for _ in rounds]
        rests = [rested(home) for _ in range(3)]
        keys = [max(typed(home)) for _ in rounds]
        with scripted_server("```python\nprint(1 + 1)\n```", "It is 2.") as coding:
            other = Home(coding, Path(two))
            runs = [cold_run(other) for _ in rounds]
    answer, cpu = ([pair[part] for pair in answers] for part in (0, 1))
    resting, memory = ([pair[part] for pair in rests] for part in (0, 1))
    walls, used = ([pair[part] for pair in runs] for part in (0, 1))
    skeleton = ratio(skeletons, prints)
    rows = [
        ("`python -c print`, ms", middle(prints)),
        ("the skeleton of the screen, ms", middle(skeletons)),
        ("a bare Textual app, ms", middle(bares)),
        ("the first frame, ms", middle(frames)),
        ("a prompt typed at the first frame answered, ms", middle(answer)),
        ("CPU of all processes by then, ms", middle(cpu)),
        (f"CPU of all processes in the first {REST:.0f} s, ms", middle(resting)),
        ("memory of all processes then, MB", f"{share(memory, 0.5):.0f}"),
        (f"the slowest of {KEYS} keys from the first frame on, ms", middle(keys)),
        ("`oi-tui run` with one cell, ms", middle(walls)),
        ("CPU of it, ms", middle(used)),
    ]
    print("## The first second\n")
    print(f"{ROUNDS} starts of each, by turns where they are compared; median and (minimum).")
    print("The server answers at once.\n")
    print(table(("", "seen"), rows))
    late, spent, most = share(answer, 0.5), share(resting, 0.5), share(memory, 0.5)
    slowest, whole = share(keys, 0.5), share(walls, 0.5)
    judge(
        Budget("the skeleton", "<= 3 times `python -c print`", f"{skeleton:.2f} times", skeleton <= 3, middle(prints)),
        Budget("a prompt typed at the first frame", "answered in 600 ms", f"{1000 * late:.0f} ms", late <= 0.6),
        Budget("CPU of the first ten seconds", "<= 800 ms", f"{1000 * spent:.0f} ms", spent <= 0.8),
        Budget("memory at rest", "<= 140 MB", f"{most:.0f} MB", most <= 140),
        Budget("the slowest key from the first frame on", "<= 25 ms", f"{1000 * slowest:.0f} ms", slowest <= 0.025),
        Budget("`oi-tui run` with one cell", "<= 1.5 s", f"{whole:.2f} s", whole <= 1.5),
    )


if __name__ == "__main__":
    main()
