"""`make run` on a machine without bubblewrap, with a terminal and without: code runs in a sandbox; there is an answer.

The search path holds a shell, make and what the Makefile calls, and nothing else; the model is scripted. On a machine
that has nothing else either, `make check-bare` does the same, from the set-up on.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.enclosure import why_no_rung
from support.question import wait_armed
from support.script import Script
from support.terminal import Terminal

pytestmark = [pytest.mark.kernel, pytest.mark.pty]

ROOT = Path(__file__).parents[2]
CODE = "```python\nopen('made', 'w')\nopen('../outside', 'w')  # into memory\nprint('it', 6 * 7)\n```\n"


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    """`make run` with the environment of these tests, which is up to date; by a simple name, as make wants one."""
    (tmp_path / "venv").symlink_to(sys.prefix)
    return ["make", "-f", str(ROOT / "Makefile"), f"VENV={tmp_path}/venv", "-o", f"{tmp_path}/venv/.run", "run"]


@pytest.fixture
def environment(clean_env: dict[str, str], script: Script, tmp_path: Path) -> dict[str, str]:
    """A machine with next to nothing."""
    if reason := why_no_rung("space"):
        pytest.skip(reason)
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("make", "sh", "uname", "mkdir"):
        (programs / name).symlink_to(shutil.which(name) or f"/bin/{name}")
    script.write(CODE, "All done.")
    sandboxed = {name: value for name, value in clean_env.items() if name != "OI_TUI_SANDBOX"}
    return sandboxed | {"PATH": str(programs), "OI_TUI_MODEL": script.name}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where code works: in the home folder, as a checkout would be."""
    made = tmp_path / "home" / "the „work“"
    made.mkdir(parents=True)
    return made


def test_S27_make_run_without_bubblewrap_and_without_a_terminal_gives_an_answer(
    command: list[str], environment: dict[str, str], folder: Path, script: Script
) -> None:
    done = subprocess.run(
        command, env=environment, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
        start_new_session=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("All done.\n")
    assert "it 42" in done.stderr
    assert [path.name for path in folder.iterdir()] == ["made"]
    assert not (folder.parent / "outside").exists()
    assert "It runs in a sandbox" in script.requests[0]["messages"][0]["content"]


def test_S27_make_run_without_bubblewrap_in_a_terminal_is_the_program_with_a_sandbox(
    command: list[str], environment: dict[str, str], folder: Path, terminal: Callable[..., Terminal]
) -> None:
    shown = terminal(command, env=environment, cwd=folder, columns=100, rows=30, timeout=30)
    shown.wait_for("the sandbox works")
    wait_armed(shown, "enter choose")
    shown.send("\r")
    shown.wait_for("approval: ask · sandbox, no network")
    shown.send("count\r")
    shown.wait_for("Run this?")
    wait_armed(shown)
    shown.send("y")
    shown.wait_for("it 42")
    shown.wait_for("All done.")
    shown.send("\x11")
    assert shown.wait_exit() == 0
    assert shown.faults == []
    assert [path.name for path in folder.iterdir()] == ["made"]
    assert not (folder.parent / "outside").exists()
