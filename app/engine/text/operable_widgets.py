"""The values of widgets that can be operated: which are valid, and how they are written."""

import math
from datetime import date, datetime, time

from oi_tui.app.engine.core.errors import KernelError
from oi_tui.app.engine.core.widget_controls import ControlValue, WidgetControl
from oi_tui.app.engine.text.safe import safe_text

MOST_OPTIONS = 1_000
"""Of one control: the first can be chosen."""

LONGEST_TEXT, LONGEST_VALUE = 20_000, 200
"""Characters of a text that is typed into a widget, and of a value on one line."""

SHOWN = 60
"""Characters of a label or a value in the line that says what was done."""

ISO_FORMS = {
    "date": (date.fromisoformat, "A date, such as 2026-11-23."),
    "time": (time.fromisoformat, "A time, such as 14:05."),
    "datetime": (datetime.fromisoformat, "A date and a time, such as 2026-11-23 14:05."),
}
"""By the kind of a control: what reads its text, and what it can have, in words."""


def check_value(control: WidgetControl, value: ControlValue) -> None:
    """KernelError, and why, if the control cannot have this value."""
    if control.disabled:
        raise KernelError(f"The widget {_quote(control.label)} is disabled: the code that made it must enable it.")
    if not can_have(control, value):
        raise wrong_value(control)


def wrong_value(control: WidgetControl) -> KernelError:
    """The control cannot have a value; with what it can have."""
    return KernelError(f"The widget {_quote(control.label)} cannot have this value.", hint=bounds_in_words(control))


def can_have(control: WidgetControl, value: ControlValue) -> bool:
    """Whether a value is one that the control can have, as far as that can be known here."""
    match control.kind, value:
        case "press", None:
            return True
        case "toggle", bool():
            return True
        case "choice", _:
            return _is_place(value, control.options)
        case "several", tuple():
            return all(_is_place(one, control.options) for one in value)
        case "range", (one, other) if control.options:
            return _is_place(one, control.options) and _is_place(other, control.options)
        case "range", (one, other):
            return _fits(control, one) and _fits(control, other)
        case "number", _:
            return _fits(control, value)
        case "text" | "secret", str():
            return len(value) <= LONGEST_TEXT
        case "date" | "time" | "datetime", str():
            return not value or _is_iso(control.kind, value)
        case _:
            return False


def operation_in_words(control: WidgetControl, value: ControlValue) -> str:
    """A comment of one line, as the source of the run: what the person did."""
    label = _quote(control.label)
    if control.kind == "press":
        return f"# You pressed the widget {label}."
    if control.kind == "secret":
        return f"# You typed into the widget {label}."
    return f"# You set the widget {label} to {_one_line(value_in_words(control, value)) or 'nothing'}."


def value_in_words(control: WidgetControl, value: ControlValue) -> str:
    """A value as it is shown."""
    match control.kind, value:
        case "toggle", _:
            return "on" if value else "off"
        case "secret", str():
            return "•" * min(20, len(value))
        case "choice", int() | float():
            return _option(control, value)
        case "several", tuple():
            chosen = [control.options[int(at)] for at in value if 0 <= at < len(control.options)]
            return ", ".join(chosen) or "nothing"
        case "range", tuple():
            return " – ".join(_option(control, one) if control.options else value_words(one) for one in value)
        case "datetime", str():
            return value.replace("T", " ")
        case _, str():
            return value
        case _, None:
            return "–" if control.kind == "choice" else ""
        case _:
            return value_words(value)


def bounds_in_words(control: WidgetControl) -> str:
    """The valid values, as a sentence; "" if that is obvious."""
    if control.kind in ISO_FORMS:
        return ISO_FORMS[control.kind][1]
    if control.kind not in ("number", "range") or control.options:
        return ""
    what = "A whole number" if control.is_whole else "A number"
    if control.low is not None and control.high is not None:
        return f"{what} from {value_words(control.low)} to {value_words(control.high)}."
    return f"{what}."


def value_words(value: object) -> str:
    """A value on one line, if it has a short form."""
    match value:
        case str():
            return " ".join(value[:LONGEST_VALUE].split())
        case bool() | None:
            return str(value)
        case float():
            return f"{value:g}"
        case int() if value.bit_length() < 256:
            return str(value)
        case _:
            return "…"


def _option(control: WidgetControl, at: float) -> str:
    return control.options[int(at)] if 0 <= at < len(control.options) else "–"


def _fits(control: WidgetControl, number: object) -> bool:
    """Whether this is a number that the control can have."""
    if isinstance(number, bool) or not isinstance(number, int | float):
        return False
    if not (abs(number) < 1e300 and math.isfinite(number)) or (control.is_whole and number != int(number)):
        return False
    return not (
        (control.low is not None and number < control.low) or (control.high is not None and number > control.high)
    )


def _is_place(value: object, options: tuple[str, ...]) -> bool:
    return type(value) is int and 0 <= value < len(options)


def _is_iso(kind: str, text: str) -> bool:
    try:
        ISO_FORMS[kind][0](text)
    except ValueError:
        return False
    return True


def _quote(label: str) -> str:
    return f"“{_one_line(label)}”"


def _one_line(text: str) -> str:
    """So short that it fits a line, and never two: as a comment it must end where it ends."""
    text = " ".join(safe_text(text[: 2 * LONGEST_VALUE]).split())
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
