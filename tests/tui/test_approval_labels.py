"""What the code does, and why one is asked: labels in the question, in plain words and with their lines."""

import pytest
from textual.widgets import Static, TextArea

from oi_tui.app.engine.core.events import (
    CodeFinished,
    CodeStarted,
    DecisionMade,
    ExecutionFinished,
    ExecutionStarted,
    TurnEnded,
    TurnStarted,
)
from oi_tui.app.engine.core.verbs import Decide
from oi_tui.widgets.approval import ApprovalPanel
from oi_tui.widgets.keyrow import KeyRow
from support.snapshot import Snap
from support.stage import Play, Stage

SIZES = pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["narrow", "wide"])
SOURCE = """import os
import requests
os.remove("old.csv")
url = "https://example.org/data.csv"
rows = requests.get(url, timeout=10).text
open("data.csv", "w").write(rows)
"""
LABELS = ("deletes files, line 3", "network, line 5", "writes files, line 6")


def note(stage: Stage) -> str:
    return str(stage.app.chat.query_one("#approval-note", Static).visual)


async def test_the_question_tells_what_the_code_does_in_its_note(play: Play) -> None:
    async with play() as stage:
        await stage.propose(SOURCE, labels=LABELS)
        assert note(stage) == "deletes files, line 3 · network, line 5 · writes files, line 6"


async def test_U33_a_question_of_running_code_says_so_and_shows_no_more_than_its_line(play: Play) -> None:
    async with play() as stage:
        await stage.propose(SOURCE, labels=LABELS[:1], asked_by='python, line 2 · computer.run("\x1b[2Jsh", code)')
        told = 'asked for by running code: python, line 2 · computer.run("sh", code)'
        assert note(stage) == f"{told} · deletes files, line 3"
        await stage.arm()
        await stage.pilot.press("e", "#", "ctrl+s")
        await stage.settle()
        assert note(stage) == f"✎ edited by you · {told} · before: deletes files, line 3"


async def test_a_question_without_labels_has_no_note(play: Play) -> None:
    async with play() as stage:
        await stage.propose("print(1)")
        assert note(stage) == ""
        assert not stage.app.chat.query_one("#approval-note").display


async def test_what_is_shown_of_a_label_or_a_rule_is_safe_and_no_markup(play: Play) -> None:
    async with play() as stage:
        await stage.propose(
            "x", labels=("[bold]a\x1b[31m\u202eb[/bold], line 1",), why="the rule \x1b]0;t\x07Shell([x])"
        )
        assert note(stage) == "[bold]ab[/bold], line 1 · the rule Shell([x])"


async def test_after_an_edit_the_labels_are_said_to_be_of_the_source_before(play: Play) -> None:
    async with play() as stage:
        await stage.propose("import os\nos.remove('x')", labels=("deletes files, line 2",))
        await stage.arm()
        await stage.pilot.press("e")
        await stage.pilot.press("#", "ctrl+s")
        await stage.settle()
        assert note(stage) == "✎ edited by you · before: deletes files, line 2"


async def test_why_explains_with_the_mode(play: Play) -> None:
    async with play() as stage:
        await stage.propose(SOURCE, labels=LABELS)
        await stage.arm()
        await stage.pilot.press("question_mark")
        await stage.settle()
        assert "because the approval mode is “ask”" in note(stage)
        assert "it may do more" in note(stage)


async def test_why_explains_with_the_rule(play: Play) -> None:
    async with play() as stage:
        await stage.propose(
            "rm x", "shell", why="asked because of the rule Shell(rm *)", labels=("deletes files, line 1",)
        )
        await stage.arm()
        await stage.pilot.press("question_mark")
        await stage.settle()
        assert "asked because of the rule Shell(rm *)" in note(stage)
        assert "the approval mode is" not in note(stage)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["narrow", "wide"])
async def test_a_question_about_a_call_says_that_no_sandbox_is_around_it_and_looks_like_its_picture(
    play: Play, snap: Snap, size: tuple[int, int]
) -> None:
    async with play(size) as stage:
        arguments = '{\n  "zone": "Europe/Rome"\n}'
        await stage.propose_call("clock", arguments, labels=("runs without a sandbox", "network"))
        await stage.until(lambda: "waiting for approval" in stage.seen)
        await stage.arm()
        stage.app.chat.query_one(ApprovalPanel).show_arming()
        await stage.settle()
        assert note(stage) == "runs without a sandbox · network"
        assert "tool clock · 1 argument" in stage.seen
        await snap(stage.pilot)


@SIZES
async def test_a_question_with_labels_looks_like_its_picture(play: Play, snap: Snap, size: tuple[int, int]) -> None:
    async with play(size) as stage:
        await stage.propose(SOURCE, labels=LABELS)
        await stage.until(lambda: "waiting for approval" in stage.seen)
        await stage.arm()
        stage.app.chat.query_one(ApprovalPanel).show_arming()
        await stage.settle()
        await snap(stage.pilot)


@SIZES
async def test_a_question_of_a_rule_explained_looks_like_its_picture(
    play: Play, snap: Snap, size: tuple[int, int]
) -> None:
    async with play(size) as stage:
        rule = "asked because of the rule Shell(git push *) (permissions.toml, line 4)"
        await stage.propose("git push origin main", "shell", why=rule, labels=("network, line 1",))
        await stage.until(lambda: "waiting for approval" in stage.seen)
        await stage.arm()
        await stage.pilot.press("question_mark")
        stage.app.chat.query_one(ApprovalPanel).show_arming()
        await stage.settle()
        await snap(stage.pilot)


@SIZES
async def test_what_rules_allowed_and_denied_looks_like_its_picture(
    play: Play, snap: Snap, size: tuple[int, int]
) -> None:
    async with play(size) as stage:
        stage.engine.say(
            TurnStarted(block_id="u1", text="What happened here lately?"),
            CodeStarted(block_id="c1", language="shell"),
            CodeFinished(block_id="c1", language="shell", source="git log -3"),
            DecisionMade(
                block_id="c1",
                verdict="run",
                decider="rule",
                source="git log -3",
                reason="allowed by the rule Shell(git log *) (permissions.toml, line 2)",
            ),
            ExecutionStarted(block_id="c1", generation=1),
            ExecutionFinished(block_id="c1", status="ok", duration=0.1),
            CodeStarted(block_id="c2", language="shell"),
            CodeFinished(block_id="c2", language="shell", source="rm -rf build"),
            DecisionMade(
                block_id="c2",
                verdict="skip",
                decider="rule",
                source="rm -rf build",
                reason="denied by the rule Shell(rm *) (permissions.toml, line 1)",
            ),
            TurnEnded(reason="done"),
        )
        await stage.until(lambda: "denied" in stage.seen)
        for area in stage.app.screen.query(TextArea):
            area.cursor_blink = False
        await stage.settle()
        await snap(stage.pilot)


@SIZES
async def test_U26_code_behind_thousands_of_blanks_is_on_the_screen_of_the_question(
    play: Play, size: tuple[int, int]
) -> None:
    async with play(size) as stage:
        await stage.propose("print(1)" + " " * 4_000 + "; evil()")
        await stage.until(lambda: "blanks⟩ ; evil()" in stage.seen)


def offers_install(stage: Stage) -> bool:
    return any(label.key == "i" for label in stage.app.chat.query_one("#approval-keys", KeyRow).labels)


async def test_R13_i_has_an_installation_done_as_it_was_offered_and_nothing_else_is(play: Play) -> None:
    async with play(size=(100, 30)) as stage:
        await stage.propose("%pip install pandas", offer="install it from pypi.org into .venv")
        assert note(stage) == "i: install it from pypi.org into .venv, once"
        assert offers_install(stage)
        await stage.pilot.press("i")  # not armed yet
        await stage.arm()
        await stage.pilot.press("i")
        (decided,) = await stage.engine.heard(1)
        assert decided == Decide(request_id="d1", verdict="run", source="%pip install pandas", install=True)


async def test_R13_without_an_offer_or_after_an_edit_there_is_no_such_key(play: Play) -> None:
    async with play(size=(100, 30)) as stage:
        await stage.propose("%pip install pandas")
        await stage.arm()
        await stage.pilot.press("i")
        await stage.settle()
        assert not offers_install(stage)
        assert stage.engine.asked == []
    async with play(size=(100, 30)) as stage:
        await stage.propose("%pip install pandas", offer="install it")
        await stage.arm()
        await stage.pilot.press("e")
        await stage.pilot.press("end", "s", "ctrl+s")
        await stage.arm()
        assert not offers_install(stage)
        await stage.pilot.press("i")
        await stage.settle()
        assert stage.engine.asked == []
