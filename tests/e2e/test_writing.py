"""Writing many lines with a real keyboard in a small window: pasted, undone, redone, sent and run; and
what the model writes into a file, edited in the question."""

from collections.abc import Callable
from pathlib import Path

import pytest

from oi_tui.app.engine.models.scripted import ScriptedAnswer, ScriptedCall
from oi_tui.themes.loader import load_palette
from support.script import Script
from support.terminal import Terminal

pytestmark = [pytest.mark.pty, pytest.mark.kernel]

UNDO, REDO, FINISH, READY = "\x1f", "\x19", "\x13", "› Ask"


def test_many_lines_pasted_into_the_prompt_can_be_undone_redone_and_sent(
    start: Callable[..., Terminal], script: Script
) -> None:
    lines = [f"line {number}" for number in range(15)]
    shown = start("Thank you.", columns=60, rows=16)
    for keys in (f"\x1b[200~{chr(13).join(lines)}\x1b[201~", REDO):
        shown.send(keys)
        shown.wait_for("line 14")
        shown.send(UNDO)
        shown.wait_for(READY)
    shown.send(REDO)
    shown.wait_for("line 14")
    shown.send("\r")
    shown.wait_for("Thank you.")
    assert script.requests[0]["messages"][-1]["content"] == "\n".join(lines)


def test_many_lines_pasted_into_the_source_of_a_question_can_be_undone_and_redone_and_run_as_they_were_copied(
    start: Callable[..., Terminal], folder: Path
) -> None:
    lines = [f"a{number} = {number}" for number in range(40)]
    shown = start("I add.\n\n```python\nopen('sum', 'w').write(str(a39 + 1))\n```\n", "Done.", columns=60, rows=16)
    shown.send("add\r")
    shown.wait_for("y run")
    accent = load_palette().inks.accent.removeprefix("#")
    shown.wait_until(lambda: "y run" in shown.screen and shown.colour("y run") == accent, "the question to be armed")
    shown.send("e")
    shown.wait_for("ctrl+s")
    shown.paste("".join(f"{line}\r" for line in lines))
    shown.wait_for("a39 = 39")
    shown.send(UNDO)
    shown.wait_gone("a39 = 39")
    shown.send(REDO)
    shown.wait_for("a39 = 39")
    shown.send(FINISH)
    shown.wait_for("e edit")
    shown.send("\x1b[F")  # only a source that was seen to its end can be run
    shown.wait_until(lambda: "y run" in shown.screen and shown.colour("y run") == accent, "the question to be armed")
    shown.send("y")
    shown.wait_for("Done.")
    assert (folder / "sum").read_text() == "40"


def test_F20_the_new_text_of_a_file_is_edited_in_the_question_and_accepted_as_shown(
    start: Callable[..., Terminal], script: Script, folder: Path
) -> None:
    (folder / "notes.txt").write_text("milk\nbread\n")
    call = ScriptedCall(tool="edit_file", arguments={"path": "notes.txt", "old": "bread", "new": "butter"})
    shown = start(ScriptedAnswer(text="I change it.", calls=(call,)), "Done.", columns=80, rows=24)
    shown.send("change it\r")
    shown.wait_for("+butter")
    accent = load_palette().inks.accent.removeprefix("#")

    def wait_armed() -> None:
        shown.wait_until(
            lambda: "y run" in shown.screen and shown.colour("y run") == accent, "the question to be armed"
        )

    wait_armed()
    shown.send("e")
    shown.wait_for("ctrl+s")
    shown.send("\x1b[F, salted")
    shown.wait_for("butter, salted")
    shown.send(FINISH)
    shown.wait_for("+butter, salted")
    shown.wait_for("edited by you")
    wait_armed()
    assert (folder / "notes.txt").read_text() == "milk\nbread\n"
    shown.send("y")
    shown.wait_for("Done.")
    assert (folder / "notes.txt").read_text() == "milk\nbutter, salted\n"
    assert "The user edited it before it ran." in str(script.requests[1]["messages"])
