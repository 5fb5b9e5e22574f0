"""Kept functions on the screen: nothing is kept, used or run by a key that cannot have been meant."""

import pytest
from msgspec.structs import replace

from oi_tui.app.engine.core.events import CodeFinished, CodeStarted, ExecutionFinished, ExecutionStarted
from oi_tui.app.engine.core.tool_replies import FunctionDrafted, SkillRecord, SkillsFound
from oi_tui.app.engine.core.tool_verbs import (
    ChangeSkill,
    DraftFunction,
    FindSkills,
    KeepFunction,
    TestFunction,
    UseFunction,
)
from oi_tui.app.screens.confirm import ConfirmScreen
from oi_tui.app.screens.keep_screen import KeepScreen
from oi_tui.app.screens.skills_screen import SkillsScreen
from oi_tui.widgets.timeline.source_view import SourceView
from support.snapshot import Snap
from support.stage import Play, Stage

SOURCE = """\
RATE = 0.19


def net_price(gross: float) -> float:
    '''The price without tax.'''
    return gross / (1 + RATE)
"""
NET = SkillRecord(
    kind="function",
    name="net_price",
    summary="The price without tax.",
    place="/home/me/.local/share/oi-tui/functions/net_price.py",
    text=SOURCE,
    digest="d1",
    version=2,
    tested="passed",
)
ODD = SkillRecord(kind="function", name="odd\x1b[2J", text="def odd(): pass\n", agreed=False, place="/f/odd.py")
TIDY = SkillRecord(kind="skill", name="tidy-table", summary="Clean up a table", text="# Tidy\n", place="/s/tidy-table")
FOUND = SkillsFound(skills=(NET, ODD, TIDY))
DRAFT = FunctionDrafted(
    name="net_price",
    text=SOURCE,
    digest="d3",
    needs=("RATE",),
    tested="The test in a fresh kernel passed: its example ran.",
)


async def run_code(stage: Stage) -> None:
    stage.engine.say(
        CodeStarted(block_id="c1", language="python", author="user"),
        CodeFinished(block_id="c1", language="python", source=SOURCE),
        ExecutionStarted(block_id="c1", generation=1),
        ExecutionFinished(block_id="c1", status="ok", duration=0.1),
    )
    await stage.settle()


async def typed(stage: Stage, command: str) -> None:
    stage.prompt.fill(command)
    await stage.pilot.press("enter")


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_H12_keep_shows_the_file_and_the_test_before_a_yes_counts(
    play: Play, snap: Snap, size: tuple[int, int]
) -> None:
    async with play(size) as stage:
        await run_code(stage)
        await typed(stage, "/keep net_price")
        assert await stage.engine.heard(1) == [DraftFunction(name="net_price")]
        stage.engine.reply(DRAFT)
        await stage.screen(KeepScreen)
        await stage.until(lambda: "passed: its example ran. It takes along: RATE." in stage.seen)
        assert "The price without tax." in stage.seen
        await snap(stage.pilot)
        await stage.pilot.press("escape")
        await stage.until(lambda: stage.app.screen is stage.app.chat)
        assert len(stage.engine.asked) == 1, "nothing was kept"
        stage.engine.reply(DRAFT)
        question = await stage.screen(KeepScreen)
        await stage.pilot.press("y")
        assert stage.app.screen is question, "a key that was typed before it could be seen"
        stage.wait(5.0, question.show_arming)
        await stage.pilot.press("y")
        assert (await stage.engine.heard(2))[1] == KeepFunction(name="net_price", digest="d3")


async def test_H12_a_second_version_is_shown_as_what_changes_and_a_failed_test_is_said(play: Play) -> None:
    async with play((80, 24)) as stage:
        await run_code(stage)
        await stage.pilot.press("tab")
        await stage.pilot.press("K")
        assert await stage.engine.heard(1) == [DraftFunction(block_id="c1")]
        changes = "--- as it is kept\n+++ as it would be\n-    return gross\n+    return gross / (1 + RATE)"
        failed = "The test in a fresh kernel failed: NameError."
        stage.engine.reply(
            FunctionDrafted(
                name="net_price", text=SOURCE, digest="d3", version=3, changes=changes, passed=False, tested=failed
            )
        )
        await stage.screen(KeepScreen)
        await stage.until(lambda: failed in stage.seen and "as it would be" in stage.seen)
        assert "Keep net_price, version 3?" in stage.seen
        assert "The price without tax" not in stage.seen
        await stage.pilot.press("c")
        await stage.until(lambda: "The price without tax" in stage.seen)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_H12_the_list_finds_uses_after_a_question_and_removes_with_undo(
    play: Play, snap: Snap, size: tuple[int, int]
) -> None:
    async with play(size) as stage:
        await typed(stage, "/skills")
        assert await stage.engine.heard(1) == [FindSkills()]
        stage.engine.reply(FOUND)
        await stage.screen(SkillsScreen)
        await stage.until(lambda: "The price without tax." in stage.seen)
        await snap(stage.pilot)
        await stage.pilot.press("d")
        assert (await stage.engine.heard(2))[1] == ChangeSkill(kind="function", name="net_price", change="remove")
        stage.engine.reply(SkillsFound())
        await stage.until(lambda: "Nothing is kept yet." in stage.seen)
        assert not stage.app.screen.query_one(SourceView).visible, "the number of a line that is not there"
        stage.engine.reply(SkillsFound(skills=(ODD, TIDY)))
        await stage.until(lambda: "was changed since you agreed to it" in stage.seen)
        assert "\x1b" not in stage.seen
        await stage.pilot.press("enter")
        assert isinstance(stage.app.screen, SkillsScreen), "what was changed is not used"
        await stage.pilot.press("u")
        assert (await stage.engine.heard(3))[2] == ChangeSkill(kind="function", name="net_price", change="restore")
        stage.engine.reply(FOUND)
        await stage.pilot.press("slash", *"tax", "enter")
        await stage.until(lambda: "tidy-table" not in stage.seen)
        await stage.pilot.press("enter")
        await stage.screen(ConfirmScreen)
        await stage.pilot.press("enter")
        assert len(stage.engine.asked) == 3, "Enter runs nothing"
        await stage.agree()
        assert (await stage.engine.heard(4))[3] == UseFunction(name="net_price")
        await stage.until(lambda: stage.app.screen is stage.app.chat)


async def test_H12_a_changed_file_is_tested_and_shown_before_it_is_agreed_to(play: Play) -> None:
    async with play((80, 24)) as stage:
        await typed(stage, "/use")
        await stage.engine.heard(1)
        stage.engine.reply(FOUND)
        await stage.screen(SkillsScreen)
        await stage.until(lambda: "net_price" in stage.seen)
        await stage.pilot.press("t")
        assert (await stage.engine.heard(2))[1] == TestFunction(name="net_price")
        await stage.until(lambda: stage.app.screen is stage.app.chat)
        stage.engine.reply(FOUND)
        await stage.screen(SkillsScreen)
        await stage.until(lambda: "net_price" in stage.seen)
        await stage.pilot.press("down", "a")
        assert (await stage.engine.heard(3))[2] == DraftFunction(name=ODD.name, text=ODD.text)
        await typed(stage, "/use net_price")
        assert (await stage.engine.heard(4))[3] == UseFunction(name="net_price")


async def test_H15_kept_functions_complete_use_and_functions_of_the_session_complete_keep(play: Play) -> None:
    async with play() as stage:
        await run_code(stage)
        await stage.pilot.press(*"/use ", "n")
        assert await stage.engine.heard(1) == [FindSkills(names=True)]
        assert offered(stage) == []
        stage.engine.reply(replace(FOUND, names=True))
        await stage.until(lambda: offered(stage) == ["net_price"])
        assert not isinstance(stage.app.screen, SkillsScreen)
        await stage.pilot.press("down", "enter")
        assert (await stage.engine.heard(2))[1] == UseFunction(name="net_price")
        await stage.pilot.press(*"/keep ")
        assert offered(stage) == ["net_price"]
        await stage.pilot.press("down", "enter")
        assert (await stage.engine.heard(3))[2] == DraftFunction(name="net_price")


def offered(stage: Stage) -> list[str]:
    shown = stage.prompt.completion.open_list
    return [choice.label for choice in shown.offer.choices] if shown else []
