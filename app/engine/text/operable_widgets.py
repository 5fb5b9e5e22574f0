"""What of widgets can be operated, from the states that a kernel tells, and what it is sent for a change.

As in `widget_text.py`, a state comes from a stranger: what has not the shape that it should have is left out.
"""

import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeGuard

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.core.widget_controls import ControlKind, ControlValue, WidgetControl
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.widget_text import (
    DEEPEST,
    LONGEST,
    MOST_DRAWN,
    States,
    WidgetState,
    is_hidden,
    option_labels,
    references,
    value_words,
    widget_label,
)

MOST_CONTROLS, MOST_OPTIONS = 100, 1_000
"""In one answer, and of one control; of more options the first can be chosen."""

LONGEST_TEXT = 20_000
"""Characters of a text that is typed into a widget."""

SHOWN = 60
"""Characters of a label or a value in the line that says what was done."""

_KINDS: dict[str, ControlKind] = {
    "CheckboxModel": "toggle",
    "ToggleButtonModel": "toggle",
    "ButtonModel": "press",
    **dict.fromkeys(("DropdownModel", "SelectModel", "RadioButtonsModel", "ToggleButtonsModel"), "choice"),
    **dict.fromkeys(("SelectionSliderModel", "TabModel", "AccordionModel"), "choice"),
    "SelectMultipleModel": "several",
    **dict.fromkeys(("IntSliderModel", "IntTextModel", "BoundedIntTextModel"), "number"),
    **dict.fromkeys(("FloatSliderModel", "FloatTextModel", "BoundedFloatTextModel"), "number"),
    **dict.fromkeys(("IntRangeSliderModel", "FloatRangeSliderModel"), "range"),
    **dict.fromkeys(("TextModel", "TextareaModel", "ComboboxModel"), "text"),
    "PasswordModel": "secret",
}
_SHOW_ONE = ("TabModel", "AccordionModel")


class WidgetMessage(NamedTuple):
    """What a kernel is sent for a change."""

    data: dict[str, Any]
    """Of the message `comm_msg`."""
    parts: dict[str, Any]
    """Of the state, as they are with that."""


def operable_controls(names: Iterable[str], states: States) -> tuple[WidgetControl, ...]:
    """What can be operated in these widgets and what is in them, in their order, each once."""
    found: dict[str, WidgetControl] = {}
    room = MOST_DRAWN
    waiting = [(name, 0) for name in reversed(list(names))]
    while waiting and room and len(found) < MOST_CONTROLS:
        name, depth = waiting.pop()
        state = states.get(name)
        room -= 1
        if state is None or is_hidden(state, states):
            continue
        if (control := _control_of(name, state)) is not None:
            found.setdefault(name, control)
        if depth < DEEPEST:
            waiting += [(child, depth + 1) for child in reversed(list(_shown_children(state)))]
    return tuple(found.values())


def message_for(control: WidgetControl, value: ControlValue, states: States) -> WidgetMessage:
    """What sets the control to this value; KernelError, and why, if it cannot have it."""
    if control.disabled:
        raise KernelError(f"The widget {_quote(control.label)} is disabled: the code that made it must enable it.")
    parts = _parts(control, value, str(states.get(control.name, {}).get("_model_name")))
    if parts is None:
        raise KernelError(f"The widget {_quote(control.label)} cannot have this value.", hint=_bounds_in_words(control))
    if control.kind == "press":
        return WidgetMessage({"method": "custom", "content": {"event": "click"}}, {})
    return WidgetMessage({"method": "update", "state": parts, "buffer_paths": []}, parts)


def operation_in_words(control: WidgetControl, value: ControlValue) -> str:
    """A comment of one line, as the source of the run: what the person did."""
    label = _quote(control.label)
    if control.kind == "press":
        return f"# You pressed the widget {label}."
    if control.kind == "secret":
        return f"# You typed into the widget {label}."
    return f"# You set the widget {label} to {_one_line(value_in_words(control, value))}."


def value_in_words(control: WidgetControl, value: ControlValue) -> str:
    """A value as it is shown."""
    match control.kind, value:
        case "toggle", _:
            return "on" if value else "off"
        case "secret", str():
            return "•" * min(20, len(value))
        case "choice", int() | float():
            return control.options[int(value)] if 0 <= value < len(control.options) else "–"
        case "several", tuple():
            chosen = [control.options[int(at)] for at in value if 0 <= at < len(control.options)]
            return ", ".join(chosen) or "nothing"
        case "range", tuple():
            return " – ".join(value_words(one) for one in value)
        case _, str():
            return value
        case _, None:
            return "–" if control.kind == "choice" else ""
        case _:
            return value_words(value)


def _control_of(name: str, state: WidgetState) -> WidgetControl | None:
    model = str(state.get("_model_name"))
    kind = _KINDS.get(model)
    value: ControlValue = None
    options: tuple[str, ...] = ()
    low, high, step = (_finite(state.get(part)) for part in ("min", "max", "step"))
    match kind, state.get("value"):
        case None, _:
            return None
        case "toggle", told:
            value = told is True
        case "press", _:
            pass
        case "choice" | "several", _:
            options = tuple(_option_words(model, state))
            at = state.get("selected_index" if model in _SHOW_ONE else "index")
            chosen = [one for one in (at if isinstance(at, list) else [at]) if _is_place(one, options)]
            value = tuple(chosen) if kind == "several" else next(iter(chosen), None)
        case "number", told if (number := _finite(told)) is not None:
            value = number
        case "range", [one, other] if (a := _finite(one)) is not None and (b := _finite(other)) is not None:
            value = (a, b)
        case "text" | "secret", str(text):
            value = text[:LONGEST_TEXT]
        case _:
            return None
    return WidgetControl(
        name=name,
        kind=kind,
        label=widget_label(state) or value_words(state.get("placeholder") or "") or model.removesuffix("Model"),
        value=value,
        options=options,
        low=low,
        high=high,
        step=step if step and step > 0 else None,
        is_whole="Int" in model,
        disabled=state.get("disabled") is True,
    )


def _option_words(model: str, state: WidgetState) -> list[str]:
    if model not in _SHOW_ONE:
        return option_labels(state)[:MOST_OPTIONS]
    titles = state.get("titles")
    titles = titles if isinstance(titles, list) else []
    count = len(references(state.get("children")))
    return [value_words(titles[at]) if at < len(titles) else str(at + 1) for at in range(min(count, MOST_OPTIONS))]


def _shown_children(state: WidgetState) -> Iterator[str]:
    """Those that are seen: of tabs only the open one."""
    children = references(state.get("children"))
    if state.get("_model_name") in (*_SHOW_ONE, "StackModel"):
        at = state.get("selected_index")
        children = [children[at]] if type(at) is int and 0 <= at < len(children) else []
    yield from children


def _parts(control: WidgetControl, value: ControlValue, model: str) -> dict[str, Any] | None:
    """Of the state, as they are with this value; None if it cannot have it."""
    match control.kind, value:
        case "press", None:
            return {}
        case "toggle", bool():
            return {"value": value}
        case "choice", _ if _is_place(value, control.options):
            return {"selected_index" if model in _SHOW_ONE else "index": value}
        case "several", tuple() if all(_is_place(one, control.options) for one in value):
            return {"index": sorted(set(value))}
        case "number", _ if (number := _fitting(control, value)) is not None:
            return {"value": number}
        case "range", (one, other):
            ends = [_fitting(control, one), _fitting(control, other)]
            return {"value": sorted(end for end in ends if end is not None)} if None not in ends else None
        case "text" | "secret", str() if len(value) <= LONGEST_TEXT:
            return {"value": value}
        case _:
            return None


def _fitting(control: WidgetControl, value: object) -> float | None:
    """The number, if the control can have it."""
    number = _finite(value)
    if number is None or (control.is_whole and number != int(number)):
        return None
    if (control.low is not None and number < control.low) or (control.high is not None and number > control.high):
        return None
    return int(number) if control.is_whole else number


def _bounds_in_words(control: WidgetControl) -> str:
    if control.kind in ("number", "range"):
        what = "a whole number" if control.is_whole else "a number"
        if control.low is not None and control.high is not None:
            return f"It can have {what} from {value_words(control.low)} to {value_words(control.high)}."
        return f"It can have {what}."
    return ""


def _is_place(value: object, options: tuple[str, ...]) -> TypeGuard[int]:
    return type(value) is int and 0 <= value < len(options)


def _finite(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) < 1e300 and math.isfinite(value) else None


def _quote(label: str) -> str:
    return f"“{_one_line(label)}”"


def _one_line(text: str) -> str:
    """So short that it fits a line, and never two: as a comment it must end where it ends."""
    text = " ".join(safe_text(text[: 2 * LONGEST]).split())
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
