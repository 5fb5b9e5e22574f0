"""What a person at a real terminal is asked while a task runs without a screen, and what counts as an answer."""

import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from oi_tui.app.engine.models.scripted import ScriptedAnswer, ScriptedCall
from support.script import Script
from support.terminal import Terminal

pytestmark = pytest.mark.pty

ASKED = "[s] stop:"
"""The end of the question."""


@pytest.fixture
def task(
    terminal: Callable[..., Terminal], clean_env: dict[str, str], script: Script, tmp_path: Path
) -> Callable[..., Terminal]:
    """Starts a task on the script, in a terminal."""

    def start(*answers: str | ScriptedAnswer, options: tuple[str, ...] = (), shell: str = "") -> Terminal:
        script.write(*answers)
        argv = [sys.executable, "-m", "oi_tui.app.cli", "run", *script.arguments, *options, "do it"]
        if shell:
            argv = ["/bin/sh", "-c", shell, "sh", *argv]
        return terminal(argv, env=clean_env, cwd=tmp_path, columns=120, rows=40, timeout=20)

    return start


def code(source: str) -> str:
    """An answer that is one block of Python."""
    return f"```python\n{source}\n```"


def test_U5_what_is_asked_about_is_shown_whole_right_before_the_question(task: Callable[..., Terminal]) -> None:
    asking = task(code("s = 'a\x1b]0;'; open('m\u0430de', 'w')"))
    asking.wait_for(ASKED)
    shown = asking.screen
    assert "s = 'a<U+001B>]0;'; open('m<U+0430>de', 'w')\n──\n! 2 hidden characters" in shown
    assert shown.index("2 hidden characters") < shown.index("Run this?")
    asking.send("n\n")
    assert asking.wait_exit() == 7


@pytest.mark.kernel
def test_each_block_of_an_answer_is_shown_with_its_own_question(task: Callable[..., Terminal], tmp_path: Path) -> None:
    both = "```python\nopen('first', 'w')\n```\nand\n```python\nopen('second', 'w')\n```"
    asking = task(both, "Done.")
    asking.wait_for(ASKED)
    assert "open('first', 'w')" in asking.screen
    assert "second" not in asking.screen
    asking.send("y\n")
    asking.wait_until(lambda: asking.raw.count(b"Run this?") == 2, "the second question")
    assert (tmp_path / "first").exists()
    assert asking.raw.count(b"open('first', 'w')") == 1
    asking.wait_for("open('second', 'w')")
    asking.send("n\n")
    assert asking.wait_exit() == 7
    assert not (tmp_path / "second").exists()


def test_code_that_is_asked_about_stands_in_a_log_of_stderr_and_on_the_terminal(
    task: Callable[..., Terminal], tmp_path: Path
) -> None:
    asking = task(code("open('made', 'w')"), shell='"$@" 2>told')
    asking.wait_for(ASKED)
    assert "open('made', 'w')" in asking.screen
    asking.send("n\n")
    assert asking.wait_exit() == 7
    assert "open('made', 'w')" in (tmp_path / "told").read_text(encoding="utf-8")


def test_U2_what_was_typed_before_the_question_does_not_answer_it(
    task: Callable[..., Terminal], script: Script, tmp_path: Path
) -> None:
    asking = task(ScriptedAnswer(text="```python\nopen('made', 'w')\n```", pause_after=3))
    script.wait_asked()
    asking.send("y\ny\ny")
    asking.wait_for("y")  # the terminal has it
    script.release()
    asking.wait_for(ASKED)
    asking.send("\n")  # of the last y nothing is left
    asking.wait_until(lambda: asking.raw.count(b"Run this?") == 2, "the question again")
    asking.send("n\n")
    assert asking.wait_exit() == 7
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_at_the_question_ends_the_program_at_once(
    task: Callable[..., Terminal], number: signal.Signals, status: int
) -> None:
    asking = task(code("1"))
    asking.wait_for(ASKED)
    asking.signal(number)
    assert asking.wait_exit() == status
    assert asking.faults == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_at_the_choice_of_a_letter_leaves_the_terminal_as_it_was(
    terminal: Callable[..., Terminal], clean_env: dict[str, str], tmp_path: Path, number: signal.Signals
) -> None:
    """It is asked what to do about a session that another oi-tui has open."""
    program = "from oi_tui.app.opening import tell_errors\nfrom oi_tui.app.terminal.tty_prompt import ask_letter\n"
    program += "with tell_errors():\n    ask_letter('nq', 'q')\n"
    asking = terminal([sys.executable, "-c", program], env=clean_env, cwd=tmp_path)
    asking.wait_for("Press n or q:")
    assert asking.faults == ["echo is off", "line mode is off"]
    asking.signal(number)
    assert asking.wait_exit() == 128 + number
    assert asking.faults == []


def test_ctrl_c_at_the_question_ends_the_turn_without_enter(task: Callable[..., Terminal]) -> None:
    asking = task(code("1"))
    asking.wait_for(ASKED)
    asking.send("\x03")
    assert asking.wait_exit() == 130


def test_the_end_of_input_stops(task: Callable[..., Terminal]) -> None:
    asking = task(code("1"))
    asking.wait_for(ASKED)
    asking.send("y\x04\x04")
    assert asking.wait_exit() == 7


@pytest.mark.kernel
def test_R4_a_password_is_not_shown_and_reaches_the_code(task: Callable[..., Terminal]) -> None:
    asking = task(code("import getpass\nprint(getpass.getpass('Word? ')[::-1])"), "Done.", options=("--yes",))
    asking.wait_for("input] Word?")
    asking.send("tercés\n")
    assert asking.wait_exit() == 0
    assert b"terc" not in asking.raw
    assert "sécret".encode() in asking.raw
    assert asking.faults == []


@pytest.mark.kernel
def test_ctrl_c_at_a_password_leaves_the_terminal_with_echo(task: Callable[..., Terminal]) -> None:
    asking = task(code("import getpass\ngetpass.getpass('Word? ')"), options=("--yes",))
    asking.wait_for("input] Word?")
    asking.wait_until(lambda: asking.faults == ["echo is off"], "the echo to go")
    asking.send("\x03")
    assert asking.wait_exit() == 130
    assert asking.faults == []


@pytest.mark.kernel
def test_a_question_that_nobody_waits_for_does_not_take_the_next_answer(
    task: Callable[..., Terminal], tmp_path: Path
) -> None:
    dying = "import os, threading\nthreading.Timer(0.5, os._exit, [1]).start()\ninput('Name? ')"
    asking = task(code(dying), code("open('made', 'w')"), "Done.")
    asking.wait_for(ASKED)
    asking.send("y\n")
    asking.wait_until(lambda: asking.raw.count(b"Run this?") == 2, "the question after the kernel died")
    asking.send("y\n")
    assert asking.wait_exit() == 0
    assert (tmp_path / "made").exists()


def test_a_reader_that_goes_away_ends_the_program_quietly(task: Callable[..., Terminal]) -> None:
    long = ScriptedAnswer(text="word " * 2000, chunk=50)
    piped = task(long, options=("--json",), shell='"$@" 2>told | head -n 1; cat told; echo ended')
    piped.wait_for("ended")
    assert piped.wait_exit() == 0
    assert b"Traceback" not in piped.raw
    assert b"BrokenPipe" not in piped.raw


def test_Q4_a_question_of_the_model_is_answered_in_a_terminal_without_a_screen(task: Callable[..., Terminal]) -> None:
    question = ScriptedCall(tool="ask_user", arguments={"question": "Which color?", "choices": ["red", "green"]})
    asking = task(ScriptedAnswer(calls=(question,)), "So be it.")
    asking.wait_for("an empty line gives none.")
    assert "The model asks you: Which color?" in asking.screen
    asking.send("2\n")
    asking.wait_for("So be it.")
    assert asking.wait_exit() == 0
    assert "green" in asking.screen
