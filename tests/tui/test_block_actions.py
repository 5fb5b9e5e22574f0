"""What one does with a block: copies reach the clipboards, code runs again, a text becomes a prompt."""

import base64
import stat
import webbrowser
from functools import partial
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from textual.widgets import Input

from oi_tui.app.engine.core.events import (
    CallFinished,
    CallStarted,
    CodeFinished,
    CodeStarted,
    ConversationCleared,
    DecisionMade,
    DecisionRequested,
    ExecutionFinished,
    ExecutionStarted,
    OutputAdded,
    OutputKept,
    TurnEnded,
    TurnStarted,
)
from oi_tui.app.engine.core.outputs import Output, RichOutput, StreamOutput, WholeOutput
from oi_tui.app.engine.core.tool_verbs import CallTool
from oi_tui.app.engine.core.verbs import Run, SaveRemote
from oi_tui.app.screens.browser_ask import BrowserAskScreen
from oi_tui.app.screens.choose import ChooseScreen
from oi_tui.app.screens.clipboard import native_command
from oi_tui.app.screens.confirm import ConfirmScreen
from oi_tui.app.screens.picture_screen import PictureScreen
from oi_tui.app.screens.run_again import RunAgainScreen
from oi_tui.app.screens.save_as import SaveAsScreen
from oi_tui.app.screens.timeline_pane import TimelinePane
from oi_tui.app.screens.viewer import ViewerScreen
from oi_tui.widgets.editor import SourceEditor
from oi_tui.widgets.search_bar import SearchBar
from oi_tui.widgets.timeline.view import Timeline
from support.gallery import picture
from support.stage import Play, Stage

SOURCE = "total = 1 + 1\nprint(total)"


async def with_a_run(stage: Stage, *, source: str = SOURCE, refused: bool = False) -> None:
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
    await stage.until(lambda: timeline.cursor == 1)


async def test_V6_code_output_and_markdown_are_copied_as_logical_text(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSH_CONNECTION", "1 2 3 4")
    async with play() as stage:
        await with_a_run(stage)
        for key, text in (
            ("c", SOURCE),
            ("C", "2"),
            ("m", f"```python\n{SOURCE}\n```\n\n```text\n2\n```"),
        ):
            await stage.pilot.press(key)
            await stage.until(partial(lambda text: stage.app.clipboard == text, text))


async def test_V6_the_desktops_own_clipboard_gets_the_text_too(
    play: Play, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
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
        await stage.until(lambda: (tmp_path / "clipboard").exists() and (tmp_path / "clipboard").read_text() == SOURCE)


@pytest.mark.parametrize(
    ("environ", "command"),
    [
        ({"DISPLAY": ":0"}, "xclip"),
        ({"DISPLAY": ":0", "WAYLAND_DISPLAY": "w"}, "wl-copy"),
        ({"DISPLAY": ":0", "SSH_CONNECTION": "a b c d"}, None),
        ({}, None),
    ],
)
def test_the_clipboard_of_another_machines_desktop_is_left_alone(
    tmp_path: Path, environ: dict[str, str], command: str | None
) -> None:
    for name in ("xclip", "wl-copy"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    found = native_command({"PATH": str(tmp_path)} | environ)
    assert (found[0] if found else None) == command


async def test_a_clipboard_program_that_fails_is_told(
    play: Play, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
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
        await stage.until(lambda: stage.told("exit code 3"))


async def test_code_runs_again_only_after_it_was_shown(play: Play) -> None:
    async with play() as stage:
        await with_a_run(stage)
        await stage.pilot.press(*"run")
        await stage.screen(RunAgainScreen)
        await stage.pilot.press("escape")
        assert "again discards your changes" in stage.seen
        await stage.pilot.press("escape")
        await stage.until(lambda: stage.app.screen is stage.app.chat)
        assert stage.engine.asked == []

        await stage.pilot.press("r")
        await stage.screen(RunAgainScreen)
        await stage.pilot.press("ctrl+s", "enter", "space")
        await stage.settle()
        assert "Run this again?" in stage.seen
        assert stage.engine.asked == []
        await stage.pilot.press("y")
        assert await stage.engine.heard(1) == [Run(language="python", source=SOURCE)]


HIDING = "if user != 'admin\u202e': # \u26a0\ufe0f\n    caf\u00e9 = 'e\u0301'\n"


async def test_G14_r_on_a_call_makes_it_again_through_the_question(play: Play) -> None:
    async with play() as stage:
        stage.engine.say(
            TurnStarted(block_id="u1", text="shout"),
            CallStarted(block_id="t1", tool="shout"),
            CallFinished(block_id="t1", tool="shout", source='{"text": "hi"}'),
            DecisionMade(block_id="t1", verdict="run", decider="mode", source='{"text": "hi"}'),
            ExecutionStarted(block_id="t1", generation=1),
            ExecutionFinished(block_id="t1", status="ok", duration=0.2),
            TurnEnded(reason="done"),
        )
        await stage.settle()
        timeline = stage.app.chat.query_one(Timeline)
        timeline.focus()
        await stage.until(lambda: timeline.cursor == 1)
        await stage.pilot.press("r")
        assert await stage.engine.heard(1) == [CallTool(tool="shout", source='{"text": "hi"}')]
        stage.engine.say(
            CallStarted(block_id="t2", tool="shout", author="user"),
            CallFinished(block_id="t2", tool="shout", source='{"text": "hi"}'),
            ExecutionStarted(block_id="t2", generation=1),
            ExecutionFinished(block_id="t2", status="ok", duration=0.2),
        )
        await stage.settle()
        assert "called by you" in stage.seen


async def test_U1_code_that_runs_again_unchanged_is_the_same_byte_for_byte(play: Play) -> None:
    async with play() as stage:
        await with_a_run(stage, source=HIDING, refused=True)
        await stage.pilot.press("r")
        await stage.screen(RunAgainScreen)
        assert "admin<U+202E>'" in stage.app.screen.query_one(SourceEditor).text
        assert "1 hidden character is written as" in str(stage.app.screen.query_one("#again-hidden").render())
        await stage.pilot.press("ctrl+s", "y")
        assert await stage.engine.heard(1) == [Run(language="python", source=HIDING)]


async def test_U5_a_hidden_character_goes_out_of_code_that_runs_again_by_the_persons_hand_only(play: Play) -> None:
    async with play() as stage:
        await with_a_run(stage, source=HIDING, refused=True)
        await stage.pilot.press("r")
        editor = (await stage.screen(RunAgainScreen)).query_one(SourceEditor)
        await stage.pilot.press("#")
        at = editor.text.index("<U+202E>")
        editor.delete((0, at), (0, at + len("<U+202E>")))
        await stage.pilot.press("ctrl+s", "y")
        assert await stage.engine.heard(1) == [Run(language="python", source="#" + HIDING.replace("\u202e", ""))]


async def test_U5_without_hidden_characters_nothing_is_said_of_them(play: Play) -> None:
    async with play() as stage:
        await with_a_run(stage)
        await stage.pilot.press("r")
        await stage.screen(RunAgainScreen)
        assert not stage.app.screen.query_one("#again-hidden").display


@pytest.mark.parametrize("key", ["c", "m"])
async def test_U5_hidden_characters_of_code_are_copied_written_out_and_told(play: Play, key: str) -> None:
    async with play() as stage:
        await with_a_run(stage, source=HIDING)
        await stage.pilot.press(key)
        await stage.until(lambda: HIDING.replace("\u202e", "<U+202E>") in stage.app.clipboard)
        assert stage.told("1 hidden character is written out as <U+…>")


async def test_U5_hidden_characters_of_code_that_becomes_a_prompt_are_written_out_and_told(play: Play) -> None:
    async with play() as stage:
        await with_a_run(stage, source=HIDING)
        await stage.pilot.press("U")
        await stage.until(lambda: "admin<U+202E>" in stage.prompt.text)
        assert stage.told("1 hidden character is written out as <U+…>")


@pytest.mark.parametrize("viewed", [True, False])
async def test_U5_a_saved_source_is_what_ran_and_a_viewed_one_shows_what_hides(
    play: Play, tmp_path: Path, viewed: bool
) -> None:
    async with play() as stage:
        await with_a_run(stage, source=HIDING, refused=True)
        if viewed:
            await stage.pilot.press("v")
            await stage.screen(ViewerScreen)
            await stage.settle()
            assert "admin<U+202E>" in stage.seen
        await stage.pilot.press("s")
        await stage.screen(SaveAsScreen)
        stage.app.screen.query_one(Input).value = str(tmp_path / "s.py")
        await stage.pilot.press("enter")
        await stage.until((tmp_path / "s.py").exists)
        assert (tmp_path / "s.py").read_text() == HIDING


async def test_a_source_is_saved_on_the_server_on_which_code_runs(play: Play) -> None:
    async with play() as stage:
        await with_a_run(stage, source="print(1)", refused=True)
        await stage.pilot.press("s")
        await stage.screen(SaveAsScreen)
        stage.app.screen.query_one(Input).value = "remote:sub/s.py"
        await stage.pilot.press("enter")

        assert await stage.engine.heard(1) == [SaveRemote(path="sub/s.py", data=b"print(1)\n")]


async def test_code_is_edited_and_run_again(play: Play) -> None:
    async with play() as stage:
        await with_a_run(stage)
        await stage.pilot.press("e")
        await stage.screen(RunAgainScreen)
        stage.app.screen.query_one(SourceEditor).load_text("print(3)")
        await stage.pilot.press("ctrl+s", "y")

        assert await stage.engine.heard(1) == [Run(language="python", source="print(3)")]


async def test_a_block_becomes_a_prompt_and_no_command(play: Play) -> None:
    async with play() as stage:
        await with_a_run(stage, source="!rm x")
        await stage.pilot.press("U")
        await stage.settle()

        area = stage.prompt
        assert area.has_focus
        assert area.text == " !rm x"
        assert stage.engine.asked == []


async def test_a_block_joins_what_is_being_written_in_the_prompt(play: Play) -> None:
    async with play() as stage:
        stage.prompt.fill("look at this:")
        await with_a_run(stage)
        await stage.pilot.press("U")
        await stage.settle()
        assert stage.prompt.text == f"look at this:\n{SOURCE}"


async def test_a_question_about_code_keeps_the_keys_when_a_block_becomes_a_prompt(play: Play) -> None:
    async with play() as stage:
        await stage.propose(SOURCE)
        stage.app.chat.query_one(Timeline).focus()
        await stage.settle()
        await stage.pilot.press("U")
        await stage.settle()
        assert stage.app.chat.query_one("ApprovalPanel").has_focus_within
        assert stage.prompt.text == SOURCE
        assert stage.told("It is in the prompt, behind this question.")


async def test_a_key_pressed_twice_brings_up_one_screen(play: Play) -> None:
    async with play() as stage:
        await with_a_run(stage)
        for _ in range(3):
            stage.app.chat.query_one(Timeline).action_ask("view")
        await stage.screen(ViewerScreen)
        await stage.settle()
        assert len(stage.app.screen_stack) == 2


@pytest.mark.parametrize("keys", [(), ("slash", *"total")])
async def test_the_keys_go_to_the_prompt_when_the_timeline_is_cleared(play: Play, keys: tuple[str, ...]) -> None:
    async with play() as stage:
        await with_a_run(stage)
        await stage.pilot.press(*keys)
        await stage.settle()
        stage.engine.say(ConversationCleared())
        await stage.settle()
        await stage.pilot.press(*"hello")
        assert stage.prompt.text == "hello"
        assert not stage.app.chat.query_one(SearchBar).display


async def test_what_has_no_code_or_output_says_so(play: Play) -> None:
    async with play() as stage:
        await with_a_run(stage)
        await stage.pilot.press("up", "r")
        await stage.until(lambda: stage.told("no code"))
        await stage.pilot.press("C")
        await stage.until(lambda: stage.told("nothing to copy"))
        await stage.pilot.press("o")
        await stage.until(lambda: stage.told("no picture"))


def run_with(stage: Stage, *outputs: Output) -> None:
    """A finished run with these outputs."""
    stage.engine.say(
        TurnStarted(block_id="u1", text="show"),
        CodeStarted(block_id="c1", language="python"),
        CodeFinished(block_id="c1", language="python", source="show()"),
        ExecutionStarted(block_id="c1", generation=1),
        *(OutputAdded(block_id="c1", output=output) for output in outputs),
        ExecutionFinished(block_id="c1", status="ok", duration=0.2),
        TurnEnded(reason="done"),
    )


async def focused(stage: Stage) -> None:
    """The cursor on the code."""
    await stage.settle()
    timeline = stage.app.chat.query_one(Timeline)
    timeline.focus()
    await stage.until(lambda: timeline.cursor == 1)


TABLE = RichOutput(
    data={
        "application/vnd.dataresource+json": {
            "schema": {"fields": [{"name": "shop", "type": "string"}, {"name": "score", "type": "number"}]},
            "data": [{"shop": "Oslo", "score": 91.5}, {"shop": "Bergen", "score": 78.0}],
        }
    }
)
TEXT = StreamOutput(name="stdout", text="".join(f"line {number}\n" for number in range(500)))


async def test_long_output_is_viewed_on_the_whole_screen_and_escape_leads_back(play: Play) -> None:
    async with play() as stage:
        run_with(stage, TEXT)
        await focused(stage)
        await stage.pilot.press("v")
        await stage.screen(ViewerScreen)
        await stage.pilot.press("end")
        await stage.until(lambda: "line 499" in stage.seen)
        await stage.pilot.press("escape")
        await stage.until(lambda: stage.app.screen is stage.app.chat)


async def test_the_whole_of_a_capped_output_is_viewed_from_its_file(play: Play, tmp_path: Path) -> None:
    whole = tmp_path / "output.txt"
    whole.write_text("".join(f"line {number}\n" for number in range(100_000)))
    async with play() as stage:
        run_with(stage, TEXT)
        stage.engine.say(OutputKept(block_id="c1", whole=WholeOutput(path=str(whole))))
        await focused(stage)
        await stage.pilot.press("v")
        await stage.screen(ViewerScreen)
        await stage.pilot.press("end")
        await stage.until(lambda: "line 99999" in stage.seen)


async def test_where_there_are_several_forms_one_is_chosen_and_saved(play: Play, tmp_path: Path) -> None:
    async with play() as stage:
        run_with(stage, TEXT, TABLE)
        await focused(stage)
        await stage.pilot.press("s")
        await stage.screen(ChooseScreen)
        await stage.pilot.press("1")
        await stage.screen(SaveAsScreen)
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.told("Saved table-2.csv"))

        assert (tmp_path / "table-2.csv").read_text() == "shop,score\nOslo,91.5\nBergen,78.0\n"


async def test_a_list_of_forms_can_be_left_without_choosing(play: Play) -> None:
    async with play() as stage:
        run_with(stage, TEXT, TABLE)
        await focused(stage)
        await stage.pilot.press("v")
        await stage.screen(ChooseScreen)
        await stage.pilot.press("9", "escape")
        await stage.until(lambda: stage.app.screen is stage.app.chat)


def a_browser(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A browser that writes down what it is given; Python looks for one only once."""
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    monkeypatch.setattr(webbrowser, "_tryorder", None)
    monkeypatch.setattr(webbrowser, "_browsers", {})


async def test_T4_a_link_is_opened_only_after_its_target_was_read(
    play: Play, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    a_browser(monkeypatch, tmp_path)
    async with play() as stage:
        stage.app.chat.query_one(TimelinePane).timeline.post_message(Timeline.LinkClicked("https://example.org/a"))
        await stage.screen(BrowserAskScreen)
        await stage.settle()
        assert "https://example.org/a" in stage.seen
        assert not (tmp_path / "opened").exists()
        await stage.pilot.press("enter", "y")
        await stage.until(lambda: (tmp_path / "opened").exists() and (tmp_path / "opened").read_text())
        assert (tmp_path / "opened").read_text() == "https://example.org/a\n"


async def test_R9_html_is_opened_in_the_browser_only_when_asked_and_confirmed(
    play: Play, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    a_browser(monkeypatch, tmp_path)
    async with play() as stage:
        run_with(stage, RichOutput(data={"text/html": "<p>Hello</p>"}))
        await focused(stage)
        assert not (tmp_path / "opened").exists()
        await stage.pilot.press("b")
        await stage.screen(ConfirmScreen)
        await stage.pilot.press("y")
        await stage.until(lambda: (tmp_path / "opened").exists() and (tmp_path / "opened").read_text())
        page = Path(unquote(urlsplit((tmp_path / "opened").read_text().strip()).path))
        assert "Content-Security-Policy" in page.read_text()


async def test_z_brings_the_picture_on_the_whole_screen_and_s_keeps_the_bytes_that_came(
    play: Play, tmp_path: Path
) -> None:
    async with play() as stage:
        run_with(stage, RichOutput(data={"image/png": picture()}))
        await focused(stage)
        await stage.pilot.press("z")
        await stage.screen(PictureScreen)
        await stage.pilot.press("escape")
        await stage.until(lambda: stage.app.screen is stage.app.chat)

        await stage.pilot.press("s")
        await stage.screen(SaveAsScreen)
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.told("Saved figure-1.png"))
        assert (tmp_path / "figure-1.png").read_bytes() == base64.b64decode(picture())


async def test_a_drawing_is_zoomed_and_saved_as_it_was_written(play: Play, tmp_path: Path) -> None:
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="60" height="40"><rect width="60" height="40"/></svg>'
    async with play() as stage:
        run_with(stage, RichOutput(data={"image/svg+xml": svg}))
        await focused(stage)
        await stage.pilot.press("z")
        await stage.screen(PictureScreen)
        await stage.pilot.press("s")
        await stage.screen(SaveAsScreen)
        await stage.pilot.press("enter")
        await stage.until(lambda: (tmp_path / "figure.svg").exists())
        assert (tmp_path / "figure.svg").read_text() == svg


async def test_the_pager_and_the_editor_get_a_copy(play: Play, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\nfor last; do :; done\ncp "$last" {tmp_path}/seen\n')
    program.chmod(0o755)
    monkeypatch.setenv("PAGER", f"{program} -x")
    monkeypatch.setenv("EDITOR", f"{program} --wait")
    monkeypatch.delenv("VISUAL", raising=False)
    async with play() as stage:
        run_with(stage, StreamOutput(name="stdout", text="2\n"))
        await focused(stage)
        for key in ("p", "ctrl+g"):
            await stage.pilot.press(key)
            await stage.until(lambda: (tmp_path / "seen").exists())
            assert (tmp_path / "seen").read_text().rstrip("\n") == "```python\nshow()\n```\n\n```text\n2\n```"
            (tmp_path / "seen").unlink()


async def test_a_search_is_typed_walked_and_ended_by_key(play: Play) -> None:
    async with play() as stage:
        await with_a_run(stage)
        timeline = stage.app.chat.query_one(Timeline)
        await stage.pilot.press("slash", *"total")
        await stage.until(lambda: timeline.matches == "2 matches")
        assert "2 matches" in stage.seen

        await stage.pilot.press("enter", "n")
        await stage.until(lambda: timeline.has_focus)
        await stage.pilot.press("escape")
        await stage.until(lambda: timeline.matches == "")
        assert stage.engine.asked == []


async def test_enter_looks_again_for_what_was_looked_for_before(play: Play) -> None:
    async with play() as stage:
        await with_a_run(stage)
        timeline = stage.app.chat.query_one(Timeline)
        await stage.pilot.press("slash", *"total", "enter", "escape")
        await stage.until(lambda: timeline.matches == "")

        await stage.pilot.press("slash", "enter")
        await stage.until(lambda: timeline.matches == "2 of 2" and timeline.has_focus)
