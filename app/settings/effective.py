"""What `oi-tui config` shows: settings as they apply here, each with its origin, and none of their secrets."""

import difflib
import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.engine.files.given_file import read_given_file
from oi_tui.app.engine.files.paths import PROJECT
from oi_tui.app.engine.files.settings_edit import key_text
from oi_tui.app.engine.files.settings_file import (
    ENVIRONMENT,
    LARGEST_SETTINGS,
    LayerKind,
    LoadedSettings,
    SettingsLayer,
)
from oi_tui.app.engine.files.settings_lines import KeyPath, setting_line, setting_lines
from oi_tui.app.engine.secrets.environment import is_credential
from oi_tui.app.engine.trust.folder_settings import CONFIG, read_folder_settings
from oi_tui.app.flags import SETTING_OF_FLAG, Flags
from oi_tui.app.frontend.workplace import Workplace
from oi_tui.app.settings.catalog import SettingEntry, setting_catalog

_HEADERS = ("model", "extra", "headers")


class ShownSetting(NamedTuple):
    """A value as it applies in a folder."""

    path: KeyPath
    value: Any
    is_default: bool
    origin: str
    """Where it comes from, "" for a default."""

    @property
    def is_secret(self) -> bool:
        """Whether it must not be shown."""
        return holds_secret(self.path, self.value)


def setting_at(settings: Settings, path: KeyPath) -> Any:
    """The value of a key, or a table as a dictionary; None if it is not set, SettingsError if there is no such key."""
    value: Any = settings
    for depth, part in enumerate(path):
        if isinstance(value, msgspec.Struct):
            if part not in value.__struct_fields__:
                raise _no_such_key(path[:depth], part, value.__struct_fields__)
            value = getattr(value, part)
        elif isinstance(value, Mapping):
            value = value.get(part)
        elif value is None:
            return None
        else:
            raise SettingsError(f"{key_text(path[:depth])} is a value, and has no keys.")
    return msgspec.to_builtins(value)


def _no_such_key(above: KeyPath, part: str, known: tuple[str, ...]) -> SettingsError:
    close = difflib.get_close_matches(part, known, n=1)
    hint = f"Did you mean {key_text((*above, *close))}?" if close else f"Known are: {', '.join(known)}."
    return SettingsError(f"There is no setting {key_text((*above, part))}.", hint=hint)


def holds_secret(path: KeyPath, value: Any) -> bool:
    """Whether a value, or a part of it, is a key, a password, or a header that may be one; `$NAME` is none."""
    match value:
        case Mapping():
            return any(holds_secret((*path, key), inner) for key, inner in value.items())
        case list() | tuple():
            return any(holds_secret(path, inner) for inner in value)
        case str():
            if path[:3] == _HEADERS and not value.startswith("$"):
                return True
            from oi_tui.app.engine.secrets.redaction import Redactor, secrets_in  # for those who look at settings

            named = path[:3] == ("model", "extra", "body") and any(is_credential(part, "") for part in path[3:])
            return named or is_credential("", value) or bool(Redactor(secrets_in(os.environ)).places(value))
        case _:
            return False


def shown_settings(flags: Flags) -> list[ShownSetting]:
    """All values as they apply in this folder, in the order of the guide; SettingsError if something is wrong."""
    loaded, place = flags.settings(), flags.workplace(can_ask=False)
    origins = SettingOrigins(flags, loaded, place)
    said = loaded.origins.keys()
    shown: list[ShownSetting] = []
    for path, value, is_default in _leaves(place.settings):
        is_default = is_default and ".".join(path) not in said
        if value is not None:
            shown.append(ShownSetting(path, value, is_default, "" if is_default else origins.find(path, value)))
    return shown


class SettingState(NamedTuple):
    """A setting as it is now, for a screen that changes it."""

    entry: SettingEntry
    value: Any
    """As it applies in this folder, as plain values; None if it is not set."""
    origin: str
    """Where that comes from, "" for a default."""
    own: Any
    """What the person's file says; `UNSET` if nothing."""
    is_secret: bool
    """Whether neither must be shown."""


def setting_states(flags: Flags) -> list[SettingState]:
    """All settings as they are in this folder; SettingsError if a file is wrong."""
    loaded, place = flags.settings(), flags.workplace(can_ask=False)
    origins = SettingOrigins(flags, loaded, place)
    person = next(layer for layer in loaded.layers if layer.kind == "person")
    states: list[SettingState] = []
    for entry in setting_catalog():
        value, own = setting_at(place.settings, entry.path), _said_in(person.values, entry.path)
        is_default = value == entry.default and (".".join(entry.path) not in loaded.origins)
        origin = "" if is_default else origins.find(entry.path, value)
        is_secret = not is_default and (holds_secret(entry.path, value) or holds_secret(entry.path, own))
        states.append(SettingState(entry, value, origin, own, is_secret))
    return states


def _said_in(values: Mapping[str, Any], path: KeyPath) -> Any:
    found: Any = values
    for part in path:
        if not isinstance(found, Mapping) or part not in found:
            return UNSET
        found = found[part]
    return found


class SettingOrigins:
    """Where values come from. Reads the folder's file only for values that are no defaults."""

    def __init__(self, flags: Flags, loaded: LoadedSettings, place: Workplace) -> None:
        self._given, self._loaded, self._place = flags, loaded, place
        self._layers = loaded.origins
        self._asked = {leaf.path: leaf.value for leaf in _leaves(loaded.settings)}
        self._lines: dict[str, dict[KeyPath, int]] = {}

    def find(self, path: KeyPath, value: Any) -> str:
        """The origin in words, and why it is stricter than what another layer says."""
        asked = self._of_layer(path)
        key = ".".join(path[:2])
        if not isinstance(value, Mapping) and value != self._asked.get(path):
            return f"{self._of_folder(path)}{f', stricter than {asked}' if asked else ''}"
        if key in self._loaded.held:
            return f"{self._of_limit(path)}{f', stricter than {asked}' if asked else ''}"
        if path == ("sandbox", "network") and self._loaded.settings.network.offline and asked:
            return f"{self._of_layer(('network', 'offline'))}, stricter than {asked}"
        if path == ("loop", "approve") and not asked:
            keys = (f"policy.{key}" for key in ("mode", "auto_run", "safe_mode"))
            key = next((key for key in keys if key in self._layers), "")
            return f"{key}, {self._of_layer(('policy', key[7:]))}" if key and value != "ask" else ""
        return asked

    def said_by(self, layer: SettingsLayer, path: KeyPath) -> str:
        """Where a layer says it, in words."""
        if layer.kind == "environment":
            return next(variable for variable, key in ENVIRONMENT.items() if key == path[:2])
        if layer.kind == "flags":
            flags = (flag for flag, key in SETTING_OF_FLAG.items() if key == path[:2])
            return "--" + next(flag for flag in flags if getattr(self._given, flag)).replace("_", "-")
        where = self._with_line(layer.origin, layer.text, path)
        return f"{_OF_KIND[layer.kind]}{where}"

    def _of_layer(self, path: KeyPath) -> str:
        layer = self._layers.get(".".join(path[:2]))
        return self.said_by(layer, path) if layer is not None else ""

    def _of_limit(self, path: KeyPath) -> str:
        """Where the administrator says it, perhaps of another key that implies it."""
        admin = self._loaded.layers[0]
        keys = (path, *(("policy", key) for key in ("auto_run", "safe_mode")), ("loop", "approve"))
        said = next(key for key in keys if admin.says(".".join(key[:2])))
        return f"{'' if said == path else f'{key_text(said)}, '}{self.said_by(admin, said)}"

    def _of_folder(self, path: KeyPath) -> str:
        decision, folder = self._place.decision, self._place.folder
        if decision is not None and decision.trusted:
            if ".".join(path) in dict(read_folder_settings(folder).items()):
                file = folder / PROJECT / CONFIG
                text = read_given_file(file, LARGEST_SETTINGS).decode()
                return f"this folder: {self._with_line(str(file), text, path)}"
            return "your choice for this folder (oi-tui trust)"
        return "this folder is read-only (oi-tui trust)"

    def _with_line(self, file: str, text: str, path: KeyPath) -> str:
        if file not in self._lines:
            self._lines[file] = setting_lines(text)
        line = setting_line(self._lines[file], path)
        return file if line is None else f"{file}:{line}"


_OF_KIND: Mapping[LayerKind, str] = {"administrator": "administrator: ", "person": "", "profile": "profile: "}
"""The description of a file, besides its name: the person's own has none."""


class _Leaf(NamedTuple):
    """A value that is no table."""

    path: KeyPath
    value: Any
    is_default: bool


def _leaves(value: Any, path: KeyPath = (), default: Any = None) -> Iterator[_Leaf]:
    """Every one of a struct or mapping; what a mapping holds is no default."""
    match value:
        case msgspec.Struct():
            defaults = type(value)()
            for key in value.__struct_fields__:
                yield from _leaves(getattr(value, key), (*path, key), getattr(defaults, key))
        case Mapping():
            for key, inner in value.items():
                yield from _leaves(inner, (*path, key))
        case _:
            plain = msgspec.to_builtins(value)
            yield _Leaf(path, plain, plain == msgspec.to_builtins(default))
