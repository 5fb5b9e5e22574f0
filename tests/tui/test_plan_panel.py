"""The panel of the plan: what it shows, what its keys ask for, and plan mode on the screen."""

from oi_tui.app.engine.core.events import (
    CodeFinished,
    CodeStarted,
    DecisionMade,
    ExecutionFinished,
    ExecutionStarted,
    PlanChanged,
    TurnEnded,
    TurnStarted,
)
from oi_tui.app.engine.core.plan import PlanStep
from oi_tui.app.engine.core.tool_verbs import ChangePlan, SetPlanMode
from oi_tui.app.screens.plan_panel import PlanPanel
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
        asked = await stage.engine.heard(3)
        assert [step.state for step in asked[1].steps] == ["done", "dropped", "doing"]  # type: ignore[union-attr]  # a ChangePlan
        assert [step.text for step in asked[2].steps][1:] == [STEPS[1].text, "More"]  # type: ignore[union-attr]  # a ChangePlan
        await stage.pilot.press("c", *"seen", "enter")
        assert any(step.done_when == "seen" for step in (await stage.engine.heard(4))[3].steps)  # type: ignore[union-attr]  # a ChangePlan


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
