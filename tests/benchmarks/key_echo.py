"""How long until a typed letter is on the screen: with nothing else going on, while an answer streams in, and with
100,000 blocks above."""

import uuid
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import NamedTuple

from figures import Budget, judge, share, spread, table
from kinds import SOURCE, is_code, paragraph
from outside import GAP, Family, echoes, erase
from programs import BARE, READY, oi_tui, scripted_server, shown

from oi_tui.app.engine.core.events import (
    AnyEvent,
    CodeFinished,
    CodeStarted,
    DecisionMade,
    ProseFinished,
    ProseGrew,
    ProseStarted,
    SessionOpened,
    StepStarted,
    TurnEnded,
    TurnStarted,
)
from oi_tui.app.engine.log.store import Store
from support.terminal import Terminal, clean_env

KEYS = 80
PACE = 200
STREAM = "the mean of the scores rises from one month to the next, as the table above shows.\n\n" * 500
BLOCKS = 100_000
TURN = 10
"""Blocks of one turn: the prompt, and an answer in nine."""

APPEND = 50_000
"""Events in one transaction."""

MEDIAN, LATE = 0.016, 0.050


def idle(argv: tuple[str, ...]) -> list[float]:
    """Nothing but the typing."""
    with shown(argv) as terminal:
        terminal.wait_for(READY)
        return echoes(terminal, KEYS)


def streaming(argv: tuple[str, ...]) -> list[float]:
    """Typing the next prompt while the answer to the last one arrives."""
    with shown(argv) as terminal:
        terminal.wait_for(READY)
        return while_answered(terminal)[1]


def while_answered(terminal: Terminal) -> tuple[float, list[float]]:
    """Seconds from a prompt to the first words of the answer, and the echoes while it goes on."""
    asked = terminal.send("go\r")
    began = terminal.wait_for("the mean of the scores", 120)
    return began - asked, echoes(terminal, KEYS)


class Long(NamedTuple):
    """A resumed session of 100,000 blocks."""

    resumed: float
    """Seconds from the start to the last block on the screen."""
    answered: float
    """Seconds from a prompt to the first words."""
    quiet: list[float]
    echoes: list[float]
    rss: float


def long_session(url: str) -> Long:
    """Resume it, type, ask, and type while the answer comes."""
    with TemporaryDirectory() as home:
        env = clean_env(Path(home))
        session = stored(Path(env["XDG_DATA_HOME"], "oi-tui"))
        argv = (*oi_tui(url, Path(gettempdir())), "--resume", session)
        with Terminal(argv, env=env, cwd=home, columns=120, rows=40, timeout=60) as terminal:
            resumed = terminal.wait_for(f"Paragraph {BLOCKS - 2}:") - terminal.started
            terminal.wait_for(READY)
            quiet = echoes(terminal, KEYS)
            erase(terminal, KEYS)
            answered, typed = while_answered(terminal)
            return Long(resumed, answered, quiet, typed, Family(terminal).rss)


def stored(folder: Path, numbers: range = range(BLOCKS)) -> str:
    """The id of a new session of these blocks, written as the engine writes."""
    folder.mkdir(parents=True, exist_ok=True)
    session = uuid.uuid4().hex
    with closing(Store(folder / "sessions.db")) as store:
        store.create(session, 1.0, gettempdir())
        opened = SessionOpened(
            session_id=session, created=1.0, cwd=gettempdir(), model="openai/scripted", approval="ask"
        )
        events: list[AnyEvent] = [opened]
        for number in numbers:
            events += block(number)
            if len(events) > APPEND:
                store.append(session, events)
                events.clear()
        store.append(session, [*events, TurnEnded(reason="done")])
    return session


def block(number: int) -> list[AnyEvent]:
    """What the session says of one block."""
    name = str(number)
    if number % TURN == 0:
        ended: list[AnyEvent] = [TurnEnded(reason="done")] if number else []
        return [*ended, TurnStarted(block_id=name, text=f"Question {number}"), StepStarted(number=1)]
    if is_code(number):
        return [
            CodeStarted(block_id=name, language="python"),
            CodeFinished(block_id=name, language="python", source=SOURCE),
            DecisionMade(block_id=name, verdict="skip", decider="person", source=SOURCE),
        ]
    return [ProseStarted(block_id=name), ProseGrew(block_id=name, text=paragraph(number)), ProseFinished(block_id=name)]


def main() -> None:
    """Measure all and print the section."""
    answer = {"text": STREAM, "chunk": 4, "pace": PACE}
    with scripted_server(answer) as url:
        ours = oi_tui(url, Path(gettempdir()))
        bare, quiet, answered, long = idle(BARE), idle(ours), streaming(ours), long_session(url)
    rows = [
        ("bare Textual app, idle", *spread(bare)),
        ("oi-tui, idle", *spread(quiet)),
        (f"oi-tui, {PACE} tokens/s streaming in", *spread(answered)),
        (f"oi-tui, {BLOCKS:,} blocks, idle", *spread(long.quiet)),
        (f"oi-tui, {BLOCKS:,} blocks, {PACE} tokens/s streaming in", *spread(long.echoes)),
    ]
    print("## Key to echo\n")
    print(f"From the press of a key to the arrival of the output that shows its letter: {KEYS} keys,")
    print(f"{GAP * 1000:.0f} ms apart, through a pseudo-terminal of 120x40. The model server is another process.\n")
    print(table(("ms", "p50", "p90", "p99", "max"), rows))
    print(f"`oi-tui --resume` of the {BLOCKS:,} blocks showed the last of them {long.resumed:.1f} s after its start; a")
    print(f"prompt to them was answered after {long.answered:.1f} s, and screen and engine held {long.rss:.0f} MB.\n")
    loaded = f"{PACE} tokens/s, {BLOCKS:,} blocks"
    p50, p99 = share(long.echoes, 0.5), share(long.echoes, 0.99)
    base50, base99 = (f"{share(bare, part) * 1000:.1f} ms, idle" for part in (0.5, 0.99))
    judge(
        Budget(
            f"key to echo, median: {loaded}", f"< {MEDIAN * 1000:.0f} ms", f"{p50 * 1000:.1f} ms", p50 < MEDIAN, base50
        ),
        Budget(f"key to echo, 99th: {loaded}", f"< {LATE * 1000:.0f} ms", f"{p99 * 1000:.1f} ms", p99 < LATE, base99),
    )


if __name__ == "__main__":
    main()
