"""Values of widgets, from keys and from what is typed."""

from oi_tui.app.engine.core.widget_controls import ControlValue, WidgetControl

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
            number = round(value + step * _step_of(control), 10)
            if control.low is not None:
                number = max(control.low, number)
            if control.high is not None:
                number = min(control.high, number)
            number = int(number) if control.is_whole else number
            return number if number != value else None
        case _:
            return None


def number_from(control: WidgetControl, text: str) -> ControlValue:
    """The number that was typed; WrongValue if the widget cannot have it."""
    try:
        number = float(text.replace("_", "").strip())
    except ValueError:
        raise WrongValue(_bounds(control)) from None
    low = control.low if control.low is not None else -1e300
    high = control.high if control.high is not None else 1e300
    if not low <= number <= high or (control.is_whole and number != int(number)):
        raise WrongValue(_bounds(control))
    return int(number) if control.is_whole else number


def range_from(control: WidgetControl, text: str) -> ControlValue:
    """Both ends, with `–`, `..` or a space between them; WrongValue if the widget cannot have them."""
    parts = text.replace("–", " ").replace("..", " ").replace(",", " ").split()
    if len(parts) != 2:
        raise WrongValue(f"Two numbers, such as 1 – 4. {_bounds(control)}")
    ends = [number_from(control, part) for part in parts]
    return tuple(sorted(float(end) for end in ends if isinstance(end, int | float)))


def _step_of(control: WidgetControl) -> float:
    if control.step:
        return control.step
    if control.is_whole or control.low is None or control.high is None:
        return 1
    return (control.high - control.low) / _PARTS


def _bounds(control: WidgetControl) -> str:
    what = "A whole number" if control.is_whole else "A number"
    low, high = control.low, control.high
    return f"{what} from {low:g} to {high:g}." if low is not None and high is not None else f"{what}."
