"""Writes a session again and again and is killed at random moments; run as a program of its own.

    python killing.py FOLDER TIMES SEED

For each time a child writes `script()` into `FOLDER/NUMBER.db`, telling after each event that it is written; it is
ended with SIGKILL after a random while. Prints one line for each: how many events were said to be written.
"""

import os
import random
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path

from oi_tui.app.engine.core.blocks import Block
from oi_tui.app.engine.core.events import AnyEvent
from oi_tui.app.engine.core.outputs import RichOutput, StreamOutput
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.log.writer import LogWriter
from oi_tui.app.engine.transcript.coalesce import is_delta
from oi_tui.app.engine.transcript.event_log import fold_events
from support.sessions import code, no_giving_up, printed, prose, turn

SESSION = "killed"
LONGEST = 0.15
"""Seconds after which a child is killed at the latest."""


def script() -> list[AnyEvent]:
    """Forty turns with all that is merged, indexed or put into files."""
    events: list[AnyEvent] = []
    for number in range(40):
        picture = RichOutput(data={"image/png": f"{number:04}" * 20_000, "text/plain": "a picture"})
        outputs: list[StreamOutput | RichOutput] = [printed("a"), printed("b\n"), picture, printed("c")]
        answer = prose(f"p{number}", *(f"word{n} " for n in range(10)))
        events += turn(f"u{number}", f"prompt {number}", answer, code(f"c{number}", "print(1)", *outputs))
    return events


def write(path: Path, told: Callable[[int], None]) -> None:
    """The script as the engine writes it; `told` how many events are on the disk for certain."""
    store = Store(path)
    store.create(SESSION, 1.0, "/work")
    writer = LogWriter(store, SESSION, no_giving_up, clock=lambda: 0.0)
    for number, event in enumerate(script(), 1):
        writer.append(event)
        writer.write_due()
        if not is_delta(event):
            told(number)
    store.close()


def one(path: Path, wait: float) -> int:
    """Events that a child said were written before it was killed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        write(path, lambda number: (os.write(writing, number.to_bytes(4)), None)[1])
        os._exit(0)
    os.close(writing)
    select.select([reading], [], [], 10)  # from the first event on
    select.select([], [], [], wait)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    said = b""
    while piece := os.read(reading, 65536):
        said += piece
    os.close(reading)
    return int.from_bytes(said[-4:])


AUDIT_WRITER = """
import sys
from pathlib import Path
from oi_tui.app.engine.log.audit.log import AuditLog
from oi_tui.app.engine.log.audit.records import LogBody, NoticeWasGiven
log = AuditLog(Path(sys.argv[1]), "session")
while True:
    log.add([LogBody(at=1.0, session="session", record=NoticeWasGiven(level="info", title="x" * 300))])
    print("one more", flush=True)
    log.seal()
"""


def kill_audit_writer(folder: Path, wait: float) -> None:
    """A program that writes an audit log there without end, killed by SIGKILL this many seconds after its first
    line."""
    with subprocess.Popen([sys.executable, "-c", AUDIT_WRITER, str(folder)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"one more\n"
        with suppress(subprocess.TimeoutExpired):
            writer.wait(wait)
        writer.kill()


def states_of_script() -> list[list[Block]]:
    """What the script folds to after each number of its events."""
    events = script()
    return [list(fold_events(events[:number]).blocks) for number in range(len(events) + 1)]


def what_is_wrong(path: Path, written: int, states: Sequence[list[Block]]) -> str:
    """The defects of the file of a child that was killed after it reported this many events; "" if there are none."""
    with closing(Store(path)) as store:
        found = fold_events(store.load(SESSION)).blocks
        if found not in states[written:]:
            return f"{written} events were written, and are not there"
        if store.tidy(1.0):
            return "it had to be mended"
        turns = store.record(SESSION).turns
        if not len([block for block in found if block.id.startswith("u")]) == turns == len(store.prompts(100)):
            return f"it counts {turns} turns and {len(store.prompts(100))} prompts"
    return ""


def main() -> None:
    """Print each result."""
    folder, times, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    chance = random.Random(seed)
    for number in range(times):
        print(one(folder / f"{number}.db", chance.uniform(0, LONGEST)), flush=True)


if __name__ == "__main__":
    main()
