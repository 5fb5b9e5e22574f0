"""Widgets of ipywidgets are operated as the person's own code: by the real library in a real kernel, and refused where
that cannot be."""

from pathlib import Path
from typing import Any

import pytest

from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.core.kernel_looks import WatchWidgets, WidgetsFound
from oi_tui.app.engine.core.outputs import ErrorOutput, RichOutput, StreamOutput
from oi_tui.app.engine.core.protocol import Failed
from oi_tui.app.engine.core.verbs import Interrupt, Open, Restart, Run
from oi_tui.app.engine.core.widget_controls import WIDGET_VIEW, ControlValue, OperateWidget, WidgetControl
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.pool import Kernels
from oi_tui.app.engine.testing import FakeModel
from oi_tui.app.engine.text.operable_widgets import (
    LONGEST_TEXT,
    MOST_CONTROLS,
    MOST_OPTIONS,
    message_for,
    operable_controls,
    operation_in_words,
)
from support.front import Front, engine
from support.libraries import require

WIDGETS = """
import ipywidgets as w, time
level = w.IntSlider(value=7, max=10, description='Level')
ok = w.Checkbox(description='ok')
pick = w.Dropdown(options=['x', 'y', 'z'], description='Pick')
many = w.SelectMultiple(options=['a', 'b', 'c'], description='Many')
span = w.FloatRangeSlider(value=(1, 2), max=5, description='Span')
name = w.Text('hi', description='Name')
word = w.Password(description='Word')
go = w.Button(description='Go')
bad = w.Button(description='Bad')
long = w.Button(description='Long')
off = w.IntSlider(description='Off', disabled=True)
level.observe(lambda change: print('level is', change.new), 'value')
name.observe(lambda change: print(change.new.upper()), 'value')
go.on_click(lambda button: print(level.value, ok.value, pick.value, many.value, span.value, word.value))
def fail(button):
    1 / 0
bad.on_click(fail)
def sleep(button):
    print('asleep')
    time.sleep(60)
long.on_click(sleep)
w.VBox([level, ok, w.Tab([pick, many], titles=['A', 'B']), span, name, word, go, bad, long, off])
"""


def codes(front: Front) -> list[CodeBlock]:
    return [one for one in front.transcript.blocks if isinstance(one, CodeBlock)]


def shown_name(front: Front) -> str:
    """Of the widget that the first block shows."""
    (shown,) = (one for one in codes(front)[0].outputs if isinstance(one, RichOutput))
    name = shown.data[WIDGET_VIEW]["model_id"]
    assert isinstance(name, str)
    return name


def text_of(front: Front) -> str:
    """What the first block shows."""
    (shown,) = (one for one in codes(front)[0].outputs if isinstance(one, RichOutput))
    return str(shown.data["text/plain"])


async def ended(front: Front, count: int) -> CodeBlock:
    """The block of this number, when its run is over."""
    await front.until(lambda reply: len(codes(front)) == count and codes(front)[-1].duration is not None)
    return codes(front)[-1]


async def found(front: Front, telling: str = "told") -> dict[str, WidgetControl]:
    reply = await front.until(lambda reply: isinstance(reply, WidgetsFound) and reply.telling == telling)
    assert isinstance(reply, WidgetsFound)
    return {control.label: control for control in reply.controls}


def printed(block: CodeBlock) -> str:
    return "".join(output.text for output in block.outputs if isinstance(output, StreamOutput))


@pytest.mark.kernel
async def test_R23_widgets_are_operated_and_what_hangs_on_them_runs_as_the_persons_own_code(
    tmp_path: Path, kernel_environ: dict[str, str]
) -> None:
    require("ipywidgets")
    launch = Launch(cwd=tmp_path, environ=kernel_environ)
    async with engine(tmp_path, FakeModel(), kernels=lambda ties: Kernels(launch)) as front:
        await front.client.send(Open())
        await front.client.send(Run(language="python", source=WIDGETS))
        await ended(front, 1)
        name = shown_name(front)
        await front.client.send(WatchWidgets(language="python", names=(name,)))
        controls = await found(front)
        assert [(one.label, one.kind, one.value) for one in controls.values()] == [
            ("Level", "number", 7),
            ("ok", "toggle", False),
            ("Tab", "choice", 0),
            ("Pick", "choice", 0),
            ("Span", "range", (1, 2)),
            ("Name", "text", "hi"),
            ("Word", "secret", ""),
            *[(label, "press", None) for label in ("Go", "Bad", "Long")],
            ("Off", "number", 0),
        ]
        assert controls["Pick"].options == ("x", "y", "z")

        done = 1

        async def operate(label: str, value: ControlValue = None) -> CodeBlock:
            nonlocal done, controls
            control = controls[label]
            await front.client.send(OperateWidget(language="python", name=control.name, value=value))
            done += 1
            block = await ended(front, done)
            controls = await found(front)
            return block

        block = await operate("Level", 3)
        assert (block.source, block.author, block.state) == ("# You set the widget “Level” to 3.", "user", "ok")
        assert printed(block) == "level is 3\n"
        assert controls["Level"].value == 3
        shown = "Level ──────●───────────── 3\n"
        if shown not in text_of(front):  # where it is shown, too, a moment later
            await front.until(lambda reply: shown in text_of(front))

        await operate("ok", True)
        await operate("Pick", 2)
        await operate("Tab", 1)
        assert "Pick" not in controls
        await operate("Many", (0, 2))
        await operate("Span", (0.5, 4))
        assert printed(await operate("Name", "æ\nb")) == "Æ\nB\n"
        secret = await operate("Word", "hunter2")
        assert secret.source == "# You typed into the widget “Word”."
        assert printed(await operate("Go")) == "3 True z ('a', 'c') (0.5, 4.0) hunter2\n"

        failed = await operate("Bad")
        assert failed.state == "error"
        (error,) = (output for output in failed.outputs if isinstance(output, ErrorOutput))
        assert error.name == "ZeroDivisionError"

        # While one runs nothing else is operated, and it is interrupted like any run.
        await front.client.send(OperateWidget(language="python", name=controls["Long"].name))
        await found(front, "busy")
        await front.until(lambda reply: len(codes(front)) == done + 1 and printed(codes(front)[-1]) == "asleep\n")
        await front.client.send(OperateWidget(language="python", name=controls["Level"].name, value=4))
        refused = await front.until(lambda reply: isinstance(reply, Failed))
        assert isinstance(refused, Failed)
        assert refused.title == "Something runs: the widget was not operated."
        await front.client.send(Interrupt())
        done += 1
        assert (await ended(front, done)).state == "interrupted"
        assert (await found(front))["Level"].value == 3

        # A fresh kernel does not have them.
        await front.client.send(Restart(language="python"))
        await found(front, "gone")
        await front.client.send(OperateWidget(language="python", name=controls["Level"].name, value=4))
        await front.until(lambda reply: "does not have this widget any more" in str(front.transcript.blocks[-1]))
        assert len(codes(front)) == done


STATES: dict[str, dict[str, Any]] = {
    "level": {"_model_name": "IntSliderModel", "value": 7, "min": 0, "max": 10, "description": "Level"},
    "pick": {"_model_name": "DropdownModel", "index": None, "_options_labels": ["x", "y"], "description": "Pick"},
    "name": {"_model_name": "TextModel", "value": "hi", "description": "Name"},
    "off": {"_model_name": "ButtonModel", "description": "Off", "disabled": True},
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("level", 11),
        ("level", -1),
        ("level", 1.5),
        ("level", True),
        ("level", "1"),
        ("level", float("nan")),
        ("level", None),
        ("pick", 2),
        ("pick", -1),
        ("pick", "x"),
        ("name", 1),
        ("name", "x" * (LONGEST_TEXT + 1)),
        ("off", None),
    ],
)
def test_R23_what_a_widget_cannot_have_is_not_sent(name: str, value: ControlValue) -> None:
    (control,) = operable_controls((name,), STATES)
    with pytest.raises(KernelError, match=r"cannot have this value|is disabled"):
        message_for(control, value, STATES)


@pytest.mark.parametrize("label", ["a\nimport os", "a\r# b", "a\u2028b", "\x1b[31mred", "x" * 10_000, "a\u202eb"])
def test_R23_what_was_done_is_one_line_whatever_a_widget_is_called(label: str) -> None:
    states = {"a": {"_model_name": "TextModel", "value": "", "description": label}}
    (control,) = operable_controls(("a",), states)
    words = operation_in_words(control, label)
    assert len(words.splitlines()) == 1
    assert words.startswith("# You set the widget “")
    assert len(words) < 200
    assert words.isprintable()


@pytest.mark.parametrize(
    "state",
    [
        {"value": None},
        {"value": [1]},
        {"value": "7"},
        {"value": 1e400},
        {"value": 10**400},
        {"value": {}},
    ],
)
def test_R23_a_state_without_its_shape_is_nothing_to_operate(state: dict[str, Any]) -> None:
    assert operable_controls(("a",), {"a": {"_model_name": "IntSliderModel"} | state}) == ()


def test_R23_widgets_in_each_other_and_without_end_are_bounded() -> None:
    children = [f"IPY_MODEL_{number}" for number in range(5_000)]
    states: dict[str, dict[str, Any]] = {
        str(number): {"_model_name": "ButtonModel", "description": str(number)} for number in range(5_000)
    }
    states["box"] = {"_model_name": "VBoxModel", "children": ["IPY_MODEL_box", *children]}
    states["list"] = {"_model_name": "SelectModel", "index": 4_999, "_options_labels": ["x"] * 5_000}
    found = operable_controls(("list", "box"), states)
    assert len(found) <= MOST_CONTROLS
    assert (len(found[0].options), found[0].value) == (MOST_OPTIONS, None)
