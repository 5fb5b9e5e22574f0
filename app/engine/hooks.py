"""What a plugin can take part in: every hook, on this page.

A plugin is a module (or object) with functions marked `@hookimpl`, found through the entry-point group `oi_tui`:

    # pyproject.toml
    [project.entry-points.oi_tui]
    stopwatch = "oi_tui_stopwatch"

    # oi_tui_stopwatch.py
    from oi_tui.plugins.api import hookimpl

    @hookimpl
    def after_action(session_id, block):
        print(block.runs_in, block.duration, file=log)

Two processes load plugins, each for itself: the engine's, which asks the model and runs code, and the screen's. A hook
is called in the process that its class names. A function may leave out parameters that it does not use. It is a plain
function, not a coroutine, and everything waits until it returns: what takes long belongs into a thread of its own.

Hooks observe and register; none of them decides. They get values, what they return is not looked at (but of a
`register_` hook), and what protects the person (policy, secrets, audit, the scan for files that run by themselves) is
never a plugin. A hook that raises is passed over; the log names it once for each kind of error, the session once.
"""

import asyncio
import inspect
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pluggy

from oi_tui.app.engine.core.blocks import ActionBlock
from oi_tui.app.engine.core.chat_model import ChatRequest, Model
from oi_tui.app.engine.core.events import AnyEvent
from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.tools.tool import Tool

NAME = "oi_tui"
"""Of the project for pluggy, and of the group of entry points."""

Function = TypeVar("Function", bound=Callable[..., object])

_log = logging.getLogger(__name__)

_hookspec = pluggy.HookspecMarker(NAME)
_hookimpl = pluggy.HookimplMarker(NAME)


def hookimpl(function: Function) -> Function:
    """Mark a function of a plugin as one that answers the hook of its name. TypeError for a coroutine: nobody would
    await it."""
    if inspect.iscoroutinefunction(function):
        raise TypeError(f"the hook {function.__name__} must be a plain function, not a coroutine")
    return _hookimpl(function)


class EngineHooks:
    """Called in the engine's process."""

    @_hookspec
    def event_happened(self, session_id: str, event: AnyEvent) -> None:
        """Something happened: it was handed to the log and the screen before. Called often, also for each streamed
        piece."""

    @_hookspec
    def before_request(self, session_id: str, request: ChatRequest) -> None:
        """The model is about to be asked for its next answer in a turn; secrets have been taken out of the request."""

    @_hookspec
    def after_request(self, session_id: str, request: ChatRequest, failed: bool) -> None:
        """The answer is complete, was interrupted, or failed."""

    @_hookspec
    def before_action(self, session_id: str, block: ActionBlock) -> None:
        """It was decided that this runs, the audit log has it on disk, and the kernel or tool gets the source next.

        Code that is repeated to rebuild the state of a kernel has `block.rerun` set, here and in `after_action`.
        """

    @_hookspec
    def after_action(self, session_id: str, block: ActionBlock) -> None:
        """It has run; `block` has its outputs and how it ended, or of a repeated run only that, as `block.rerun`.

        Not called for code that was cut off by the end of the session.
        """

    @_hookspec
    def register_tools(self) -> Iterable[Tool]:  # type: ignore[empty-body] # a specification
        """Tools that models may call, in every session of this engine. Asked once, when the engine starts."""

    @_hookspec
    def register_models(self) -> Iterable[Model]:  # type: ignore[empty-body] # a specification
        """Models of your own: each has the four properties and the `stream` of `core.chat_model.Model`, and a `name`
        such as `lab/echo`, by which it is chosen like any other. Asked once, when the engine starts."""


class ScreenHooks:
    """Called in the screen's process."""

    @_hookspec
    def register_renderers(self) -> Mapping[str, Callable[[RichOutput], object] | str]:  # type: ignore[empty-body] # a specification
        """Mime type (`*` stands for any characters) to a function that gets the `RichOutput` and returns another one,
        which is drawn in its place, a `Drawing`, or None: the next form is drawn.

        Called when the first rich result is drawn. A string such as `oi_tui_vega:render` is imported when the first
        result of its type is.
        """

    @_hookspec
    def register_themes(self) -> Path:  # type: ignore[empty-body] # a specification
        """A folder with theme files, `NAME.toml` each (see `themes/README.md`).

        Called when all themes are listed, or one is asked for that is neither the person's nor ours.
        """


class Hooks:
    """The plugins of one process. Costs nothing where nobody listens."""

    def __init__(
        self, specs: type[EngineHooks] | type[ScreenHooks], plugins: Iterable[tuple[str, object]] = ()
    ) -> None:
        """`plugins` are pairs of a name, for the log, and the module or object."""
        self._manager = pluggy.PluginManager(NAME)
        self._manager.add_hookspecs(specs)
        self._reported: set[tuple[str, str, type[BaseException]]] = set()
        for name, plugin in plugins:
            self._register(name, plugin)

    def _register(self, name: str, plugin: object) -> None:
        """A plugin that does not fit the specifications is named in the log and is as if it were not there."""
        try:
            self._manager.register(plugin, name)
        except (pluggy.PluginValidationError, ValueError):
            _log.exception("the plugin %s does not fit", name)
            if self._manager.get_plugin(name) is plugin:
                self._manager.unregister(name=name)

    def listens(self, hook: str) -> bool:
        """Whether any plugin has a function for this hook."""
        return bool(getattr(self._manager.hook, hook).get_hookimpls())

    def call(self, hook: str, /, **values: object) -> list[str]:
        """Tell every plugin; returns the names of those that raised, which are logged."""
        failures: list[str] = []
        for _ in self.results(hook, failures, **values):
            pass
        return failures

    def results(self, hook: str, failures: list[str] | None = None, /, **values: object) -> Iterator[tuple[str, Any]]:
        """What each plugin answers, with its name; one that raises is logged, left out and added to `failures`."""
        for implementation in getattr(self._manager.hook, hook).get_hookimpls():
            try:
                result = implementation.function(*(values[name] for name in implementation.argnames))
            except (Exception, SystemExit, asyncio.CancelledError) as error:
                # The boundary to somebody else's code: the session continues without it, even if it wants to exit.
                self._report(implementation.plugin_name, hook, error)
                if failures is not None:
                    failures.append(implementation.plugin_name)
                continue
            yield implementation.plugin_name, result

    def _report(self, plugin: str, hook: str, error: BaseException) -> None:
        kind = (plugin, hook, type(error))
        level = logging.DEBUG if kind in self._reported else logging.ERROR  # some hooks are called a hundred times a s
        self._reported.add(kind)
        _log.log(level, "the plugin %s failed in %s", plugin, hook, exc_info=error)


def registered_tools(hooks: Hooks) -> tuple[Tool, ...]:
    """The tools of all plugins; what is no tool is named in the log and left out."""
    found: list[Tool] = []
    for plugin, tools in hooks.results("register_tools"):
        try:
            found += [_as_tool(tool) for tool in tools]
        except (Exception, SystemExit) as error:  # the boundary to somebody else's code
            _log.error("the plugin %s registers no tools: %s", plugin, error)
    return tuple(found)


def _as_tool(value: object) -> Tool:
    if not isinstance(value, Tool):
        raise TypeError(f"{value!r} is no Tool")
    return value


def registered_models(hooks: Hooks) -> dict[str, Model]:
    """The models of all plugins by their names; what is none, or has a name that is taken, is named in the log and left
    out."""
    found: dict[str, Model] = {}
    for plugin, models in hooks.results("register_models"):
        try:
            for model in models:
                name = _model_name(model)
                if name in found:
                    raise ValueError(f"there are two models {name}")
                found[name] = model
        except (Exception, SystemExit) as error:  # the boundary to somebody else's code
            _log.error("the plugin %s registers no further models: %s", plugin, error)
    return found


def _model_name(value: Model) -> str:
    """Its name, PROVIDER/NAME; TypeError or ValueError for what cannot be a model."""
    missing = [part for part in _PARTS_OF_A_MODEL if not hasattr(value, part)]
    if missing or not isinstance(value.name, str) or not callable(value.stream):
        raise TypeError(f"{value!r} is no Model: {', '.join(missing) or 'name, stream'}")
    provider, slash, rest = value.name.partition("/")
    if not (slash and rest and value.name.isprintable() and len(value.name) <= 200) or provider in _TAKEN:
        raise ValueError(f"{value.name!r} is no name of a plugin's model: it is such as lab/echo")
    return value.name


_PARTS_OF_A_MODEL = ("name", "context_window", "takes_images", "tells_price", "stream")
_TAKEN = ("local", "fake", "openai", "anthropic", "gemini", "ollama", "openrouter")
"""The part before the slash in names of plugins' models."""


NO_PLUGINS = Hooks(EngineHooks)
"""Of an engine in whose process nobody listens."""
