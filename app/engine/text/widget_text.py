"""Widgets of ipywidgets as text: bars, sliders, boxes and what is in them, from the states that a kernel tells.

A state is a dict as in https://github.com/jupyter-widgets/ipywidgets/tree/main/packages/schema. It comes from a
stranger: every part may have any shape, and unknown parts are left out.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from oi_tui.app.engine.core.encoding import expressible
from oi_tui.app.engine.text.html import as_text
from oi_tui.app.engine.text.html_reader import read_html

REFERENCE = "IPY_MODEL_"
"""Stands before the name of another widget."""

BAR, TRACK = 30, 20
"""Cells of a progress bar and of a slider."""

DEEPEST, MOST_DRAWN, MOST_LINES, LONGEST = 8, 500, 60, 200
"""Boxes in boxes, widgets and lines of one display, and characters of a value."""

WidgetState = Mapping[str, Any]

States = Mapping[str, WidgetState]
"""By the names of the widgets."""

_BOXES = frozenset(("HBoxModel", "VBoxModel", "BoxModel", "GridBoxModel", "TabModel", "AccordionModel", "StackModel"))
_SLIDERS = frozenset(
    f"{kind}Model" for kind in ("IntSlider", "FloatSlider", "FloatLogSlider", "IntRangeSlider", "FloatRangeSlider")
)
_CHOICES = frozenset(
    ("DropdownModel", "SelectModel", "RadioButtonsModel", "ToggleButtonsModel", "SelectionSliderModel")
)


def widget_text(name: str, states: States) -> str:
    """A widget and what is in it, as lines."""
    return expressible("\n".join(_WidgetDrawing(states).lines(name)[:MOST_LINES]))


def widget_family(name: str, states: States) -> set[str]:
    """The names of all widgets on which its text depends, as many of them as are drawn."""
    family: set[str] = set()
    waiting = [(name, 0)]
    while waiting and len(family) < 2 * MOST_DRAWN:
        here, depth = waiting.pop()
        if here not in family:
            family.add(here)
            state = states.get(here, {})
            family |= set(references([state.get("layout")]))
            if depth < DEEPEST:
                waiting += [(child, depth + 1) for child in references(state.get("children"))]
    return family


class _WidgetDrawing:
    """Draws so many widgets, and no more: boxes may hold each other."""

    def __init__(self, states: States) -> None:
        self._states = states
        self._room = MOST_DRAWN

    def lines(self, name: str, depth: int = 0, *, in_a_row: bool = False) -> list[str]:
        """The lines of one widget."""
        state = self._states.get(name)
        self._room -= 1
        if state is None or self._room < 0 or is_hidden(state, self._states):
            return []
        kind = str(state.get("_model_name"))
        if kind not in _BOXES:
            return _control(kind, state, in_a_row=in_a_row)
        if depth == DEEPEST:
            return ["…"]
        children = references(state.get("children"))
        in_a_row = kind == "HBoxModel" and len(children) > 1
        return list(_box(kind, state, [self.lines(one, depth + 1, in_a_row=in_a_row) for one in children]))


def _box(kind: str, state: WidgetState, children: list[list[str]]) -> Iterator[str]:
    titles = [value_words(title) for title in _items(state.get("titles"))]
    if kind in ("TabModel", "AccordionModel", "StackModel"):
        chosen = state.get("selected_index")
        for at, lines in enumerate(children):
            is_open = at == chosen
            if kind != "StackModel":
                yield f"{'▾' if is_open else '▸'} {titles[at] if at < len(titles) else at + 1}"
            if is_open:
                yield from (f"  {line}" for line in lines)
    elif kind == "HBoxModel" and all(len(lines) <= 1 for lines in children):
        yield " ".join(lines[0].strip() for lines in children if lines and lines[0].strip())
    else:
        for lines in children:
            yield from lines


def _control(kind: str, state: WidgetState, *, in_a_row: bool) -> list[str]:
    label = widget_label(state)
    value = state.get("value")
    match kind:
        case "IntProgressModel" | "FloatProgressModel":
            count = "" if in_a_row else f"{value_words(value)}/{value_words(state.get('max'))}"
            return [_join(label, _bar(state), count)]
        case _ if kind in _SLIDERS:
            return [_join(label, _slider(state))]
        case "HTMLModel" | "HTMLMathModel":
            lines = _html_text(value).split("\n")
            return [_join(label, lines[0]), *lines[1:]]
        case "LabelModel":
            return [_join(label, value_words(value))]
        case "ButtonModel":
            return [f"[ {label or '…'} ]"]
        case "CheckboxModel" | "ToggleButtonModel" | "ValidModel":
            return [_join("[x]" if value is True else "[ ]", label)]
        case "PasswordModel":
            return [_join(label, "•" * min(20, len(value_words(value))))]
        case "OutputModel":
            return []
        case "SelectMultipleModel":
            labels = option_labels(state)
            chosen = [labels[at] for at in _items(state.get("index")) if type(at) is int and 0 <= at < len(labels)]
            return [_join(label, ", ".join(chosen) or "–")]
        case _ if kind in _CHOICES:
            labels, at = option_labels(state), state.get("index")
            chosen_one = labels[at] if type(at) is int and 0 <= at < len(labels) else "–"
            return [_join(label, f"‹ {chosen_one} ›" + (f" of {len(labels):,}" if len(labels) > 1 else ""))]
        case _ if isinstance(value, str | int | float):
            return [_join(label, f"[{value_words(value)}]")]
        case _:
            return [_join(label, f"<{value_words(kind.removesuffix('Model'))}>")]


def _bar(state: WidgetState) -> str:
    low, high, value = (_number(state.get(name)) for name in ("min", "max", "value"))
    span = high - low
    share = max(0.0, min(1.0, (value - low) / span)) if span > 0 else 0.0
    full = int(share * BAR)
    sign = " ✗" if state.get("bar_style") == "danger" else ""
    return f"{'█' * full}{'░' * (BAR - full)}{sign}"


def _slider(state: WidgetState) -> str:
    low, high, value = _number(state.get("min")), _number(state.get("max")), state.get("value")
    values = value if isinstance(value, list) else [value]
    places = set()
    for one in values[:2]:
        share = (_number(one) - low) / (high - low) if high > low else 0.0
        places.add(round(max(0.0, min(1.0, share)) * (TRACK - 1)))
    track = "".join("●" if at in places else "─" for at in range(TRACK))
    return f"{track} {' – '.join(value_words(one) for one in values[:2])}"


def option_labels(state: WidgetState) -> list[str]:
    """Of a list to choose from."""
    return [value_words(label) for label in _items(state.get("_options_labels"))]


def _items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def widget_label(state: WidgetState) -> str:
    """What stands before it, on one line."""
    return " ".join(_html_text(state.get("description")).split())


def _html_text(value: object) -> str:
    """The text of what may have HTML in it; tqdm pads with spaces as wide as digits."""
    return as_text(read_html(value[: 100 * LONGEST])).replace("\u2007", " ") if isinstance(value, str) else ""


def is_hidden(state: WidgetState, states: States) -> bool:
    """Whether its layout says that it is not shown."""
    layout = next((states.get(name, {}) for name in references([state.get("layout")])), {})
    return layout.get("display") == "none" or layout.get("visibility") == "hidden"


def references(values: object) -> list[str]:
    """The names of the widgets that are meant, of the first that could be drawn."""
    first = _items(values)[:MOST_DRAWN]
    return [value[len(REFERENCE) :] for value in first if isinstance(value, str) and value.startswith(REFERENCE)]


def _join(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and abs(value) < 1e300 else 0.0


def value_words(value: object) -> str:
    """A value on one line, if it has a short form."""
    match value:
        case str():
            return " ".join(value[:LONGEST].split())
        case bool() | None:
            return str(value)
        case float():
            return f"{value:g}"
        case int() if value.bit_length() < 256:
            return str(value)
        case _:
            return "…"
