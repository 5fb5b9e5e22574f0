"""The test support itself: a driver that lies would make every end-to-end test worthless."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.app import App, ComposeResult
from textual.widgets import TextArea

from support.snapshot import Snap, picture
from support.terminal import ScreenTimeout, Terminal
from support.thorough import CASES, LEFT_OUT

pytestmark = pytest.mark.pty

TEXTUAL_APP = """
from textual.app import App
from textual.widgets import TextArea

class Bare(App):
    BINDINGS = [("ctrl+e", "fail", "Fail"), ("ctrl+s", "size", "Size")]
    def compose(self):
        yield TextArea("héllo 日本", id="text")
    def action_fail(self):
        raise RuntimeError("a widget failed")
    def action_size(self):
        self.query_one(TextArea).text = f"now {self.size.width} by {self.size.height}"

Bare().run()
"""


@pytest.fixture
def bare(terminal: Callable[..., Terminal], clean_env: dict[str, str], tmp_path: Path) -> Terminal:
    shown = terminal([sys.executable, "-c", TEXTUAL_APP], env=clean_env, cwd=tmp_path)
    shown.wait_for("héllo 日本")
    return shown


def shell(terminal: Callable[..., Terminal], env: dict[str, str], cwd: Path) -> Terminal:
    return terminal(["/bin/bash", "--noprofile", "--norc", "-i"], env=env | {"PS1": "ready> "}, cwd=cwd)


def test_keys_and_pastes_arrive_as_typed(bare: Terminal) -> None:
    bare.send("ab")
    bare.wait_for("abhéllo")
    bare.paste("one\ntwo ")
    bare.wait_for(re.compile(r"abone *▎\n▊ two héllo"))


def test_a_resize_reaches_the_program(bare: Terminal) -> None:
    bare.resize(40, 10)
    bare.send("\x13")
    bare.wait_for("now 40 by 10")


def test_a_program_that_quits_properly_leaves_no_faults(bare: Terminal) -> None:
    assert "echo is off" in bare.faults
    assert "private mode 1049 is on" in bare.faults
    bare.send("\x11")
    assert bare.wait_exit() == 0
    assert bare.faults == []


def test_a_killed_program_is_seen_to_leave_faults(bare: Terminal) -> None:
    bare.signal(signal.SIGKILL)
    assert bare.wait_exit() == -signal.SIGKILL
    assert "the cursor is hidden" in bare.faults
    assert "line mode is off" in bare.faults


def test_a_wait_that_fails_shows_the_screen(bare: Terminal) -> None:
    with pytest.raises(ScreenTimeout, match="héllo"):
        bare.wait_for("never there", timeout=0.05)


def test_job_control_works(terminal: Callable[..., Terminal], clean_env: dict[str, str], tmp_path: Path) -> None:
    bash = shell(terminal, clean_env, tmp_path)
    bash.wait_for("ready>")
    bash.send("echo begun; cat\r")
    bash.wait_for("\nbegun")
    bash.send("twice\r")
    bash.wait_for("twice\ntwice")
    bash.send("\x1a")
    bash.wait_for("Stopped")
    bash.send("fg\r")
    bash.wait_for("fg\ncat")
    bash.send("again\r")
    bash.wait_for("again\nagain")
    bash.send("\x04")
    bash.wait_for(re.compile(r"again\nready>"))
    bash.send("exit 3\r")
    assert bash.wait_exit() == 3


def test_queries_are_answered_wherever_the_output_is_split(
    terminal: Callable[..., Terminal], clean_env: dict[str, str], tmp_path: Path
) -> None:
    bash = shell(terminal, clean_env, tmp_path)
    bash.wait_for("ready>")
    ask = r"stty -echo raw; printf '\033[?20'; sleep 0; printf '26$p\033[6n'; head -c 17 | od -An -c; stty sane"
    bash.send(ask + "\r")
    bash.wait_for(re.compile(r"033 +\[ +\? +2 +0 +2 +6 +; +2 +\$ +y 033 +\[", re.DOTALL))


def test_closing_ends_the_program_and_its_children(clean_env: dict[str, str], tmp_path: Path) -> None:
    deaf = ["/bin/sh", "-c", "trap '' HUP; echo deaf; cat"]
    with Terminal(deaf, env=clean_env, cwd=tmp_path, grace=0.1) as stubborn:
        stubborn.wait_for("deaf")
    assert stubborn.process.returncode == -signal.SIGKILL


class Note(App[object]):
    """The smallest app with a picture."""

    def compose(self) -> ComposeResult:
        yield TextArea("a note")


async def test_a_picture_is_kept_and_compared(snap: Snap) -> None:
    await snap(Note(), "note", size=(30, 5))


async def test_the_same_screen_gives_the_same_picture() -> None:
    pictures = []
    for columns in (30, 30, 40):
        app = Note()
        async with app.run_test(size=(columns, 5)):
            pictures.append(picture(app))
    assert pictures[0] == pictures[1] != pictures[2]


FUZZED = """
import pytest
from hypothesis import assume, example, given, settings, strategies as st

@settings(max_examples=40, database=None)
@given(st.integers())
@example(7)
def test_many(number):
    pass

@pytest.mark.parametrize("base", [1, 2])
@settings(max_examples=30, database=None)
@given(st.just(0))
def test_one(base, number):
    pass

def test_none():
    pass
"""


@pytest.mark.parametrize("processes", [(), ("-n", "1")])
def test_a_run_says_how_many_examples_each_fuzz_test_went_through(processes: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("from support.fuzzing import pytest_runtest_call, pytest_terminal_summary\n")
    (tmp_path / "test_fuzzed.py").write_text(FUZZED)
    finished = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *processes, str(tmp_path)],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parent)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert finished.returncode == 0, finished.stdout
    told = re.findall(r"^ +([\d,]+)  (\S+)", finished.stdout, re.MULTILINE)
    assert told == [
        ("41", "test_fuzzed.py::test_many"),
        ("1", "test_fuzzed.py::test_one[1]"),
        ("1", "test_fuzzed.py::test_one[2]"),
        ("43", "in"),
    ]


def test_what_is_left_to_the_thorough_check_exists() -> None:
    tests = Path(__file__).parent
    for file, names in (*CASES.items(), *LEFT_OUT.items()):
        source = (tests / file).read_text(encoding="utf-8")
        assert [name for name in names if f"def {name}(" not in source] == [], file
