"""T6: what kernels, their subprocesses and C libraries write raw goes to the cell or to a log, never to the terminal.

The whole program in a terminal, with a kernel that talks before it is one and crashes in the middle of a word.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.hostile import assert_clean, hostile, leave
from support.sessions import code, recording, turn
from support.terminal import Terminal

OI_TUI = str(Path(sys.executable).with_name("oi-tui"))

LOUD = 'cat early; cat early >&2; exec "$0" -m ipykernel_launcher -f "$1"'
"""What a kernelspec starts: words on both descriptors, then a kernel."""

RAW = """\
import ctypes, os, pathlib, subprocess, sys
libc = ctypes.CDLL(None)
for name in ("one", "two"):
    os.write(("", "one", "two").index(name), pathlib.Path(name).read_bytes())
libc.puts(pathlib.Path("puts").read_bytes())
libc.fflush(None)
subprocess.run("cat child; cat child >&2", shell=True)
try:
    open("/dev/tty", "w").write(pathlib.Path("tty").read_text())
except OSError:
    print("there is no" + " tty")
"""

CRASH = """\
import ctypes, os, pathlib, sys
was = sys.stdout._original_stdstream_copy  # what the process was started with
os.write(was, pathlib.Path("crash").read_bytes())
ctypes.string_at(0)
"""


@pytest.fixture
def folder(tmp_path: Path, clean_env: dict[str, str]) -> Path:
    """A working folder with hostile files, named after their marks, and a kernelspec "loud"."""
    work = tmp_path / "work"
    work.mkdir()
    for name in ("early", "one", "two", "puts", "child", "tty", "crash"):
        (work / name).write_text(hostile(name) + "\n")
    (work / "raw.py").write_text(RAW)
    (work / "crash.py").write_text(CRASH)
    spec = Path(clean_env["XDG_DATA_HOME"], "jupyter", "kernels", "loud", "kernel.json")
    spec.parent.mkdir(parents=True)
    argv = ["/bin/sh", "-c", LOUD, sys.executable, "{connection_file}"]
    spec.write_text(json.dumps({"argv": argv, "display_name": "Loud", "language": "loudly"}))
    return work


@pytest.mark.pty
@pytest.mark.kernel
def test_T6_nothing_that_is_written_raw_reaches_the_terminal(
    terminal: Callable[..., Terminal], clean_env: dict[str, str], folder: Path
) -> None:
    model = ["-m", "openai/nobody", "--api-base", "http://127.0.0.1:9", "--api-key", "x"]
    shown = terminal([OI_TUI, *model], env=clean_env, cwd=folder, columns=120, rows=50, timeout=20)
    shown.wait_for("Ask, or !shell")
    shown.send("%exec(open('raw.py').read())\r")
    for mark in ("after-one", "after-two", "after-puts", "after-child", "there is no tty"):
        shown.wait_for(mark)
    shown.wait_for("ctrl+p commands")
    shown.send("%exec(open('crash.py').read())\r")
    shown.wait_for("invalid memory access")
    shown.send("!cat one; cat two >&2; cat tty >/dev/tty\r")
    shown.wait_for("after-tty")
    shown.wait_for("ctrl+p commands")
    leave(shown)
    assert b"after-crash" not in shown.raw


@pytest.mark.pty
@pytest.mark.kernel
def test_T6_a_kernel_that_talks_before_it_is_one_is_not_heard(
    terminal: Callable[..., Terminal], clean_env: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    ran = [
        turn(f"u{number}", "x", code(f"c{number}", f"exec(open('{name}.py').read())", language="loud"))
        for number, name in enumerate(("raw", "crash"))
    ]
    file = recording(tmp_path / "loud.jsonl", *ran[0], *ran[1])
    shown = terminal([OI_TUI, "replay", "--verify", "-y", str(file)], env=clean_env, cwd=folder, columns=120, rows=50)
    shown.wait_exit()
    assert_clean(shown)
    for mark in ("+after-one", "+after-two", "+after-puts", "+after-child", "+there is no tty", "✗ died     loud"):
        assert mark in shown.screen, mark
    assert b"after-early" not in shown.raw
    assert b"after-crash" not in shown.raw


ENGINE = """
import asyncio, sys
from pathlib import Path
from oi_tui.app.frontend.client import ProcessClient
from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.settings import Settings

async def main(log):
    loud = ("/bin/sh", "-c", "cat early; cat early >&2; kill -9 $$")
    client = await ProcessClient.start(Configure(settings=Settings(), cwd="/"), log=Path(log), command=loud)
    try:
        async for reply in client.replies():
            print("a reply")
    except Exception as error:
        print(type(error).__name__)
    await client.close()

asyncio.run(main(sys.argv[1]))
"""


def test_T6_what_the_engine_and_its_libraries_write_goes_to_its_log(folder: Path, tmp_path: Path) -> None:
    log = tmp_path / "engine.log"
    command = [sys.executable, "-c", ENGINE, str(log)]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=30, cwd=folder)
    assert (finished.stdout, finished.stderr) == ("EngineLost\n", "")
    assert log.read_text() == 2 * (folder / "early").read_text()
