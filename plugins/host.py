"""Finds what third parties have installed for us and imports it: entry points of the group `oi_tui`.

A plugin that cannot be imported is named in the log and is as if it were not there.
"""

import logging
from functools import cache
from importlib import import_module

from oi_tui.app.engine.hooks import NAME, EngineHooks, Hooks, ScreenHooks
from oi_tui.plugins.builtin import BUILT_IN

_log = logging.getLogger(__name__)


def plugins(process: str) -> list[tuple[str, object]]:
    """Package name and module (or object) of each plugin, in the order of the names; built-in ones last."""
    from importlib.metadata import entry_points  # deferred: 15 ms that the first frame need not wait for

    found: list[tuple[str, object]] = []
    for point in entry_points(group=NAME):
        package = point.dist.name if point.dist is not None else point.module
        try:
            found.append((f"{package}:{point.name}", point.load()))
        except Exception:
            # The boundary to somebody else's code: whatever its import raises, we continue without it.
            _log.warning("the plugin %s of %s cannot be loaded", point.value, package, exc_info=True)
    built_in = [(name, import_module(module)) for name, module in BUILT_IN[process].items()]
    return [*sorted(found, key=lambda pair: pair[0].lower()), *built_in]


def engine_hooks() -> Hooks:
    """The plugins of the engine's process."""
    return Hooks(EngineHooks, plugins("engine"))


@cache
def screen_hooks() -> Hooks:
    """The plugins of the screen's process, looked for once."""
    return Hooks(ScreenHooks, plugins("screen"))
