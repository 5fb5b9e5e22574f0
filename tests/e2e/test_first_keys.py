"""Keys in the first seconds of a first start: they reach the prompt, in order, and no sentence decides anything."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from support.script import Script
from support.terminal import Terminal

HALT = """
import os
from importlib.machinery import SourceFileLoader

load = SourceFileLoader.exec_module
pipes = [os.environ["HALT_PIPE"]]

def load_or_halt(loader, module):
    if module.__name__ == os.environ["HALT_AT"]:
        for pipe in pipes[:1]:
            pipes.clear()
            open(pipe, "w").close()
            open(pipe).read()
        if "HALT_FAILS" in os.environ:
            raise RuntimeError("a defect")
    load(loader, module)

SourceFileLoader.exec_module = load_or_halt
"""
"""A `sitecustomize`: the program waits before it loads one module, as on a slow machine, and cannot load it."""

WHILE_ASKED = (
    "oi_tui.app.build",  # by the engine
    "oi_tui.app.screens.chat_parts",
    "oi_tui.widgets.timeline.view",
)
"""Modules that are loaded while the question about the folder is there, or may be."""

AFTER_ALL = ("oi_tui.app.screens.settings_desk", "oi_tui.app.screens.plugin_desk")
"""Those when the screen is complete."""


class SlowStart:
    """The first start in a folder, which waits at a module."""

    def __init__(self, terminal: Terminal, pipe: Path) -> None:
        self.terminal = terminal
        self._pipe = pipe

    def wait_halted(self) -> None:
        """Until it waits there."""
        self._pipe.read_bytes()

    def go_on(self) -> None:
        self._pipe.write_bytes(b"")

    def wait_asked(self) -> None:
        """Until the question about the folder can be answered."""
        shown = self.terminal
        shown.wait_for("enter choose")
        shown.wait_until(lambda: shown.colour("enter") == shown.colour("esc"), "an armed question")


Start = Callable[..., SlowStart]


@pytest.fixture
def start(
    terminal: Callable[..., Terminal], command: list[str], clean_env: dict[str, str], folder: Path, tmp_path: Path
) -> Start:
    hooks, pipe = tmp_path / "hooks", tmp_path / "pipe"
    hooks.mkdir()
    (hooks / "sitecustomize.py").write_text(HALT)
    os.mkfifo(pipe)

    def started(module: str, **more: str) -> SlowStart:
        env = clean_env | {"PYTHONPATH": str(hooks), "HALT_AT": module, "HALT_PIPE": str(pipe), "OI_TUI_SANDBOX": ""}
        return SlowStart(terminal(command, env=env | more, cwd=folder, timeout=30), pipe)

    return started


@pytest.mark.parametrize("module", WHILE_ASKED)
def test_keys_behind_the_answer_about_the_folder_reach_the_prompt(start: Start, script: Script, module: str) -> None:
    slow = start(module)
    slow.wait_halted()
    slow.wait_asked()
    slow.terminal.send("\rsum ")
    slow.terminal.wait_for("› sum")
    slow.terminal.send("it\r")
    slow.go_on()
    slow.terminal.wait_for("Hello.")
    assert prompts(script) == ["sum it"]


@pytest.mark.parametrize("module", AFTER_ALL)
def test_a_prompt_is_sent_while_the_rest_is_loaded(start: Start, script: Script, module: str) -> None:
    slow = start(module)
    slow.wait_asked()
    slow.terminal.send("\r")
    slow.wait_halted()
    slow.terminal.send("sum it\r")
    slow.terminal.wait_for("Hello.")
    slow.go_on()
    assert prompts(script) == ["sum it"]


def test_a_prompt_typed_before_the_question_is_sent_when_that_is_answered(start: Start, script: Script) -> None:
    slow = start("oi_tui.app.screens.folder")
    slow.wait_halted()
    slow.terminal.send("sum it\r")
    slow.go_on()
    slow.wait_asked()
    assert prompts(script) == []
    slow.terminal.send("\r")
    slow.terminal.wait_for("Hello.")
    assert prompts(script) == ["sum it"]


def test_U2_a_sentence_behind_a_key_that_is_no_answer_goes_to_the_prompt(start: Start, script: Script) -> None:
    slow = start("oi_tui.app.screens.folder")
    slow.wait_halted()
    slow.go_on()
    slow.wait_asked()
    slow.terminal.send("total it\r")
    slow.terminal.wait_for("goes to the prompt")
    slow.terminal.wait_gone("goes to the prompt")
    slow.wait_asked()
    slow.terminal.send("\r")
    slow.terminal.wait_for("› total it")
    slow.terminal.send("\r")
    slow.terminal.wait_for("Hello.")
    assert prompts(script) == ["total it"]


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("oi_tui.app.screens.settings_desk", "Reading the settings failed; the session continues."),
        ("oi_tui.app.frontend.attaching", "Looking for detached sessions failed; the session continues."),
        ("oi_tui.app.screens.plugin_desk", "Loading plugins failed; the session continues."),
        ("oi_tui.app.screens.block_actions", ""),
    ],
)
def test_a_defect_in_what_is_loaded_beside_does_not_end_the_session(
    start: Start, script: Script, clean_env: dict[str, str], module: str, words: str
) -> None:
    script.write("Hello.", "Good.")
    slow = start(module, HALT_FAILS="1")
    slow.wait_asked()
    slow.terminal.send("\rsum it\r")
    slow.terminal.wait_for("Hello.")
    slow.wait_halted()
    slow.go_on()
    slow.terminal.wait_for(words)
    slow.terminal.send("again\r")
    slow.terminal.wait_for("Good.")
    log = Path(clean_env["XDG_STATE_HOME"], "oi-tui", "log", "screen.log")
    assert "RuntimeError: a defect" in log.read_text() if words else not log.exists()


def prompts(script: Script) -> list[str]:
    """What the model was asked."""
    return [request["messages"][-1]["content"] for request in script.requests]
