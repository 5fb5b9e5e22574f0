"""S14 as a whole: code that runs without a sandbox cannot look into the processes of ours above it, where the keys are.

As another user where the tests are run by root, to whom every process is open.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.script import Script
from support.sessions import code, recording, turn
from support.terminal import Terminal
from support.unprivileged import as_nobody, why_not_nobody

pytestmark = [pytest.mark.pty, pytest.mark.kernel]

OI_TUI = str(Path(sys.executable).with_name("oi-tui"))

LOOK = """\
import os, pathlib
found, process = [], pathlib.Path("/proc", str(os.getppid()))
while process.name != "1":
    status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
    if status["Uid"].split()[0] == str(os.getuid()):  # not who started us as another user
        for part in ("environ", "mem"):
            try:
                (process / part).open("rb").close()
                found.append("seen")
            except PermissionError:
                found.append("refused")
    process = process.with_name(status["PPid"].strip())
    if b"oi-tui" not in (process / "cmdline").read_bytes():
        break
print("looked:", *found)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working folder with a program that looks at the processes above it."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "look.py").write_text(LOOK)
    return work


@pytest.fixture
def start(
    terminal: Callable[..., Terminal], clean_env: dict[str, str], folder: Path, tmp_path: Path
) -> Callable[..., Terminal]:
    """Starts the program as somebody who may not look into every process anyway."""

    def started(*arguments: str) -> Terminal:
        command = as_nobody([sys.executable, OI_TUI, *arguments], writable=tmp_path)
        env = {
            name: value for name, value in clean_env.items() if not name.startswith("COVERAGE_")
        }  # cannot be written
        return terminal(command, env=env, cwd=folder, columns=100, rows=30, timeout=30)

    if reason := why_not_nobody(tmp_path):
        pytest.skip(reason)
    return started


MODEL = ("-m", "openai/scripted", "--api-key", "a-key-that-is-nobodys-business", "--api-base")


def test_S14_the_screen_and_the_engine_are_closed_to_code_without_a_sandbox(start: Callable[..., Terminal]) -> None:
    shown = start(*MODEL, "http://127.0.0.1:9")
    shown.wait_for("Ask, or !shell")
    shown.send("%exec(open('look.py').read())\r")
    shown.wait_for("looked: refused refused refused refused")
    shown.wait_for("✓ python")  # before that it asks whether to leave while something runs
    shown.send("\x11")
    assert shown.wait_exit() == 0


def test_S14_a_task_without_a_screen_is_closed_too(start: Callable[..., Terminal], script: Script) -> None:
    script.write("```python\nexec(open('look.py').read())\n```\n", "Done.")
    shown = start("run", "-y", *script.arguments, "look")
    assert shown.wait_exit() == 0, shown.screen
    assert "looked: refused refused\n" in shown.screen


def test_S14_a_recording_that_is_run_again_is_closed_too(start: Callable[..., Terminal], tmp_path: Path) -> None:
    file = recording(tmp_path / "look.jsonl", *turn("u1", "x", code("c1", "exec(open('look.py').read())")))
    shown = start("replay", "--verify", "-y", str(file))
    shown.wait_exit()
    assert "looked: refused refused\n" in shown.screen
