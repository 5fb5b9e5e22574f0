"""Widgets of a block are operated on a screen of their own: by keys, with the mouse, and not while something runs."""

from oi_tui.app.engine.core.events import (
    CodeFinished,
    CodeStarted,
    ExecutionFinished,
    ExecutionStarted,
    OutputAdded,
    TurnEnded,
    TurnStarted,
)
from oi_tui.app.engine.core.kernel_looks import WatchWidgets, WidgetsFound
from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.core.values import Language
from oi_tui.app.engine.core.variable import Telling
from oi_tui.app.engine.core.verbs import AnyVerb
from oi_tui.app.engine.core.widget_controls import WIDGET_VIEW, OperateWidget, WidgetControl
from oi_tui.app.screens.choose import ChooseScreen
from oi_tui.app.screens.line_ask import LineAskScreen
from oi_tui.app.screens.widgets_screen import WidgetsScreen
from oi_tui.widgets.lettering import Options
from oi_tui.widgets.timeline.view import Timeline
from support.stage import Play, Stage

CONTROLS = (
    WidgetControl(name="l", kind="number", label="Level", value=7, low=0, high=10, step=1, is_whole=True),
    WidgetControl(name="o", kind="toggle", label="ok", value=False),
    WidgetControl(name="p", kind="choice", label="Pick", value=0, options=("x", "y\x1b[31m", "z")),
    WidgetControl(name="s", kind="range", label="Span", value=(1, 2), low=0, high=5),
    WidgetControl(name="w", kind="secret", label="Word", value=""),
    WidgetControl(name="g", kind="press", label="Go"),
    WidgetControl(name="d", kind="press", label="Off", disabled=True),
)


async def with_widgets(stage: Stage) -> Timeline:
    """A run that shows a widget, and the timeline focused on it."""
    shown = RichOutput(data={WIDGET_VIEW: {"model_id": "box"}, "text/plain": "Level ●── 7"}, display_id="widget box")
    stage.engine.say(
        TurnStarted(block_id="u1", text="show it"),
        CodeStarted(block_id="c1", language="python", author="user"),
        CodeFinished(block_id="c1", language="python", source="box"),
        ExecutionStarted(block_id="c1", generation=1),
        OutputAdded(block_id="c1", output=shown),
        ExecutionFinished(block_id="c1", status="ok", duration=0.2),
        TurnEnded(reason="done"),
    )
    await stage.settle()
    timeline = stage.app.chat.query_one(Timeline)
    timeline.focus()
    await stage.until(lambda: timeline.cursor == 1)
    return timeline


async def opened(stage: Stage) -> WidgetsScreen:
    await with_widgets(stage)
    await stage.pilot.press("w")
    screen = await stage.screen(WidgetsScreen)
    assert (await stage.engine.heard(1))[-1] == WatchWidgets(language="python", names=("box",))
    tell(stage)
    await stage.until(lambda: "Level" in stage.seen)
    return screen


def tell(stage: Stage, telling: Telling = "told", controls: tuple[WidgetControl, ...] = CONTROLS) -> None:
    stage.engine.reply(WidgetsFound(names=("box",), telling=telling, controls=controls if telling == "told" else ()))


def operated(name: str, value: bool | float | str | tuple[float, ...] | None = None) -> OperateWidget:
    language: Language = "python"
    return OperateWidget(language=language, name=name, value=value)


async def sent(stage: Stage, number: int) -> AnyVerb:
    """The operation of this number; the engine then tells the state anew."""
    verb = (await stage.engine.heard(number + 1))[-1]
    tell(stage)
    await stage.settle()
    return verb


async def test_R23_each_kind_of_widget_is_operated_by_keys(play: Play) -> None:
    async with play(size=(80, 24)) as stage:
        screen = await opened(stage)
        assert "●" in stage.seen
        await stage.pilot.press("right", "right", "left", "enter")  # several steps are one change
        assert await sent(stage, 1) == operated("l", 8)
        await stage.pilot.press("enter", *"11", "enter")
        asked = await stage.screen(LineAskScreen)
        assert "A whole number from 0 to 10." in stage.seen
        await stage.pilot.press("ctrl+u", *"5", "enter")
        assert await sent(stage, 2) == operated("l", 5)
        assert not asked.is_attached

        await stage.pilot.press("down", "space")
        assert await sent(stage, 3) == operated("o", True)
        await stage.pilot.press("down", "enter")
        await stage.screen(ChooseScreen)
        assert "\x1b" not in stage.seen
        await stage.pilot.press("down", "enter")
        assert await sent(stage, 4) == operated("p", 1)
        await stage.pilot.press("down", "enter")
        await stage.screen(LineAskScreen)
        await stage.pilot.press("ctrl+u", *"0.5 4", "enter")
        assert await sent(stage, 5) == operated("s", (0.5, 4.0))
        await stage.pilot.press("down", "enter")
        await stage.screen(LineAskScreen)
        await stage.pilot.press(*"geheim")
        assert "geheim" not in stage.seen
        await stage.pilot.press("enter")
        assert await sent(stage, 6) == operated("w", "geheim")
        await stage.pilot.press("down", "enter")
        assert await sent(stage, 7) == operated("g")
        await stage.pilot.press("down", "enter")
        assert stage.told("It is disabled")

        await stage.pilot.press("escape")
        assert (await stage.engine.heard(9))[-1] == WatchWidgets(language="python")
        assert not screen.is_attached


PICKERS = (
    WidgetControl(name="p", kind="number", label="Power", value=10, low=0.1, high=1000, step=0.5, log_base=10),
    WidgetControl(name="m", kind="range", label="Months", value=(0, 1), options=("Jan", "Feb", "Mar")),
    WidgetControl(name="d", kind="date", label="Day", value="2024-02-28"),
    WidgetControl(name="t", kind="time", label="At", value="23:59:30"),
    WidgetControl(name="w", kind="datetime", label="When", value="2026-12-31 23:59"),
)


async def test_R23_scales_ranges_of_options_dates_and_times_are_set_by_keys(play: Play) -> None:
    async with play(size=(80, 24)) as stage:
        await with_widgets(stage)
        await stage.pilot.press("w")
        await stage.screen(WidgetsScreen)
        tell(stage, controls=PICKERS)
        await stage.until(lambda: "Months" in stage.seen)
        assert "Power                    ──────────●───────── 10" in stage.seen
        number = 1

        async def changes_to(verb: OperateWidget, *keys: str) -> None:
            nonlocal number
            await stage.pilot.press(*keys)
            number += 1
            assert (await stage.engine.heard(number))[-1] == verb
            tell(stage, controls=PICKERS)
            await stage.settle()

        await changes_to(operated("p", 31.6228), "right", "enter")
        await stage.pilot.press("down", "enter")
        await stage.screen(ChooseScreen)
        assert "Months: from" in stage.seen
        await stage.pilot.press("3")
        await stage.until(lambda: "Months: to" in stage.seen)
        await changes_to(operated("m", (0, 2)), "1")
        await changes_to(operated("d", "2024-02-29"), "down", "right", "enter")
        await changes_to(operated("t", "23:58:30"), "down", "left", "enter")
        await changes_to(operated("w", "2027-01-01 00:00"), "down", "right", "enter")
        await stage.pilot.press("enter")
        await stage.screen(LineAskScreen)
        await stage.pilot.press("ctrl+u", *"soon", "enter")
        await stage.until(lambda: "A date and a time, such as 2026-11-23 14:05." in stage.seen)
        await changes_to(operated("w", ""), "ctrl+u", "enter")


async def test_R23_a_key_that_is_held_is_one_change_and_what_runs_holds_the_next_one_up(play: Play) -> None:
    async with play(size=(80, 24)) as stage:
        await opened(stage)
        await stage.pilot.press("right", "right")
        assert await stage.engine.heard(2) == [
            WatchWidgets(language="python", names=("box",)),
            operated("l", 9),
        ]
        stage.engine.say(ExecutionStarted(block_id="c2", generation=1))
        tell(stage, "busy")
        await stage.until(lambda: "What hangs on it runs" in stage.seen)
        await stage.pilot.press("left", "enter")  # of 7, as it was told
        stage.engine.say(ExecutionFinished(block_id="c2", status="ok", duration=0.1))
        tell(stage)
        assert (await stage.engine.heard(3))[-1] == operated("l", 6)


async def test_R23_nothing_is_operated_while_something_else_runs_or_where_the_kernel_has_ended(play: Play) -> None:
    async with play(size=(80, 24)) as stage:
        await opened(stage)
        tell(stage, "busy")
        await stage.until(lambda: "widgets can be operated when that is over" in stage.seen)
        await stage.pilot.press("right", "enter", "down", "enter")
        assert len(stage.engine.asked) == 1
        tell(stage, "gone")
        await stage.until(lambda: "Run the code" in stage.seen)
        await stage.pilot.press("enter", "right")
        assert len(stage.engine.asked) == 1


async def test_R23_the_mouse_opens_and_operates_them(play: Play) -> None:
    async with play(size=(80, 24)) as stage:
        timeline = await with_widgets(stage)
        place = timeline.cursor_screen_offset
        assert place is not None
        await stage.pilot.click(offset=(place.x + 4, place.y + 3), times=2)
        screen = await stage.screen(WidgetsScreen)
        tell(stage)
        await stage.until(lambda: "Level" in stage.seen)
        options = screen.query_one(Options)
        await stage.until(lambda: options.size.height == len(CONTROLS))
        await stage.pilot.click(options, offset=(5, 1))
        assert (await stage.engine.heard(2))[-1] == operated("o", True)


async def test_R23_a_block_without_widgets_says_so(play: Play) -> None:
    async with play() as stage:
        timeline = await with_widgets(stage)
        await stage.pilot.press("up")
        await stage.until(lambda: timeline.cursor == 0)
        await stage.pilot.press("w")
        await stage.until(lambda: stage.told("There are no widgets in this block."))
