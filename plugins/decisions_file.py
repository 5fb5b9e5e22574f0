"""Which plugins and files of tools the person enabled or disabled, kept in a file of ours that code in a sandbox cannot
see.

[plugin.oi-tui-tale]
state = "enabled"
digest = "5f3c..."        # of what was looked at: a plugin that has changed is asked about again
decided = "2026-11-22"

[tools."tools/units.py"]
state = "enabled"
digest = "09aa..."
"""

import datetime
import os
from pathlib import Path
from typing import Literal

import msgspec

from oi_tui.app.engine.core.values import Value
from oi_tui.app.engine.files import paths
from oi_tui.app.engine.files.owned_file import file_lock, read_record, replace_owned_file

PLUGINS_FILE = "plugins.toml"

_HINT = "No plugin is loaded until it can be relied on: fix it, or delete it and decide again."


DecidedState = Literal["enabled", "disabled", "told"]
"""`told`: the person knows that it exists, and has not decided."""


class PluginDecision(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The decision about one plugin, or one file of tools."""

    state: DecidedState
    digest: str = ""
    decided: str = ""
    """The day."""


class _PluginRecord(msgspec.Struct, forbid_unknown_fields=True):
    plugin: dict[str, PluginDecision] = {}
    tools: dict[str, PluginDecision] = {}


class PluginDecisions:
    """The file, as far as it is about plugins or about files of tools. What is in it is read each time: another program
    of ours may have changed it."""

    def __init__(self, path: Path, *, owner: int, about: Literal["plugin", "tools"] = "plugin") -> None:
        self._path = path
        self._owner = owner
        self._about = about

    def all(self) -> dict[str, PluginDecision]:
        """Every decision, by the name of the plugin or file; SettingsError if the record is no good."""
        decided: dict[str, PluginDecision] = getattr(self._read(), self._about)
        return decided

    def _read(self) -> _PluginRecord:
        return read_record(_PluginRecord, self._path, "record of plugins", _HINT, owner=self._owner)

    def decide(self, name: str, state: DecidedState, digest: str) -> None:
        """Keep a decision; OiTuiError if the file cannot be read or written."""
        import tomli_w  # only where something is decided

        today = datetime.datetime.now().astimezone().date().isoformat()
        paths.private_dir(self._path.parent)
        with file_lock(self._path):
            record = self._read()
            decided = self.all() | {name: PluginDecision(state=state, digest=digest, decided=today)}
            kept = msgspec.to_builtins(msgspec.structs.replace(record, **{self._about: decided}))
            replace_owned_file(self._path, tomli_w.dumps({about: table for about, table in kept.items() if table}))


def plugin_decisions() -> PluginDecisions:
    """What this person decided."""
    return PluginDecisions(paths.data_dir() / PLUGINS_FILE, owner=os.getuid())


def tool_file_decisions() -> PluginDecisions:
    """What this person decided about files of tools."""
    return PluginDecisions(paths.data_dir() / PLUGINS_FILE, owner=os.getuid(), about="tools")


def decisions_about(kind: str) -> PluginDecisions:
    """Decisions about plugins, or about tools."""
    return tool_file_decisions() if kind == "tools" else plugin_decisions()
