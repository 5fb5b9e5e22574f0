"""The widgets of one kernel: what it tells of their states, and their displays, drawn as text and kept up to date.

A display that changes is an update of that display, and of many changes only the last one within a moment is drawn: so
a bar that moves a thousand times a second makes no more events than any other display.
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.core.widget_controls import WIDGET_VIEW, ControlValue, WidgetControl
from oi_tui.app.engine.kernels.output_stream import OutputStream
from oi_tui.app.engine.kernels.widget_states import MOST_WIDGETS, WidgetStates
from oi_tui.app.engine.text.operable_widgets import message_for, operable_controls
from oi_tui.app.engine.text.widget_text import widget_family, widget_text

TARGET = "jupyter.widget"
"""The name of their channel: https://github.com/jupyter-widgets/ipywidgets/tree/main/packages/schema"""

MOST_SHOWN = 200
"""Displays that are kept up to date: the newest of them."""

REDRAW_INTERVAL = 1 / 8
"""Seconds in which changes are gathered."""


class WidgetDisplays:
    """Knows the states, and what depends on them."""

    def __init__(self) -> None:
        self._states = WidgetStates()
        self._shown: dict[str, tuple[OutputStream, RichOutput]] = {}
        """By the name of the widget: where it is, and what was sent of it last."""
        self._depends: dict[str, set[str]] = {}
        """Names of the shown ones that depend on a widget."""
        self._changed: set[str] = set()
        self._timer: asyncio.TimerHandle | None = None

    def take(self, kind: str, content: Mapping[str, Any]) -> None:
        """What a kernel tells of a widget: `comm_open`, `comm_msg` or `comm_close`."""
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
            case {"comm_id": str(name)} if kind == "comm_close" and name in self._states:
                self._states.close(name)
            case _:
                return
        self._note_change(name)

    def controls(self, names: Iterable[str]) -> tuple[WidgetControl, ...]:
        """What can be operated in these widgets."""
        return operable_controls(names, self._states)

    def operate(self, control: WidgetControl, value: ControlValue) -> dict[str, Any]:
        """What the kernel is sent so that this control has another value, which it has here from now on; KernelError if
        it cannot."""
        message = message_for(control, value, self._states)
        self._states.update(control.name, message.parts)
        self._note_change(control.name)
        return message.data

    def _note_change(self, name: str) -> None:
        if found := self._depends.get(name):
            self._changed |= found
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(REDRAW_INTERVAL, self.redraw)

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
        changed, self._changed = self._changed, set()
        for name in changed & self._shown.keys():
            stream, before = self._shown[name]
            data = before.data | {"text/plain": self._text_of(name)}
            if data != before.data:
                drawn = msgspec.structs.replace(before, data=data)
                self._shown[name] = (stream, drawn)
                stream.update(drawn)

    def _text_of(self, name: str) -> str:
        for one in widget_family(name, self._states):
            self._depends.setdefault(one, set()).add(name)
        if len(self._depends) > 2 * MOST_WIDGETS:
            self._depends = {one: found for one, found in self._depends.items() if one in self._states}
        return widget_text(name, self._states)
