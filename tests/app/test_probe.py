"""What the terminal is asked, what is made of its answers, and that no answer is ever taken for a key."""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from oi_tui.app.terminal.probe import Answers, GraphicsChoice, TerminalFacts, Window, cell_size, graphics, questions
from oi_tui.widgets.timeline.graphics import Graphics
from support.terminal import Terminal, clean_env

MODERN = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}

KITTY = "\x1bP>|kitty(0.41.1)\x1b\\\x1b_Gi=31;OK\x1b\\\x1b[6;18;9t\x1b[4;612;900t\x1b[?62;c"
XTERM = "\x1bP>|XTerm(379)\x1b\\\x1b[?1;0;256S\x1b[?2;0;900;646S\x1b[6;19;9t\x1b[4;646;900t\x1b[?64;1;2;4;6;9;15;22c"
KONSOLE = "\x1bP>|Konsole 22.12.3\x1b\\\x1b_Gi=31;OK\x1b\\\x1b[?62;1;4c"
OLD_KITTY = KITTY.replace("0.41.1", "0.26.5")
PLAIN = "\x1b[?1;2c"

PROGRAM = """
from textual.app import App
from textual.widgets import Input, Label
from oi_tui.app.terminal.probing_driver import ProbingDriver, TerminalKnown

class Asking(App[None]):
    def __init__(self):
        super().__init__(driver_class=ProbingDriver)

    def compose(self):
        yield Label("waiting", markup=False)
        yield Input()

    def on_terminal_known(self, message):
        self.query_one(Label).update(f"known {message.known.name} {message.known.sixel}")

    def on_input_submitted(self, event):
        self.query_one(Label).update(f"typed <{event.value}>")

    def on_key(self, event):
        if event.key == "escape":
            self.query_one(Label).update("escape was pressed")

Asking().run()
"""


class Scripted(Terminal):
    """A terminal that answers with what it is told to; to the last question only, and only when it is told to."""

    def _take(self, data: bytes) -> None:
        # Nothing is answered by itself: the output is only kept and shown.
        self._keep(data)
        with self._changed:
            self._changed.notify_all()


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Scripted]:
    argv = [sys.executable, "-c", PROGRAM]
    env = clean_env(tmp_path, **({"PYTHONPATH": os.environ["PYTHONPATH"]} if "PYTHONPATH" in os.environ else {}))
    with Scripted(argv, env=env, cwd=tmp_path, columns=60, rows=8) as terminal:
        yield terminal


@pytest.mark.parametrize(
    ("answer", "protocol"),
    [(KITTY, "kitty"), (XTERM, "sixel"), (KONSOLE, "sixel"), (OLD_KITTY, "cells"), (PLAIN, "cells")],
)
def test_the_best_that_the_terminal_can_show_is_chosen(answer: str, protocol: str) -> None:
    answers = Answers()
    assert answers.feed(answer) == ""
    assert answers.complete
    assert graphics("auto", answers.known, Window(), MODERN).protocol == protocol


def test_what_the_terminal_told_of_itself_is_used() -> None:
    answers = Answers()
    answers.feed(XTERM)
    assert answers.known == TerminalFacts("XTerm(379)", False, True, 256, (900, 646), (9, 19), (900, 646))
    assert graphics("auto", answers.known, Window(), MODERN) == Graphics("sixel", (9, 19), 256, (900, 646))


@pytest.mark.parametrize(
    ("setting", "protocol"), [("kitty", "kitty"), ("sixel", "sixel"), ("half", "cells"), ("off", "none")]
)
def test_a_setting_is_obeyed(setting: GraphicsChoice, protocol: str) -> None:
    assert graphics(setting, TerminalFacts(), Window(), MODERN).protocol == protocol


def test_V7_with_16_colours_kitty_gets_no_placeholders() -> None:
    """Their colours are numbers, which would not arrive."""
    answers = Answers()
    answers.feed(KITTY)
    assert graphics("auto", answers.known, Window(), {"TERM": "xterm"}).protocol == "cells"
    assert graphics("auto", answers.known, Window(), {"TERM": "xterm-kitty"}).protocol == "kitty"


@pytest.mark.parametrize("cut", range(1, len(KITTY)))
def test_answers_may_come_in_pieces_and_among_keys(cut: int) -> None:
    answers = Answers()
    keys = answers.feed("a" + KITTY[:cut]) + answers.feed(KITTY[cut:] + "b\x1b[A")
    assert keys == "ab\x1b[A"
    assert answers.known.kitty


@pytest.mark.parametrize(
    "keys", ["\x1b", "\x1b[", "\x1b[A", "\x1bOP", "\x1bx", "\x1b[1;5C", "\x1b[<0;3;4M", "\x1b[97u"]
)
def test_keys_are_only_held_back_for_a_moment(keys: str) -> None:
    answers = Answers()
    assert answers.feed(keys) + answers.rest() == keys
    assert not answers.complete


def test_what_is_not_understood_is_no_answer() -> None:
    answers = Answers()
    garbage = "\x1b[?1;3;0S\x1b[6;0;0t\x1b[4;99999;1t\x1bP>|\x1b\\\x1b_Gi=31;ENOTSUPPORTED\x1b\\\x1b[?;;c"
    answers.feed(garbage)
    assert graphics("auto", answers.known, Window(0, 0, 7, 7), MODERN) == Graphics()


def test_the_size_of_a_cell_is_that_of_the_window_now() -> None:
    assert cell_size(TerminalFacts(cell=(9, 18)), Window(100, 50, 1200, 1200)) == (12, 24)
    assert cell_size(TerminalFacts(cell=(9, 18)), Window(100, 50)) == (9, 18)
    assert cell_size(TerminalFacts(window=(1000, 1000)), Window(100, 50)) == (10, 20)
    assert cell_size(TerminalFacts(), Window(100, 50)) is None


@pytest.mark.parametrize(
    ("answer", "light"),
    [
        ("\x1b]11;rgb:1010/1414/1b1b\x1b\\", False),
        ("\x1b]11;rgb:fdfd/f6f6/e3e3\x07", True),
        ("\x1b]11;rgba:f/f/f/8\x07", True),
        ("\x1b]11;#ffffff\x07", None),
        ("", None),
    ],
)
def test_V20_the_terminal_says_whether_it_is_light_and_when_that_changes(answer: str, light: bool | None) -> None:
    for cut in range(len(answer) + 1):
        answers = Answers()
        assert "b" in answers.feed(answer[:cut]) + answers.feed(f"{answer[cut:]}b{PLAIN}")
        assert answers.known.light is light
        assert answers.complete
        assert answers.feed("x\x1b[?997;2ny\x1b[?997;1n") == "xy"
        assert answers.known.light is False
        assert answers.feed("\x1b[?997;2n\x1b[A") == "\x1b[A"
        assert answers.known.light is True


def test_no_question_goes_where_it_would_do_harm() -> None:
    kitty = "\x1b_G"
    assert kitty in questions(MODERN)
    assert questions(MODERN).endswith("\x1b[c"), "every terminal answers the last one"
    for environ in ({}, {"TERM": "dumb"}, {"TERM": "linux"}):
        assert questions(environ) == ""
    for more in ({"TMUX": "/tmp/x"}, {"STY": "1.x"}, {"TERM": "tmux-256color"}, {"TERM_PROGRAM": "Apple_Terminal"}):
        assert kitty not in questions({**MODERN, **more})


@pytest.mark.pty
@pytest.mark.parametrize("answer", [KITTY, XTERM, PLAIN])
def test_late_answers_are_no_keys_and_keys_before_them_are_not_lost(terminal: Terminal, answer: str) -> None:
    terminal.wait_for("waiting")
    terminal.wait_raw(b"\x1b[c")
    terminal.send("ab")
    terminal.wait_for("ab")
    terminal.send(answer.replace("\x1b[6;", "c\x1b[6;"))
    terminal.wait_for("known")
    terminal.send("d\r")
    terminal.wait_for(re.compile(r"typed <abc?d>"))


@pytest.mark.pty
def test_a_terminal_that_answers_nothing_is_usable(terminal: Terminal) -> None:
    terminal.wait_for("waiting")
    terminal.wait_raw(b"\x1b[c")
    terminal.send("x\x1b")
    terminal.wait_for("escape was pressed")
    terminal.send("y\r")
    terminal.wait_for("typed <xy>")
