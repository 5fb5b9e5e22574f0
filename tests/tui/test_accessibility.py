"""What eyes other than most need of the screen: a cursor that says where the keys act, and nothing that moves."""

import msgspec
from textual.geometry import Offset

from oi_tui.app.engine.core.events import CodeFinished, CodeStarted, ExecutionStarted, TurnStarted
from oi_tui.app.engine.core.settings import ScreenSection, Settings
from oi_tui.app.screens.choose import ChooseScreen
from oi_tui.widgets.composer import PromptArea
from oi_tui.widgets.timeline.view import Timeline
from support.stage import Play, Stage

STILL = Settings(screen=ScreenSection(motion="reduced", cursor="terminal"))


def rows(stage: Stage) -> list[str]:
    """The screen as text."""
    return [strip.text for strip in stage.app.screen._compositor.render_strips(stage.app.size)]


async def test_V23_the_cursor_stands_at_the_caret_the_block_or_the_chosen_line(play: Play) -> None:
    async with play(settings=STILL) as stage:
        stage.engine.say(TurnStarted(block_id="u", text="a question"))
        await stage.pilot.press(*"ab")
        await stage.settle()
        area = stage.app.chat.query_one(PromptArea)
        assert stage.app.cursor_position == area.cursor_screen_offset == area.content_region.offset + Offset(2, 0)

        await stage.pilot.press("backspace", "backspace", "tab")
        await stage.settle()
        timeline = stage.app.chat.query_one(Timeline)
        assert stage.app.focused is timeline
        assert "a question" in rows(stage)[stage.app.cursor_position.y]

        stage.app.push_screen(ChooseScreen("Which?", ["one", "two", "three"]))
        await stage.settle()
        await stage.pilot.press("down", "down")
        await stage.settle()
        assert "three" in rows(stage)[stage.app.cursor_position.y]


async def test_V23_with_reduced_motion_a_run_shows_its_seconds_and_no_spinner(play: Play) -> None:
    seen = set()
    for settings in (STILL, msgspec.structs.replace(STILL, screen=ScreenSection())):
        async with play(settings=settings) as stage:
            stage.engine.say(
                TurnStarted(block_id="u", text="go"),
                CodeStarted(block_id="c", language="python"),
                CodeFinished(block_id="c", language="python", source="wait()"),
                ExecutionStarted(block_id="c", generation=1),
            )
            timeline = stage.app.chat.query_one(Timeline)

            def header(stage: Stage = stage, timeline: Timeline = timeline) -> str:
                """The line of the run once it shows its seconds."""
                timeline._runs._spin()
                return next((line for line in rows(stage) if "1 line · " in line), "")

            await stage.until(header)
            seen.add(header().split()[0])
    assert "●" in seen
    assert len(seen) == 2
