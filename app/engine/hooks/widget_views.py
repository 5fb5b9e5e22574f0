"""How plugins show widgets: asked one after the other, each call guarded, each answer looked at."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import translate
from functools import cached_property
from itertools import islice
from pkgutil import resolve_name
from typing import Any

import msgspec

from oi_tui.app.engine.core.widget_controls import WidgetControl
from oi_tui.app.engine.core.widget_views import MOST_REFERENCES, KernelWidget, WidgetState, WidgetView
from oi_tui.app.engine.hooks.calling import SLOW_IN_ENGINE, STRIKES, CallTime, Hooks, PluginFailed, PluginHung, Trouble

HOOK = "register_widget_views"

MOST_OF_VIEW = 1_000
"""Lines of one widget that are used, characters of each, and options of its control."""


class _Viewer(msgspec.Struct):
    """A function of a plugin that shows the widgets of one model."""

    plugin: str
    pattern: str
    function: Callable[[KernelWidget], object] | str
    matches: Callable[[str], object]
    strikes: int = 0
    """Calls in a row that were slow or failed."""


class PluginViews:
    """Knows how widgets are shown, as `FindView`. One that fails or is slow `STRIKES` times in a row, or hangs once, is
    not asked again; the next plugin draws its widgets."""

    def __init__(self, find_hooks: Callable[[], Hooks]) -> None:
        """Called when the first widget is shown, not before."""
        self._find_hooks = find_hooks

    def __call__(self, widget: KernelWidget) -> WidgetView | None:
        """The view of the first plugin that knows the widget."""
        model = widget.model
        for viewer in self._viewers:
            if viewer.strikes >= STRIKES or not viewer.matches(model):
                continue
            made = self._run(viewer, self._show, viewer, widget)
            if isinstance(made, WidgetView):
                return made
        return None

    @property
    def troubles(self) -> list[Trouble]:
        """Errors of the plugins."""
        return self._hooks.troubles

    @cached_property
    def _hooks(self) -> Hooks:
        return self._find_hooks()

    @cached_property
    def _viewers(self) -> tuple[_Viewer, ...]:
        return tuple(self._find_viewers())

    def _find_viewers(self) -> Iterator[_Viewer]:
        for plugin, given in self._hooks.results(HOOK):
            if not isinstance(given, Mapping):
                self._hooks.reject(plugin, HOOK, f"{type(given).__name__} is no mapping")
                continue
            for pattern, function in given.items():
                if not isinstance(pattern, str) or not (callable(function) or isinstance(function, str)):
                    self._hooks.reject(plugin, HOOK, f"{pattern!r:.100} is no model with a function")
                elif "*" in pattern:
                    yield _Viewer(plugin, pattern, function, re.compile(translate(pattern)).match)
                else:
                    yield _Viewer(plugin, pattern, function, pattern.__eq__)

    def _run(self, viewer: _Viewer, function: Callable[..., Any], *arguments: object) -> Any:
        """The result; None if that failed, which is reported."""
        time_of_call, made = CallTime(), None
        try:
            made = self._hooks.run(viewer.plugin, HOOK, function, *arguments)
        except PluginHung:
            viewer.strikes = STRIKES
        except PluginFailed:
            viewer.strikes += 1
        else:
            viewer.strikes = viewer.strikes + 1 if time_of_call.own() > SLOW_IN_ENGINE else 0
        if viewer.strikes == STRIKES:
            self._hooks.reject(
                viewer.plugin, HOOK, f"{viewer.pattern} is drawn without it: it failed or was slow {STRIKES} times"
            )
        return made

    def _show(self, viewer: _Viewer, widget: KernelWidget) -> WidgetView | None:
        """The view that the function returns; an invalid one counts as an error of the plugin."""
        if isinstance(viewer.function, str):
            viewer.function = resolve_name(viewer.function)
        assert callable(viewer.function)
        view = viewer.function(widget)
        if view is None:
            return None
        if not isinstance(view, WidgetView):
            raise TypeError(f"{type(view).__name__} is no WidgetView")
        arrange, state_for = view.arrange, view.state_for
        return WidgetView(
            lines=_checked_lines(view.lines),
            children=_checked_children(view.children),
            arrange=None if arrange is None else lambda drawn: self._arrange(viewer, arrange, drawn),
            control=None if view.control is None else _checked_control(view.control),
            state_for=None if state_for is None else lambda value: self._state_for(viewer, state_for, value),
        )

    def _arrange(
        self, viewer: _Viewer, arrange: Callable[..., Iterable[str]], drawn: Sequence[Sequence[str]]
    ) -> list[str]:
        """If it fails, the children are drawn one below the other."""
        made = self._run(viewer, lambda: _checked_lines(arrange(drawn)))
        return [line for lines in drawn for line in lines] if made is None else list(made)

    def _state_for(self, viewer: _Viewer, state_for: Callable[..., object], value: object) -> WidgetState | None:
        made = self._run(viewer, lambda: _checked_state(state_for(value)))
        return made if isinstance(made, dict) else None


def _checked_lines(lines: object) -> list[str]:
    if isinstance(lines, str) or not isinstance(lines, Iterable):
        raise TypeError(f"{type(lines).__name__} is no list of lines")
    found = list(islice(lines, MOST_OF_VIEW))
    if not all(isinstance(line, str) for line in found):
        raise TypeError("a line is no text")
    return [line[:MOST_OF_VIEW] for line in found]


def _checked_children(children: object) -> tuple[KernelWidget, ...]:
    if not isinstance(children, Sequence) or not all(isinstance(child, KernelWidget) for child in children):
        raise TypeError("children are no widgets")
    return tuple(children[:MOST_REFERENCES])


def _checked_control(control: object) -> WidgetControl:
    """ValidationError for what has another shape; TypeError for what is none."""
    if not isinstance(control, WidgetControl):
        raise TypeError(f"{type(control).__name__} is no WidgetControl")
    bounded = msgspec.structs.replace(control, options=tuple(control.options)[:MOST_OF_VIEW])
    return msgspec.convert(msgspec.to_builtins(bounded), WidgetControl)


def _checked_state(state: object) -> dict[str, Any] | None:
    if state is None:
        return None
    if not isinstance(state, Mapping) or not all(isinstance(part, str) for part in state):
        raise TypeError(f"{type(state).__name__} is no state of a widget")
    return dict(state)
