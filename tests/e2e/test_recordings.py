"""Recordings of real runs: made by the program, played by it, verified, and done again by the loop of today."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from oi_tui.app.engine.core.blocks import Block
from oi_tui.app.engine.log.recording.form import read_recording
from oi_tui.app.engine.policy.decision import Policy
from oi_tui.app.engine.transcript.transcript import Transcript
from support.capability_runs import CAPABILITIES, LIMITS
from support.resimulation import comparable, resimulate
from support.script import Script
from support.terminal import Terminal
from support.terminal import clean_env as clean_env_in

pytestmark = pytest.mark.kernel

OI_TUI = Path(sys.executable).with_name("oi-tui")
RECORDINGS = sorted((Path(__file__).parent.parent / "recordings").glob("*.jsonl"))
FIRST_MINUTES = RECORDINGS[0].with_name("first-five-minutes.jsonl")
ANSWERS = (
    "I will compute.\n\n```python\ntotal = sum(range(10))\nprint('total', total)\n```\n",
    "And look.\n\n```bash\necho from the shell; exit 3\n```\n",
    "The total is 45.",
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A recording made by the program: two runs, an answer."""
    home = tmp_path_factory.mktemp("recorded")
    folder = home / "work"
    folder.mkdir()
    path = home / "run.jsonl"
    script = Script(home)
    script.write(*ANSWERS)
    task = [str(OI_TUI), *script.arguments, "run", "--yes", "--record", str(path), "add the numbers below ten"]
    finished = subprocess.run(
        task,
        env=clean_env_in(home),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=90,
        stdin=subprocess.DEVNULL,
    )
    assert finished.returncode == 0, finished.stderr
    return path.read_bytes()


@pytest.fixture
def recording(made: bytes, tmp_path: Path) -> Path:
    """A copy of it."""
    path = tmp_path / "run.jsonl"
    path.write_bytes(made)
    return path


def replay(command: list[str], env: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [command[0], "replay", *arguments],
        env=env, capture_output=True, text=True, timeout=90, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def test_a_recording_is_verified_by_running_its_code_again(
    recording: Path, command: list[str], clean_env: dict[str, str], folder: Path
) -> None:
    asked = replay(command, clean_env, "--verify", "--cwd", str(folder), str(recording))
    assert asked.returncode == 2
    assert "--yes" in asked.stderr
    assert "── python" in asked.stdout  # what it would run can be read
    same = replay(command, clean_env, "--verify", "--yes", "--cwd", str(folder), str(recording))
    assert (same.returncode, same.stderr) == (0, "")
    assert same.stdout.splitlines()[-1] == "Re-ran 2 of 2 cells: 2 unchanged."
    recording.write_text(recording.read_text(encoding="utf-8").replace("total 45\\n", "total 44\\n"), encoding="utf-8")
    other = replay(command, clean_env, "--verify", "--yes", "--cwd", str(folder), str(recording))
    assert other.returncode == 1
    assert "-total 44" in other.stdout
    assert "+total 45" in other.stdout
    listed = subprocess.run(
        [command[0], "sessions", "--json"], env=clean_env, capture_output=True, text=True, timeout=60, check=True
    )
    assert json.loads(listed.stdout) == []  # what verifying takes is gone again


@pytest.mark.pty
def test_U2_a_yes_that_was_typed_before_the_code_was_shown_verifies_nothing(
    command: list[str], clean_env: dict[str, str], folder: Path, terminal: Callable[..., Terminal]
) -> None:
    arguments = [command[0], "replay", "--verify", "--sandbox", "danger-full-access", str(FIRST_MINUTES)]
    asked = terminal(arguments, env=clean_env, cwd=folder, columns=100, rows=30, timeout=30)
    asked.send("y\r")
    asked.wait_for("[y/N]")
    asked.send("n\r")
    assert asked.wait_exit() == 2
    assert "Nothing was run." in asked.screen


@pytest.mark.pty
def test_a_recording_is_played_without_a_model_and_without_a_kernel(
    recording: Path,
    command: list[str],
    clean_env: dict[str, str],
    folder: Path,
    script: Script,
    terminal: Callable[..., Terminal],
) -> None:
    arguments = [command[0], "replay", "--instant", str(recording)]
    shown = terminal(arguments, env=clean_env, cwd=folder, columns=100, rows=30, timeout=30)
    shown.wait_for("ends here")
    assert "total 45" in shown.screen
    assert "The total is 45." in shown.screen
    assert "read-only, nothing runs" in shown.screen
    assert "approval: ask" not in shown.screen
    shown.send("and now?\r")
    shown.wait_for("This is a recording")
    assert script.requests == []
    shown.send("\x11")
    assert shown.wait_exit() == 0


HELD = {"limited-functions": Policy(functions=LIMITS)}
"""What held in a recording beside the approval mode."""


async def done_again(path: Path) -> tuple[list[Block], list[Block]]:
    """What the recording tells of, and what the loop makes of it today."""
    recording = read_recording(path)
    then, now = Transcript(), Transcript()
    for event in recording.events():
        then.apply(event)
    for event in await resimulate(recording, HELD.get(path.stem, Policy())):
        now.apply(event)
    return comparable(then.blocks), comparable(now.blocks)


async def test_the_loop_does_again_what_was_recorded_a_moment_ago(recording: Path) -> None:
    then, now = await done_again(recording)
    assert now == then


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
async def test_the_loop_does_again_what_was_recorded_on_another_day(path: Path) -> None:
    then, now = await done_again(path)
    assert now == then


@pytest.mark.parametrize("name", [one.name for one in CAPABILITIES])
def test_v25_a_recording_of_each_capability_names_nothing_of_the_machine_that_made_it(name: str) -> None:
    path = FIRST_MINUTES.with_name(f"{name}.jsonl")
    told = path.read_text(encoding="utf-8")
    assert not re.search(r"/root|/tmp/(?!work\b)\w|/home/(?!you\b)\w", told), path.name
    assert len(told) < 50_000
