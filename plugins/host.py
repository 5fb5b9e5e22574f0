"""Imports the plugins that the person enabled, each only in the process that it is for.

One that cannot be imported, or that has changed since it was enabled, is named, and is as if it were not there.
"""

import logging
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from threading import Lock
from types import ModuleType
from typing import ClassVar

from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.hooks.calling import SLOW_IN_ENGINE, SLOW_ON_SCREEN, CallTime, Hooks, Trouble, error_line
from oi_tui.app.engine.hooks.time_limit import TookTooLong, call_within
from oi_tui.app.engine.hooks.widget_views import PluginViews
from oi_tui.plugins.builtin import BUILT_IN
from oi_tui.plugins.decisions_file import PluginDecision, plugin_decisions
from oi_tui.plugins.finding import (
    SPECS,
    FoundPlugin,
    Process,
    find_added_plugins,
    find_plugin,
    plugin_of_text,
    read_plugin_file,
)

_log = logging.getLogger(__name__)

LOADING = 10.0
"""Seconds that the import of a plugin may take."""

SLOW_LOADING = 1.0
"""Seconds of its own from which on it is named for that."""


class LoadedPlugins:
    """What one process has loaded, and what was wrong."""

    at: ClassVar[str] = ""
    """What is being imported, or was last."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.plugins: list[tuple[str, object]] = []
        self.troubles: list[Trouble] = []

    def load(self) -> Hooks:
        """Import all that is enabled for this process."""
        try:
            decisions = plugin_decisions().all()
        except OiTuiError as error:
            self.troubles.append(Trouble("", "", "no record", error.title))
            decisions = {}
        for name, decision in sorted(decisions.items()):
            if decision.state == "enabled" and name not in BUILT_IN[self.process]:
                self._load_enabled(name, decision)
        for name, module in BUILT_IN[self.process].items():
            if (decided := decisions.get(name)) is None or decided.state != "disabled":
                self._import(name, name, partial(import_module, module))
        slow = SLOW_IN_ENGINE if self.process == "engine" else SLOW_ON_SCREEN
        return Hooks(
            SPECS[self.process], self.plugins, slow=slow, troubles=self.troubles, built_in=BUILT_IN[self.process]
        )

    def _load_enabled(self, name: str, decision: PluginDecision) -> None:
        found = find_plugin(name)
        if found is None:
            self.troubles.append(Trouble(name, "", "cannot be loaded", "it is not there any more"))
        elif found.fault:
            self.troubles.append(Trouble(name, "", "cannot be loaded", found.fault))
        elif found.digest != decision.digest:
            self.troubles.append(Trouble(name, "", "has changed"))
        else:
            for reference in found.loads.get(self.process, ()):
                if found.kind == "file":
                    self._import(name, name, partial(import_file, Path(found.place), decision.digest))
                else:
                    several = len(found.loads[self.process]) > 1
                    label = f"{name}:{reference}" if several else name
                    self._import(name, label, partial(resolve_name, reference))

    def _import(self, name: str, label: str, load: Callable[[], object]) -> None:
        time_of_import = CallTime()
        LoadedPlugins.at = label
        try:
            self.plugins.append((label, call_within(LOADING, load)))
        except TookTooLong:
            self.troubles.append(Trouble(name, "", "cannot be loaded", f"its import took longer than {LOADING:.0f} s"))
        except BaseException as error:
            # The boundary to somebody else's code: whatever its import raises, we continue without it.
            if isinstance(error, KeyboardInterrupt):
                raise
            _log.warning("the plugin %s cannot be loaded", label, exc_info=True)
            self.troubles.append(Trouble(name, "", "cannot be loaded", error_line(error)))
        else:
            if time_of_import.own() > SLOW_LOADING and name not in BUILT_IN[self.process]:
                self.troubles.append(Trouble(name, "import", "slow", f"{time_of_import.total():.1f} s"))


def import_file(path: Path, digest: str) -> ModuleType:
    """The module of a single file, made of the very text whose digest was looked at; SettingsError if that has
    changed."""
    text = read_plugin_file(path)
    if plugin_of_text(path, text).digest != digest:
        raise ImportError("it changed just now")
    module = ModuleType(f"oi_tui_plugin_{path.stem}")
    module.__file__ = str(path)
    code = compile(text, str(path), "exec")
    sys.modules[module.__name__] = module
    try:
        exec(code, module.__dict__)
    except BaseException:
        del sys.modules[module.__name__]
        raise
    return module


@cache
def built_in_hooks() -> Hooks:
    """The built-in plugins of the engine's process, whatever the person decided."""
    plugins = [(name, import_module(module)) for name, module in BUILT_IN["engine"].items()]
    return Hooks(SPECS["engine"], plugins, built_in=BUILT_IN["engine"])


find_built_in_view = PluginViews(built_in_hooks)
"""How widgets are shown by these: a `FindView` that loads them for the first widget."""


def engine_hooks() -> Hooks:
    """The plugins of the engine's process. What is new there is among its troubles, once."""
    hooks = LoadedPlugins("engine").load()
    hooks.troubles += new_plugins()
    return hooks


_loading = Lock()


def screen_hooks() -> Hooks:
    """The plugins of the screen's process, loaded when they are first wanted. Where another thread loads them, it is
    waited for, but not for ever: then it is as if there were none."""
    if not _loading.acquire(timeout=LOADING):
        return Hooks(SPECS["screen"])
    try:
        return load_screen_hooks()
    finally:
        _loading.release()


@cache
def load_screen_hooks() -> Hooks:
    """The same, in this thread."""
    return LoadedPlugins("screen").load()


def new_plugins() -> Iterator[Trouble]:
    """Plugins that the person has not been shown yet; marks them as shown."""
    try:
        decisions = plugin_decisions()
        known = decisions.all()
        for found in find_added_plugins():
            if found.name not in known:
                decisions.decide(found.name, "told", found.digest)
                yield Trouble(found.name, "", "is new", _describe(found))
    except OiTuiError as error:
        _log.warning("new plugins cannot be shown: %s", error.title)


def _describe(found: FoundPlugin) -> str:
    return f"{found.author or 'an unknown author'}, {found.place}"
