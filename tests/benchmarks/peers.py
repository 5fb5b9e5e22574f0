"""The same reply from the same server, shown by ours and by programs like it, seen from their terminals."""

import re
import statistics
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from figures import Budget, judge, share, table
from outside import Family, echoes, erase
from peer_programs import LOOPBACK_ONLY, PEERS, Peer
from programs import scripted_server

from support.terminal import ScreenTimeout, Terminal, clean_env

PACE = 500
TOKEN = 4
SHORT, LONG = 2_000, 10_000
ROUNDS = 3
LIMITS = {SHORT: 60.0, LONG: 120.0}
"""Seconds after which a reply of this many tokens is given up."""

SETTLE = 1.0
"""Seconds between being ready and the first key: one of them loses keys that come at once."""

IDLE_KEYS, KEYS = 20, 40
PATIENCE = 10.0
"""Seconds for one key to show, else the reply is given up."""

FIRST, LAST = "The answer begins.", "END-OF-REPLY"
SENTENCE = "The mean of the scores rises from one month to the next, as the table above shows. "


def reply(tokens: int) -> str:
    """Prose in paragraphs of four sentences, with a first and a last word to wait for."""
    body = (SENTENCE * 4 + "\n\n") * (tokens * TOKEN // len(SENTENCE) // 4)
    return f"{FIRST}\n\n{body}{LAST}\n"


@dataclass
class Seen:
    """What one run showed; seconds and MB."""

    paint: float
    ready: float
    start_cpu: float
    idle_keys: list[float] = field(default_factory=list)
    keys: list[float] = field(default_factory=list)
    asked: float = 0.0
    """From the prompt to the first words."""
    wall: float | None = None
    """From the first words to the last one; None: given up."""
    cpu: float = 0.0
    written: float = 0.0
    rss: float = 0.0


def watch(peer: Peer, tokens: int) -> Seen:
    """Start it, type, ask, type while it answers."""
    answer = {"text": reply(tokens), "chunk": TOKEN, "pace": PACE}
    with scripted_server(answer) as url, TemporaryDirectory() as folder:
        home = Path(folder)
        env = clean_env(home, **LOOPBACK_ONLY)
        argv, more = peer.start(peer.commands, home, url)
        with Terminal(argv, env=env | dict(more), cwd=home, columns=120, rows=40, timeout=60) as terminal:
            paint = terminal.wait_for(re.compile(r"\S"))
            ready = terminal.wait_for(re.compile(peer.ready))
            family = Family(terminal)
            start_cpu = family.cpu
            time.sleep(SETTLE)
            seen = Seen(paint - terminal.started, ready - terminal.started, start_cpu)
            seen.idle_keys = echoes(terminal, IDLE_KEYS)
            erase(terminal, IDLE_KEYS)
            terminal.send("go")
            terminal.wait_for(re.compile(r"\bgo\b"))
            answered(terminal, family, peer, seen, LIMITS[tokens])
            return seen


def answered(terminal: Terminal, family: Family, peer: Peer, seen: Seen, limit: float) -> None:
    """One prompt and its answer."""
    cpu, written = family.cpu, len(terminal.raw)
    asked = terminal.send(peer.send)
    try:
        first = terminal.wait_for(FIRST, limit)
        seen.asked = first - asked
        if peer.full_screen:
            seen.keys = echoes(terminal, KEYS, over=re.compile(LAST), patience=PATIENCE)
        seen.wall = terminal.wait_for(LAST, limit) - first
    except ScreenTimeout:
        pass  # given up: `wall` says so, the rest is what it had cost by then
    seen.cpu, seen.written, seen.rss = family.cpu - cpu, (len(terminal.raw) - written) / 1e6, family.rss


def milliseconds(values: Sequence[float]) -> str:
    """p50 and p99."""
    return " / ".join(f"{share(values, part) * 1000:.0f}" for part in (0.5, 0.99)) if values else "-"


def started(name: str, runs: Sequence[Seen]) -> tuple[str, ...]:
    """The row about starting and typing."""
    times = [statistics.median(getattr(run, part) for run in runs) for part in ("paint", "ready")]
    cpu = statistics.median(run.start_cpu for run in runs)
    idle, busy = ([value for run in runs for value in getattr(run, part)] for part in ("idle_keys", "keys"))
    return name, *(f"{seconds * 1000:.0f}" for seconds in times), f"{cpu:.1f}", milliseconds(idle), milliseconds(busy)


def replied(name: str, tokens: int, runs: Sequence[Seen]) -> tuple[str, ...]:
    """The row about one length of reply."""
    walls = [run.wall for run in runs if run.wall is not None]
    wall = f"{statistics.median(walls):.1f}" if len(walls) == len(runs) else f"given up after {LIMITS[tokens]:.0f}"
    parts = (statistics.median(getattr(run, part) for run in runs) for part in ("asked", "cpu", "written", "rss"))
    asked, cpu, written, rss = parts
    return name, f"{tokens:,}", f"{asked:.1f}", wall, f"{cpu:.1f}", f"{written:.2f}", f"{rss:.0f}"


def main() -> None:
    """Install, measure by turns, and print the section."""
    names, peers, missing = {}, [], []
    for peer in PEERS:
        try:
            names[peer.name] = f"{peer.name} {peer.install()} ({peer.kind})"
            peers.append(peer)
        except RuntimeError as error:
            missing.append((peer.name, str(error)))
    runs: dict[tuple[str, int], list[Seen]] = defaultdict(list)
    for tokens in (*[SHORT] * ROUNDS, LONG):
        for peer in peers:
            before = runs[peer.name, SHORT]
            if before and before[-1].wall is None:
                continue  # once given up is enough
            try:
                runs[peer.name, tokens].append(watch(peer, tokens))
            except ScreenTimeout as error:
                missing.append((peer.name, str(error).partition("\n")[0]))
    print("## Beside other programs\n")
    print(
        f"Each in a home of its own and a pseudo-terminal of 120x40, with the same prose at {PACE} tokens a second of"
    )
    print(
        f"four characters from the same server on the loopback, by turns; medians of {ROUNDS} runs, of one for {LONG:,}"
    )
    print("tokens. Seen from outside; CPU, MB of memory and bytes are those of all processes of a program. Those that")
    print("read a line at a time leave keys to the terminal while they answer, so there is nothing to measure then.\n")
    head = ("", "first paint, ms", "ready, ms", "CPU, s", "key idle, p50 / p99 ms", "while it answers, ms")
    done = [peer for peer in peers if runs[peer.name, SHORT]]
    print(table(head, (started(names[peer.name], runs[peer.name, SHORT]) for peer in done)))
    heads = ("", "tokens", "first words, s", "first to last word, s", "CPU, s", "MB written", "RSS, MB")
    rows = [
        replied(peer.name, tokens, runs[peer.name, tokens])
        for tokens in (SHORT, LONG)
        for peer in done
        if runs[peer.name, tokens]
    ]
    print(table(heads, rows))
    print(f"At this pace {SHORT:,} tokens take {SHORT / PACE:.1f} s, and {LONG:,} take {LONG / PACE:.1f} s.\n")
    for name, why in missing:
        print(f"{name} is missing: {why}\n")
    ours = runs["oi-tui", LONG][-1].wall
    ideal = LONG / PACE
    judge(
        Budget(
            f"{LONG:,} tokens at {PACE} tokens/s keep up, from outside",
            f"<= {1.1 * ideal:.0f} s",
            "given up" if ours is None else f"{ours:.1f} s",
            ours is not None and ours <= 1.1 * ideal,
        )
    )


if __name__ == "__main__":
    main()
