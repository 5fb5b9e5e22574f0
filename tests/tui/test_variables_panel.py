"""The variables on the chat screen: one key opens, enters and closes them, and the kernel is asked only meanwhile."""

from textual.widget import Widget

from oi_tui.app.engine.core.kernel_looks import Inspect, Peek, VariableSeen, VariablesFound
from oi_tui.app.engine.core.variable import Variable
from oi_tui.app.screens.variables_panel import VariablesPanel
from oi_tui.widgets.timeline.view import Timeline
from support.kinds import narrow
from support.stage import Play

FOUND = VariablesFound(
    language="python",
    variables=(Variable(name="df", type="DataFrame", shape="30 × 4"), Variable(name="total", type="int", peek="2")),
    added=("df",),
)


async def test_the_key_opens_enters_and_closes_the_panel_and_the_engine_is_told(play: Play) -> None:
    async with play(size=(120, 30)) as stage:
        panel = stage.app.chat.parts.variables
        await stage.pilot.press("f2")
        assert await stage.engine.heard(1) == [Inspect(on=True)]
        assert stage.prompt.has_focus

        stage.engine.reply(FOUND)
        await stage.until(lambda: "DataFrame" in stage.seen)
        await stage.pilot.press("f2")
        await stage.until(lambda: panel.has_focus_within)
        await stage.pilot.press("f2")
        assert await stage.engine.heard(2) == [Inspect(on=True), Inspect(on=False)]
        assert not panel.display


async def test_a_longer_look_is_asked_for_and_shown_and_escape_leads_back(play: Play) -> None:
    async with play(size=(120, 30)) as stage:
        await stage.pilot.press("f2", "f2")
        stage.engine.reply(FOUND)
        await stage.until(lambda: "DataFrame" in stage.seen)
        await stage.pilot.press("enter")
        assert (await stage.engine.heard(2))[-1] == Peek(name="df")
        stage.engine.reply(VariableSeen(language="python", name="df", text="the first rows"))
        await stage.until(lambda: "the first rows" in stage.seen)

        await stage.pilot.press("escape", "escape")
        assert (await stage.engine.heard(3))[-1] == Inspect(on=False)
        await stage.until(lambda: stage.prompt.has_focus)


async def test_beside_the_timeline_where_there_is_room_and_below_it_where_there_is_not(play: Play) -> None:
    async with play(size=(120, 30)) as stage:
        await stage.propose("print(1)")
        await stage.arm()
        timeline = stage.app.chat.query_one(Timeline)
        await stage.pilot.press("f2")
        await stage.until(lambda: timeline.size.width < 90)

        await stage.pilot.resize_terminal(80, 24)
        await stage.until(lambda: timeline.size.width == 80)
        panel = stage.app.chat.query_one(VariablesPanel)
        assert (panel.region.width, panel.region.y) == (80, timeline.region.bottom)


async def test_the_next_engine_is_told_that_somebody_looks(play: Play) -> None:
    async with play() as stage:
        await stage.pilot.press("f2")
        await stage.engine.heard(1)
        stage.engine.die()
        await stage.until(lambda: stage.app.chat.bridge.stopped)
        await stage.pilot.press("f5")
        await stage.until(lambda: len(stage.engines) == 2)
        assert await stage.engine.heard(1) == [Inspect(on=True)]


async def test_a_question_about_code_gets_the_keys_when_the_panel_is_left(play: Play) -> None:
    async with play(size=(120, 30)) as stage:
        await stage.pilot.press("f2")
        await stage.propose("x = 1")
        await stage.pilot.click("#inspector-filter")
        await stage.until(lambda: stage.app.chat.query_one(VariablesPanel).has_focus_within)
        await stage.pilot.press("escape")
        await stage.until(lambda: stage.app.chat.query_one("ApprovalPanel").has_focus_within)


async def test_tab_leads_into_the_longer_look_and_closing_leads_back_to_the_prompt(play: Play) -> None:
    async with play(size=(120, 30)) as stage:
        await stage.pilot.press("f2", "f2")
        stage.engine.reply(FOUND)
        await stage.until(lambda: "DataFrame" in stage.seen)
        await stage.pilot.press("enter")
        stage.engine.reply(VariableSeen(language="python", name="df", text="the first rows"))
        await stage.until(lambda: "the first rows" in stage.seen)

        table = {"index": [["", "int64", True]], "columns": [["a", "int64", True]], "head": [["0", "77"]], "tail": []}
        seen = VariableSeen(language="python", name="df", text="few", table={**table, "rows": 1, "width": 1})
        stage.engine.reply(seen)  # not asked for by the person: told anew after a run
        await stage.settle()
        assert stage.app.screen is stage.app.chat
        await stage.pilot.press("enter")
        stage.engine.reply(seen)
        await stage.until(lambda: stage.app.screen is not stage.app.chat)
        await stage.until(lambda: "77" in stage.seen)
        await stage.pilot.press("escape")
        await stage.until(lambda: stage.app.screen is stage.app.chat)

        await stage.pilot.press("tab")
        assert narrow(stage.app.focused, Widget).id == "inspector-peek"
        await stage.pilot.press("tab")
        assert narrow(stage.app.focused, Widget).id == "inspector-filter"
        await stage.pilot.press("f2")
        await stage.until(lambda: stage.prompt.has_focus)
