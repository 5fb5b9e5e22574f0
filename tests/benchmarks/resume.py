"""How long until a session of 10,000 blocks stands on the screen: chosen in the panel, and at the start."""

import time
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from figures import ROUNDS, Budget, judge, middle, table
from key_echo import stored
from programs import READY, oi_tui, scripted_server

from oi_tui.app.engine.log.store import Store
from support.terminal import Terminal, clean_env

BLOCKS = 10_000
TITLES = ("Alewife", "Bream")
"""Of two sessions that are opened by turns."""

PANEL, ENTER = "\x02", "\r"
BUDGET = 0.3
REST = 1.0
"""Seconds after which nothing of what was done before goes on."""


def made(data: Path) -> list[str]:
    """The two sessions, of different blocks."""
    sessions = [stored(data, range(number * BLOCKS, (number + 1) * BLOCKS)) for number in range(len(TITLES))]
    with closing(Store(data / "sessions.db")) as store:
        for session, title in zip(sessions, TITLES, strict=True):
            store.entitle(session, title)
    return sessions


def last_of(number: int) -> str:
    """What only the end of this session shows."""
    return f"Paragraph {(number + 1) * BLOCKS - 2}:"


def switched(terminal: Terminal) -> list[float]:
    """Seconds from Enter in the panel to the end of the session that was chosen, again and again."""
    seconds = []
    for go in range(ROUNDS + 1):
        number = go % 2
        time.sleep(REST)
        terminal.send(PANEL)
        time.sleep(REST)
        terminal.wait_for(TITLES[1 - number])
        terminal.send(f"/{TITLES[number]}")
        terminal.wait_gone(TITLES[1 - number])
        time.sleep(REST)
        chosen = terminal.send(ENTER)
        seen = terminal.wait_for(last_of(number))
        if go:  # the first warms the disk
            seconds.append(seen - chosen)
    return seconds


def started(argv: tuple[str, ...], env: dict[str, str], home: str, text: str) -> float:
    """Seconds from the start of the program until it shows this."""
    with Terminal(argv, env=env, cwd=home, columns=120, rows=40, timeout=60) as terminal:
        return terminal.wait_for(text) - terminal.started


def main() -> None:
    """Measure both and print the section."""
    with scripted_server("Hello.") as url, TemporaryDirectory() as home:
        env = clean_env(Path(home))
        argv = oi_tui(url, Path(gettempdir()))
        sessions = made(Path(env["XDG_DATA_HOME"], "oi-tui"))
        with Terminal(argv, env=env, cwd=home, columns=120, rows=40, timeout=60) as terminal:
            terminal.wait_for(READY)
            chosen = switched(terminal)
        new, resumed = [], []
        for _ in range(ROUNDS):
            new.append(started(argv, env, home, READY))
            resumed.append(started((*argv, "--resume", sessions[0]), env, home, last_of(0)))
    print("## Opening a session\n")
    print(f"A session of {BLOCKS:,} blocks, from outside, until its last block stands on a screen of 120x40.\n")
    rows = [
        ("chosen in the panel: from Enter", middle(chosen)),
        ("`oi-tui --resume ID`: from the start of the process", middle(resumed)),
        ("`oi-tui`, a new session: its first frame", middle(new)),
    ]
    print(table(("", "ms: median (min)"), rows))
    found = sorted(chosen)[len(chosen) // 2]
    judge(Budget(f"{BLOCKS:,} blocks opened in the panel", "< 300 ms", f"{found * 1000:.0f} ms", found < BUDGET))


if __name__ == "__main__":
    main()
