"""A stranger's package with every hook, installed, enabled and used by an engine with real kernels."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oi_tui.app.build import local_client
from oi_tui.app.engine.core.blocks import CallBlock, CodeBlock, NoticeBlock, ProseBlock
from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.library_replies import FormatsFound
from oi_tui.app.engine.core.library_verbs import FindFormats
from oi_tui.app.engine.core.outputs import RichOutput, StreamOutput
from oi_tui.app.engine.core.settings import LoopSection, ModelSection, Settings
from oi_tui.app.engine.core.verbs import Open
from oi_tui.app.engine.hooks.calling import hook_names
from oi_tui.app.engine.hooks.specs import EngineHooks
from oi_tui.plugins.host import LoadedPlugins
from oi_tui.plugins.screen_specs import ScreenHooks
from oi_tui.plugins.session_files import export_session, import_session
from support.enclosure import UNENCLOSED
from support.front import Front
from support.plugin_packages import install_stranger, plugin_home

FRACTION = "application/vnd.stranger+json"


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with plugin_home(tmp_path / "home", monkeypatch) as packages:
        install_stranger(packages)
        yield packages


@pytest.mark.usefixtures("stranger")
def test_x8_it_uses_every_hook() -> None:
    engine, screen = LoadedPlugins("engine").load(), LoadedPlugins("screen").load()
    assert set(engine.plugins["oi-tui-stranger"]) == hook_names(EngineHooks)
    assert set(screen.plugins["oi-tui-stranger"]) == hook_names(ScreenHooks)
    assert (engine.troubles, screen.troubles) == ([], [])


@pytest.mark.kernel
@pytest.mark.timeout(120)
@pytest.mark.usefixtures("stranger")
async def test_x8_an_engine_uses_all_of_it_in_one_turn(tmp_path: Path) -> None:
    settings = Settings(
        model=ModelSection(name="lab/stranger", titles=False), sandbox=UNENCLOSED, loop=LoopSection(approve="auto")
    )
    folder = tmp_path / "work"
    folder.mkdir()
    front = Front(local_client(Configure(settings=settings, cwd=str(folder))))
    try:
        await front.client.send(Open())
        end = await front.turn("Please begin.")
        blocks = front.transcript.blocks
        refused = await front.turn("please please please")
        stopped = await front.turn("stop the press")
        await front.client.send(FindFormats())
        formats = await front.until(lambda reply: isinstance(reply, FormatsFound))
    finally:
        await front.client.close()
    assert (end.reason, refused.reason, stopped.reason) == ("done", "refused", "model_error")

    plugin: Any = sys.modules["oi_tui_stranger.engine"]
    assert plugin.requests[0].messages[-1].text == "PLEASE BEGIN."
    assert "Instructions of the plugin oi-tui-stranger:\n\nSign what you say." in plugin.requests[0].messages[0].text
    (call,) = (block for block in blocks if isinstance(block, CallBlock))
    assert (call.tool, call.state) == ("stamp", "ok")
    forbidden, fraction, dial, awk, calm = (block for block in blocks if isinstance(block, CodeBlock))
    assert forbidden.refusal == "denied by the plugin oi-tui-stranger: a forbidden word"
    (result,) = (output for output in fraction.outputs if isinstance(output, RichOutput))
    assert result.data[FRACTION] == {"top": 22, "below": 7}
    (shown,) = (output for output in dial.outputs if isinstance(output, RichOutput))
    assert shown.data["text/plain"] == "dial at 3"
    assert (awk.state, awk.outputs) == ("ok", (StreamOutput(name="stdout", text="42\n"),))
    assert (calm.state, calm.outputs) == ("ok", (StreamOutput(name="stdout", text="calm\n"),))
    prose = [block.text for block in blocks if isinstance(block, ProseBlock)]
    assert prose == ["It is plain.", "It is signed: use it."]
    told = [block.title for block in blocks if isinstance(block, NoticeBlock)]
    assert "The plugin oi-tui-stranger sent the answer back: it is not signed" in told
    assert {"before_request", "after_request False", "before_action awk", "after_action awk ok"} <= set(plugin.seen)
    assert {"StepStarted", "TurnEnded"} <= set(plugin.seen)

    hooks = LoadedPlugins("engine").load()
    assert isinstance(formats, FormatsFound)
    assert {"ipynb", "md", "html", "strange"} <= {one.name for one in formats.formats}
    written = export_session(front.events, "strange", hooks=hooks)
    assert written == b"It is plain.\nIt is signed: use it."
    read = import_session(b"Once.", "a.strange", hooks)
    assert read.format == "strange"
