"""Plugins on the screen: enabled and disabled by key, their commands and windows, and what becomes of broken ones."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.core.tool_verbs import ReadToolFiles
from oi_tui.app.screens import chat_parts, plugin_desk
from oi_tui.app.screens.confirm import ConfirmScreen
from oi_tui.app.screens.plugins_screen import PluginsScreen
from oi_tui.app.screens.viewer import ViewerScreen
from oi_tui.plugins.decisions_file import plugin_decisions, tool_file_decisions
from oi_tui.plugins.description import FULL_RIGHTS, IN_THE_SANDBOX
from oi_tui.plugins.tool_files import own_tools_folder
from oi_tui.themes.loader import load_palette
from oi_tui.widgets.timeline.cells import BlockCell
from oi_tui.widgets.timeline.ink import Ink
from oi_tui.widgets.timeline.row_pieces import BlockDisplay, Canvas
from support.plugin_packages import enable, install, install_stranger, plugin_home
from support.stage import Play

SOURCE = """
import time
from oi_tui.plugins.api import Insert, SidePanel, SlashCommand, StatusItem, hookimpl

@hookimpl
def register_slash_commands():
    def fail(argument, view):
        raise RuntimeError(argument)
    return [
        SlashCommand(name="tale", title="Tale", help="Tells", run=lambda argument, view: "a tale\\x1b[2J " + argument),
        SlashCommand(name="begin-tale", title="Begin", help="Begins", run=lambda argument, view: Insert("Once upon")),
        SlashCommand(name="fail-tale", title="Fail", help="Fails", run=fail),
        SlashCommand(name="quit", title="Mine", help="Taken", run=fail),
    ]

@hookimpl
def register_panels():
    return [SidePanel(name="tales", title="Tales", lines=lambda view, width: ["wide: " + str(width), "second"])]

@hookimpl
def register_status_items():
    return [StatusItem(name="tales", text=lambda view: "3 tales\\x1b[2J " + "x" * 50)]
"""


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(plugin_desk, "LATER", 0.01)
    monkeypatch.setattr(chat_parts, "PLUGINS_LATER", 0.01)
    with plugin_home(tmp_path / "home", monkeypatch) as folder:
        install(folder, "oi-tui-tale", {"tale_screen": SOURCE}, {"screen": "tale_screen"})
        yield folder


@pytest.mark.usefixtures("packages")
async def test_x1_a_key_asks_before_it_enables_and_says_whose_it_is_and_where_it_lies(play: Play) -> None:
    async with play((80, 24)) as stage:
        stage.prompt.fill("/plugins")
        await stage.pilot.press("enter")
        await stage.screen(PluginsScreen)
        await stage.until(lambda: "not enabled  oi-tui-tale" in stage.seen)
        assert "Sessions as Jupyter notebooks, and notebooks" in stage.seen, "names take no more room than they need"
        await stage.pilot.press("e")
        await stage.screen(ConfirmScreen)
        await stage.until(lambda: "Made by: Ada" in stage.seen and "Lies in:" in stage.seen)
        assert FULL_RIGHTS.split(":")[0] in stage.seen
        await stage.pilot.press("enter", "n")
        await stage.screen(PluginsScreen)
        assert plugin_decisions().all() == {}
        await stage.pilot.press("e", "y")
        assert plugin_decisions().all() == {}, "a key that was typed before the question was seen"
        await stage.agree()
        await stage.until(lambda: "enabled      oi-tui-tale" in stage.seen)
        assert plugin_decisions().all()["oi-tui-tale"].state == "enabled"
        await stage.pilot.press("d")
        await stage.until(lambda: "disabled     oi-tui-tale" in stage.seen)


@pytest.mark.usefixtures("packages")
async def test_G16_a_file_of_tools_is_agreed_to_where_plugins_are_and_says_where_it_runs(play: Play) -> None:
    own_tools_folder().mkdir(parents=True)
    (own_tools_folder() / "bell.py").write_text("def ring(times: int) -> str:\n    'Ring.'\n")
    async with play((80, 24)) as stage:
        stage.prompt.fill("/plugins")
        await stage.pilot.press("enter")
        await stage.screen(PluginsScreen)
        await stage.until(lambda: "not enabled  tools/bell.py" in stage.seen and "ring(times: int)" in stage.seen)
        await stage.pilot.press("e")
        await stage.screen(ConfirmScreen)
        await stage.until(lambda: "Tools: ring(times: int)" in stage.seen)
        assert " ".join(IN_THE_SANDBOX.split()[:8]) in stage.seen
        await stage.agree()
        await stage.until(lambda: "enabled      tools/bell.py" in stage.seen)
        assert tool_file_decisions().all()["tools/bell.py"].state == "enabled"
        assert await stage.engine.heard(1) == [ReadToolFiles()], "it counts in the session that is open"
        assert plugin_decisions().all() == {}
        await stage.pilot.press("d")
        await stage.until(lambda: "disabled     tools/bell.py" in stage.seen)


@pytest.mark.usefixtures("packages")
async def test_x6_commands_windows_and_words_of_a_plugin_are_there_and_safe(play: Play) -> None:
    enable("oi-tui-tale")
    async with play((120, 30)) as stage:
        await stage.until(lambda: "3 tales xxxxxxxxxxxxxxxx" in stage.seen)
        stage.prompt.fill("/tale the sea")
        await stage.pilot.press("enter")
        await stage.screen(ViewerScreen)
        await stage.until(lambda: "the sea" in stage.seen)
        assert "a tale" in stage.seen
        await stage.pilot.press("escape")
        stage.prompt.fill("/panel tales")
        await stage.pilot.press("enter")
        await stage.screen(ViewerScreen)
        await stage.until(lambda: "wide: 118" in stage.seen)
        await stage.pilot.press("escape")
        stage.prompt.fill("/begin-tale")
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.prompt.text == "Once upon")
        assert stage.engine.asked == []


@pytest.mark.usefixtures("packages")
async def test_x2_a_plugin_that_breaks_on_the_screen_is_named_and_the_screen_goes_on(play: Play) -> None:
    enable("oi-tui-tale")
    async with play((120, 30)) as stage:
        await stage.until(lambda: "3 tales" in stage.seen)
        stage.prompt.fill("/fail-tale now")
        await stage.pilot.press("enter")
        await stage.until(lambda: "The plugin oi-tui-tale failed in its hook /fail-tale." in stage.seen)
        stage.prompt.fill("/plugins")
        await stage.pilot.press("enter")
        await stage.until(lambda: "! The plugin oi-tui-tale failed in its hook register_slash_commands" in stage.seen)
        await stage.pilot.press("d")
        await stage.until(lambda: "disabled     oi-tui-tale" in stage.seen)


async def test_x8_a_screen_uses_all_of_a_strangers_package(play: Play, packages: Path) -> None:
    install_stranger(packages)
    (packages / "oi_tui_stranger" / "themes").mkdir()
    (packages / "oi_tui_stranger" / "themes" / "strange.toml").write_text('title = "Strange"')
    async with play((120, 30)) as stage:
        await stage.until(lambda: "0 blocks" in stage.seen)
        for typed, shown in (("/stranger", "hello"), ("/panel stranger", "")):
            stage.prompt.fill(typed)
            await stage.pilot.press("enter")
            await stage.screen(ViewerScreen)
            await stage.until(lambda shown=shown: shown in stage.seen)  # type: ignore[misc] # of the loop
            await stage.pilot.press("escape")
        stage.prompt.fill("/theme strange")
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.app.chat.palette.title == "Strange")
    output = RichOutput(data={"application/vnd.stranger+json": {"top": 22, "below": 7}, "text/plain": "22/7"})
    block = CodeBlock(id="c", language="python", source="x", state="ok", outputs=(output,))
    cell = BlockCell(block)
    height = cell.layout(block, Canvas(80, Ink(load_palette())), BlockDisplay())
    assert "22" in " ".join(cell.row(number).text for number in range(height))
    assert "──" in " ".join(cell.row(number).text for number in range(height))


async def test_x2_a_plugin_whose_import_hangs_holds_up_neither_keys_nor_the_end(
    play: Play, packages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugin_desk, "LOADING", 0.3)
    install(packages, "oi-tui-stuck", {"stuck": "import time\ntime.sleep(2)\n"}, {"screen": "stuck"})
    enable("oi-tui-stuck")
    async with play((120, 30)) as stage:
        await stage.until(lambda: "The plugin oi-tui-stuck cannot be loaded" in stage.seen)
        await stage.pilot.press("h", "i")
        assert stage.prompt.text == "hi"
