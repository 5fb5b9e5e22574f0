"""Settings from files, environment and flags, each over the one before; errors name file and key.

defaults < administrator < config.toml < profiles/NAME.toml < environment (OI_TUI_MODEL, ...) < flags

Of the keys in `modes.STRICTER`, nothing is milder than what the administrator says. What a trusted project says can
only be stricter, too, and is applied where the folder is known (`frontend/workplace.py`).
"""

import difflib
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from oi_tui.app.engine.core.encoding import decode_toml
from oi_tui.app.engine.core.errors import OiTuiError, SettingsError
from oi_tui.app.engine.core.modes import OF_APPROVAL, STRICTER, requested_mode, strictest, with_limits
from oi_tui.app.engine.core.settings import PolicySection, Settings
from oi_tui.app.engine.core.settings_section import SettingsSection
from oi_tui.app.engine.core.values import ApprovalMode
from oi_tui.app.engine.files.given_file import UnusableFile, read_given_text
from oi_tui.app.engine.files.owned_file import file_lock, read_owned_file
from oi_tui.app.engine.files.paths import admin_dir

ENVIRONMENT: Mapping[str, tuple[str, str]] = {
    "OI_TUI_MODEL": ("model", "name"),
    "OI_TUI_API_BASE": ("model", "api_base"),
    "OI_TUI_APPROVE": ("loop", "approve"),
    "OI_TUI_MAX_STEPS": ("loop", "max_steps"),
    "OI_TUI_SANDBOX": ("sandbox", "mode"),
    "OI_TUI_SANDBOX_RUNG": ("sandbox", "rung"),
    "OI_TUI_THEME": ("screen", "theme"),
    "OI_TUI_TITLES": ("model", "titles"),
    "OI_TUI_OFFLINE": ("network", "offline"),
}
"""Variables that set something, and what."""

SETTINGS = "config.toml"
"""The person's file, in the folder of the configuration; the administrator's, in theirs."""

OLD_SETTINGS = "settings.toml"
"""What it was called before."""

LARGEST_SETTINGS = 1_000_000
"""Bytes of a file of settings."""

_TRUTH = {"true": True, "false": False}
_OFF = ("0", "false", "no", "off")

Layer = Mapping[str, Mapping[str, Any]]


LayerKind = Literal["administrator", "person", "profile", "environment", "flags"]


class SettingsLayer(NamedTuple):
    """The values of one file, the environment or the command line."""

    kind: LayerKind
    origin: str
    """The file, or what it is called in a message."""
    values: Layer
    text: str = ""
    """Of a file."""

    def says(self, key: str) -> bool:
        """Whether it sets `section.key`."""
        section, _, name = key.partition(".")
        return name in self.values.get(section, {})


class LoadedSettings(NamedTuple):
    """Settings, and which layer set each; what no layer set is a default."""

    settings: Settings
    layers: tuple[SettingsLayer, ...] = ()
    """Each over the one before."""
    held: tuple[str, ...] = ()
    """Each `section.key` whose value the administrator made stricter than what the layers above say."""
    profile: str = ""
    """Name of the profile in use, "" if none."""

    @property
    def origins(self) -> dict[str, SettingsLayer]:
        """By `section.key`: the uppermost layer that sets it."""
        return {
            f"{section}.{key}": layer
            for layer in self.layers
            for section in layer.values
            for key in layer.values[section]
        }


def load_layers(
    folder: Path,
    *,
    environ: Mapping[str, str],
    flags: Layer | None = None,
    profile: str | None = None,
    admin: Path | None = None,
    cwd: Path | None = None,
) -> LoadedSettings:
    """All layers as one value; SettingsError if one of them is wrong. `admin` is the administrator's file. Without a
    `profile`, the one is used that these files choose for `cwd`."""
    chosen = [_admin_layer(admin or admin_dir() / SETTINGS), _file("person", settings_path(folder), required=False)]
    if profile is None and cwd is not None:
        profile = _chosen_profile(chosen, folder, cwd)
    if profile is not None:
        from oi_tui.app.engine.files.profile_files import find_profile  # most sessions have none

        file = find_profile(folder, profile)
        chosen.append(read_profile(file.path))
        profile = "" if file.changes_nothing else profile
    layers = [
        *chosen,
        _environment(environ),
        SettingsLayer("flags", "the command line", flags or {}),
    ]
    merged: dict[str, dict[str, Any]] = {}
    settings = Settings()
    limits: dict[str, Any] = {}
    for layer in layers:
        for section, values in layer.values.items():
            if not isinstance(values, Mapping):
                raise SettingsError(f"{layer.origin}: {section!r} must be a table.", hint=_section_hint(section))
            merged.setdefault(section, {}).update(values)
        settings = check_settings(merged, layer.origin, layer.text)  # of each, so that the error names the right one
        if layer.kind == "administrator":
            limits = _limits_of(layer, settings)
    if "approve" not in merged.get("loop", {}) and (meant := _approval(settings.policy)) is not None:
        loop = msgspec.structs.replace(settings.loop, approve=meant)
        settings = msgspec.structs.replace(settings, loop=loop)
    held = with_limits(settings, limits) if limits else settings
    changed = tuple(key for key in limits if _value_of(held, key) != _value_of(settings, key))
    return LoadedSettings(held, tuple(layers), changed, profile or "")


def _chosen_profile(layers: Sequence[SettingsLayer], folder: Path, cwd: Path) -> str | None:
    """The profile that the uppermost of these layers chooses, None if none does."""
    for layer in reversed(layers):
        if "profile" in layer.values:
            from oi_tui.app.engine.files.profile_files import profile_for  # as above

            section = check_settings(layer.values, layer.origin, layer.text).profile
            if found := profile_for(section, cwd, folder, layer.origin):
                return found
    return None


def _admin_layer(path: Path) -> SettingsLayer:
    text = read_owned_file(path, "administrator's file", "Nothing is run until it can be relied on.", owner=0) or ""
    return SettingsLayer("administrator", str(path), read_toml(text, path), text)


def with_admin_limits(settings: Settings) -> Settings:
    """Settings of a program, which come from no file, within the administrator's limits. SettingsError if those are not
    valid."""
    layer = _admin_layer(admin_dir() / SETTINGS)
    return with_limits(settings, _limits_of(layer, check_settings(layer.values, layer.origin, layer.text)))


def _limits_of(layer: SettingsLayer, settings: Settings) -> dict[str, Any]:
    """`settings` are what the layer comes to by itself. The approval it asks for is a mode, too: a session that is open
    can change the one, and not the other."""
    limits = {key: _value_of(settings, key) for key in STRICTER if layer.says(key)}
    if any(layer.says(f"policy.{key}") for key in ("mode", "auto_run", "safe_mode")):
        limits["policy.mode"] = requested_mode(settings.policy)
    if layer.says("loop.approve"):
        mode = limits.get("policy.mode", "bypassPermissions")
        limits["policy.mode"] = strictest(mode, OF_APPROVAL[settings.loop.approve])
    return limits


def _value_of(settings: Settings, key: str) -> Any:
    section, _, name = key.partition(".")
    return getattr(getattr(settings, section), name)


def settings_path(folder: Path) -> Path:
    """The person's file, by the name it has; the new one if there is none."""
    new, old = folder / SETTINGS, folder / OLD_SETTINGS
    return old if not os.path.lexists(new) and os.path.lexists(old) else new


def take_over_settings(folder: Path) -> str:
    """Give the person's file the name that it has now, once; what to tell them, "" for nothing."""
    new, old = folder / SETTINGS, folder / OLD_SETTINGS
    if not os.path.lexists(old):
        return ""
    try:
        with file_lock(new):  # no other start, and no `oi-tui config set`, meanwhile
            if os.path.lexists(new):
                return f"{new} is used, and {old} is not: move what you need of it, and delete it."
            os.rename(old, new)
    except FileNotFoundError:
        return ""  # another start did it
    except (OiTuiError, OSError) as error:  # the lock's, and that of the renaming
        why = error.title if isinstance(error, OiTuiError) else f"{error.strerror}."
        return f"{old} is used, but could not be renamed to {SETTINGS}: {why}"
    return f"Your settings are in {SETTINGS} now: {old} was renamed."


_UNASKED = ("auto", "unlessDestructive", "bypassPermissions")


def _approval(policy: PolicySection) -> ApprovalMode | None:
    """The value of `approve` if only the policy sets one: the least strict mode that the policy allows."""
    if not policy.mode and policy.auto_run is None and policy.safe_mode == "off":
        return None
    mode = requested_mode(policy)
    return "never" if mode == "plan" else "auto" if mode in _UNASKED else "ask"


def read_profile(path: Path) -> SettingsLayer:
    """The values in the file of a profile; SettingsError, with the line, if it is not valid."""
    layer = _file("profile", path, required=True)
    check_profile(layer)
    return layer


def check_profile(layer: SettingsLayer) -> None:
    """SettingsError, with the line, if a profile cannot say this."""
    if "profile" in layer.values:
        hint = f"Only {SETTINGS} has [profile]."
        raise SettingsError(f"{layer.origin}: profile: a profile cannot choose another.", hint=hint)
    check_settings(layer.values, layer.origin, layer.text)


def _file(kind: LayerKind, path: Path, *, required: bool) -> SettingsLayer:
    try:
        text = read_given_text(path, LARGEST_SETTINGS)
    except UnusableFile as error:
        if not isinstance(error.__cause__, FileNotFoundError):
            raise SettingsError(f"{path} {error}.") from error
        if not required:
            return SettingsLayer(kind, str(path), {})
        raise SettingsError(f"There is no file {path}.") from None
    return SettingsLayer(kind, str(path), read_toml(text, path), text)


def read_toml(text: str, path: Path) -> dict[str, Any]:
    """The tables of a settings file; SettingsError if it is no TOML."""
    try:
        return decode_toml(text)
    except ValueError as error:
        mend = "To mend it: oi-tui config edit." if path.name == SETTINGS and path.parent != admin_dir() else ""
        raise SettingsError(f"{path} is not valid TOML: {error}.", hint=mend) from error


def _environment(environ: Mapping[str, str]) -> SettingsLayer:
    layer: dict[str, dict[str, Any]] = {}
    names: list[str] = []
    for variable, (section, key) in ENVIRONMENT.items():
        if value := environ.get(variable, ""):
            layer.setdefault(section, {})[key] = int(value) if value.isdecimal() else _TRUTH.get(value, value)
            names.append(variable)
    if offline := layer.get("network"):
        offline["offline"] = environ["OI_TUI_OFFLINE"].lower() not in _OFF  # in doubt it is
    return SettingsLayer("environment", f"the environment ({', '.join(names)})", layer)


def check_settings(values: Mapping[str, Any], origin: str, text: str = "") -> Settings:
    """What a table comes to by itself, over the defaults; SettingsError, which begins with `origin`, if it is wrong.
    With the `text` of the file, it names the line."""
    try:
        return msgspec.convert(values, Settings)
    except msgspec.ValidationError as error:
        where = f"{origin}{_line(str(error), text)}"
        raise SettingsError(f"{where}: {_plain(str(error))}", hint=_nearest(str(error))) from error


def _line(message: str, text: str) -> str:
    """Where a mistake is, as `:7`; "" if that cannot be found."""
    from oi_tui.app.engine.files.settings_lines import setting_line, setting_lines  # after a mistake only

    path = tuple(re.findall(r"[\w-]+", message.partition(" - at `$")[2]))
    unknown = re.search(r"unknown field `(.+?)`", message)
    lines = setting_lines(text) if text else {}
    line = setting_line(lines, (*path, unknown[1]) if unknown else path)
    return f":{line}" if line is not None else ""


def _plain(message: str) -> str:
    """msgspec's "Expected `int`, got `str` - at `$.loop.max_steps`" with the key first."""
    what, _, where = message.partition(" - at `$")
    key = where.rstrip("`").lstrip(".")
    what = what.replace("Object contains unknown field", "unknown key")
    return f"{key}: {what}." if key else f"{what}."


def _nearest(message: str) -> str:
    unknown = re.search(r"unknown field `(.+?)`", message)
    if unknown is None:
        return ""
    section = re.search(r"at `\$\.(\w+)", message)
    owner: type[SettingsSection] = type(getattr(Settings(), section[1])) if section else Settings
    close = difflib.get_close_matches(unknown[1], owner.__struct_fields__, n=1)
    return f"Did you mean {close[0]!r}?" if close else f"Known are: {', '.join(owner.__struct_fields__)}."


def _section_hint(section: str) -> str:
    return f"Sections are: {', '.join(Settings.__struct_fields__)}; not {section!r} by itself."
