"""What the model reads, on the screen: what takes the room, marks of blocks, and summaries under one's hands."""

from oi_tui.app.engine.core.context_use import ContextPart, ContextRow, ContextUse
from oi_tui.app.engine.core.events import (
    ContextCompacted,
    ContextMarked,
    ProseFinished,
    ProseGrew,
    ProseStarted,
    SummaryEnded,
    SummaryStarted,
    TurnEnded,
    TurnStarted,
)
from oi_tui.app.engine.core.protocol import ContextFound
from oi_tui.app.engine.core.verbs import ChangeSummary, Compact, Interrupt, MarkContext, ReadContext
from oi_tui.app.screens.context_screen import ContextScreen
from oi_tui.app.screens.summary_screen import SummaryScreen
from oi_tui.widgets.editor import SourceEditor
from oi_tui.widgets.timeline.view import Timeline
from support.snapshot import Snap
from support.stage import Play, Stage

USE = ContextUse(
    model="openai/scripted",
    window=8_192,
    reserve=2_048,
    parts=(
        ContextPart(name="instructions", tokens=180),
        ContextPart(name="tools", tokens=120),
        ContextPart(name="pinned", tokens=40),
        ContextPart(name="conversation", tokens=3_700),
        ContextPart(name="summary", tokens=830),
    ),
    rows=(
        ContextRow(block_id="c9", number=9, title="python: print(table)", tokens=3_340, state="shortened"),
        ContextRow(block_id="u1", number=1, title="The pier code is 4711.", tokens=40, state="pinned"),
        ContextRow(block_id="p2", number=2, title="Noted.", tokens=12, state="summarised"),
    ),
    counted=4_911,
)


async def with_a_summary(stage: Stage) -> Timeline:
    """Two turns, the first of them summarised; the keys are in the timeline, on the summary."""
    for number in (1, 2):
        stage.engine.say(
            TurnStarted(block_id=f"u{number}", text=f"question {number}"),
            ProseStarted(block_id=f"p{number}"),
            ProseGrew(block_id=f"p{number}", text="An answer."),
            ProseFinished(block_id=f"p{number}"),
            TurnEnded(reason="done"),
        )
    stage.engine.say(ContextCompacted(block_id="s1", text="They asked once.", until="p1", turns=1, model="m"))
    await stage.settle()
    timeline = stage.app.chat.query_one(Timeline)
    timeline.focus()
    await stage.until(lambda: timeline.cursor == 4)
    return timeline


async def test_L18_what_takes_the_room_is_shown_and_blocks_are_pinned_and_left_out_by_key(
    play: Play, snap: Snap
) -> None:
    async with play(size=(80, 24)) as stage:
        stage.prompt.fill("/context")
        await stage.pilot.press("enter")
        assert await stage.engine.heard(1) == [ReadContext()]
        stage.engine.reply(ContextFound(context=USE))
        await stage.screen(ContextScreen)
        await stage.settle()
        assert "~4,870 of 8,192 tokens (~59%)" in stage.seen
        await snap(stage.pilot)
        await stage.pilot.press("x", "down", "p")
        heard = await stage.engine.heard(5)
        assert heard[1:] == [
            MarkContext(block_id="c9", mark="left out"),
            ReadContext(),
            MarkContext(block_id="u1", mark=""),
            ReadContext(),
        ]
        await stage.pilot.press("escape")
        await stage.until(lambda: stage.app.screen is stage.app.chat)


async def test_L18_a_summary_is_a_line_that_opens_is_edited_and_undone(play: Play, snap: Snap) -> None:
    async with play(size=(80, 24)) as stage:
        await with_a_summary(stage)
        assert "summary of 1 turn" in stage.seen
        assert "They asked once." not in stage.seen
        await stage.pilot.press("enter")
        await stage.settle()
        assert "They asked once." in stage.seen
        await snap(stage.pilot)
        await stage.pilot.press("u")
        assert await stage.engine.heard(1) == [ChangeSummary(block_id="s1", text="They asked once.", used=False)]
        await stage.pilot.press("e")
        editor = (await stage.screen(SummaryScreen)).query_one(SourceEditor)
        editor.insert("Twice. ", (0, 0))
        await stage.pilot.press("ctrl+s")
        changed = ChangeSummary(block_id="s1", text="Twice. They asked once.")
        assert (await stage.engine.heard(2))[1:] == [changed]


async def test_L18_a_block_of_the_timeline_is_pinned_and_left_out(play: Play) -> None:
    async with play(size=(80, 24)) as stage:
        await with_a_summary(stage)
        await stage.pilot.press("up", "P")
        assert await stage.engine.heard(1) == [MarkContext(block_id="p2", mark="pinned")]
        stage.engine.say(ContextMarked(block_id="p2", mark="pinned"))
        await stage.until(lambda: "pinned · always sent to the model" in stage.seen)
        await stage.pilot.press("L")
        assert (await stage.engine.heard(2))[1:] == [MarkContext(block_id="p2", mark="left out")]


async def test_a_summary_under_way_is_shown_and_stopped(play: Play) -> None:
    async with play(size=(80, 24)) as stage:
        stage.prompt.fill("/compact the figures")
        await stage.pilot.press("enter")
        assert await stage.engine.heard(1) == [Compact(focus="the figures")]
        stage.engine.say(SummaryStarted(turns=12))
        await stage.until(lambda: "summarising 12 turns" in stage.seen)
        await stage.pilot.press("escape")
        assert (await stage.engine.heard(2))[1:] == [Interrupt()]
        stage.engine.say(SummaryEnded())
        await stage.until(lambda: "summarising" not in stage.seen)
