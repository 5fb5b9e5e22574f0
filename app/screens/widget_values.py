"""Values of widgets, from keys and from what is typed."""

import math
from datetime import date, datetime, timedelta

import msgspec

from oi_tui.app.engine.core.widget_controls import ControlValue, WidgetControl
from oi_tui.app.engine.text.operable_widgets import bounds_in_words, can_have

_PARTS = 100
"""Steps between the ends of a number that says none itself."""


class WrongValue(Exception):
    """The widget cannot have it; the text says what it can have."""


def stepped_value(control: WidgetControl, value: ControlValue, step: int) -> ControlValue:
    """The value one step on (1) or back (-1); None where there is no such value."""
    match control.kind, value:
        case "toggle", bool():
            return value if value == (step > 0) else step > 0
        case "choice", _ if control.options:
            at = (value if isinstance(value, int) else -1 if step > 0 else len(control.options)) + step
            return at if 0 <= at < len(control.options) else None
        case "number", int() | float():
            number = _stepped_number(control, value, step)
            if control.low is not None:
                number = max(control.low, number)
            if control.high is not None:
                number = min(control.high, number)
            number = int(number) if control.is_whole else number
            return number if number != value else None
        case "date", str():
            return _stepped_moment(f"{value or _today()} 00:00", timedelta(days=step))[:10] or None
        case "time", str():
            return _stepped_moment(f"2000-01-01 {value or '12:00'}", timedelta(minutes=step))[11:] or None
        case "datetime", str():
            return _stepped_moment(value or f"{_today()} 12:00", timedelta(minutes=step)) or None
        case _:
            return None


def _stepped_number(control: WidgetControl, value: float, step: int) -> float:
    if control.log_base is None:
        return round(value + step * _step_of(control), 10)
    if value <= 0:
        return value
    return float(f"{control.log_base ** (math.log(value, control.log_base) + step * (control.step or 0.1)):.6g}")


def _today() -> date:
    """Today in this machine's time zone."""
    return datetime.now().astimezone().date()


def _stepped_moment(moment: str, step: timedelta) -> str:
    """Another moment, with seconds if it has any; "" where the calendar ends."""
    try:
        return str(datetime.fromisoformat(moment) + step).removesuffix(":00")
    except (ValueError, OverflowError):
        return ""


def number_from(control: WidgetControl, text: str) -> ControlValue:
    """The number that was typed; WrongValue if the widget cannot have it."""
    try:
        number = float(text.replace("_", "").strip())
    except ValueError:
        raise WrongValue(bounds_in_words(control)) from None
    if not can_have(msgspec.structs.replace(control, kind="number"), number):
        raise WrongValue(bounds_in_words(control))
    return int(number) if control.is_whole else number


def moment_from(control: WidgetControl, text: str) -> ControlValue:
    """A date, a time or both, as it was typed; "" is none; WrongValue for what is no such text."""
    if not can_have(control, text.strip()):
        raise WrongValue(bounds_in_words(control))
    return text.strip()


def range_from(control: WidgetControl, text: str) -> ControlValue:
    """Both ends, with `–`, `..` or a space between them; WrongValue if the widget does not allow them."""
    parts = text.replace("–", " ").replace("..", " ").replace(",", " ").split()
    if len(parts) != 2:
        raise WrongValue(f"Two numbers, such as 1 – 4. {bounds_in_words(control)}")
    ends = [number_from(control, part) for part in parts]
    return tuple(sorted(float(end) for end in ends if isinstance(end, int | float)))


def _step_of(control: WidgetControl) -> float:
    if control.step:
        return control.step
    if control.is_whole or control.low is None or control.high is None:
        return 1
    return (control.high - control.low) / _PARTS
