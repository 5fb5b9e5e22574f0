"""What can be operated in a widget of ipywidgets, and how it is changed."""

from typing import Literal

from oi_tui.app.engine.core.values import SessionVerb, Value

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
"""What a display of a widget has; its `model_id` names the widget."""

ControlKind = Literal["toggle", "press", "choice", "several", "number", "range", "text", "secret"]
"""`press`: a button; `choice`: one of the options; `several`: any of them; `secret`: a text that is not shown."""

ControlValue = bool | float | str | tuple[float, ...] | None
"""Of a choice its number among the options, of several all their numbers; of a range both ends; None: nothing."""


class WidgetControl(Value, frozen=True, kw_only=True):
    """A slider, a box, a button, with its value now."""

    name: str
    """As its kernel knows it."""
    kind: ControlKind
    label: str
    value: ControlValue = None
    options: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    step: float | None = None
    is_whole: bool = False
    """Whether its numbers have no fraction."""
    disabled: bool = False


class OperateWidget(SessionVerb, frozen=True, kw_only=True, tag=True):
    """Set a widget, or press it, as the person's own code: what hangs on it runs in its kernel. `Failed` while anything
    else runs: nothing waits for it."""

    language: str
    name: str
    value: ControlValue = None
