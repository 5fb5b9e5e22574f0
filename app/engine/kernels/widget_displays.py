"""The widgets of one kernel: their states, and their displays, drawn as text and kept up to date.

A display that changes is an update of that display, and of many changes only the last one within a moment is drawn: so
a bar that moves a thousand times a second makes no more events than any other display.
"""

import asyncio
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.core.widget_controls import WIDGET_VIEW, ControlValue, WidgetControl
from oi_tui.app.engine.core.widget_views import FindView, KernelWidget, WidgetState
from oi_tui.app.engine.kernels.output_stream import OutputStream
from oi_tui.app.engine.kernels.widget_links import WidgetLinks
from oi_tui.app.engine.kernels.widget_states import MOST_WIDGETS, WidgetStates
from oi_tui.app.engine.text.operable_widgets import check_value, wrong_value

if TYPE_CHECKING:
    from oi_tui.app.engine.text.widget_text import DrawnWidgets

TARGET = "jupyter.widget"
"""The name of their channel: https://github.com/jupyter-widgets/ipywidgets/tree/main/packages/schema"""

MOST_SHOWN = 200
"""Displays that are kept up to date: the newest of them."""

REDRAW_INTERVAL, PAUSES = 1 / 8, 4
"""Seconds in which changes are gathered, at least so many times as long as the last drawing took: widgets that are slow
to draw do not keep the engine busy."""


class WidgetMessage(NamedTuple):
    """A message to the kernel that changes a widget."""

    name: str
    """Of the widget."""
    data: dict[str, Any]
    """Of the message `comm_msg`."""


class WidgetDisplays:
    """Knows the states, and what depends on them."""

    def __init__(self, find_view: FindView = lambda widget: None) -> None:
        """`find_view` knows how each widget is shown; without it, all are shown plainly and none is operated."""
        self._find_view = find_view
        self._states = WidgetStates()
        self._links = WidgetLinks(self._states)
        self._shown: dict[str, tuple[OutputStream, RichOutput]] = {}
        """By the name of the widget: where it is, and what was sent of it last."""
        self._depends: dict[str, set[str]] = {}
        """Names of the shown ones that depend on a widget."""
        self._changed: set[str] = set()
        self._timer: asyncio.TimerHandle | None = None
        self.interval = REDRAW_INTERVAL
        """Seconds in which changes are gathered now."""

    def take(self, kind: str, content: Mapping[str, Any]) -> None:
        """Process a kernel's message about a widget: `comm_open`, `comm_msg` or `comm_close`."""
        match content:
            case {"comm_id": str(name), "data": {"state": dict(state), **more}} if (
                content.get("target_name") == TARGET if kind == "comm_open" else name in self._states
            ):
                if kind == "comm_open" and not self._states.open(name, state):
                    return
                if kind == "comm_msg":
                    if more.get("method") not in ("update", "echo_update"):
                        return
                    self._states.update(name, state)
                self._follow_links(name, state)
            case {"comm_id": str(name)} if kind == "comm_close" and name in self._states:
                self._states.close(name)
            case _:
                return
        self._note_change(name)

    def controls(self, names: Iterable[str]) -> tuple[WidgetControl, ...]:
        """The controls of these widgets."""
        return self._draw(names).controls

    def messages_for(self, control: WidgetControl, value: ControlValue) -> list[WidgetMessage]:
        """What the kernel is sent so that this control has another value: first the widget itself, then those that
        are linked to it. KernelError if it cannot have the value."""
        check_value(control, value)
        if control.kind == "press":
            return [WidgetMessage(control.name, {"method": "custom", "content": {"event": "click"}})]
        view = self._find_view(KernelWidget(control.name, self._states))
        parts = view.state_for(value) if view is not None and view.state_for is not None else None
        if parts is None:
            raise wrong_value(control)
        return [_update(control.name, parts), *(_update(*one) for one in self._links.changes(control.name, parts))]

    def operate(self, control: WidgetControl, value: ControlValue) -> list[WidgetMessage]:
        """The same, and here it has the value from now on."""
        messages = self.messages_for(control, value)
        for name, data in messages:
            if "state" in data:
                self._states.update(name, data["state"])
            self._note_change(name)
        return messages

    def _follow_links(self, name: str, parts: WidgetState) -> None:
        """Show what is linked to a widget as the kernel would have it by way of a notebook's page."""
        for other, change in self._links.changes(name, parts):
            self._states.update(other, change)
            self._note_change(other)

    def _note_change(self, name: str) -> None:
        if found := self._depends.get(name):
            self._changed |= found
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(self.interval, self.redraw)

    def draw(self, output: RichOutput, stream: OutputStream) -> RichOutput:
        """The display of a widget with its text; any other display as it is."""
        match output.data.get(WIDGET_VIEW):
            case {"model_id": str(name)} if name in self._states:
                pass
            case _:
                return output
        drawn = msgspec.structs.replace(
            output,
            data=output.data | {"text/plain": self._text_of(name)},
            display_id=output.display_id or f"widget {name}",
        )
        self._shown.pop(name, None)
        self._shown[name] = (stream, drawn)
        if len(self._shown) > MOST_SHOWN:
            del self._shown[next(iter(self._shown))]
        return drawn

    def redraw(self) -> None:
        """Draw what has changed, now."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        changed, self._changed, began = self._changed, set(), time.perf_counter()
        for name in changed & self._shown.keys():
            stream, before = self._shown[name]
            data = before.data | {"text/plain": self._text_of(name)}
            if data != before.data:
                drawn = msgspec.structs.replace(before, data=data)
                self._shown[name] = (stream, drawn)
                stream.update(drawn)
        self.interval = max(REDRAW_INTERVAL, PAUSES * (time.perf_counter() - began))

    def _draw(self, names: Iterable[str]) -> "DrawnWidgets":
        from oi_tui.app.engine.text.widget_text import draw_widgets  # with what reads their HTML: few sessions show any

        return draw_widgets(names, self._states, self._find_view)

    def _text_of(self, name: str) -> str:
        drawn = self._draw((name,))
        for one in drawn.looked_at:
            found = self._depends.setdefault(one, set())
            if len(found) > 2 * MOST_SHOWN:  # a kernel can show new ones of the same part without end
                found &= self._shown.keys()
            found.add(name)
        if len(self._depends) > 2 * MOST_WIDGETS:
            self._depends = {one: found for one, found in self._depends.items() if one in self._states}
        return drawn.text


def _update(name: str, parts: WidgetState) -> WidgetMessage:
    return WidgetMessage(name, {"method": "update", "state": dict(parts), "buffer_paths": []})
