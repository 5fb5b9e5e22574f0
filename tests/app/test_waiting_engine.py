"""The engine that is forked before Textual is imported: it serves who takes it, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil

from oi_tui.app.frontend.waiting_engine import NAME
from support.terminal import Terminal

PROGRAM = """
import os, sys
from oi_tui.app.frontend.waiting_engine import WaitingEngine

loaded = []

def load():
    loaded.append(1)
    if sys.argv[2] == "fails":
        raise ValueError("cannot be loaded")

    def serve(descriptor):
        if len(loaded) > 1:
            print("loaded before", flush=True)
        print("served", os.getsid(0) == os.getpid(), os.isatty(0), flush=True)
        os.write(descriptor, os.read(descriptor, 100).upper())
        os._exit(7)

    return serve

waiting = WaitingEngine.fork(load)
log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
"""

TAKEN = """
connection, process = waiting.take(log)
connection.sendall(b"hello")
said = connection.recv(100)
print(said, process.wait(20), process.wait(), waiting.take(log))
"""

LOADED = (
    """
waiting.begin_loading()
"""
    + TAKEN
    + """
waiting.begin_loading()
"""
)

SIGNALLED = """
import signal
from oi_tui.app.terminal.skeleton import SIGNALS

for number in SIGNALS:
    signal.signal(number, lambda *_: print("the screen's"))

def tell_signals(_):
    print(*(signal.getsignal(number) for number in SIGNALS), signal.pthread_sigmask(signal.SIG_BLOCK, ()), flush=True)
    os._exit(0)

waiting = WaitingEngine.fork(lambda: tell_signals)
_, process = waiting.take(log)
print(process.wait(20), signal.pthread_sigmask(signal.SIG_BLOCK, ()))
"""

FAILED = """
_, process = waiting.take(log)
print(process.wait(20))
"""

LEFT = """
process = waiting._process
waiting._connection.close()
print(process.wait(20))
"""

KILLED = """
waiting._process.kill()
waiting._process.wait(20)
waiting._process.kill()
print(waiting.take(log), waiting.take(log))
"""


def ran(end: str, log: Path, how: str = "") -> str:
    """What such a program prints."""
    command = [sys.executable, "-c", PROGRAM + end, str(log), how]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert finished.stderr == ""
    return finished.stdout.strip()


def test_an_engine_that_waits_serves_who_takes_it_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert ran(TAKEN, log) == "b'HELLO' 7 7 None"
    assert log.read_text() == "served True False\n", "a session of its own, and nothing of the terminal"


def test_an_engine_has_no_handlers_of_the_screen(tmp_path: Path) -> None:
    assert ran(SIGNALLED, tmp_path / "log") == "0 set()"
    assert (tmp_path / "log").read_text() == f"{signal.default_int_handler} 0 0 set()\n"


def test_an_engine_can_load_before_it_is_taken(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert ran(LOADED, log) == "b'HELLO' 7 7 None"
    assert log.read_text() == "loaded before\nserved True False\n"


def test_an_engine_that_nobody_takes_ends_with_the_connection(tmp_path: Path) -> None:
    assert ran(LEFT, tmp_path / "log") == "0"


def test_an_engine_that_was_killed_is_not_taken(tmp_path: Path) -> None:
    assert ran(KILLED, tmp_path / "log") == "None None"


def test_an_engine_that_cannot_be_loaded_says_so_in_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert ran(FAILED, log, "fails") == "1"
    assert "ValueError: cannot be loaded" in log.read_text()
    log.unlink()
    assert ran("waiting.begin_loading()" + FAILED, log, "fails") == "1"
    assert "ValueError: cannot be loaded" in log.read_text()


def test_the_screen_takes_the_one_that_waits_and_starts_the_next_as_a_program(
    tmp_path: Path, clean_env: dict[str, str]
) -> None:
    (tmp_path / "script").write_text('["Hello."]')
    argv = (str(Path(sys.executable).with_name("oi-tui")), "-m", "fake/~/script")
    with Terminal(argv, env=clean_env | {"HOME": str(tmp_path)}, cwd=tmp_path, columns=80, rows=24) as terminal:
        terminal.wait_for("sk, or")
        (engine,) = psutil.Process(terminal.process.pid).children()
        assert engine.name() == NAME
        terminal.send("go\r")
        terminal.wait_for("Hello.")
        os.kill(engine.pid, 9)
        terminal.wait_for("The engine stopped.")
        terminal.send("/engine\r")
        terminal.wait_gone("engine stopped")
        (engine,) = psutil.Process(terminal.process.pid).children()
        assert "engine" in engine.cmdline()
