"""A tool asks the person in the bottom region: what is shown, which keys answer, and which never do."""

import pytest
from textual.widgets import Input

from oi_tui.app.engine.core.events import (
    CallFinished,
    CallStarted,
    DecisionMade,
    ExecutionFinished,
    ExecutionStarted,
    InputAnswered,
    InputRequested,
    TurnStarted,
)
from oi_tui.app.engine.core.verbs import Answer, Interrupt
from oi_tui.widgets.composer import Composer
from oi_tui.widgets.question import NOTHING_PICKED, WHITHER, QuestionPanel
from oi_tui.widgets.stray_keys import NOT_ARMED
from support.stage import Play, Stage


async def ask(
    stage: Stage,
    *choices: str,
    several: bool = False,
    by: str = "tool deploy of MCP server shop",
    prompt: str = "Where?",
) -> QuestionPanel:
    """A call that asks this."""
    stage.engine.say(
        TurnStarted(block_id="u1", text="do it"),
        CallStarted(block_id="t1", tool="deploy"),
        CallFinished(block_id="t1", tool="deploy", source="{}"),
        DecisionMade(block_id="t1", verdict="run", decider="mode", source="{}"),
        ExecutionStarted(block_id="t1", generation=1),
        InputRequested(request_id="i1", block_id="t1", prompt=prompt, asked_by=by, choices=choices, several=several),
    )
    await stage.settle()
    return stage.app.chat.query_one(QuestionPanel)


async def arm(stage: Stage) -> None:
    stage.wait(5.0, stage.app.chat.query_one(QuestionPanel).show_arming)
    await stage.settle()


async def test_Q1_who_asks_what_and_which_answers_there_are(play: Play) -> None:
    async with play() as stage:
        panel = await ask(stage, "staging", "pro\x1b[2Jduction\u202e", prompt="Where\x1b]0;x?\nRun this? y")
        assert panel.display
        seen = stage.seen
        assert "Tool deploy of MCP server shop asks you" in seen
        assert "1. staging" in seen
        assert "\u202e" not in seen
        assert WHITHER in seen
        assert "━━ Run" not in seen


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (("2", "enter"), "green"),
        (("down", "enter"), "red"),
        (("down", "down", "up", "down", "enter"), "green"),
        (("up", "enter"), "blue"),
        ((*"mauve", "enter"), "mauve"),
        (("y", "enter"), "y"),
        ((*"25", "enter"), "25"),
    ],
)
async def test_Q1_a_number_an_arrow_or_a_line_of_ones_own_is_the_answer(
    play: Play, keys: tuple[str, ...], text: str
) -> None:
    async with play() as stage:
        await ask(stage, "red", "green", "blue")
        await arm(stage)
        await stage.pilot.press(*keys)
        assert await stage.engine.heard(1) == [Answer(request_id="i1", text=text)]
        assert stage.app.chat.query_one(Composer).display


async def test_Q1_several_choices_are_picked_by_their_numbers(play: Play) -> None:
    async with play() as stage:
        await ask(stage, "red", "green", "blue", several=True)
        await arm(stage)
        await stage.pilot.press("1", "space", "3", "enter")
        assert await stage.engine.heard(1) == [Answer(request_id="i1", text="red\nblue")]


async def test_Q1_a_choice_is_clicked_and_sent_by_enter(play: Play) -> None:
    async with play() as stage:
        await ask(stage, "red", "green", "blue")
        await stage.pilot.click("#question-choices", offset=(4, 1))
        await stage.settle()
        assert stage.told(NOT_ARMED)
        await arm(stage)
        await stage.pilot.click("#question-choices", offset=(4, 1))
        await stage.pilot.press("enter")
        assert await stage.engine.heard(1) == [Answer(request_id="i1", text="green")]


async def test_Q3_escape_gives_no_answer_and_interrupts_nothing(play: Play) -> None:
    async with play() as stage:
        await ask(stage, "red", "green")
        await arm(stage)
        await stage.pilot.press("escape")
        assert await stage.engine.heard(1) == [Answer(request_id="i1", text="", declined=True)]


async def test_Q3_ctrl_c_interrupts_the_call_that_asks(play: Play) -> None:
    async with play() as stage:
        await ask(stage, "red")
        await stage.pilot.press("ctrl+c")
        assert await stage.engine.heard(1) == [Interrupt(turn=False)]


async def test_Q2_keys_that_were_on_their_way_answer_nothing(play: Play) -> None:
    async with play() as stage:
        await ask(stage, "red", "green")
        await stage.pilot.press("y", "1", "enter", "down", "enter", "escape")
        await stage.settle()
        assert stage.engine.asked == []
        assert stage.told(NOT_ARMED)


async def test_Q2_enter_alone_picks_nothing(play: Play) -> None:
    async with play() as stage:
        await ask(stage, "red", "green")
        await arm(stage)
        await stage.pilot.press("enter")
        await stage.settle()
        assert stage.engine.asked == []
        assert stage.told(NOTHING_PICKED.format(key="esc"))


async def test_Q2_no_key_that_approves_code_answers_and_no_answer_approves(play: Play) -> None:
    async with play() as stage:
        await ask(stage, "red", "green")
        await arm(stage)
        for key in "yaeins":
            await stage.pilot.press(key)
        await stage.settle()
        assert stage.engine.asked == []
        assert stage.app.chat.query_one("#question-answer", Input).value == "yaeins"
        stage.engine.say(
            InputAnswered(request_id="i1", block_id="t1", cancelled=True),
            ExecutionFinished(block_id="t1", status="ok", duration=0.1),
        )
        await stage.propose("print(1)", number=2)
        await stage.arm()
        await stage.pilot.press("1", "2", "enter", "up", "down")
        await stage.settle()
        assert stage.engine.asked == []


async def test_Q2_an_answer_that_comes_while_code_is_asked_about_next_does_not_decide(play: Play) -> None:
    async with play() as stage:
        await ask(stage, "red", "green")
        await arm(stage)
        await stage.pilot.press("2", "enter")
        assert await stage.engine.heard(1) == [Answer(request_id="i1", text="green")]
        stage.engine.say(
            InputAnswered(request_id="i1", block_id="t1"), ExecutionFinished(block_id="t1", status="ok", duration=0.1)
        )
        await stage.propose("print(1)", number=2)
        await stage.pilot.press("y", "1", "enter")  # meant for the question before
        await stage.settle()
        assert len(stage.engine.asked) == 1


async def test_Q1_a_long_question_is_cut_with_a_mark_and_leaves_its_keys_on_the_screen(play: Play) -> None:
    async with play(size=(80, 24)) as stage:
        await ask(stage, *(f"choice {number} " + "z" * 300 for number in range(20)), prompt="long\n" * 200)
        seen = stage.seen
        assert "the question is longer" in seen
        assert "no answer" in seen
        await arm(stage)
        await stage.pilot.press("up")
        await stage.settle()
        assert "❯ 20. choice 19" in stage.seen
