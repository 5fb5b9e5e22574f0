"""Row V22 in the installed program: the tour from its first key to its end, with a real kernel and a real sandbox."""

from collections.abc import Callable
from pathlib import Path

import pytest

from support.question import wait_armed
from support.terminal import Terminal

pytestmark = [pytest.mark.pty, pytest.mark.kernel, pytest.mark.sandbox]

QUESTION = "Run this?"


def follow(shown: Terminal, heading: str, *, keys: str = "y") -> None:
    """Go to the next step and decide about its code."""
    shown.send("next\r")
    shown.wait_for(heading)
    shown.wait_for(QUESTION)
    wait_armed(shown)
    shown.send(keys)


def test_V22_the_tour_runs_to_its_end_without_a_model_a_key_or_a_network(
    terminal: Callable[..., Terminal], bare_command: list[str], clean_env: dict[str, str], folder: Path
) -> None:
    command = [*bare_command, "--profile", "demo"]
    with_sandbox = {name: value for name, value in clean_env.items() if name != "OI_TUI_SANDBOX"}
    shown = terminal(command, env=with_sandbox, cwd=folder, columns=100, rows=40, timeout=40)
    shown.wait_for("Press enter to begin")
    shown.send("\r")
    shown.wait_for("1 of 7 · Approve code")
    shown.wait_for(QUESTION)
    wait_armed(shown)
    shown.send("y")
    shown.wait_for("Hello from Python")
    shown.wait_for("edit or refuse code")
    follow(shown, "2 of 7", keys="n")
    shown.wait_for("What should the model do instead?")
    shown.send("too short\r")
    shown.wait_for("“too short”")
    follow(shown, "3 of 7 · A table")
    shown.wait_for("a plot.")
    follow(shown, "4 of 7 · A plot")
    shown.wait_for("an error, and its repair.")
    follow(shown, "5 of 7")
    shown.wait_for("it is spelled coffee")
    wait_armed(shown)
    shown.send("y")
    shown.wait_for("8.00")
    shown.wait_for("interrupt a cell.")
    follow(shown, "6 of 7 · Interrupt a cell")
    shown.wait_for("2 of 30 seconds")
    shown.send("\x1b")
    shown.wait_for("The kernel lives")
    follow(shown, "7 of 7 · The sandbox")
    shown.wait_for("All else in your home folder is hidden")
    shown.send("next\r")
    shown.wait_for("show a step again")
    shown.wait_gone(" · writing")
    shown.send("\x11")
    shown.wait_exit()
    assert [*folder.iterdir()] == [], "the tour leaves nothing"
