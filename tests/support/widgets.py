"""Widgets as the built-in plugins show them."""

from collections.abc import Iterable

from oi_tui.app.engine.core.widget_controls import WidgetControl
from oi_tui.app.engine.text.widget_text import States, draw_widgets
from oi_tui.plugins.host import find_built_in_view


def text_of_widget(name: str, states: States) -> str:
    """As it is drawn."""
    return draw_widgets((name,), states, find_built_in_view).text


def controls_of(names: Iterable[str], states: States) -> tuple[WidgetControl, ...]:
    """What can be operated in these widgets."""
    return draw_widgets(names, states, find_built_in_view).controls
