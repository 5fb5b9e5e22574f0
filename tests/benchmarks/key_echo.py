"""How long until a typed letter is on the screen: with nothing else going on, and while an answer streams in."""

import time
from pathlib import Path
from tempfile import gettempdir

from figures import spread, table
from programs import BARE, READY, oi_tui, scripted_server, shown

from support.terminal import Terminal

TYPED = "QXZJVKWQJXZKVWJQZXKVQWJZXVKQJWZXVK" * 2
GAP = 0.05
PACE = 200
STREAM = "the mean of the scores rises from one month to the next, as the table above shows.\n\n" * 500


def echoes(terminal: Terminal) -> list[float]:
    """Seconds from each key press to the arrival of the output that shows it."""
    measured = []
    for count in range(1, len(TYPED) + 1):
        pressed = terminal.send(TYPED[count - 1])
        arrived = terminal.wait_for(TYPED[:count])
        measured.append(arrived - pressed)
        time.sleep(GAP)
    return measured


def idle(argv: tuple[str, ...]) -> list[float]:
    """Nothing but the typing."""
    with shown(argv, columns=120) as terminal:
        terminal.wait_for(READY)
        return echoes(terminal)


def streaming(argv: tuple[str, ...]) -> list[float]:
    """Typing the next prompt while the answer to the last one arrives."""
    with shown(argv, columns=120) as terminal:
        terminal.wait_for(READY)
        terminal.send("go\r")
        terminal.wait_for("the mean of the scores")
        return echoes(terminal)


def main() -> None:
    """Measure all three and print the section."""
    answer = {"text": STREAM, "chunk": 4, "pace": PACE}
    with scripted_server(answer) as url:
        ours = oi_tui(url, Path(gettempdir()))
        rows = [
            ("bare Textual app, idle", *spread(idle(BARE))),
            ("oi-tui, idle", *spread(idle(ours))),
            (f"oi-tui, {PACE} events/s streaming in", *spread(streaming(ours))),
        ]
    print("## Key to echo\n")
    print(f"From the press of a key to the arrival of the output that shows its letter: {len(TYPED)} keys,")
    print(f"{GAP * 1000:.0f} ms apart, through a pseudo-terminal of 120x40. The model server is another process.\n")
    print(table(("ms", "p50", "p90", "p99", "max"), rows))


if __name__ == "__main__":
    main()
