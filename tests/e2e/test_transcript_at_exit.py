"""What stays in the terminal when the screen is gone."""

import re
from collections.abc import Callable

from support.terminal import Terminal

AT_REST = re.compile(r"no sandbox {8,}.*↑")
"""The status line with the tokens of an answer and without a word of what goes on."""

Start = Callable[..., Terminal]


def _ended(shown: Terminal) -> str:
    """What was written after the app had given the screen back."""
    shown.wait_for(AT_REST)
    shown.send("\x11")
    assert shown.wait_exit() == 0
    _, _, left = shown.raw.rpartition(b"\x1b[?1049l")
    return left.decode().replace("\r\n", "\n")


def test_the_transcript_stays_in_the_terminal_if_it_is_asked_for(start: Start) -> None:
    shown = start("It is **two**.", arguments=("--transcript",))
    shown.send("one and one?\r")
    shown.wait_for("It is two.")
    assert "> one and one?\n\nIt is **two**.\n" in _ended(shown)


def test_it_does_not_if_it_is_not(start: Start) -> None:
    shown = start("It is **two**.")
    shown.send("one and one?\r")
    shown.wait_for("It is two.")
    ended = _ended(shown)
    assert "oi-tui --resume" in ended
    assert "two" not in ended
