"""Which plugins the person enabled or disabled, kept in a file of ours that code in a sandbox cannot see.

[plugin.oi-tui-tale]
state = "enabled"
digest = "5f3c..."        # of what was looked at: a plugin that has changed is asked about again
decided = "2026-11-22"
"""

import datetime
import os
from pathlib import Path
from typing import Literal

import msgspec

from oi_tui.app.engine.core.encoding import decode_toml
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.values import Value
from oi_tui.app.engine.files import paths
from oi_tui.app.engine.files.owned_file import file_lock, read_owned_file, replace_owned_file

PLUGINS_FILE = "plugins.toml"

_HINT = "No plugin is loaded until it can be relied on: mend it, or delete it and decide anew."


class PluginDecision(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What holds for one plugin."""

    state: Literal["enabled", "disabled", "told"]
    """`told`: the person knows that it is there, and has decided nothing."""
    digest: str = ""
    decided: str = ""
    """The day."""


class _PluginRecord(msgspec.Struct, forbid_unknown_fields=True):
    plugin: dict[str, PluginDecision] = {}


class PluginDecisions:
    """The file. What is in it is read each time: another program of ours may have changed it."""

    def __init__(self, path: Path, *, owner: int) -> None:
        self._path = path
        self._owner = owner

    def all(self) -> dict[str, PluginDecision]:
        """Every decision, by the name of the plugin; SettingsError if the file is no good."""
        text = read_owned_file(self._path, "record of plugins", _HINT, owner=self._owner)
        if text is None:
            return {}
        try:
            return msgspec.convert(decode_toml(text), _PluginRecord).plugin
        except ValueError as error:
            raise SettingsError(f"The record of plugins {self._path} is wrong: {error}.", hint=_HINT) from error

    def decide(self, name: str, state: Literal["enabled", "disabled", "told"], digest: str) -> None:
        """Keep a decision; OiTuiError if the file cannot be read or written."""
        import tomli_w  # only where something is decided

        today = datetime.datetime.now().astimezone().date().isoformat()
        paths.private_dir(self._path.parent)
        with file_lock(self._path):
            decided = self.all() | {name: PluginDecision(state=state, digest=digest, decided=today)}
            replace_owned_file(self._path, tomli_w.dumps({"plugin": msgspec.to_builtins(decided)}))


def plugin_decisions() -> PluginDecisions:
    """What this person decided."""
    return PluginDecisions(paths.data_dir() / PLUGINS_FILE, owner=os.getuid())
