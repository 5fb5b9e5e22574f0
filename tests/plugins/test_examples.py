"""The example plugins do what they say, wired as an installed plugin is."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oi_tui.app.build import local_client
from oi_tui.app.engine.core.blocks import CallBlock, CodeBlock, NoticeBlock
from oi_tui.app.engine.core.chat_model import AnswerEnded, ToolDelta
from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.core.settings import ModelSection, Settings
from oi_tui.app.engine.core.verbs import Open
from oi_tui.app.engine.hooks.calling import Hooks
from oi_tui.app.engine.hooks.specs import EngineHooks
from oi_tui.app.engine.testing import FakeModel
from oi_tui.plugins import examples, host
from oi_tui.plugins.examples import clock, stopwatch, vega_lite
from oi_tui.plugins.screen_specs import ScreenHooks
from oi_tui.themes.loader import load_palette
from oi_tui.widgets.timeline.cells import BlockCell
from oi_tui.widgets.timeline.ink import Ink
from oi_tui.widgets.timeline.outputs import registry
from oi_tui.widgets.timeline.row_pieces import BlockDisplay, Canvas
from support.enclosure import UNENCLOSED
from support.front import Front, engine
from support.plugin_packages import enable, install, plugin_home


def test_each_is_under_thirty_lines_and_says_how_to_install_it() -> None:
    for path in Path(examples.__file__).parent.glob("[!_]*.py"):
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) < 30
        assert "entry-points" in text or "config/oi-tui/plugins" in text


async def test_the_stopwatch_writes_a_line_for_each_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = tmp_path / "runs.jsonl"
    monkeypatch.setenv("OI_TUI_STOPWATCH", str(runs))
    hooks = Hooks(EngineHooks, [("stopwatch", stopwatch)])
    async with engine(tmp_path, FakeModel("```python\n1+1\n```", "It is 2."), hooks=hooks) as front:
        await front.client.send(Open())
        await front.turn("add")
        (code,) = (block for block in front.transcript.blocks if isinstance(block, CodeBlock))
    assert [json.loads(line) for line in runs.read_text().splitlines()] == [
        {"language": "python", "duration": code.duration, "state": "ok"}
    ]


async def test_the_clock_is_asked_about_and_tells_the_time_and_what_it_does_not_know(tmp_path: Path) -> None:
    def ask(zone: str) -> list[ToolDelta | AnswerEnded]:
        return [ToolDelta(index=0, id="c", name="clock", arguments=json.dumps({"zone": zone})), AnswerEnded()]

    model = FakeModel(ask("Asia/Tokyo"), ask("Nowhere/At_all"), "Late.")
    hooks = Hooks(EngineHooks, [("clock", clock)])
    async with engine(tmp_path, model, hooks=hooks) as front:
        await front.client.send(Open())
        await front.turn("what time is it?")
        told, unknown = (block for block in front.transcript.blocks if isinstance(block, CallBlock))
    assert (told.state, unknown.state) == ("ok", "error")
    assert model.requests[1].messages[-1].text.endswith("+09:00")
    assert "Nowhere/At_all" in model.requests[2].messages[-1].text


async def test_an_engine_that_is_built_from_settings_finds_what_is_installed_and_enabled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "answers.json").write_text('["Hello."]')
    model = ModelSection(name=f"fake/{tmp_path / 'answers.json'}", titles=False)
    with plugin_home(tmp_path / "home", monkeypatch) as packages:
        install(packages, "oi-tui-greeter", {"oi_tui_greeter": GREETER}, {"engine": "oi_tui_greeter"})
        enable("oi-tui-greeter")
        front = Front(local_client(Configure(settings=Settings(model=model, sandbox=UNENCLOSED), cwd=str(tmp_path))))
        try:
            await front.client.send(Open())
            await front.turn("hi")
            notices = [block.title for block in front.transcript.blocks if isinstance(block, NoticeBlock)]
            assert notices == ["The plugin oi-tui-greeter failed in its hook before_request."]
        finally:
            await front.client.close()


GREETER = """
from oi_tui.plugins.api import hookimpl

@hookimpl
def before_request(request):
    raise RuntimeError(request.messages[-1].text)
"""


@pytest.fixture
def _vega_lite(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The renderer as the one plugin of the screen."""
    hooks = Hooks(ScreenHooks, [("vega-lite", vega_lite)])
    monkeypatch.setattr(host, "screen_hooks", lambda: hooks)
    registry.plugin_renderers.cache_clear()
    yield
    registry.plugin_renderers.cache_clear()


ENCODING = {"x": {"field": "month", "type": "ordinal"}, "y": {"field": "rain"}, "tooltip": [{"field": "rain"}]}


@pytest.mark.usefixtures("_vega_lite")
@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ({"mark": "bar", "encoding": ENCODING}, ["Chart (bar)", "• x: month", "• y: rain"]),
        ({"mark": {"type": "line"}, "encoding": ENCODING}, ["Chart (line)", "• x: month", "• y: rain"]),
        ({"layer": [{"mark": "bar"}]}, ["alt.LayerChart(...)"]),
    ],
)
def test_a_chart_is_told_in_words_and_what_has_no_axes_is_drawn_in_its_next_form(
    spec: dict[str, Any], shown: list[str]
) -> None:
    chart = RichOutput(data={vega_lite.MIME: spec, "text/plain": "alt.LayerChart(...)"})
    block = CodeBlock(id="c", language="python", source="x", state="ok", outputs=(chart,))
    cell = BlockCell(block)
    height = cell.layout(block, Canvas(80, Ink(load_palette())), BlockDisplay())
    rows = [cell.row(number).text.strip(" │") for number in range(2, height - 1)]
    assert [row for row in rows if row] == shown
