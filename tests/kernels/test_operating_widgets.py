"""Widgets of ipywidgets are operated as the person's own code: by the real library in a real kernel, and refused where
that cannot be."""

from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.core.kernel_looks import WatchWidgets, WidgetsFound
from oi_tui.app.engine.core.outputs import ErrorOutput, RichOutput, StreamOutput
from oi_tui.app.engine.core.protocol import Failed, Reply
from oi_tui.app.engine.core.verbs import Interrupt, Open, Restart, Run
from oi_tui.app.engine.core.widget_controls import WIDGET_VIEW, ControlValue, OperateWidget, WidgetControl
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.pool import Kernels
from oi_tui.app.engine.testing import FakeModel
from oi_tui.app.engine.text.operable_widgets import LONGEST_TEXT, MOST_OPTIONS, check_value, operation_in_words
from oi_tui.app.engine.text.widget_text import MOST_CONTROLS
from oi_tui.plugins.host import find_built_in_view
from support.front import Front, engine
from support.libraries import require
from support.widgets import controls_of

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


PICKERS = """
import datetime
power = w.FloatLogSlider(value=10, base=10, min=-1, max=3, description='Power')
months = w.SelectionRangeSlider(options=['Jan', 'Feb', 'Mar', 'Apr'], index=(0, 1), description='Months')
day = w.DatePicker(description='Day')
at = w.TimePicker(value=datetime.time(9, 30), description='At')
moment = w.DatetimePicker(description='Moment')
plain = w.NaiveDatetimePicker(value=datetime.datetime(2026, 11, 23, 14, 5), description='Plain')
colour = w.ColorPicker(value='red', description='Colour')
play = w.Play(description='Play', max=9)
place = w.IntSlider(description='Place', max=9)
shown = w.IntText(description='Shown')
w.jslink((play, 'value'), (place, 'value'))
w.jsdlink((place, 'value'), (shown, 'value'))
shown.observe(lambda change: print('shown is', change.new), 'value')
tell = w.Button(description='Tell')
tell.on_click(lambda button: print(
    power.value, months.value, day.value, at.value, moment.value.timestamp(), plain.value, colour.value,
    play.value, place.value, shown.value, sep='|'))
w.VBox([power, months, day, at, moment, plain, colour, play, place, shown, tell])
"""


BARS = """
from tqdm.auto import tqdm
for one in tqdm(range(3), desc='work'):
    pass
for one in tqdm(iter('ab'), desc='any'):
    pass
"""


def codes(front: Front) -> list[CodeBlock]:
    return [one for one in front.transcript.blocks if isinstance(one, CodeBlock)]


def shown_name(front: Front, block: int = 0) -> str:
    """Of the widget that this block shows."""
    (shown,) = (one for one in codes(front)[block].outputs if isinstance(one, RichOutput))
    name = shown.data[WIDGET_VIEW]["model_id"]
    assert isinstance(name, str)
    return name


def has_text(front: Front, at: int, text: str, _reply: Reply) -> bool:
    """Whether this is shown there by now."""
    return text in text_of(front, at)


def text_of(front: Front, block: int = 0) -> str:
    """What this block shows."""
    (shown,) = (one for one in codes(front)[block].outputs if isinstance(one, RichOutput))
    return str(shown.data["text/plain"])


async def ended(front: Front, count: int) -> CodeBlock:
    """The block of this number, when its run is over."""
    await front.until(lambda reply: len(codes(front)) == count and codes(front)[-1].duration is not None)
    return codes(front)[-1]


async def found(front: Front, telling: str = "told", block: int = 0) -> dict[str, WidgetControl]:
    """What is told of the widgets that this block shows."""
    name = shown_name(front, block)
    reply = await front.until(
        lambda reply: isinstance(reply, WidgetsFound) and reply.telling == telling and reply.names == (name,)
    )
    assert isinstance(reply, WidgetsFound)
    return {control.label: control for control in reply.controls}


def printed(block: CodeBlock) -> str:
    return "".join(output.text for output in block.outputs if isinstance(output, StreamOutput))


@pytest.mark.kernel
async def test_R23_widgets_are_operated_and_what_hangs_on_them_runs_as_the_persons_own_code(
    tmp_path: Path, kernel_environ: dict[str, str]
) -> None:
    require("ipywidgets")
    require("tqdm")
    launch = Launch(cwd=tmp_path, environ=kernel_environ, widget_views=find_built_in_view)
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

        done, at = 1, 0

        async def operate(label: str, value: ControlValue = None) -> CodeBlock:
            nonlocal done, controls
            control = controls[label]
            await front.client.send(OperateWidget(language="python", name=control.name, value=value))
            done += 1
            block = await ended(front, done)
            controls = await found(front, block=at)
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

        # Scales, ranges of options, dates, and what is linked as a page would link it.
        await front.client.send(Run(language="python", source=PICKERS))
        done += 1
        await ended(front, done)
        first, at = controls, done - 1
        await front.client.send(WatchWidgets(language="python", names=(shown_name(front, at),)))
        controls = await found(front, block=at)
        assert [(one.kind, one.value) for one in controls.values()] == [
            ("number", 10),
            ("range", (0, 1)),
            ("date", ""),
            ("time", "09:30"),
            ("datetime", ""),
            ("datetime", "2026-11-23 14:05"),
            ("text", "red"),
            *[("number", 0)] * 3,
            ("press", None),
        ]
        power = controls["Power"]
        assert (power.low, power.high, power.log_base) == (0.1, 1000, 10)
        await operate("Power", 100)
        await operate("Months", (1, 3))
        block = await operate("Day", "2026-02-28")
        assert block.source == "# You set the widget “Day” to 2026-02-28."
        await operate("At", "23:59:30")
        await operate("Moment", "2026-11-23T14:05:00+00:00")
        await operate("Plain", "2027-01-01 00:00")
        await operate("Colour", "#00ff00")
        assert printed(await operate("Play", 7)) == "shown is 7\n"
        assert controls["Place"].value == controls["Shown"].value == 7
        said = "100.0|('Feb', 'Apr')|2026-02-28|23:59:30|1795442700.0|2027-01-01 00:00:00|#00ff00|7|7|7\n"
        assert printed(await operate("Tell")) == said
        for shown in ("Months ──────●────────────● Feb – Apr", "Day [2026-02-28]\nAt [23:59:30]\n"):
            if shown not in text_of(front, at):  # a moment later
                await front.until(partial(has_text, front, at, shown))
        assert (await operate("Colour", "no colour")).state in ("ok", "error")  # the library has the last word
        assert controls["Day"].value == "2026-02-28"
        await operate("Day", "")
        assert controls["Day"].value == ""
        await front.client.send(Run(language="python", source="play.value = 2"))
        done += 1
        await ended(front, done)
        assert (await found(front, block=at))["Shown"].value == 2  # it follows here; the kernel has its own value
        controls, at = first, 0
        await front.client.send(WatchWidgets(language="python", names=(name,)))
        await found(front)

        # Bars of tqdm: of a loop with an end and of one without.
        await front.client.send(Run(language="python", source=BARS))
        done += 1
        bars = [one for one in (await ended(front, done)).outputs if isinstance(one, RichOutput)]
        with_end, without = (str(bar.data["text/plain"]) for bar in bars)
        assert with_end.startswith(f"work: 100% {'█' * 30} 3/3 [00:0")
        assert without.startswith("any: 2/? [00:0")

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
    (control,) = controls_of((name,), STATES)
    with pytest.raises(KernelError, match=r"cannot have this value|is disabled"):
        check_value(control, value)


def test_R23_a_value_is_of_the_same_kind_on_the_other_side_of_the_wire() -> None:
    for value in (2, 2.5, True, (0, 2), "2", None):
        verb = OperateWidget(language="python", name="pick", value=value)
        there = msgspec.json.decode(msgspec.json.encode(verb), type=OperateWidget).value
        assert (there, type(there)) == (value, type(value))
        if isinstance(there, tuple):
            assert [type(one) for one in there] == [int, int]


@pytest.mark.parametrize(
    ("model", "value"),
    [
        ("DatePickerModel", "2026-02-30"),
        ("DatePickerModel", "tomorrow"),
        ("TimeModel", "25:00"),
        ("DatetimeModel", "2026-11-23 noon"),
        ("SelectionRangeSliderModel", (0, 2)),
        ("SelectionRangeSliderModel", (0.5, 1)),
        ("FloatLogSliderModel", 0),
        ("FloatLogSliderModel", 2_000),
    ],
)
def test_R23_dates_and_scales_have_bounds_too(model: str, value: ControlValue) -> None:
    state: dict[str, Any] = {"_model_name": model, "index": [0, 1], "_options_labels": ["a", "b"]}
    if model == "FloatLogSliderModel":
        state |= {"value": 1.0, "base": 10.0, "min": -1, "max": 3}
    (control,) = controls_of(("a",), {"a": state})
    with pytest.raises(KernelError, match="cannot have this value"):
        check_value(control, value)


@pytest.mark.parametrize("model", ["DatePickerModel", "TimeModel", "DatetimeModel", "NaiveDatetimeModel"])
@pytest.mark.parametrize("value", [None, {}, [], "x", {"year": 10**30, "month": 0, "date": 1}, {"year": "1"}])
def test_R23_a_date_of_any_shape_is_none(model: str, value: object) -> None:
    (control,) = controls_of(("a",), {"a": {"_model_name": model, "value": value}})
    assert control.value == ""


@pytest.mark.parametrize("label", ["a\nimport os", "a\r# b", "a\u2028b", "\x1b[31mred", "x" * 10_000, "a\u202eb"])
def test_R23_what_was_done_is_one_line_whatever_a_widget_is_called(label: str) -> None:
    states = {"a": {"_model_name": "TextModel", "value": "", "description": label}}
    (control,) = controls_of(("a",), states)
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
    assert controls_of(("a",), {"a": {"_model_name": "IntSliderModel"} | state}) == ()


def test_R23_widgets_in_each_other_and_without_end_are_bounded() -> None:
    children = [f"IPY_MODEL_{number}" for number in range(5_000)]
    states: dict[str, dict[str, Any]] = {
        str(number): {"_model_name": "ButtonModel", "description": str(number)} for number in range(5_000)
    }
    states["box"] = {"_model_name": "VBoxModel", "children": ["IPY_MODEL_box", *children]}
    states["list"] = {"_model_name": "SelectModel", "index": 4_999, "_options_labels": ["x"] * 5_000}
    found = controls_of(("list", "box"), states)
    assert len(found) <= MOST_CONTROLS
    assert (len(found[0].options), found[0].value) == (MOST_OPTIONS, None)
