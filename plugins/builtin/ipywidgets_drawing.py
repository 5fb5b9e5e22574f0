"""How each widget of ipywidgets 8 is drawn: https://github.com/jupyter-widgets/ipywidgets/tree/main/packages/schema.

A state comes from a stranger: what has not the shape that it should have is left out, and cannot be operated.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, time
from typing import Any, NamedTuple

from oi_tui.plugins.api import (
    ControlKind,
    ControlValue,
    KernelWidget,
    WidgetControl,
    WidgetView,
    as_text,
    read_html,
    value_words,
)

BAR, TRACK = 30, 20
"""Cells of a progress bar and of a slider."""

LONGEST_HTML, LONGEST_TEXT, MOST_OPTIONS = 4_000, 20_000, 1_000
"""Characters of a text with HTML that are read, and of one that is typed, and options of one widget."""

Parts = dict[str, Any]


# -- what holds others


def box_view(widget: KernelWidget) -> WidgetView:
    """A row of single lines is one line; all else is one below the other."""
    is_row = widget.model == "HBoxModel"

    def arrange(drawn: Sequence[Sequence[str]]) -> Iterator[str]:
        if is_row and all(len(lines) <= 1 for lines in drawn):
            yield " ".join(lines[0].strip() for lines in drawn if lines and lines[0].strip())
        else:
            for lines in drawn:
                yield from lines

    return WidgetView(children=widget.children, arrange=arrange)


def tab_view(widget: KernelWidget) -> WidgetView:
    """All titles, and what is in the open one; a stack has no titles."""
    children = widget.children
    titles = [value_words(title) for title in _items(widget.state.get("titles"))]
    titles = [titles[at] if at < len(titles) else str(at + 1) for at in range(len(children))]
    chosen = _place(widget.state.get("selected_index"), titles)

    def arrange(drawn: Sequence[Sequence[str]]) -> Iterator[str]:
        inner = [f"  {line}" for lines in drawn for line in lines]
        if widget.model == "StackModel":
            yield from inner
            return
        for at, title in enumerate(titles):
            yield f"{'▾' if at == chosen else '▸'} {title}"
            if at == chosen:
                yield from inner

    return WidgetView(
        children=() if chosen is None else (children[chosen],),
        arrange=arrange,
        control=None if widget.model == "StackModel" else _control(widget, "choice", chosen, titles),
        state_for=lambda value: {"selected_index": value},
    )


# -- what is operated


def slider_view(widget: KernelWidget) -> WidgetView:
    """A track with a dot for each value, and the values; on a logarithmic scale where it is one."""
    scale = _scale(widget)
    value = widget.state.get("value")
    values = value[:2] if isinstance(value, list) else [value]
    words = " – ".join(value_words(one) for one in values)
    line = _join(widget_label(widget), _track([scale.share(one) for one in values]), words)
    numbers = [number for one in values if (number := _finite(one)) is not None]
    if len(numbers) < len(values) or not numbers:
        return WidgetView(lines=[line])
    if not isinstance(value, list):
        return _number_view(widget, line, numbers[0], scale)
    if len(numbers) != 2:
        return WidgetView(lines=[line])
    control = _control(widget, "range", (numbers[0], numbers[1]), scale=scale)
    return WidgetView(lines=[line], control=control, state_for=lambda chosen: {"value": _in_order(control, chosen)})


def number_view(widget: KernelWidget) -> WidgetView:
    """A number that is typed."""
    value = widget.state.get("value")
    line = _join(widget_label(widget), f"[{value_words(value)}]")
    number = _finite(value)
    return WidgetView(lines=[line]) if number is None else _number_view(widget, line, number, _scale(widget))


def choice_view(widget: KernelWidget) -> WidgetView:
    """One of its options, and of how many."""
    options = _options(widget)
    at = _place(widget.state.get("index"), options)
    shown = f"‹ {'–' if at is None else options[at]} ›" + (f" of {len(options):,}" if len(options) > 1 else "")
    control = _control(widget, "choice", at, options)
    line = _join(widget_label(widget), shown)
    return WidgetView(lines=[line], control=control, state_for=lambda chosen: {"index": chosen})


def several_view(widget: KernelWidget) -> WidgetView:
    """A choice of several options."""
    options = _options(widget)
    places = [at for one in _items(widget.state.get("index")) if (at := _place(one, options)) is not None]
    line = _join(widget_label(widget), ", ".join(options[at] for at in places) or "–")
    control = _control(widget, "several", tuple(places), options)
    return WidgetView(lines=[line], control=control, state_for=lambda chosen: {"index": _in_order(control, chosen)})


def option_range_view(widget: KernelWidget) -> WidgetView:
    """A range of options."""
    options = _options(widget)
    places = [at for one in _items(widget.state.get("index")) if (at := _place(one, options)) is not None]
    if len(places) != 2:
        return WidgetView(lines=[_join(widget_label(widget), "–")])
    most = max(1, len(options) - 1)
    line = _join(widget_label(widget), _track([at / most for at in places]), " – ".join(options[at] for at in places))
    control = _control(widget, "range", (places[0], places[1]), options)
    return WidgetView(lines=[line], control=control, state_for=lambda chosen: {"index": _in_order(control, chosen)})


def toggle_view(widget: KernelWidget) -> WidgetView:
    """A box with a mark."""
    value = widget.state.get("value") is True
    return WidgetView(
        lines=[_join("[x]" if value else "[ ]", widget_label(widget))],
        control=_control(widget, "toggle", value),
        state_for=lambda chosen: {"value": chosen},
    )


def button_view(widget: KernelWidget) -> WidgetView:
    """Its words in brackets."""
    return WidgetView(lines=[f"[ {widget_label(widget) or '…'} ]"], control=_control(widget, "press", None))


def text_view(widget: KernelWidget) -> WidgetView:
    """A text in brackets, on one line; a colour is one, too."""
    value = widget.state.get("value")
    line = _join(widget_label(widget), f"[{value_words(value)}]")
    if not isinstance(value, str):
        return WidgetView(lines=[line])
    control = _control(widget, "text", value[:LONGEST_TEXT])
    return WidgetView(lines=[line], control=control, state_for=lambda chosen: {"value": chosen})


def password_view(widget: KernelWidget) -> WidgetView:
    """A dot for each of its first twenty characters."""
    value = widget.state.get("value")
    value = value[:LONGEST_TEXT] if isinstance(value, str) else ""
    return WidgetView(
        lines=[_join(widget_label(widget), "•" * min(20, len(value)))],
        control=_control(widget, "secret", value),
        state_for=lambda chosen: {"value": chosen},
    )


# -- dates and times; the months of a page begin with 0


def date_view(widget: KernelWidget) -> WidgetView:
    """A day, or none."""

    def read(told: dict[str, Any]) -> str:
        return date(told["year"], told["month"] + 1, told["date"]).isoformat()

    def write(text: str) -> Parts:
        day = date.fromisoformat(text)
        return {"year": day.year, "month": day.month - 1, "date": day.day}

    return _moment_view(widget, "date", read, write)


def time_view(widget: KernelWidget) -> WidgetView:
    """A time of day, or none."""

    def read(told: dict[str, Any]) -> str:
        return _time_words(_time_of(told))

    return _moment_view(widget, "time", read, lambda text: _time_parts(time.fromisoformat(text)))


def datetime_view(widget: KernelWidget) -> WidgetView:
    """A day and a time: of this machine's zone, if its value has a zone at all."""
    has_zone = widget.model == "DatetimeModel"

    def read(told: dict[str, Any]) -> str:
        moment = datetime.combine(date(told["year"], told["month"] + 1, told["date"]), _time_of(told))
        moment = moment.replace(tzinfo=UTC).astimezone().replace(tzinfo=None) if has_zone else moment
        return f"{moment.date().isoformat()} {_time_words(moment.time())}"

    def write(text: str) -> Parts:
        moment = datetime.fromisoformat(text)
        moment = moment.astimezone(UTC) if has_zone else moment.replace(tzinfo=None)
        day = {"year": moment.year, "month": moment.month - 1, "date": moment.day}
        return day | _time_parts(moment.time())

    return _moment_view(widget, "datetime", read, write)


def _moment_view(
    widget: KernelWidget, kind: ControlKind, read: Callable[[dict[str, Any]], str], write: Callable[[str], Parts]
) -> WidgetView:
    told = widget.state.get("value")
    try:
        text = read(told) if isinstance(told, dict) else ""
    except (KeyError, TypeError, ValueError, OverflowError):
        text = ""

    def state_for(chosen: ControlValue) -> Parts | None:
        try:
            return {"value": write(chosen) if isinstance(chosen, str) and chosen else None}
        except (ValueError, OverflowError):
            return None

    return WidgetView(
        lines=[_join(widget_label(widget), f"[{text or '–'}]")],
        control=_control(widget, kind, text),
        state_for=state_for,
    )


def _time_of(told: dict[str, Any]) -> time:
    return time(told["hours"], told["minutes"], told["seconds"], int(told["milliseconds"] * 1000))


def _time_words(at: time) -> str:
    """Without what is 0 at its end."""
    return at.isoformat("auto" if at.second or at.microsecond else "minutes")


def _time_parts(at: time) -> Parts:
    return {
        "hours": at.hour,
        "minutes": at.minute,
        "seconds": at.second,
        "milliseconds": at.microsecond // 1000,
    }


# -- what is only seen


def progress_view(widget: KernelWidget) -> WidgetView:
    """A bar, and how much of how much."""
    state = widget.state
    sign = "✗" if state.get("bar_style") == "danger" else ""
    count = f"{value_words(state.get('value'))}/{value_words(state.get('max'))}"
    return WidgetView(lines=[_join(widget_label(widget), progress_bar(widget), sign, count)])


def mark_view(widget: KernelWidget) -> WidgetView:
    """Whether something is valid."""
    return WidgetView(lines=[_join("[x]" if widget.state.get("value") is True else "[ ]", widget_label(widget))])


def html_view(widget: KernelWidget) -> WidgetView:
    """Its text, without the tags."""
    first, *others = html_text(widget.state.get("value")).split("\n")
    return WidgetView(lines=[_join(widget_label(widget), first), *others])


def label_view(widget: KernelWidget) -> WidgetView:
    """Its value on a line of its own."""
    return WidgetView(lines=[_join(widget_label(widget), value_words(widget.state.get("value")))])


def nothing_view(widget: KernelWidget) -> WidgetView:
    """What has no look of its own: the outputs that another widget catches, and links."""
    return WidgetView()


def progress_bar(widget: KernelWidget) -> str:
    """How full it is."""
    full = int(_scale(widget).share(widget.state.get("value")) * BAR)
    return f"{'█' * full}{'░' * (BAR - full)}"


def html_text(value: object) -> str:
    """The text of what may have HTML in it."""
    return as_text(read_html(value[:LONGEST_HTML])) if isinstance(value, str) else ""


def widget_label(widget: KernelWidget) -> str:
    """The widget's label, on one line."""
    return " ".join(html_text(widget.state.get("description")).split())


# -- parts


class _Scale(NamedTuple):
    """Where numbers are between the ends of a widget."""

    low: float | None
    high: float | None
    step: float | None
    base: float | None
    """Of a logarithmic one; its ends are exponents of it."""

    def share(self, value: object) -> float:
        """How far a value is from the lower end, from 0 to 1."""
        number = _finite(value) or 0.0
        if self.base is not None:
            number = math.log(number, self.base) if number > 0 else -math.inf
        low, high = self.low or 0.0, self.high or 0.0
        return max(0.0, min(1.0, (number - low) / (high - low))) if high > low else 0.0

    def end(self, number: float | None) -> float | None:
        """An end as a value of the widget."""
        if number is None or self.base is None:
            return number
        try:
            return _finite(self.base**number)
        except OverflowError:
            return None


def _scale(widget: KernelWidget) -> _Scale:
    low, high, step = (_finite(widget.state.get(part)) for part in ("min", "max", "step"))
    base = _finite(widget.state.get("base")) if widget.model == "FloatLogSliderModel" else None
    return _Scale(low, high, step if step and step > 0 else None, base if base is not None and base > 1 else None)


def _number_view(widget: KernelWidget, line: str, number: float, scale: _Scale) -> WidgetView:
    control = _control(widget, "number", number, scale=scale)

    def state_for(chosen: ControlValue) -> Parts:
        return {"value": int(chosen) if control.is_whole and isinstance(chosen, int | float) else chosen}

    return WidgetView(lines=[line], control=control, state_for=state_for)


def _control(
    widget: KernelWidget,
    kind: ControlKind,
    value: ControlValue,
    options: Sequence[str] = (),
    scale: _Scale | None = None,
) -> WidgetControl:
    label = (
        widget_label(widget) or value_words(widget.state.get("placeholder") or "") or widget.model.removesuffix("Model")
    )
    return WidgetControl(
        kind=kind,
        label=label,
        value=value,
        options=tuple(options[:MOST_OPTIONS]),
        low=scale.end(scale.low) if scale is not None else None,
        high=scale.end(scale.high) if scale is not None else None,
        step=scale.step if scale is not None else None,
        log_base=scale.base if scale is not None else None,
        is_whole="Int" in widget.model or widget.model == "PlayModel",
        disabled=widget.state.get("disabled") is True,
    )


def _options(widget: KernelWidget) -> list[str]:
    return [value_words(label) for label in _items(widget.state.get("_options_labels"))[:MOST_OPTIONS]]


def _place(value: object, options: Sequence[str]) -> int | None:
    return value if type(value) is int and 0 <= value < len(options) else None


def _in_order(control: WidgetControl, chosen: ControlValue) -> list[int | float]:
    numbers = chosen if isinstance(chosen, tuple) else ()
    return sorted(int(number) if control.is_whole or control.options else number for number in numbers)


def _track(shares: Sequence[float]) -> str:
    places = {round(share * (TRACK - 1)) for share in shares}
    return "".join("●" if at in places else "─" for at in range(TRACK))


def _items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _join(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _finite(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) < 1e300 and math.isfinite(value) else None
