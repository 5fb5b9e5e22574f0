"""What a plugin can take part in: every hook, on this page.

A plugin is a module (or object) with functions marked `@hookimpl`, found through the entry-point group `oi_tui`:

    # pyproject.toml
    [project.entry-points.oi_tui]
    stopwatch = "oi_tui_stopwatch"

    # oi_tui_stopwatch.py
    from oi_tui.app.engine.hooks import hookimpl

    @hookimpl
    def after_action(session_id, block):
        print(block.language, block.duration, file=log)

Two processes load plugins, each for itself: the engine's, which asks the model and runs code, and the screen's. A hook
is called in the process that its class names. A function may leave out parameters that it does not use.

Hooks observe and register; none of them decides. What protects the person (policy, secrets, audit, the scan for files
that run by themselves) is never a plugin. A hook that raises is named in the log and passed over.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import pluggy

from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.chat_model import ChatRequest
from oi_tui.app.engine.core.events import AnyEvent

NAME = "oi_tui"
"""Of the project for pluggy, and of the group of entry points."""

Function = TypeVar("Function", bound=Callable[..., object])

_log = logging.getLogger(__name__)

_hookspec = pluggy.HookspecMarker(NAME)
_hookimpl = pluggy.HookimplMarker(NAME)


def hookimpl(function: Function) -> Function:
    """Mark a function of a plugin as one that answers the hook of its name."""
    return _hookimpl(function)


class EngineHooks:
    """Called in the engine's process."""

    @_hookspec
    def event_happened(self, session_id: str, event: AnyEvent) -> None:
        """Something happened: it has been folded and written down. Called often, also for each streamed piece."""

    @_hookspec
    def before_request(self, session_id: str, request: ChatRequest) -> None:
        """The model is about to be asked; secrets have been taken out of the request."""

    @_hookspec
    def after_request(self, session_id: str, request: ChatRequest, failed: bool) -> None:
        """The answer is complete, was broken off, or failed."""

    @_hookspec
    def before_action(self, session_id: str, block: CodeBlock) -> None:
        """It was decided that this runs, and the audit log has it on disk."""

    @_hookspec
    def after_action(self, session_id: str, block: CodeBlock) -> None:
        """It has run; `block` has its outputs and how it ended."""


class ScreenHooks:
    """Called in the screen's process."""

    @_hookspec
    def register_renderers(self) -> Mapping[str, Callable[..., object] | str]:  # type: ignore[empty-body] # a specification
        """Mime type to what draws results of it (see `widgets/timeline/outputs/registry.py`).

        Called when the first rich result is drawn. A string such as `oi_tui_vega:render` is imported when the first
        result of its type is.
        """


class Hooks:
    """The plugins of one process. Costs nothing where nobody listens."""

    def __init__(
        self, specs: type[EngineHooks] | type[ScreenHooks], plugins: Iterable[tuple[str, object]] = ()
    ) -> None:
        """`plugins` are pairs of a name, for the log, and the module or object."""
        self._manager = pluggy.PluginManager(NAME)
        self._manager.add_hookspecs(specs)
        for name, plugin in plugins:
            self._manager.register(plugin, name)

    def listens(self, hook: str) -> bool:
        """Whether any plugin has a function for this hook."""
        return bool(getattr(self._manager.hook, hook).get_hookimpls())

    def call(self, hook: str, **values: object) -> None:
        for _ in self.results(hook, **values):
            pass

    def results(self, hook: str, **values: object) -> Iterator[tuple[str, Any]]:
        """What each plugin answers, with its name; one that raises is logged and left out."""
        for implementation in getattr(self._manager.hook, hook).get_hookimpls():
            try:
                result = implementation.function(*(values[name] for name in implementation.argnames))
            except Exception:
                # The boundary to somebody else's code: the session goes on without it.
                _log.exception("the plugin %s failed in %s", implementation.plugin_name, hook)
                continue
            yield implementation.plugin_name, result
