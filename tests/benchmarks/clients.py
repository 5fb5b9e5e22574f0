"""What a streamed answer costs the whole program with each client of models: ours, and LiteLLM to the same server."""

import re
import statistics
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from figures import Budget, judge, table
from outside import Family
from programs import OI_TUI, READY, scripted_server
from yardstick import Yardstick

from support.terminal import Terminal, clean_env

PACE, TOKEN = 500, 4
SHORT, LONG = 2_000, 20_000
ROUNDS = 3
CLIENTS = {"ours": "openai/scripted", "LiteLLM": "custom_openai/scripted"}
"""Two names of the same server: the second is one that LiteLLM alone knows."""
BUDGETS = {SHORT: 1.3, LONG: 11.0}
"""CPU seconds of all processes, on the reference machine."""
EVENT = 200e-6
"""CPU seconds of the engine for one event, there."""
BEFORE = {SHORT: 2.36, LONG: 21.95}
EVENT_BEFORE = 825
"""The same with LiteLLM alone, when work on them began: CPU seconds, and microseconds."""
SETTLE = 2.0
SENTENCE = "The mean of the scores rises from one month to the next, as the table above shows. "


@dataclass
class Cost:
    """CPU seconds of one answer, and MB at its end."""

    screen: float
    engine: float
    rss: float
    first: float
    """Of all, from the start to the end of a first short answer."""
    wall: float


def body(tokens: int) -> str:
    """Prose with a last word to wait for."""
    return (SENTENCE * 4 + "\n\n") * (tokens * TOKEN // len(SENTENCE) // 4) + "END-OF-REPLY\n"


def watch(name: str, tokens: int) -> Cost:
    """Start, ask for a short answer, then for the long one."""
    turns = ({"text": "Hello there."}, {"text": body(tokens), "chunk": TOKEN, "pace": PACE, "match": "two"})
    with scripted_server(*turns) as url, TemporaryDirectory() as folder:
        home = Path(folder)
        options = ("--api-base", url, "--api-key", "none", "--cwd", folder)
        argv = (str(OI_TUI), "-m", name, *options)
        env = clean_env(home)
        with Terminal(argv, env=env, cwd=home, columns=120, rows=40, timeout=60) as terminal:
            terminal.wait_for(re.compile(READY))
            terminal.send("one\r")
            terminal.wait_for("Hello there.", 60)
            family = Family(terminal)
            time.sleep(SETTLE)
            first, before = family.cpu, cpu_of(family)
            terminal.send("two\r")
            asked = time.monotonic()
            terminal.wait_for("END-OF-REPLY", 120)
            wall = time.monotonic() - asked
            after = cpu_of(family)
            spent = [late - early for early, late in zip(before, after, strict=False)]
            return Cost(spent[0], sum(spent[1:]), family.rss, first, wall)


def cpu_of(family: Family) -> list[float]:
    """CPU seconds of each process, the screen's first."""
    return [seconds for seconds, _ in family.parts.values()]


def main() -> None:
    """Measure by turns, and print the section."""
    runs: dict[tuple[str, int], list[Cost]] = defaultdict(list)
    bare = Yardstick()
    for tokens in (*[SHORT] * ROUNDS, LONG):
        bare.measure()
        for client, name in CLIENTS.items():
            runs[client, tokens].append(watch(name, tokens))
    rows: list[tuple[str, ...]] = []
    budgets: list[Budget] = []
    for (client, tokens), costs in runs.items():
        parts = ("screen", "engine", "rss", "first", "wall")
        screen, engine, rss, first, wall = (statistics.median(getattr(cost, part) for cost in costs) for part in parts)
        events = tokens + tokens // 100
        rows.append(
            (
                client,
                f"{tokens:,}",
                f"{screen + engine:.2f}",
                f"{screen:.2f}",
                f"{engine:.2f}",
                f"{engine / events * 1e6:.0f}",
                f"{rss:.0f}",
                f"{first:.2f}",
                f"{wall:.1f}",
            )
        )
        if client == "ours":
            limit, each = BUDGETS[tokens], engine / events
            what = f"an answer of {tokens:,} tokens at {PACE} events a second"
            whole = bare.hold(what, screen + engine, limit, "cpu")
            event = bare.hold(f"{what}: an event in the engine", each, EVENT, "cpu", f"{each * 1e6:.0f} µs")
            budgets += [whole, event]
    print("## Clients of models\n")
    print(f"An answer at {PACE} events a second, after a first one; medians of {ROUNDS} (one of {LONG:,}), by turns.")
    were = " and ".join(f"{spent} s for {tokens:,} tokens" for tokens, spent in BEFORE.items())
    print(f"Before this was worked on, LiteLLM was the only client: {were}, {EVENT_BEFORE} µs an event.\n")
    print(bare.sentence())
    head = (
        "client",
        "tokens",
        "CPU s",
        "screen",
        "engine",
        "engine µs an event",
        "MB",
        "start and first answer, CPU s",
        "s",
    )
    print(table(head, rows))
    judge(*budgets)


if __name__ == "__main__":
    main()
