"""What can be operated in a widget of ipywidgets, and how it is changed."""

from typing import Literal

from oi_tui.app.engine.core.values import SessionVerb, Value

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
"""What a display of a widget has; its `model_id` names the widget."""

ControlKind = Literal[
    "toggle", "press", "choice", "several", "number", "range", "text", "secret", "date", "time", "datetime"
]
"""`press`: a button; `choice`: one of the options; `several`: any of them; `range`: two numbers, or two of the options;
`secret`: a text that is not shown."""

ControlValue = bool | int | float | str | tuple[int | float, ...] | None
"""Whole numbers stay whole on the wire. Of a choice its number among the options, of several all their numbers; of a
range both ends; of a date, a time and both its text in ISO 8601, "" for none; None: nothing."""


class WidgetControl(Value, frozen=True, kw_only=True):
    """A slider, a box, a button, with its value now."""

    kind: ControlKind
    label: str
    name: str = ""
    """Its id in the kernel; the caller fills it in."""
    value: ControlValue = None
    options: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    step: float | None = None
    log_base: float | None = None
    """Of a number on a logarithmic scale: a step is one of the exponent of this base."""
    is_whole: bool = False
    """Whether its numbers have no fraction."""
    disabled: bool = False


class OperateWidget(SessionVerb, frozen=True, kw_only=True, tag=True):
    """Set a widget, or press it, as the person's own code: what hangs on it runs in its kernel. `Failed` while anything
    else runs: nothing waits for it."""

    language: str
    name: str
    value: ControlValue = None
