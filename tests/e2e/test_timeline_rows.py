"""The rows of the timeline (V6, V8, V9) through the installed program in a real terminal."""

import base64
import re
from collections.abc import Callable
from functools import partial

import pytest

from oi_tui.themes.loader import load_palette
from support.sizes import LARGE_FIRST, SIZES
from support.terminal import Terminal

pytestmark = [pytest.mark.pty, pytest.mark.kernel]

Start = Callable[..., Terminal]

MOUSE = {1000, 1002, 1003, 1006}
CLIPBOARD = re.compile(rb"\x1b\]52;c;([A-Za-z0-9+/=]*)\x07")

LONG = "print('a line of code that is much longer than a terminal of eighty columns is wide,' ' and whole')"
PROSE = "A sentence that is long enough to be broken into more than one row in a terminal of eighty columns."
ANSWER = f"{PROSE}\n\n```python\n{LONG}\n```\n"
WORLD = "全角文字 ends. 🎉 works. e\u0301 is one. עברית here."
"""No joiners: the emulator of these tests drops what follows one."""


def copied(shown: Terminal) -> list[str]:
    """What was put into the clipboard, in order."""
    return [base64.b64decode(text).decode() for text in CLIPBOARD.findall(bytes(shown.raw))]


def approve(shown: Terminal) -> None:
    """Wait until the keys of the question count, and run the code."""
    accent = load_palette().inks.accent.removeprefix("#")
    shown.wait_for("y run")
    shown.wait_until(lambda: shown.colour("y run") == accent, "the question to be armed")
    shown.send("y")


@LARGE_FIRST
def test_V6_code_console_and_answer_are_copied_as_logical_text_by_key(start: Start, columns: int, rows: int) -> None:
    shown = start(ANSWER, "Done.", columns=columns, rows=rows)
    shown.send("go\r")
    approve(shown)
    shown.wait_for("Done.")
    shown.wait_for("ctrl+p commands")
    shown.send("\t")
    shown.wait_for(re.compile(r"^▌\s+Done\.", re.MULTILINE))
    printed = "a line of code that is much longer than a terminal of eighty columns is wide, and whole"
    for keys, text in (("c", "Done."), ("\x1b[Ac", LONG), ("C", printed), ("\x1b[Ac", PROSE)):
        before = len(copied(shown))
        shown.send(keys)
        shown.wait_until(partial(lambda before: len(copied(shown)) > before, before), f"{text!r} in the clipboard")
        assert copied(shown)[-1] == text


@SIZES
def test_V8_every_kind_of_text_keeps_its_columns_and_the_caret_stands_behind_it(
    start: Start, columns: int, rows: int
) -> None:
    shown = start(f"{WORLD}\n\n| a | b |\n|---|---|\n| {WORLD} | x |\n| plain | y |\n", columns=columns, rows=rows)
    shown.send("全角 ok")
    shown.wait_for("ok")
    row = next(number for number, line in enumerate(shown.screen.split("\n"), 1) if "全角" in line)
    shown.wait_until(lambda: shown.cursor == (row, 3 + 4 + 3 + 1), "the caret behind what was typed")
    shown.send("\r")
    shown.wait_for("plain")
    shown.wait_for("ctrl+p commands")
    lines = shown.screen.split("\n")
    assert any("ends." in line and "one." in line for line in lines)
    assert all(len(line) <= columns for line in lines)


def test_V9_without_the_mouse_the_terminal_selects_by_itself(start: Start) -> None:
    shown = start("Hello.", arguments=("--no-mouse",))
    assert not shown.private_modes & MOUSE


def test_V9_a_key_gives_the_mouse_to_the_terminal_and_takes_it_back(start: Start) -> None:
    shown = start("Hello.")
    shown.wait_until(lambda: shown.private_modes & MOUSE == MOUSE - {1002}, "the mouse to be ours")
    shown.send("\x1bOS")  # f4
    shown.wait_until(lambda: not shown.private_modes & MOUSE, "the mouse to be the terminal's")
    shown.send("\x1bOS")
    shown.wait_until(lambda: {1000, 1003} <= shown.private_modes, "the mouse to be ours again")
