"""The rows of the screen (V) and of the kernel as the person meets it (R3, R4), through the installed program."""

import json
import re
import shlex
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from oi_tui.app.engine.models.scripted import ScriptedAnswer
from support.openai_server import OpenAIServer, Turn
from support.question import wait_armed
from support.script import Script
from support.sizes import LARGE_FIRST, SIZES
from support.terminal import ScreenTimeout, Terminal

pytestmark = [pytest.mark.pty, pytest.mark.kernel]

Start = Callable[..., Terminal]

ITEMS = [f"- item {number:03d}" for number in range(1, 201)]
LIST = "\n".join(ITEMS)
PROPOSAL = "I'll write a file.\n\n```python\nopen('ran', 'w').write('yes')\n```\n"
QUESTION = "Run this?"
ITEM = re.compile(r"item \d{3}")
ASKING = "I'll ask.\n\n```python\nname = input('name? ')\nprint('hello', name)\n```\n"
ASKING_SECRETLY = "I'll ask.\n\n```python\nfrom getpass import getpass\nprint('length', len(getpass()))\n```\n"


def last_prompt(request: dict[str, Any]) -> str:
    """What the person is quoted with in a request to the model."""
    content = request["messages"][-1]["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def family(shown: Terminal) -> list[psutil.Process]:
    """The program's own processes: engine, kernels."""
    return psutil.Process(shown.process.pid).children(recursive=True)


def assert_gone(processes: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(processes, timeout=15)
    assert alive == []


def wait_at_rest(shown: Terminal) -> None:
    """Nothing blinks: a screen with nothing to do uses no time at all."""
    screen, looks = psutil.Process(shown.process.pid), range(40)
    assert any(screen.cpu_percent(interval=0.5) == 0 for _ in looks), "the screen does not come to rest"


def to_timeline(shown: Terminal) -> None:
    """Move the focus there; its cursor is a bar in the gutter."""
    shown.send("\t")
    shown.wait_for(re.compile(r"^▌", re.MULTILINE))


def items_on(shown: Terminal) -> list[int]:
    """Numbers of the items on the screen, from the top."""
    return [int(item.removeprefix("item ")) for item in ITEM.findall(shown.screen)]


def turn_wheel(shown: Terminal, step: int) -> list[int]:
    """Turn it once, down or (-1) up; the items on the screen when all of it has been painted: until then they do not
    follow each other, and whoever turned on would leave the painting behind."""
    before = items_on(shown)
    shown.wheel(step)

    def painted() -> bool:
        items = items_on(shown)
        moved = bool(items) and step * items[-1] > step * before[-1] and (step > 0 or items[0] < before[0])
        return moved and items == list(range(items[0], items[-1] + 1))

    shown.wait_until(painted, "the timeline to scroll")
    return items_on(shown)


# --- V1: pastes


@SIZES
def test_V1_a_paste_of_three_lines_is_one_message_and_one_of_a_megabyte_a_placeholder_that_is_sent_whole(
    start: Start, script: Script, columns: int, rows: int
) -> None:
    lines = [f"{number:07d}" for number in range(131_072)]
    shown = start("Thank you.", "All read.", columns=columns, rows=rows)
    shown.paste("first\nsecond\nthird")
    shown.wait_for("third")
    assert script.requests == []
    shown.send("\r")
    shown.wait_for("Thank you.")
    shown.paste("\n".join(lines))
    shown.wait_for("[paste #1: 131,072 lines]")
    assert len(script.requests) == 1
    shown.send("\r")
    shown.wait_for("All read.")
    assert [last_prompt(request).split("\n") for request in script.requests] == [["first", "second", "third"], lines]


def test_V1_a_placeholder_can_be_expanded_and_one_that_begins_like_code_is_a_prompt_and_runs_nothing(
    start: Start, script: Script, folder: Path
) -> None:
    shown = start("Yes.", "Read.")
    shown.paste("\n".join(f"line {number}" for number in range(1, 31)))
    shown.wait_for("[paste #1: 30 lines]")
    shown.send("\x0f")
    shown.wait_for("line 30")
    shown.send("\r")
    shown.wait_for("Yes.")
    shown.paste("!touch ran\n" * 30)
    shown.wait_for(re.compile(r"\[paste #\d: 31 lines\]"))
    shown.send("\r")
    shown.wait_for("Read.")
    assert last_prompt(script.requests[-1]).count("!touch ran") == 30
    assert not (folder / "ran").exists()


# --- V2: what was typed before the question came


@LARGE_FIRST
def test_V2_keys_typed_before_the_question_never_approve(
    start: Start, script: Script, folder: Path, columns: int, rows: int
) -> None:
    shown = start(ScriptedAnswer(text=PROPOSAL, pause_after=4), "Good.", columns=columns, rows=rows)
    shown.send("write\r")
    shown.wait_for("I'll")
    shown.send("y\ry\rya\r")
    script.release()
    shown.wait_for(QUESTION)
    shown.send("\r\ry\r")
    wait_armed(shown)
    shown.send("\r\r")
    with pytest.raises(ScreenTimeout):
        shown.wait_gone(QUESTION, timeout=1.0)
    assert not (folder / "ran").exists()
    shown.send("y")
    shown.wait_gone(QUESTION)
    shown.wait_for("Good.")
    assert (folder / "ran").read_text() == "yes"


def test_V2_keys_typed_while_the_program_stood_still_never_approve(start: Start, folder: Path) -> None:
    shown = start(PROPOSAL, "Good.")
    shown.send("write\r")
    shown.wait_for(QUESTION)
    shown.signal(signal.SIGSTOP)
    shown.send("y")
    with pytest.raises(ScreenTimeout):
        shown.wait_gone(QUESTION, timeout=1.5)
    shown.signal(signal.SIGCONT)
    with pytest.raises(ScreenTimeout):
        shown.wait_gone(QUESTION, timeout=1.0)
    assert not (folder / "ran").exists()
    wait_armed(shown)
    shown.send("y")
    shown.wait_for("Good.")


@SIZES
def test_V2_a_click_that_brings_the_window_back_never_approves(
    start: Start, folder: Path, columns: int, rows: int
) -> None:
    shown = start(PROPOSAL, "Good.", columns=columns, rows=rows)
    shown.send("write\r")
    shown.wait_for(QUESTION)
    wait_armed(shown)
    shown.send("\x1b[O\x1b[I")
    shown.click("y run")
    with pytest.raises(ScreenTimeout):
        shown.wait_gone(QUESTION, timeout=1.0)
    assert not (folder / "ran").exists()


# --- V3: reading while it streams


def test_V3_scrolling_up_while_an_answer_streams_keeps_the_view(
    terminal: Start, wired_command: list[str], clean_env: dict[str, str], folder: Path, openai_server: OpenAIServer
) -> None:
    openai_server.script(Turn(text=LIST, chunk=12, pace=100))
    shown = terminal(wired_command, env=clean_env, cwd=folder, timeout=30)
    shown.wait_for("Ask, or !shell")
    shown.send("list\r")
    shown.wait_for("item 060")
    shown.wheel(-1)
    shown.wait_for(re.compile(r"\d+ new"))
    for _ in range(4):
        read = turn_wheel(shown, -1)
    shown.wait_for("ctrl+p commands")  # the hint at rest: all of the answer has been drawn
    assert openai_server.exchanges[0].outcome == "whole"
    assert items_on(shown) == read
    to_timeline(shown)
    shown.send("\x1b[F")
    shown.wait_for("item 200")
    shown.wait_gone(re.compile(r"\d+ new"))


# --- V4: another size, in the middle of an answer


@SIZES
def test_V4_a_resize_during_a_stream_loses_nothing_and_keeps_the_approval_keys_visible(
    start: Start, script: Script, columns: int, rows: int
) -> None:
    answer = ScriptedAnswer(text=f"{LIST}\n\n{PROPOSAL}", chunk=12, pace=200, pause_after=40)
    shown = start(answer, "Understood.", columns=columns, rows=rows)
    shown.send("go\r")
    shown.wait_for(ITEM)
    script.release()
    shown.resize(40, 10)
    shown.wait_for(QUESTION)
    for key in ("y run", "e edit", "n refuse", "s stop"):
        shown.wait_for(key)
    assert all(len(line) <= 40 for line in shown.screen.split("\n"))
    shown.resize(columns, rows)
    shown.wait_for(re.compile(r"I'll write a file\.(.|\n)*Run this\?(.|\n)*y run(.|\n)*why"))
    wait_armed(shown)
    shown.send("y")
    shown.wait_for("Understood.")
    to_timeline(shown)
    shown.send("\x1b[H")
    shown.wait_for("item 001")
    shown.wait_gone("item 200")
    seen = set(items_on(shown))
    while max(seen) < len(ITEMS):
        seen.update(turn_wheel(shown, 1))
    assert sorted(seen) == list(range(1, len(ITEMS) + 1))


# --- V5: leaving in every way


def test_V5_V7_suspending_gives_a_plain_xterm_back_and_fg_returns(
    terminal: Callable[..., Terminal], command: list[str], clean_env: dict[str, str], folder: Path
) -> None:
    env = {name: value for name, value in clean_env.items() if name != "COLORTERM"} | {
        "PS1": "shell> ",
        "TERM": "xterm",
    }
    shown = terminal(["/bin/bash", "--noprofile", "--norc", "-i"], env=env, cwd=folder, timeout=30)
    shown.wait_for("shell>")
    shown.send(shlex.join(command) + "\r")
    shown.wait_for("Ask, or !shell")
    assert b"38;5;" in shown.raw  # 256 colours
    shown.send("kept")
    shown.wait_for("kept")
    shown.send("\x1a")
    shown.wait_for("Stopped")
    assert shown.private_modes & {1000, 1003, 1006, 1049} == set()
    assert shown.raw.count(b"\x1b[>25u") == shown.raw.count(b"\x1b[<u") == 1  # the keyboard protocol of Kitty
    assert shown.raw.count(b"\x1b[>4;1m") == shown.raw.count(b"\x1b[>4m") == 1  # that of xterm
    shown.send("echo usable-$((40 + 2))\r")
    shown.wait_for("usable-42")
    shown.send("fg\r")
    shown.wait_until(lambda: 1049 in shown.private_modes, "the program to come back")
    shown.send(" and more")
    shown.wait_for("kept and more")
    shown.send("\x11")
    shown.wait_until(lambda: not family(shown), "the program to leave")  # until then it would drop what is typed
    shown.send("exit\r")
    assert shown.wait_exit() == 0


def test_V5_a_termination_leaves_the_terminal_usable_and_the_session_saved(start: Start) -> None:
    shown = start("The answer is saved.")
    shown.send("remember\r")
    shown.wait_for("The answer is saved.")
    started = family(shown)
    wait_at_rest(shown)
    shown.signal(signal.SIGTERM)
    shown.wait_exit()
    assert shown.faults == []
    assert_gone(started)
    again = start("Other.", arguments=("--continue",))
    again.wait_for("The answer is saved.")


def test_V5_a_termination_while_code_runs_ends_the_kernel_and_saves_what_there_was(start: Start, folder: Path) -> None:
    shown = start("Fine.")
    shown.send("hello\r")
    shown.wait_for("Fine.")
    shown.send("%import time; print('begun', flush=True); time.sleep(600)\r")
    shown.wait_for("│ begun")
    started = family(shown)
    assert len(started) >= 2
    shown.signal(signal.SIGTERM)
    shown.wait_exit()
    assert shown.faults == []
    assert_gone(started)
    again = start("Other.", arguments=("--continue",))
    again.wait_for("begun")


EDITOR = """
import signal, sys
signal.signal(signal.SIGINT, lambda *_: print("interrupted", flush=True))
print("an editor", flush=True)
sys.stdin.readline()
"""


def test_ctrl_c_in_the_editor_is_a_key_of_the_editor(start: Start, clean_env: dict[str, str], folder: Path) -> None:
    program = folder / "editor.py"
    program.write_text(EDITOR)
    clean_env["EDITOR"] = f"{sys.executable} {program}"
    shown = start()
    shown.send("a draft")
    shown.wait_for("› a draft")
    shown.send("\x07")
    shown.wait_for("an editor")
    shown.send("\x03")
    shown.wait_for("interrupted")
    shown.send("\r")
    shown.wait_for("› a draft")
    shown.send(", edited")
    shown.wait_for("› a draft, edited")


FAULTY = """
import inspect, sys
from pathlib import Path
from oi_tui.app.frontend.client import ProcessClient
from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.settings import ModelSection, Settings
from oi_tui.app.opening import run_screen
from oi_tui.app.tui import OiTui
from textual.widget import Widget

name, folder = sys.argv[1:]
setup = Configure(settings=Settings(model=ModelSection(name=name)), cwd=folder)

class Broken(Widget):
    def render(self):
        raise RuntimeError("a widget failed")

class Faulty(OiTui):
    CSS_PATH = Path(inspect.getfile(OiTui)).parent / OiTui.CSS_PATH
    BINDINGS = [("f12", "fail", "Fail")]
    def action_fail(self):
        self.screen.mount(Broken())

async def connect():
    return await ProcessClient.start(setup, log=Path(folder, "engine.log"))

run_screen(Faulty(connect, setup.settings), mouse=True)
"""


def test_V5_an_exception_in_a_widget_leaves_the_terminal_usable_and_the_session_saved(
    start: Start,
    terminal: Callable[..., Terminal],
    script: Script,
    clean_env: dict[str, str],
    folder: Path,
) -> None:
    script.write("The answer is saved.")
    program = folder / "faulty.py"
    program.write_text(FAULTY)
    argv = [sys.executable, str(program), script.name, str(folder)]
    shown = terminal(argv, env=clean_env, cwd=folder, timeout=30)
    shown.wait_for("Ask, or !shell")
    shown.send("remember\r")
    shown.wait_for("The answer is saved.")
    started = family(shown)
    shown.send("\x1b[24~")
    assert shown.wait_exit() == 1
    assert shown.faults == []
    assert "oi-tui --resume" in shown.screen
    assert b"Traceback" not in shown.raw
    assert b"a widget failed" not in shown.raw
    log = Path(clean_env["XDG_STATE_HOME"]) / "oi-tui" / "log" / "screen.log"
    assert "a widget failed" in log.read_text()
    assert_gone(started)
    again = start("Other.", arguments=("--continue",))
    again.wait_for("The answer is saved.")


# --- R3: the kernel dies


def test_R3_a_kernel_that_dies_is_reported_and_the_session_goes_on(start: Start, script: Script) -> None:
    shown = start("Still here.")
    end = re.compile(r"(kernel|python)\b.*\b(died|dead|ended|exited|killed|fresh)", re.IGNORECASE)
    for number, death in enumerate(("import os; os._exit(1)", "exit()", "import os; os.kill(os.getpid(), 9)")):
        shown.send(f"%print('alive', {number} + 40)\r")
        shown.wait_for(f"alive {number + 40}")
        shown.send("/clear\r")
        shown.wait_gone("alive")
        shown.send(f"%{death}\r")
        shown.wait_for(end, timeout=10)
    shown.send("%print('again', 6 * 8)\r")
    shown.wait_for("again 48")
    shown.send("hello\r")
    shown.wait_for("Still here.")
    assert len(script.requests) == 1


# --- R4: running code asks


def test_R4_T7_input_is_asked_on_the_screen_and_only_the_code_hears_the_answer(start: Start, script: Script) -> None:
    shown = start(ASKING, "All done.", ASKING_SECRETLY, "That is all.", arguments=("--approve", "auto"))
    shown.send("%name = input('name? ')\r")
    shown.wait_for("The code is waiting for input")
    answer(shown, "Ben")
    shown.send("%print('hello', name)\r")
    shown.wait_for("hello Ben")
    assert script.requests == [], "what a person runs asks without any model"
    shown.send("/clear\r")
    shown.wait_gone("hello Ben")
    shown.send("ask me\r")
    shown.wait_for("The code is waiting for input")
    shown.wait_for("name?")
    shown.wait_for("name = input")
    assert len(script.requests) == 1, "nothing is asked of the model while the code waits"
    answer(shown, "Ada")
    shown.wait_for("All done.")
    first, second = script.requests
    new = second["messages"][len(first["messages"]) :]
    assert json.dumps(new).count("Ada") == json.dumps(new).count("hello Ada") == 1, "only what the code printed"
    shown.send("ask me secretly\r")
    shown.wait_for("The code is waiting for input")
    answer(shown, "xyzzy", masked=True)
    shown.wait_for("That is all.")
    assert "length 5" in json.dumps(script.requests[3]["messages"])
    assert "xyzzy" not in json.dumps(script.requests), "a password is neither shown nor sent to the model"
    assert b"xyzzy" not in shown.raw


def answer(shown: Terminal, text: str, *, masked: bool = False) -> None:
    """Type an answer, once the question takes keys."""
    wait_armed(shown, "enter send to the code")
    shown.send(text)
    shown.wait_for("•" * len(text) if masked else re.compile(rf"^ {text}", re.MULTILINE))
    shown.send("\r")
    shown.wait_gone("The code is waiting for input")
