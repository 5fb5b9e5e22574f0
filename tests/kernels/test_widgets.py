"""Widgets of ipywidgets and bars of tqdm.notebook: drawn as text, kept up to date, and bounded whatever a kernel says.

The messages were sent by ipywidgets 8.1.9 and tqdm 4.70.1 in ipykernel 7.4.0; what is null in them is left out.
"""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from oi_tui.app.engine.core.events import OutputAdded, OutputUpdated
from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.core.widget_controls import WIDGET_VIEW
from oi_tui.app.engine.core.widget_views import KernelWidget, WidgetView
from oi_tui.app.engine.hooks.widget_views import PluginViews
from oi_tui.app.engine.kernels.widget_displays import MOST_SHOWN, WidgetDisplays
from oi_tui.app.engine.kernels.widget_states import MOST_OF_ALL, MOST_OF_WIDGET, MOST_WIDGETS, WidgetStates
from oi_tui.app.engine.text.widget_text import MOST_TIME, draw_widgets
from oi_tui.plugins.host import built_in_hooks, find_built_in_view
from support.runs import events_of, make_jupyter_run, told
from support.widgets import text_of_widget

RECORDED = json.loads((Path(__file__).parent / "recorded" / "widgets.json").read_text(encoding="utf-8"))["messages"]
IDLE = ("status", {"execution_state": "idle"})


async def texts(*cells: str) -> list[str]:
    """The last text of each display in these cells."""
    widgets = WidgetDisplays(find_built_in_view)
    runs = []
    for cell in cells:
        run = make_jupyter_run(widgets=widgets)
        for kind, content in RECORDED[cell]:
            run.on_iopub(kind, content)
        run.on_reply({"status": "ok"})
        run.on_iopub(*IDLE)
        await run.output.result()
        runs.append(run.output)
    shown: dict[str | None, str] = {}
    for output in runs:
        output.detach(flush=True)  # a widget of an earlier cell changes there, a moment later
        for event in told(output):
            if isinstance(event, OutputAdded | OutputUpdated) and isinstance(event.output, RichOutput):
                shown[event.output.display_id] = event.output.data["text/plain"]
    return list(shown.values())


async def test_R21_a_bar_of_tqdm_notebook_ends_where_it_is() -> None:
    (bar,) = await texts("tqdmnb")
    assert bar.startswith("work: 100% ██████████████████████████████ 5/5 [00:00<00:00,")


async def test_R21_widgets_are_drawn_with_their_values_and_follow_their_changes() -> None:
    assert await texts("widgets") == ["Level ─────────────●────── 7"]
    assert await texts("widgets", "update") == ["Level ──────●───────────── 3"]
    (box,) = (text for text in await texts("widgets", "box") if "\n" in text)
    assert box.split("\n") == [
        "Level ─────────────●────── 7 Name [hi]",
        "[ Go ]",
        "[x] ok",
        "Pick ‹ x › of 2",
        "bold",
        "██████████░░░░░░░░░░░░░░░░░░░░ 3/9",
    ]
    assert await texts("tab") == ["▾ A\n  one\n▸ B"]
    assert await texts("progress") == ["██████████████████████████████ 5/5"]


async def test_R21_many_changes_of_a_widget_are_few_updates() -> None:
    run = make_jupyter_run(widgets=WidgetDisplays(find_built_in_view))
    name = next(content["comm_id"] for kind, content in RECORDED["progress"] if kind == "comm_msg")
    for kind, content in RECORDED["progress"]:
        run.on_iopub(kind, content)
    for number in range(20_000):
        changed = {"comm_id": name, "data": {"method": "update", "state": {"value": number, "max": 20_000}}}
        run.on_iopub("comm_msg", changed)
    run.on_reply({"status": "ok"})
    run.on_iopub(*IDLE)
    await run.output.result()
    events = await events_of(run.output)
    assert len(events) < 10
    last = next(event for event in reversed(events) if isinstance(event, OutputUpdated))
    assert isinstance(last.output, RichOutput)
    assert last.output.data["text/plain"].endswith("19999/20000")


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"comm_id": "a"},
        {"comm_id": "a", "target_name": "jupyter.widget", "data": {"state": []}},
        {"comm_id": "a", "target_name": "other", "data": {"state": {"_model_name": "LabelModel"}}},
        {"comm_id": 1, "target_name": "jupyter.widget", "data": {"state": {}}},
    ],
)
async def test_R21_what_is_no_widget_changes_nothing(content: dict[str, Any]) -> None:
    widgets = WidgetDisplays(find_built_in_view)
    for kind in ("comm_open", "comm_msg", "comm_close"):
        widgets.take(kind, content)
    output = RichOutput(data={WIDGET_VIEW: {"model_id": "a"}, "text/plain": "x"})
    assert widgets.draw(output, make_jupyter_run(widgets=widgets).output) is output


async def test_R21_widgets_without_end_are_bounded() -> None:
    widgets = WidgetDisplays(find_built_in_view)
    for number in range(MOST_WIDGETS + 100):
        state = {"_model_name": "LabelModel", "value": "x" * 10, "rest": "y" * 100_000}
        content = {"comm_id": str(number), "target_name": "jupyter.widget", "data": {"state": state}}
        widgets.take("comm_open", content)
    assert len(widgets._states) == MOST_WIDGETS
    assert all("rest" not in state for state in widgets._states.values())


@pytest.mark.parametrize("value", [["\ud800"], {"\ud800": 1}, "\ud800", [[[0] * 50] * 50]])
async def test_R21_a_state_that_cannot_be_written_ends_no_run(value: object) -> None:
    run = make_jupyter_run(widgets=WidgetDisplays(find_built_in_view))
    deep: object = value
    for _ in range(5_000):
        deep = [deep]
    for state in ({"value": value}, {"value": deep}, {"\ud800": value}):
        content = {"comm_id": "a\ud800", "target_name": "jupyter.widget", "data": {"state": state}}
        run.on_iopub("comm_open", content)
        run.on_iopub("comm_open", content | {"comm_id": "a"})
        shown = {"data": {WIDGET_VIEW: {"model_id": "a"}, "text/plain": "x"}, "metadata": {}}
        run.on_iopub("display_data", shown)
    run.on_reply({"status": "ok"})
    run.on_iopub(*IDLE)
    assert [event for event in await events_of(run.output) if isinstance(event, OutputAdded)]


def test_R21_the_states_of_widgets_are_bounded_in_bytes() -> None:
    states = WidgetStates()
    for number in range(400):
        assert states.open(str(number), {})
        for part in range(10):  # a part at a time
            states.update(str(number), {f"part {part}": "x" * 90_000})
    sizes = [sum(map(len, state.values())) for state in states.values()]
    assert max(sizes) <= MOST_OF_WIDGET
    assert sum(sizes) <= MOST_OF_ALL
    assert "399" in states  # the newest are kept
    assert not states.open("x" * 1_000, {})


def test_R21_boxes_that_all_hold_all_others_are_drawn_at_once() -> None:
    every = [f"IPY_MODEL_{number}" for number in range(3_000)]
    states = {str(number): {"_model_name": "HBoxModel", "children": every} for number in range(3_000)}
    began = time.thread_time()
    assert len(draw_widgets(("0",), states, find_built_in_view).looked_at) <= 2_000
    assert time.thread_time() - began < 2


def test_R21_boxes_that_hold_each_other_and_values_of_any_shape_are_drawn() -> None:
    ring = {"_model_name": "VBoxModel", "children": ["IPY_MODEL_a"] * 50}
    assert len(text_of_widget("a", {"a": ring}).split("\n")) <= 60
    odd: tuple[object, ...] = (None, [], {}, "x", float("nan"), 10**999, [[1]], True)
    kinds = ("IntProgress", "IntSlider", "HTML", "Dropdown", "Checkbox", "Tab", "Button", "SelectMultiple", "Unheard")
    for kind in kinds:
        for value in odd:
            state = dict.fromkeys(
                ("value", "min", "max", "index", "children", "titles", "description", "layout"), value
            )
            assert isinstance(text_of_widget("a", {"a": {**state, "_model_name": f"{kind}Model"}}), str)


def test_R21_widgets_that_take_long_to_draw_are_drawn_in_part() -> None:
    states: dict[str, dict[str, Any]] = {
        str(number): {"_model_name": "HTMLModel", "value": "<b>x</b>" * 12_000} for number in range(500)
    }
    states["box"] = {"_model_name": "VBoxModel", "children": [f"IPY_MODEL_{number}" for number in range(500)]}
    began = time.thread_time()
    built_in = PluginViews(built_in_hooks)  # its own: what other tests drew is no trouble of this one
    text = draw_widgets(("box",), states, built_in).text
    assert time.thread_time() - began < 3 * MOST_TIME
    assert text.startswith("x")
    assert not built_in.troubles


async def test_R21_a_display_that_takes_long_to_draw_is_drawn_less_often() -> None:
    def view(widget: KernelWidget) -> WidgetView:
        time.sleep(0.1)
        return WidgetView(lines=[str(widget.state.get("value"))])

    widgets = WidgetDisplays(view)
    run = make_jupyter_run(widgets=widgets)
    run.on_iopub("comm_open", {"comm_id": "a", "target_name": "jupyter.widget", "data": {"state": {"value": 0}}})
    run.on_iopub("display_data", {"data": {WIDGET_VIEW: {"model_id": "a"}}, "metadata": {}})
    for number in range(3):
        run.on_iopub("comm_msg", {"comm_id": "a", "data": {"method": "update", "state": {"value": number}}})
        widgets.redraw()
    assert widgets.interval >= 0.4
    run.on_reply({"status": "ok"})
    run.on_iopub(*IDLE)
    last = next(event for event in reversed(await events_of(run.output)) if isinstance(event, OutputUpdated))
    assert isinstance(last.output, RichOutput)
    assert last.output.data["text/plain"] == "2"


async def test_X10_what_is_shown_of_one_part_again_and_again_is_not_remembered_without_end() -> None:
    widgets, stream = WidgetDisplays(), make_jupyter_run(widgets=WidgetDisplays()).output
    for number in range(1_000):
        name, state = ("part", {}) if not number else (f"box{number}", {"children": ["IPY_MODEL_part"]})
        content = {"comm_id": name, "target_name": "jupyter.widget", "data": {"state": {"_model_name": "X"} | state}}
        widgets.take("comm_open", content)
        widgets.draw(RichOutput(data={WIDGET_VIEW: {"model_id": name}}), stream)
    assert len(widgets._depends["part"]) <= 2 * MOST_SHOWN + 1
