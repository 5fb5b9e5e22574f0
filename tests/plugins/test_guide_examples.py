"""The guide's page on plugins has an example for each hook, and each is a plugin that works."""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from oi_tui.app.engine.core.blocks import CodeBlock, ProseBlock
from oi_tui.app.engine.core.chat_model import ChatMessage, ChatRequest, TextDelta
from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.hooks.calling import Hooks, hook_names
from oi_tui.app.engine.hooks.registered import (
    registered_forms,
    registered_models,
    registered_programs,
    registered_tools,
)
from oi_tui.app.engine.hooks.specs import EngineHooks
from oi_tui.app.engine.hooks.values import SessionContent
from oi_tui.app.engine.hooks.widget_views import PluginViews
from oi_tui.app.engine.text.widget_text import draw_widgets
from oi_tui.app.engine.transcript.outline import SessionOutline
from oi_tui.plugins.finding import PROCESSES, plugin_folder
from oi_tui.plugins.host import LoadedPlugins
from oi_tui.plugins.screen_specs import ScreenHooks
from oi_tui.plugins.screen_values import Insert, SessionView
from support.guide_tables import GUIDE
from support.plugin_packages import enable, plugin_home

EXAMPLE = re.compile(r"<!-- example: ([\w ]+) -->\n```python\n(.*?)```", re.DOTALL)
EXAMPLES = {tuple(names.split()): source for names, source in EXAMPLE.findall((GUIDE / "plugins.md").read_text())}


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], tuple[ModuleType, Hooks]]]:
    """Loads the example that has this hook as a person's own file."""

    def load(hook: str) -> tuple[ModuleType, Hooks]:
        source = next(source for names, source in EXAMPLES.items() if hook in names)
        plugin_folder().mkdir(parents=True, exist_ok=True)
        path = plugin_folder() / f"{hook}.py"
        path.write_text(source)
        path.chmod(0o600)
        enable(path.name)
        process = PROCESSES[hook in hook_names(ScreenHooks)]
        hooks = LoadedPlugins(process).load()
        assert hooks.troubles == []
        return sys.modules[f"oi_tui_plugin_{hook}"], hooks

    with plugin_home(tmp_path / "home", monkeypatch):
        yield load


Load = Callable[[str], tuple[Any, Hooks]]


def test_x7_each_hook_has_an_example() -> None:
    shown = [name for names in EXAMPLES for name in names]
    assert sorted(shown) == sorted(hook_names(EngineHooks) | hook_names(ScreenHooks))


@pytest.mark.parametrize("hooks", EXAMPLES, ids=" ".join)
def test_x7_each_example_is_loaded_as_a_file_and_imports_one_page(hooks: tuple[str, ...], load: Load) -> None:
    _, found = load(hooks[0])
    assert set(found.plugins[f"{hooks[0]}.py"]) == set(hooks)
    ours = re.findall(r"(?:from|import) (oi_tui[\w.]*)", EXAMPLES[hooks])
    assert set(ours) == {"oi_tui.plugins.api"}


REQUEST = ChatRequest(messages=(ChatMessage(role="user", text="The colour."),))
VIEW = SessionView(
    session_id="s",
    folder="/",
    model="m",
    blocks=(CodeBlock(id="1", language="python", source="x", duration=1.5, state="ok"),),
)


def first(hooks: Hooks, hook: str, **values: object) -> Any:
    """What the first plugin answers."""
    return next(iter(hooks.results(hook, **values)))[1]


def test_x7_the_examples_that_object_do(load: Load) -> None:
    _, hooks = load("judge_action")
    block = CodeBlock(id="1", language="python", source="drop table x")
    judged = dict(hooks.results("judge_action", session_id="s", block=block))["judge_action.py"]
    assert judged.verdict == "deny"
    _, hooks = load("check_prompt")
    assert first(hooks, "check_prompt", session_id="s", text="Acme") == "it names a client"
    assert first(hooks, "check_answer", session_id="s", text="x") == "the source is missing"
    _, hooks = load("change_request")
    changed = [first(hooks, "change_request", session_id="s", request=REQUEST) for _ in range(31)]
    assert changed[0].messages[0].text == "The color."
    assert changed[30].reason == "30 requests in a minute are enough"
    assert first(hooks, "change_answer", session_id="s", text="utilize") == "use"


async def test_x7_the_examples_that_add_to_the_engine_do(load: Load) -> None:
    _, hooks = load("register_tools")
    (tool,) = registered_tools(hooks)
    assert str(await tool.run({"zone": "Asia/Tokyo"}, None)).endswith("+09:00")
    _, hooks = load("register_models")
    model = registered_models(hooks)["lab/echo"]
    told = [delta async for delta in model.stream(REQUEST)]
    assert told[0] == TextDelta(text="The colour.")
    _, hooks = load("register_kernels")
    assert set(registered_programs(hooks)) == {"calm", "awk"}
    _, hooks = load("register_kernel_forms")
    assert set(registered_forms(hooks)) == {"fractions.Fraction"}
    _, hooks = load("register_widget_views")
    drawn = draw_widgets(("a",), {"a": {"_model_name": "DialModel", "value": 3}}, PluginViews(lambda: hooks))
    assert (drawn.text, [one.value for one in drawn.controls]) == ("dial at 3", [3])
    module, _ = load("register_exporters")
    content = SessionContent((ProseBlock(id="1", text="Hello."),), SessionOutline())
    assert module.write(content) == "Hello."
    assert module.read(b"Hello.", "a.txt").blocks == (ProseBlock(id="1", text="Hello."),)


def test_x7_the_examples_that_add_to_the_screen_do(load: Load) -> None:
    module, _ = load("register_slash_commands")
    assert module.shout("hi", VIEW) == Insert("HI")
    module, _ = load("register_renderers")
    output = RichOutput(data={"application/vnd.fraction+json": {"numerator": 22, "denominator": 7}})
    assert module.fraction(output).lines(80) == ["22", "──", "7"]
    _, hooks = load("register_panels")
    (panel,) = next(hooks.results("register_panels"))[1]
    assert list(panel.lines(VIEW, 80)) == ["    1.50 s  x"]
    (item,) = next(given for name, given in hooks.results("register_status_items") if name.endswith(".py"))
    assert item.text(VIEW) == "1 runs"
