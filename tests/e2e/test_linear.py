"""A session in plain lines, for screen readers: the installed program in a real terminal, with a scripted model."""

import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from oi_tui.app.engine.models.scripted import ScriptedAnswer, ScriptedCall
from oi_tui.app.linear.console import ARMED_AFTER
from support.script import Script
from support.terminal import Terminal

PASTE_MARKS = re.compile(rb"\x1b\[\?2004[hl]")
"""What turns marked pastes on and off: nothing of it is seen or read out."""

OI_TUI = Path(sys.executable).with_name("oi-tui")

PROMPT = re.compile(r"^>$", re.MULTILINE)

Start = Callable[..., Terminal]


@pytest.fixture
def lines(
    terminal: Callable[..., Terminal], script: Script, command: list[str], clean_env: dict[str, str], folder: Path
) -> Start:
    """Starts the program in lines, the model answering so, and waits for its prompt."""

    def started(*answers: str | ScriptedAnswer, arguments: tuple[str, ...] = ("--linear",), **environ: str) -> Terminal:
        script.write(*answers)
        shown = terminal([*command, *arguments], env=clean_env | environ, cwd=folder, rows=60, timeout=30)
        shown.wait_for(PROMPT)
        return shown

    return started


def _said(shown: Terminal) -> list[str]:
    """All that was written, in lines; it is nothing but text."""
    raw = PASTE_MARKS.sub(b"", bytes(shown.raw)).decode()
    assert not re.search(r"[\x00-\x07\x0b-\x0c\x0e-\x1f\x7f-\x9f]", raw)
    assert not re.search("[─-╿▀-▟✓✗▪●⊘›]", raw)
    return raw.replace("\r\n", "\n").split("\n")


def test_A1_a_dialogue_is_lines_that_are_only_appended(lines: Start) -> None:
    shown = lines(
        "I **add**. Here is how I do it.\n```python\nprint(6 * 7)\n```",
        "It is 42.\n```python\nimport shutil; shutil.rmtree('x')\n```",
        "Then not.",
    )
    shown.send("six times seven?\r")
    shown.wait_for("Run code 1? ")
    _answer(shown, "")
    shown.wait_for("Enter alone decides nothing.")
    shown.wait_until(lambda: _asked(shown, 2), "the question again")
    _answer(shown, "y")
    shown.wait_for("Run code 2? ")
    _answer(shown, "n keep it")
    shown.wait_for("Done.")
    shown.send("\x04")
    assert shown.wait_exit() == 0
    assert shown.faults == []
    said = _said(shown)
    for line in (
        "I add. Here is how I do it.",
        "Code 1, python, 1 line.",
        "print(6 * 7)",
        "Output:",
        "42",
        "It is 42.",
        "Code 2, python, 1 line.",
        "Code 2 is not run: keep it.",
        "Then not.",
        "Done.",
    ):
        assert line in said, line
    assert any(re.fullmatch(r"Code 1 ended, ok, [\d.]+ seconds?\.", line) for line in said)
    assert any("deletes files" in line for line in said if line.startswith("Run code 2?"))


def test_A1_ctrl_c_interrupts_the_code_and_twice_at_the_prompt_quits(lines: Start) -> None:
    shown = lines("```python\nimport time\nprint('begun', flush=True)\ntime.sleep(60)\n```", "So be it.")
    shown.send("wait\r")
    shown.wait_for("Run code 1?")
    _answer(shown, "y")
    shown.wait_for(re.compile("^begun", re.MULTILINE))
    shown.send("\x03")
    shown.wait_for(re.compile("Code 1 was interrupted.*So be it", re.DOTALL))
    shown.wait_for("Done.")
    shown.send("half a line")
    shown.wait_for("half a line")
    shown.send("\x03")
    shown.wait_for(re.compile("half a line\n>$", re.MULTILINE))
    shown.send("\x03")
    shown.wait_for("Ctrl+C again quits.")
    shown.send("\x03")
    assert shown.wait_exit() == 0
    assert shown.faults == []
    _said(shown)


def test_A2_what_was_typed_before_a_question_answers_nothing(lines: Start, script: Script) -> None:
    shown = lines(ScriptedAnswer(text="Wait.\n```python\nprint(6 * 7)\n```", pause_after=3), "Fine.")
    shown.send("go\r")
    script.wait_asked()
    shown.send("y")
    shown.wait_for("> y")
    script.release()
    shown.wait_for("Your line is kept for the next prompt.")
    shown.wait_for("Run code 1?")
    assert "Code 1 runs" not in shown.screen
    _answer(shown, "s")
    shown.wait_for(re.compile("^> y$", re.MULTILINE))
    assert "Code 1 runs" not in shown.screen


def test_A3_a_password_is_not_shown_and_a_line_for_the_code_is_asked(lines: Start) -> None:
    shown = lines(
        "```python\nimport getpass\nprint('Hello', input('Name? '), len(getpass.getpass('Word? ')))\n```", "Fine."
    )
    shown.send("go\r")
    shown.wait_for("Run code 1?")
    _answer(shown, "y")
    shown.wait_for("Code 1 asks for a line: Name?")
    _answer(shown, "Ada")
    shown.wait_for("Code 1 asks for a password, which is not shown while you type: Word?")
    _answer(shown, "sesame")
    shown.wait_for("Hello Ada 6")
    assert b"sesame" not in shown.raw


def test_A4_the_environment_the_terminal_or_a_setting_asks_for_lines_too(
    lines: Start, clean_env: dict[str, str]
) -> None:
    config = Path(clean_env["XDG_CONFIG_HOME"]) / "oi-tui" / "config.toml"
    for environ in ({"ACCESSIBLE": "1"}, {"TERM": "dumb"}, {}):
        if not environ:
            config.parent.mkdir(exist_ok=True)
            config.write_text("[screen]\nlinear = true\n", encoding="utf-8")
        shown = lines("Hello.", arguments=("greet",), **environ)
        shown.wait_for("Hello.")
        assert b"\x1b[?1049h" not in shown.raw
        shown.send("\x04")
        assert shown.wait_exit() == 0
        _said(shown)


def test_A5_a_session_is_continued_with_its_last_lines(lines: Start) -> None:
    shown = lines("The first answer.")
    shown.send("one\r")
    shown.wait_for("Done.")
    shown.send("\x04")
    shown.wait_exit()
    shown = lines("The second answer.", arguments=("--linear", "-c"))
    shown.wait_for("This session has 2 blocks from before.")
    shown.wait_for("You: one\nAnswer: The first answer.")


def _asked(shown: Terminal, times: int) -> bool:
    return len(re.findall("Run code", bytes(shown.raw).decode())) >= times


def _answer(shown: Terminal, line: str) -> None:
    """Answer as a person does who has read the question: what is typed at once is no answer."""
    time.sleep(ARMED_AFTER + 0.1)
    shown.send(f"{line}\r")


def test_Q4_a_question_of_the_model_is_answered_by_a_number_or_a_line(lines: Start) -> None:
    question = ScriptedCall(tool="ask_user", arguments={"question": "Which color?", "choices": ["red", "green"]})
    shown = lines(ScriptedAnswer(calls=(question,)), "You said so.", arguments=("--linear", "--approve", "ask"))
    shown.send("paint it\r")
    shown.wait_for("an empty line gives none.")
    _answer(shown, "2")
    shown.wait_for("Done.")
    shown.send("\x04")
    assert shown.wait_exit() == 0
    said = _said(shown)
    assert "The model asks you: Which color?" in said
    assert "2. green" in said
    assert any(line.startswith("Result") for line in said), said


def test_A4_a_detached_session_is_attached_to_in_lines(
    terminal: Callable[..., Terminal], lines: Start, clean_env: dict[str, str], folder: Path
) -> None:
    shown = lines("The first answer.")
    shown.send("one\r")
    shown.wait_for("Done.")
    shown.send("/detach\r")
    shown.wait_for("Reconnect with: ")
    assert shown.wait_exit() == 0
    again = terminal([str(OI_TUI), "attach", "--linear"], env=clean_env, cwd=folder, rows=60, timeout=30)
    again.wait_for("Answer:\nThe first answer.")
    again.wait_for(PROMPT)
    again.send("\x04")
    again.wait_exit()
    _said(again)
