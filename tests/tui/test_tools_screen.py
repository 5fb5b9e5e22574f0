"""The list of tools: who brought each, what it may do, its schema, and a key that switches it off."""

from oi_tui.app.engine.core.tool_replies import ToolRecord, ToolsFound
from oi_tui.app.engine.core.tool_verbs import FindTools, SwitchTool
from oi_tui.app.linear.listings import tool_lines
from oi_tui.app.screens.tools_screen import ToolsScreen
from oi_tui.app.screens.viewer import ViewerScreen
from oi_tui.widgets.lettering import Options, Words
from support.stage import Play

TIME = ToolRecord(
    name="get_time",
    description="The time in a zone.\x1b[2J",
    origin="MCP server time",
    effects=("reads only",),
    schema='{\n  "type": "object"\n}',
    time_limit=30.0,
)
PAINT = ToolRecord(name="paint", description="Paint a wall.", effects=("changes files or data",))


async def test_G2_G13_tools_lists_them_with_origin_and_effects_and_o_switches_one_off(play: Play) -> None:
    async with play((80, 24)) as stage:
        stage.prompt.fill("/tools")
        await stage.pilot.press("enter")
        assert await stage.engine.heard(1) == [FindTools()]
        stage.engine.reply(ToolsFound(tools=(TIME, PAINT)))
        screen = await stage.screen(ToolsScreen)
        await stage.settle()
        about = screen.query_one("#tools-about", Words)
        assert "MCP server time · reads only · at most 30 seconds · on" in str(about.content)
        assert "\x1b" not in stage.seen
        await stage.pilot.press("enter")
        await stage.screen(ViewerScreen)
        await stage.pilot.press("q")
        await stage.screen(ToolsScreen)
        await stage.pilot.press("o")
        assert (await stage.engine.heard(2))[1] == SwitchTool(name="get_time", on=False)
        off = ToolRecord(name="get_time", description="", off=True)
        stage.engine.reply(ToolsFound(tools=(off, PAINT)))
        await stage.until(lambda: "switched off" in str(about.content))
        assert "1 off" in str(screen.query_one("#tools-title", Words).content)
        assert screen.query_one(Options).option_count == 2


async def test_the_highlighted_line_has_a_background_of_its_own_and_no_dim_words_on_it(play: Play) -> None:
    async with play((80, 24)) as stage:
        stage.prompt.fill("/tools")
        await stage.pilot.press("enter")
        await stage.engine.heard(1)
        stage.engine.reply(ToolsFound(tools=(TIME, PAINT)))
        options = (await stage.screen(ToolsScreen)).query_one(Options)
        await stage.settle()
        for place, key in ((0, "down"), (1, "up"), (0, "down")):
            assert options.highlighted == place
            inks, grounds = line_colours(options, place)
            assert stage.app.theme_variables["selection"].lower() in grounds
            assert len(inks) == 1
            assert len(line_colours(options, 1 - place)[0]) > 1, "what is not highlighted has dim words"
            await stage.pilot.press(key)
            await stage.settle()


def line_colours(options: Options, place: int) -> tuple[set[str], set[str]]:
    """The colours of a line's letters, and those behind them."""
    styles = [segment.style for segment in options.render_line(place) if segment.style is not None]
    inks = {style.color.get_truecolor().hex for style in styles if style.color is not None}
    return inks, {style.bgcolor.get_truecolor().hex for style in styles if style.bgcolor is not None}


def test_G2_a_session_in_lines_lists_the_tools_too() -> None:
    assert list(tool_lines(ToolsFound(tools=(TIME,)))) == [
        "get_time, brought by MCP server time: reads only. The time in a zone."
    ]
    assert list(tool_lines(ToolsFound())) == ["The model has no tool but code."]
