"""Finds what third parties have installed for us: entry points, loaded when they are first needed.

A plugin that cannot be loaded is reported once in the log and is as if it were not there.
"""

import logging
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_log = logging.getLogger(__name__)


class Plugin:
    """Something that an installed package offers under a name."""

    def __init__(self, point: "EntryPoint") -> None:
        self._point = point

    @property
    def name(self) -> str:
        """What it is registered for."""
        return self._point.name

    @property
    def maker(self) -> str:
        """Whose it is: the name of the package."""
        return self._point.dist.name if self._point.dist is not None else self._point.module

    @cached_property
    def loaded(self) -> object | None:
        """The object itself; None if it cannot be had."""
        try:
            loaded: object = self._point.load()
        except Exception:
            # The boundary to somebody else's code: whatever its import raises, we go on without it.
            _log.warning("the plugin %s of %s cannot be loaded", self._point.value, self.maker, exc_info=True)
            return None
        return loaded


def plugins(group: str) -> list[Plugin]:
    """All plugins of a group, in the order of their packages' names; nothing of them is imported yet."""
    from importlib.metadata import entry_points  # deferred: 15 ms that the first frame need not wait for

    found = [Plugin(point) for point in entry_points(group=group)]
    return sorted(found, key=lambda plugin: (plugin.maker.lower(), plugin.name))
