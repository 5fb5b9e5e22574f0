"""What a person waits for while the program is at work, and what it costs: from Enter to a result, a frame of a
streamed answer, a progress bar, a flood without line ends, a session of 100,000 blocks."""

import json
import re
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
from clients import PACE, TOKEN, body
from figures import ROUNDS, Budget, judge, table
from jupyter_client.manager import start_new_kernel
from key_echo import stored
from programs import OI_TUI, READY, oi_tui, scripted_server
from yardstick import Yardstick

from oi_tui.app.frontend.waiting_engine import NAME
from support.terminal import Terminal, clean_env

ENTER, FRAME, UPDATE = 0.020, 0.0027, 0.0005
"""Seconds of the reference machine: from Enter to the result; CPU of the screen for a frame; CPU beyond a bare kernel
for an update of a bar."""
WRITTEN = 60
"""Bytes to the terminal for a character of an answer."""
LINELESS, SCREEN, RESUME = 300, 90, 1.5
"""MB of the engine in a flood without line ends, MB of the screen and seconds to the last block with many blocks."""
BEFORE = {"enter": "49.9 ms", "frame": "5.4 ms", "bytes": "400", "bar": "1.5 ms with the kernel", "lineless": "407 MB"}
BEFORE |= {"blocks": "108 MB", "resume": "2.2 s"}
"""What was measured before work on these began, on a quiet machine."""
TOKENS, UPDATES, BYTES, BLOCKS = 4_000, 4_000, 200_000_000, 100_000
REST = 0.5
SYNC = b"\x1b[?2026h"
"""What every frame begins with."""
CODE = """
import sys, time
def bar(updates):
    for i in range(updates):
        done = i * 50 // updates
        sys.stderr.write(f"\\r{i * 100 // updates:3d}%|{'#' * done}{' ' * (50 - done)}| {i}/{updates} [00:00<00:12, {900 + i % 90}it/s]")
        sys.stderr.flush()
        time.sleep(0.001)
    print("DO" + "NE")
def lineless(size):
    for _ in range(size // 1_000_000):
        sys.stdout.write("x" * 1_000_000)
    print("\\nDO" + "NE")
"""  # noqa: E501


class Watched:
    """The processes of a program in a terminal, told apart."""

    def __init__(self, terminal: Terminal) -> None:
        self.screen = psutil.Process(terminal.process.pid)
        self.engine = next(child for child in self.screen.children() if child.name() == NAME)

    @property
    def cpu(self) -> tuple[float, float]:
        """CPU seconds of the screen and of the engine."""
        return spent(self.screen), spent(self.engine)


def spent(process: psutil.Process) -> float:
    """CPU seconds of a process so far."""
    times = process.cpu_times()
    return float(times.user + times.system)


def peak(process: psutil.Process) -> float:
    """MB that it held at most."""
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    return int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) * 1024 / 1e6


@contextmanager
def warm() -> Iterator[Terminal]:
    """The program with a kernel that has run something."""
    with TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "script").write_text(json.dumps(["hi"]), encoding="utf-8")
        (home / "made.py").write_text(CODE, encoding="utf-8")
        argv = (str(OI_TUI), "-m", "fake/~/script", "--sandbox", "danger-full-access")
        with Terminal(argv, env=clean_env(home), cwd=home, columns=120, rows=40, timeout=120) as terminal:
            terminal.wait_for(READY)
            terminal.send("%import made; 40+1\r")
            terminal.wait_for("41")
            time.sleep(4 * REST)
            yield terminal


def press_enter(rounds: int) -> list[float]:
    """Seconds from Enter to the arrival of a result that nothing else shows."""
    waits = []
    with warm() as terminal:
        for number in range(rounds):
            letter = chr(ord("A") + number % 26)
            source = f"%'{letter.lower()}'.upper()*14"
            terminal.send(source)
            terminal.wait_for(source[1:])
            time.sleep(REST)
            written = len(terminal.raw)
            pressed = terminal.send("\r")
            waits.append(terminal.wait_raw(letter.encode() * 14, since=written) - pressed)
            time.sleep(REST)
    return waits


def stream() -> tuple[float, int, int]:
    """CPU seconds of the screen, frames and bytes of an answer."""
    turns = ({"text": "Hello there."}, {"text": body(TOKENS), "chunk": TOKEN, "pace": PACE, "match": "two"})
    with scripted_server(*turns) as url, TemporaryDirectory() as folder:
        home = Path(folder)
        with Terminal(oi_tui(url, home), env=clean_env(home), cwd=home, columns=120, rows=40, timeout=60) as terminal:
            terminal.wait_for(READY)
            terminal.send("one\r")
            terminal.wait_for("Hello there.")
            time.sleep(2 * REST)
            watched, said = Watched(terminal), len(terminal.raw)
            before = watched.cpu
            terminal.send("two\r")
            terminal.wait_for("END-OF-REPLY")
            written = bytes(terminal.raw[said:])
            return watched.cpu[0] - before[0], written.count(SYNC), len(written)


def progress() -> tuple[float, float, float]:
    """CPU seconds of screen, engine and kernel for an update of a progress bar."""
    with warm() as terminal:
        watched = Watched(terminal)
        kernel = next(child for child in watched.engine.children() if child.name().startswith("python"))
        before = (*watched.cpu, spent(kernel))
        terminal.send(f"%made.bar({UPDATES})\r")
        terminal.wait_for("DONE")
        after = (*watched.cpu, spent(kernel))
        screen, engine, run = ((late - early) / UPDATES for early, late in zip(before, after, strict=True))
        return screen, engine, run


def bare_progress() -> float:
    """CPU seconds of a kernel with a client that drops what it says, for the same update."""
    with TemporaryDirectory() as folder:
        Path(folder, "made.py").write_text(CODE, encoding="utf-8")
        manager, client = start_new_kernel(cwd=folder)
        try:
            kernel = psutil.Process(manager.provisioner.pid)
            client.execute_interactive("import made; 40+1", output_hook=lambda message: None, timeout=60)
            before = spent(kernel)
            client.execute_interactive(f"made.bar({UPDATES})", output_hook=lambda message: None, timeout=60)
            return (spent(kernel) - before) / UPDATES
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)


def flood() -> float:
    """MB that the engine held at most."""
    with warm() as terminal:
        terminal.send(f"%made.lineless({BYTES})\r")
        terminal.wait_for("DONE")
        return peak(Watched(terminal).engine)


def resume(rounds: int) -> tuple[list[float], list[float], list[float], float]:
    """Seconds to the last of many blocks and to the answer to a prompt that is sent then, which takes all of them; MB
    of the screen after that, and CPU seconds of both."""
    seconds, whole, held, cpu = [], [], [], 0.0
    with TemporaryDirectory() as folder:
        home = Path(folder)
        env = clean_env(home)
        argv = (str(OI_TUI), "-m", "fake/~/script", "--resume", stored(home / "data" / "oi-tui", range(BLOCKS)))
        for number in range(rounds):
            (home / "script").write_text(json.dumps([f"ANSWER-{number}"]), encoding="utf-8")
            with Terminal(argv, env=env, cwd=home, columns=120, rows=40, timeout=60) as terminal:
                seconds.append(terminal.wait_for(f"Paragraph {BLOCKS - 2}:") - terminal.started)
                terminal.send("go on\r")
                whole.append(terminal.wait_for(f"ANSWER-{number}") - terminal.started)
                watched = Watched(terminal)
                cpu = sum(watched.cpu)
                time.sleep(2 * REST)
                held.append(watched.screen.memory_info().rss / 1e6)
    return seconds, whole, held, cpu


def main() -> None:
    """Measure, and print the section."""
    bare = Yardstick()
    bare.measure()
    waits = press_enter(2 * ROUNDS)
    wait, least = statistics.median(waits), min(waits)
    bare.measure()
    cpu, frames, written = stream()
    bare.measure()
    screen, engine, kernel = progress()
    beyond = kernel - bare_progress()
    bare.measure()
    lineless = flood()
    seconds, whole, held, used = resume(3)
    bare.measure()
    frame, update, each = cpu / frames, screen + engine + beyond, written / TOKENS / TOKEN
    typed = f"{wait * 1000:.1f} ms ({least * 1000:.1f})"
    rows = (
        ("Enter on an expression to its result: median (min)", BEFORE["enter"], f"{ENTER * 1000:.0f} ms", typed),
        ("CPU of the screen for a streamed frame", BEFORE["frame"], f"{FRAME * 1e3:.1f} ms", f"{frame * 1e3:.2f} ms"),
        ("bytes to the terminal for a character of the answer", BEFORE["bytes"], f"{WRITTEN}", f"{each:.1f}"),
        (
            "CPU for an update of a progress bar: screen + engine + kernel beyond a bare one",
            BEFORE["bar"],
            f"{UPDATE * 1e3:.1f} ms",
            f"{screen * 1e3:.2f} + {engine * 1e3:.2f} + {beyond * 1e3:.2f} ms",
        ),
        ("200 MB without line ends: the engine", BEFORE["lineless"], f"{LINELESS} MB", f"{lineless:.0f} MB"),
        (f"{BLOCKS:,} blocks: the screen", BEFORE["blocks"], f"{SCREEN} MB", f"{min(held):.0f} MB"),
        (
            f"{BLOCKS:,} blocks: start to the last one, median (min)",
            BEFORE["resume"],
            f"{RESUME} s",
            f"{statistics.median(seconds):.2f} ({min(seconds):.2f}) s",
        ),
        (
            f"{BLOCKS:,} blocks: start to the answer to a prompt sent then",
            "",
            "",
            f"{statistics.median(whole):.2f} ({min(whole):.2f}) s, {used:.1f} s of CPU",
        ),
    )
    print("## Flow\n")
    print("Seen from outside, in a terminal of 120x40. The first column is of a quiet machine, before it was worked")
    print("on. Enter and the bar are measured without a sandbox.\n")
    print(bare.sentence())
    print(table(("", "before", "limit", "now"), rows))
    judge(
        bare.hold("Enter to the result", wait, ENTER, "wall", typed),
        bare.hold("CPU of a streamed frame", frame, FRAME, "cpu"),
        Budget("bytes for a character of an answer", f"<= {WRITTEN}", f"{each:.1f}", each <= WRITTEN),
        bare.hold("an update of a progress bar", update, UPDATE, "cpu"),
        Budget("200 MB without line ends, engine", f"<= {LINELESS} MB", f"{lineless:.0f} MB", lineless <= LINELESS),
        Budget(f"{BLOCKS:,} blocks, screen", f"<= {SCREEN} MB", f"{min(held):.0f} MB", min(held) <= SCREEN),
        bare.hold(f"{BLOCKS:,} blocks resumed", statistics.median(seconds), RESUME, "wall"),
    )


if __name__ == "__main__":
    main()
