"""Widgets as text, within limits: drawn by a plugin that knows them, else plainly."""

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from oi_tui.app.engine.core.encoding import expressible
from oi_tui.app.engine.core.widget_controls import WidgetControl
from oi_tui.app.engine.core.widget_views import FindView, KernelWidget, WidgetState, WidgetView
from oi_tui.app.engine.text.html import as_text
from oi_tui.app.engine.text.html_reader import read_html
from oi_tui.app.engine.text.operable_widgets import LONGEST_VALUE, value_words

DEEPEST, MOST_DRAWN, MOST_LINES, LONGEST_LINE = 8, 500, 60, 1_000
"""Boxes in boxes, widgets and lines of one display, and characters of a line."""

MOST_CONTROLS, MOST_TIME = 100, 0.3
"""In one answer; and seconds of processor time for it: what is not drawn by then is left out."""

States = Mapping[str, WidgetState]
"""By the names of the widgets."""


class DrawnWidgets(NamedTuple):
    """Some widgets and what is in them."""

    text: str
    controls: tuple[WidgetControl, ...]
    """What can be operated in them, in the order of what is seen, each once."""
    looked_at: frozenset[str]
    """The names of all widgets on which that depends."""


def draw_widgets(names: Iterable[str], states: States, find_view: FindView) -> DrawnWidgets:
    """These widgets, one below the other, as text; `find_view` knows how each is shown."""
    noted = _NotedStates(states)
    drawing = _Drawing(find_view)
    lines = [line for name in names for line in drawing.lines(KernelWidget(name, noted), 0)]
    text = "\n".join(line[:LONGEST_LINE] for line in lines[:MOST_LINES])
    return DrawnWidgets(expressible(text), tuple(drawing.controls.values()), frozenset(noted.names))


class _NotedStates(Mapping[str, WidgetState]):
    """Notes which of them are looked at, also of those that are not there yet."""

    def __init__(self, states: States) -> None:
        self._states = states
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> WidgetState:
        self.names.add(name)
        return self._states[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._states)

    def __len__(self) -> int:
        return len(self._states)


class _Drawing:
    """Draws a limited number of widgets for a limited time: boxes may contain each other, and texts may take long to
    read."""

    def __init__(self, find_view: FindView) -> None:
        self._find_view = find_view
        self._room = MOST_DRAWN
        self._until = time.thread_time() + MOST_TIME
        self.controls: dict[str, WidgetControl] = {}

    def lines(self, widget: KernelWidget, depth: int) -> list[str]:
        """The lines of one widget."""
        self._room -= 1
        if not widget.state or _is_hidden(widget):
            return []
        if time.thread_time() > self._until:
            self._room = 0
            return ["…"]
        view = self._find_view(widget) or plain_view(widget)
        if view.control is not None and len(self.controls) < MOST_CONTROLS:
            self.controls.setdefault(widget.name, msgspec.structs.replace(view.control, name=widget.name))
        if view.children and depth == DEEPEST:
            return ["…"]
        drawn = [self.lines(child, depth + 1) if self._room > 0 else [] for child in view.children[:MOST_DRAWN]]
        if view.arrange is not None:
            return list(view.arrange(drawn))
        return [*view.lines, *(line for lines in drawn for line in lines)]


def _is_hidden(widget: KernelWidget) -> bool:
    """Whether its layout says that it is not shown."""
    layout = next((layout.state for layout in widget.named_in("layout")), {})
    return layout.get("display") == "none" or layout.get("visibility") == "hidden"


def plain_view(widget: KernelWidget) -> WidgetView:
    """A widget that nobody knows: its label and its value, then what is in it."""
    state, children = widget.state, widget.children
    label, value = _without_tags(state.get("description")), state.get("value")
    if widget.model.startswith("HTML"):
        value = _without_tags(value)
    shown = value_words(value) if isinstance(value, str | float | int) else ""
    words = ": ".join(word for word in (label, shown) if word)
    if not words and not children:
        words = f"<{value_words(widget.model.removesuffix('Model'))}>"
    return WidgetView(lines=(words,) if words else (), children=children)


def _without_tags(value: object) -> str:
    return value_words(as_text(read_html(value[: 10 * LONGEST_VALUE]))) if isinstance(value, str) else ""
