"""A widget of a kernel, as plugins see it, and what they say of it: how it looks as text, and what can be operated."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from oi_tui.app.engine.core.widget_controls import ControlValue, WidgetControl

REFERENCE = "IPY_MODEL_"
"""The prefix of a reference to another widget in a state."""

MOST_REFERENCES = 500
"""Widgets that one part of a state can name."""

WidgetState = Mapping[str, Any]
"""As in https://github.com/jupyter-widgets/ipywidgets/tree/main/packages/schema; any part can have any shape."""


class KernelWidget:
    """One widget and its state, as its kernel tells it: a stranger's, of which nothing is certain."""

    def __init__(self, name: str, states: Mapping[str, WidgetState]) -> None:
        """`states` are those of all widgets of the kernel, by their names."""
        self.name = name
        self._states = states

    @property
    def state(self) -> WidgetState:
        """The state of a widget; empty if the kernel has not sent it, or has closed the widget."""
        return self._states.get(self.name, {})

    @property
    def model(self) -> str:
        """The name of its model class: `IntSliderModel`; "" if unknown."""
        told = self.state.get("_model_name")
        return told if isinstance(told, str) else ""

    @property
    def children(self) -> tuple["KernelWidget", ...]:
        """The children of a box."""
        return self.named_in("children")

    def named_in(self, part: str) -> tuple["KernelWidget", ...]:
        """The widgets that a part of its state names: one, or a list of them."""
        told = self.state.get(part)
        names = told[:MOST_REFERENCES] if isinstance(told, list) else [told]
        return tuple(
            KernelWidget(name[len(REFERENCE) :], self._states)
            for name in names
            if isinstance(name, str) and name.startswith(REFERENCE)
        )


class WidgetView(msgspec.Struct, frozen=True, kw_only=True):
    """How a widget is shown."""

    lines: Sequence[str] = ()
    """Its own; those of its `children` follow."""
    children: Sequence[KernelWidget] = ()
    """The widgets that are seen in it, each of which is shown and operated as what it is."""
    arrange: Callable[[Sequence[Sequence[str]]], Iterable[str]] | None = None
    """Combines the lines of the children into the lines of this one, replacing `lines`; called at once."""
    control: WidgetControl | None = None
    """What of it can be operated."""
    state_for: Callable[[ControlValue], WidgetState | None] | None = None
    """The part of the state that changes when the control gets another value; None if the value is not valid. Called
    when the person operates the control; a button (`press`) needs none."""


FindView = Callable[[KernelWidget], WidgetView | None]
"""How a widget is shown; None if nobody knows it."""
