"""Plugins that draw widgets: each call guarded, each answer looked at, and a plain text where none knows a widget."""

import subprocess
import sys
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from oi_tui.app.engine.core.widget_views import KernelWidget, WidgetView
from oi_tui.app.engine.hooks import calling
from oi_tui.app.engine.hooks.calling import SLOW_IN_ENGINE, STRIKES, Hooks
from oi_tui.app.engine.hooks.specs import EngineHooks, hookimpl
from oi_tui.app.engine.hooks.widget_views import PluginViews
from oi_tui.app.engine.text.widget_text import draw_widgets
from oi_tui.plugins.decisions_file import plugin_decisions
from oi_tui.plugins.host import LoadedPlugins
from support.plugin_packages import plugin_home
from support.processor import compute
from support.widgets import text_of_widget

STATES: dict[str, dict[str, Any]] = {
    "a": {"_model_name": "DialModel", "description": "<b>Dial</b>", "value": 3},
    "box": {"_model_name": "VBoxModel", "children": ["IPY_MODEL_a", "IPY_MODEL_b"]},
    "b": {"_model_name": "LabelModel", "value": "b"},
}
PLAIN = "Dial: 3"


def hooks_of(*given: object) -> Hooks:
    """A plugin for each mapping."""
    plugins = [
        (f"p{at}", SimpleNamespace(register_widget_views=hookimpl(lambda mapping=one: mapping)))
        for at, one in enumerate(given)
    ]
    return Hooks(EngineHooks, plugins)


def text_by(*given: object, name: str = "a") -> tuple[str, Hooks]:
    hooks = hooks_of(*given)
    return draw_widgets((name,), STATES, PluginViews(lambda: hooks)).text, hooks


def second(widget: KernelWidget) -> WidgetView:
    return WidgetView(lines=["second"])


def fail(widget: KernelWidget) -> WidgetView:
    raise RuntimeError("no dial")


NONSENSE: list[Callable[[KernelWidget], object]] = [
    lambda widget: "text",
    lambda widget: WidgetView(lines="text"),
    lambda widget: WidgetView(lines=[1]),  # type: ignore[list-item] # nonsense
    lambda widget: WidgetView(children=["a"]),  # type: ignore[list-item] # nonsense
    lambda widget: WidgetView(control="slider"),  # type: ignore[arg-type] # nonsense
    fail,
]


@pytest.mark.parametrize("function", [*NONSENSE, "no_such_module:view", "json:no_such_function"])
def test_x10_a_view_that_fails_or_is_nonsense_is_named_and_the_next_plugin_draws(function: object) -> None:
    text, hooks = text_by({"DialModel": function}, {"DialModel": second})
    assert text == "second"
    assert [(one.plugin, one.hook, one.fault) for one in hooks.troubles] == [("p0", "register_widget_views", "failed")]
    assert text_by({"DialModel": function})[0] == PLAIN


@pytest.mark.parametrize("given", [["DialModel"], {1: second}, {"DialModel": 1}])
def test_x10_what_registers_no_views_is_named(given: object) -> None:
    text, hooks = text_by(given, {"Dial*": second})
    assert text == "second"
    assert [one.plugin for one in hooks.troubles] == ["p0"]


def test_x10_the_first_plugin_that_knows_a_widget_draws_it() -> None:
    assert text_by({"DialModel": lambda widget: None}, {"*": second})[0] == "second"
    assert text_by({"Dial": second})[0] == PLAIN, "a model is meant as a whole"


def test_x10_a_box_whose_arrangement_fails_stands_one_below_the_other() -> None:
    def view(widget: KernelWidget) -> WidgetView:
        return WidgetView(children=widget.children, arrange=lambda drawn: 1 / 0)  # type: ignore[arg-type, return-value] # fails

    text, hooks = text_by({"VBoxModel": view}, name="box")
    assert text == f"{PLAIN}\nb"
    assert [one.fault for one in hooks.troubles] == ["failed"]


def test_x10_one_that_is_slow_again_and_again_is_asked_no_more() -> None:
    calls: list[int] = []

    def crawl(widget: KernelWidget) -> WidgetView:
        calls.append(1)
        compute(SLOW_IN_ENGINE * 1.2)
        return WidgetView(lines=["slow"])

    hooks = hooks_of({"DialModel": crawl}, {"DialModel": second})
    views = PluginViews(lambda: hooks)
    texts = [draw_widgets(("a",), STATES, views).text for _ in range(STRIKES + 3)]
    assert texts == ["slow"] * STRIKES + ["second"] * 3
    assert len(calls) == STRIKES
    assert "p0" in {one.plugin for one in hooks.troubles}


def test_x10_one_that_hangs_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calling, "TIME_LIMIT", 0.1)
    calls: list[int] = []

    def hang(widget: KernelWidget) -> WidgetView:
        calls.append(1)
        time.sleep(30)
        return WidgetView()

    hooks = hooks_of({"DialModel": hang})
    views = PluginViews(lambda: hooks)
    assert [draw_widgets(("a",), STATES, views).text for _ in range(3)] == [PLAIN] * 3
    assert len(calls) == 1
    assert "hung" in {one.fault for one in hooks.troubles}


def test_x10_widgets_are_read_as_plain_text_where_the_built_in_plugins_are_disabled(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    bar = {"_model_name": "FloatProgressModel", "value": 3, "min": 0, "max": 9}
    states: dict[str, dict[str, Any]] = {
        "row": {"_model_name": "HBoxModel", "children": ["IPY_MODEL_left", "IPY_MODEL_bar", "IPY_MODEL_right"]},
        "left": {"_model_name": "HTMLModel", "value": "work:\u2007 33%"},
        "bar": bar,
        "right": {"_model_name": "HTMLModel", "value": " 3/9 [00:01&lt;00:02]"},
    }
    bar_text = "██████████░░░░░░░░░░░░░░░░░░░░"
    assert text_of_widget("row", states) == f"work: 33% {bar_text} 3/9 [00:01<00:02]"
    with plugin_home(tmp_path / "home", monkeypatch):
        plugin_decisions().decide("tqdm", "disabled", "")
        hooks = LoadedPlugins("engine").load()
        text = draw_widgets(("row",), states, PluginViews(lambda: hooks)).text
        assert " ".join(text.split()) == f"work: 33% {bar_text} 3/9 3/9 [00:01<00:02]"
        plugin_decisions().decide("ipywidgets", "disabled", "")
        hooks = LoadedPlugins("engine").load()
        drawn = draw_widgets(("row",), states, PluginViews(lambda: hooks))
    assert drawn.text.split("\n") == ["work: 33%", "3", "3/9 [00:01<00:02]"]
    assert drawn.controls == ()


def test_x10_a_bar_of_tqdm_without_a_total_has_no_bar() -> None:
    states: dict[str, dict[str, Any]] = {
        "row": {"_model_name": "HBoxModel", "children": ["IPY_MODEL_left", "IPY_MODEL_bar", "IPY_MODEL_right"]},
        "left": {"_model_name": "HTMLModel", "value": "work: "},
        "bar": {"_model_name": "FloatProgressModel", "value": 1, "max": 1, "bar_style": "info"},
        "right": {"_model_name": "HTMLModel", "value": " 7/? [00:01&lt;00:00]"},
    }
    assert text_of_widget("row", states) == "work: 7/? [00:01<00:00]"
    states["right"]["_model_name"] = "LabelModel"  # any other row is left to others
    assert "█" in text_of_widget("row", states)


def test_x10_what_draws_widgets_is_imported_for_the_first_one() -> None:
    source = (
        "import sys\n"
        "from oi_tui.plugins.host import built_in_hooks\n"
        "built_in_hooks()\n"
        "assert 'oi_tui.plugins.builtin.ipywidgets' in sys.modules\n"
        "assert 'oi_tui.plugins.builtin.ipywidgets_drawing' not in sys.modules\n"
        "assert not {'ipywidgets', 'tqdm'} & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", source], check=True, timeout=60)
