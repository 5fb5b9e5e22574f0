"""What one does with a block: copies reach the clipboards, code runs again, a text becomes a prompt."""

import asyncio
import stat
from pathlib import Path

import pytest

from oi_tui.app.clipboard import native_command
from oi_tui.app.engine.events import (
    CodeFinished,
    CodeStarted,
    DecisionMade,
    DecisionRequested,
    ExecutionFinished,
    ExecutionStarted,
    OutputAdded,
    TurnEnded,
    TurnStarted,
)
from oi_tui.app.engine.outputs import StreamOutput
from oi_tui.app.engine.verbs import Run
from oi_tui.app.screens.run_again import RunAgainScreen
from oi_tui.widgets.composer import PromptArea
from oi_tui.widgets.editor import SourceEditor
from oi_tui.widgets.timeline.view import Timeline

SOURCE = "total = 1 + 1\nprint(total)"


async def with_a_run(stage, *, source: str = SOURCE, refused: bool = False) -> None:
    """A prompt and code that ran (or was refused), the timeline focused, its cursor on the code."""
    stage.engine.say(
        TurnStarted(block_id="u1", text="add"),
        CodeStarted(block_id="c1", language="python"),
        CodeFinished(block_id="c1", language="python", source=source),
    )
    if refused:
        stage.engine.say(
            DecisionRequested(request_id="d", block_id="c1", language="python", source=source, sha256="0" * 64),
            DecisionMade(request_id="d", block_id="c1", verdict="skip", decider="person", source=source),
        )
    else:
        stage.engine.say(
            ExecutionStarted(block_id="c1", generation=1),
            OutputAdded(block_id="c1", output=StreamOutput(name="stdout", text="\x1b[31m2\x1b[0m\n")),
            ExecutionFinished(block_id="c1", status="ok", duration=0.2),
        )
    stage.engine.say(TurnEnded(reason="done"))
    await stage.settle()
    timeline = stage.app.chat.query_one(Timeline)
    timeline.focus()
    await until(stage, lambda: timeline.cursor == 1)


async def until(stage, holds) -> None:
    async with asyncio.timeout(10):
        while not holds():
            await stage.pilot.pause()


def told(stage, words: str) -> bool:
    """Whether a toast has these words."""
    return any(words in note.message for note in stage.app._notifications)


async def test_V6_code_output_and_markdown_are_copied_as_logical_text(play, monkeypatch):
    monkeypatch.setenv("SSH_CONNECTION", "1 2 3 4")
    async with play() as stage:
        await with_a_run(stage)
        for key, text in (
            ("c", SOURCE),
            ("o", "2"),
            ("m", f"```python\n{SOURCE}\n```\n\n```text\n2\n```"),
        ):
            await stage.pilot.press(key)
            await until(stage, lambda text=text: stage.app.clipboard == text)


async def test_V6_the_desktops_own_clipboard_gets_the_text_too(play, monkeypatch, tmp_path):
    program = tmp_path / "bin" / "xclip"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nexec cat > {tmp_path}/clipboard\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setenv("DISPLAY", ":0")
    for name in ("SSH_CONNECTION", "SSH_TTY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    async with play() as stage:
        await with_a_run(stage)
        await stage.pilot.press("c")
        await until(stage, lambda: (tmp_path / "clipboard").exists() and (tmp_path / "clipboard").read_text() == SOURCE)


@pytest.mark.parametrize(
    ("environ", "command"),
    [
        ({"DISPLAY": ":0"}, "xclip"),
        ({"DISPLAY": ":0", "WAYLAND_DISPLAY": "w"}, "wl-copy"),
        ({"DISPLAY": ":0", "SSH_CONNECTION": "a b c d"}, None),
        ({}, None),
    ],
)
def test_the_clipboard_of_another_machines_desktop_is_left_alone(tmp_path: Path, environ, command):
    for name in ("xclip", "wl-copy"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    found = native_command({"PATH": str(tmp_path)} | environ)
    assert (found[0] if found else None) == command


async def test_a_clipboard_program_that_fails_is_told(play, monkeypatch, tmp_path):
    program = tmp_path / "xclip"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("DISPLAY", ":0")
    for name in ("SSH_CONNECTION", "SSH_TTY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    async with play() as stage:
        await with_a_run(stage)
        await stage.pilot.press("c")
        await until(stage, lambda: told(stage, "exit code 3"))


async def test_code_that_ran_runs_again_at_one_key(play):
    async with play() as stage:
        await with_a_run(stage)
        await stage.pilot.press("r")
        assert await stage.engine.heard(1) == [Run(language="python", source=SOURCE)]


@pytest.mark.parametrize("source", ["print('refused')", "print('a\u202eb')"])
async def test_code_that_never_ran_is_read_before_it_runs(play, source):
    async with play() as stage:
        await with_a_run(stage, source=source, refused=True)
        await stage.pilot.press("r")
        await until(stage, lambda: isinstance(stage.app.screen, RunAgainScreen))
        assert stage.engine.asked == []

        await stage.pilot.press("escape")
        await until(stage, lambda: stage.app.screen is stage.app.chat)
        assert stage.engine.asked == []


async def test_code_is_edited_and_run_again(play):
    async with play() as stage:
        await with_a_run(stage)
        await stage.pilot.press("e")
        await until(stage, lambda: isinstance(stage.app.screen, RunAgainScreen))
        stage.app.screen.query_one(SourceEditor).load_text("print(3)")
        await stage.pilot.press("ctrl+s")

        assert await stage.engine.heard(1) == [Run(language="python", source="print(3)")]


async def test_a_block_becomes_a_prompt_and_no_command(play):
    async with play() as stage:
        await with_a_run(stage, source="!rm x")
        await stage.pilot.press("u")
        await stage.settle()

        area = stage.app.chat.query_one(PromptArea)
        assert area.has_focus
        assert area.text == " !rm x"
        assert stage.engine.asked == []


async def test_what_has_no_code_or_output_says_so(play):
    async with play() as stage:
        await with_a_run(stage)
        await stage.pilot.press("up", "r")
        await until(stage, lambda: told(stage, "no code"))
        await stage.pilot.press("o")
        await until(stage, lambda: told(stage, "nothing to copy"))


async def test_a_search_is_typed_walked_and_ended_by_key(play):
    async with play() as stage:
        await with_a_run(stage)
        timeline = stage.app.chat.query_one(Timeline)
        await stage.pilot.press("slash", *"total")
        await until(stage, lambda: timeline.matches == "2 matches")
        assert "2 matches" in stage.app.export_screenshot().replace("&#160;", " ")

        await stage.pilot.press("enter", "n")
        await until(stage, lambda: timeline.has_focus)
        await stage.pilot.press("escape")
        await until(stage, lambda: not timeline.searching)
        assert stage.engine.asked == []
