"""Linked widgets follow each other where they are shown, in bounds, whatever a kernel says of its links."""

import time
from typing import Any

import pytest

from oi_tui.app.engine.kernels.widget_displays import WidgetDisplays
from oi_tui.app.engine.kernels.widget_links import MOST_FOLLOWED, MOST_LINKS
from oi_tui.plugins.host import find_built_in_view


class Told:
    """Widgets of a kernel that tells what a test says."""

    def __init__(self, *names: str) -> None:
        self.widgets = WidgetDisplays(find_built_in_view)
        for name in names:
            self.open(name, _model_name="IntTextModel", value=0)

    def open(self, name: str, **state: Any) -> None:
        content = {"comm_id": name, "target_name": "jupyter.widget", "data": {"state": state}}
        self.widgets.take("comm_open", content)

    def link(self, name: str, source: str, target: str, model: str = "LinkModel") -> None:
        ends = {end: [f"IPY_MODEL_{widget}", "value"] for end, widget in (("source", source), ("target", target))}
        self.open(name, _model_name=model, **ends)

    def set(self, name: str, value: object) -> None:
        content = {"comm_id": name, "data": {"method": "update", "state": {"value": value}}}
        self.widgets.take("comm_msg", content)

    def values(self, *names: str) -> list[object]:
        return [control.value for name in names for control in self.widgets.controls((name,))]


def test_R23_linked_widgets_follow_each_other_and_a_link_of_one_way_leads_one_way() -> None:
    told = Told("a", "b", "c")
    told.set("a", 3)
    told.link("1", "a", "b")
    assert told.values("a", "b") == [3, 3], "a new link: its target is as its source"
    told.link("2", "b", "c", "DirectionalLinkModel")
    told.set("b", 5)
    assert told.values("a", "b", "c") == [5, 5, 5]
    told.set("c", 7)
    assert told.values("a", "b", "c") == [5, 5, 7]
    told.widgets.take("comm_close", {"comm_id": "1", "data": {}})
    told.set("a", 8)
    assert told.values("a", "b") == [8, 5]
    told.open("2", _model_name="IntTextModel", value=0)
    told.set("b", 9)
    assert told.values("b", "c") == [9, 7], "what was a link is another widget now"


def test_R23_whoever_operates_one_tells_the_kernel_of_all_that_follow() -> None:
    told = Told("a", "b", "c")
    told.link("1", "a", "b")
    told.link("2", "b", "c")
    told.link("3", "c", "a")
    (control,) = told.widgets.controls(("a",))
    messages = told.widgets.operate(control, 4)
    assert [(message.name, message.data["state"]) for message in messages] == [
        ("a", {"value": 4}),
        ("b", {"value": 4}),
        ("c", {"value": 4}),
    ]
    assert told.values("a", "b", "c") == [4, 4, 4]


@pytest.mark.parametrize(
    "end", [None, [], ["IPY_MODEL_a"], ["a", "value"], [1, 2], "IPY_MODEL_a", ["IPY_MODEL_x", "y"]]
)
def test_R23_a_link_of_any_shape_changes_nothing(end: object) -> None:
    told = Told("a", "b")
    told.open("1", _model_name="LinkModel", source=end, target=["IPY_MODEL_b", "value"])
    told.open("2", _model_name="LinkModel", source=["IPY_MODEL_b", "value"], target=end)
    told.set("a", 3)
    told.set("b", 4)
    assert told.values("a", "b") == [3, 4]


def test_R23_links_without_end_are_followed_in_bounds() -> None:
    names = [str(number) for number in range(MOST_LINKS + 50)]
    told = Told("a", *names)
    for name in names:
        told.link(f"to {name}", "a", name)
    (control,) = told.widgets.controls(("a",))
    assert len(told.widgets.messages_for(control, 4)) == MOST_FOLLOWED + 1
    began = time.thread_time()
    for value in range(2_000):
        told.set(names[-1], value)  # of no link that is followed
    assert time.thread_time() - began < 1
