"""The panel of the plan: what it shows, what its keys ask for, and plan mode on the screen."""

import pytest

from oi_tui.app.engine.core.events import (
    CallFinished,
    CallStarted,
    CodeFinished,
    CodeStarted,
    DecisionMade,
    ExecutionFinished,
    ExecutionStarted,
    InputAnswered,
    InputRequested,
    PlanChanged,
    TurnEnded,
    TurnStarted,
)
from oi_tui.app.engine.core.plan import PlanStep
from oi_tui.app.engine.core.tool_verbs import ChangePlan, SetPlanMode
from oi_tui.app.screens.plan_panel import PlanPanel
from oi_tui.widgets.question import PLANNER, QuestionPanel
from oi_tui.widgets.stray_keys import NOT_ARMED
from support.kinds import of
from support.stage import Play, Stage

STEPS = (
    PlanStep(text="Read the data", state="done", done_when="rows are counted", evidence=("c1", "gone")),
    PlanStep(text="Plot\x1b[2J it", state="doing"),
)


async def planned(stage: Stage) -> PlanPanel:
    """A plan whose first step was done by a cell; its panel has the keys."""
    stage.engine.say(
        TurnStarted(block_id="u1", text="do it"),
        CodeStarted(block_id="c1", language="python"),
        CodeFinished(block_id="c1", language="python", source="1"),
        DecisionMade(block_id="c1", verdict="run", decider="mode", source="1"),
        ExecutionStarted(block_id="c1", generation=1),
        ExecutionFinished(block_id="c1", status="ok", duration=0.1),
        PlanChanged(steps=STEPS),
        TurnEnded(reason="done"),
    )
    await stage.settle()
    await stage.pilot.press("alt+p")
    await stage.until(lambda: stage.app.chat.query(PlanPanel))
    await stage.pilot.press("alt+p")
    await stage.settle()
    return stage.app.chat.query_one(PlanPanel)


async def test_Q6_the_panel_shows_states_criteria_and_evidence_and_leads_to_the_block(play: Play) -> None:
    async with play(size=(120, 40)) as stage:
        await planned(stage)
        seen = stage.seen
        assert "1 of 2 steps done" in seen
        assert "[x] Read the data" in seen
        assert "[>] Plot" in seen
        assert "Done when: rows are counted" in seen
        assert "Evidence: block 2" in seen
        await stage.pilot.press("g")
        await stage.settle()
        assert stage.app.chat.parts.timeline.cursor == 1


async def test_Q6_at_80_columns_the_panel_covers_no_row_of_a_run_and_a_question_leaves_it_its_steps(play: Play) -> None:
    async with play() as stage:
        panel, timeline = await planned(stage), stage.app.chat.parts.timeline
        assert (panel.region.width, panel.region.y) == (80, timeline.region.bottom)
        await stage.propose("\n".join(f"line_{number} = {number}" for number in range(40)))
        seen = stage.seen
        assert "Read the data" in seen
        assert "waiting for approval" in seen
        await stage.pilot.resize_terminal(120, 24)
        await stage.until(lambda: panel.region.x == timeline.region.right)


async def test_Q6_the_person_adds_changes_moves_and_drops_steps(play: Play) -> None:
    async with play(size=(120, 40)) as stage:
        await planned(stage)
        await stage.pilot.press("a", *"More", "enter")
        [added] = await stage.engine.heard(1)
        assert isinstance(added, ChangePlan)
        assert ([step.text for step in added.steps], added.version) == (["Read the data", "More", STEPS[1].text], 1)
        stage.engine.say(PlanChanged(steps=added.steps, author="user"))
        await stage.settle()
        await stage.pilot.press("d")
        await stage.pilot.press("J")
        asked = of(ChangePlan, await stage.engine.heard(3))
        assert [step.state for step in asked[1].steps] == ["done", "dropped", "doing"]
        assert [step.text for step in asked[2].steps][1:] == [STEPS[1].text, "More"]
        await stage.pilot.press("e", *" now", "enter")
        asked = of(ChangePlan, await stage.engine.heard(4))
        assert asked[3].steps[2].text.endswith("it now"), "what is there is changed, not replaced"
        await stage.pilot.press("c", *"seen", "enter")
        asked = of(ChangePlan, await stage.engine.heard(5))
        assert any(step.done_when == "seen" for step in asked[4].steps)


async def test_Q6_escape_leaves_the_line_and_then_the_panel_and_changes_nothing(play: Play) -> None:
    async with play() as stage:
        await planned(stage)
        await stage.pilot.press("e", *"xyz", "escape")
        await stage.settle()
        assert stage.app.chat.query_one(PlanPanel).display
        await stage.pilot.press("escape")
        await stage.settle()
        assert stage.prompt.has_focus
        assert stage.engine.asked == []
        assert "Read the data" not in stage.seen


async def test_Q8_plan_mode_is_switched_by_a_command_and_shown_in_the_status(play: Play) -> None:
    async with play(size=(120, 40)) as stage:
        await stage.pilot.press(*"/plan", "enter")
        assert SetPlanMode(on=True) in await stage.engine.heard(1)
        assert stage.told("/plan off leaves plan mode.")


async def asked(stage: Stage) -> None:
    """The model asks whether to accept its plan, and the keys count."""
    stage.engine.say(
        TurnStarted(block_id="u1", text="do it"),
        CallStarted(block_id="t1", tool="plan"),
        CallFinished(block_id="t1", tool="plan", source="{}"),
        DecisionMade(block_id="t1", verdict="run", decider="mode", source="{}"),
        ExecutionStarted(block_id="t1", generation=1),
        PlanChanged(steps=STEPS),
        InputRequested(
            request_id="i1",
            block_id="t1",
            prompt="Accept this plan?",
            asked_by=PLANNER,
            choices=("Accept the plan and begin", "Keep planning"),
        ),
    )
    await stage.settle()


async def arm(stage: Stage) -> None:
    stage.wait(5.0, stage.app.chat.query_one(QuestionPanel).show_arming)
    await stage.settle()


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_Q10_a_key_in_the_question_changes_the_plan_and_one_accepts_it(size: tuple[int, int], play: Play) -> None:
    async with play(size=size) as stage:
        await asked(stage)
        await arm(stage)
        assert ("change and accept" if size[0] > 80 else "change") in stage.seen
        await stage.pilot.press("alt+p")
        await stage.until(lambda: stage.app.chat.query(PlanPanel))
        await stage.settle()
        assert "ctrl+s" in stage.seen
        await stage.pilot.press("down", "d")
        [change] = await stage.engine.heard(1)
        assert isinstance(change, ChangePlan)
        stage.engine.say(PlanChanged(steps=change.steps, author="user"))
        await stage.settle()
        await stage.pilot.press("ctrl+s")
        assert (await stage.engine.heard(2))[1] == ChangePlan(steps=change.steps, version=2, accepts="i1")
        assert stage.app.chat.query_one(QuestionPanel).display  # until the engine says that it was accepted
        stage.engine.say(InputAnswered(request_id="i1", block_id="t1"))
        await stage.settle()
        assert stage.prompt.has_focus
        assert "ctrl+s" not in stage.seen


async def test_Q10_no_key_that_was_under_way_accepts_and_none_while_a_step_is_written_or_nothing_is_asked(
    play: Play,
) -> None:
    async with play(size=(120, 40)) as stage:
        await stage.pilot.press("alt+p")
        await stage.until(lambda: stage.app.chat.query(PlanPanel))
        await asked(stage)
        stage.app.chat.query_one(PlanPanel).focus_rows()  # as by the mouse: keys lead there only when they count
        await stage.pilot.press("ctrl+s")
        await stage.settle()
        assert NOT_ARMED in stage.seen
        await arm(stage)
        await stage.pilot.press("e", *"xyz", "ctrl+s", "escape")
        stage.engine.say(InputAnswered(request_id="i1", block_id="t1"))
        await stage.settle()
        await stage.pilot.press("alt+p", "ctrl+s")
        await stage.settle()
        assert stage.engine.asked == []
