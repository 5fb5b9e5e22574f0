"""Settings from files, environment and flags, each over the one before; errors name file and key.

defaults < settings.toml < profiles/NAME.toml < environment (OI_TUI_MODEL, ...) < flags
"""

import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from oi_tui.app.engine.core.encoding import decode_toml
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.modes import requested_mode
from oi_tui.app.engine.core.settings import PolicySection, Settings, SettingsSection
from oi_tui.app.engine.core.values import ApprovalMode
from oi_tui.app.engine.files.given_file import UnusableFile, read_given_file

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

SETTINGS = "settings.toml"
"""The person's file, in the folder of the configuration."""

PROFILES = "profiles"
"""Folder of the profiles, beside the settings."""

LARGEST_SETTINGS = 1_000_000
"""Bytes of a file of settings."""

_TRUTH = {"true": True, "false": False}
_OFF = ("0", "false", "no", "off")

Layer = Mapping[str, Mapping[str, Any]]


class LoadedSettings(NamedTuple):
    """Settings, and which of them somebody said: the others are defaults."""

    settings: Settings
    origins: Mapping[str, str]
    """By `section.key`: a file, a variable of the environment, or "" for a flag."""


def load_layers(
    folder: Path, *, environ: Mapping[str, str], flags: Layer | None = None, profile: str | None = None
) -> LoadedSettings:
    """All layers as one value, with the warnings; SettingsError if one of them is wrong."""
    layers: list[tuple[Layer, str]] = [_file(folder / SETTINGS, required=False)]
    if profile is not None:
        layers.append(_file(_profile_path(folder, profile), required=True))
    layers.append(_environment(environ))
    layers.append((flags or {}, "the command line"))
    merged: dict[str, dict[str, Any]] = {}
    origins: dict[str, str] = {}
    settings = Settings()
    for layer, origin in layers:
        for section, values in layer.items():
            if not isinstance(values, Mapping):
                raise SettingsError(f"{origin}: {section!r} must be a table.", hint=_section_hint(section))
            merged.setdefault(section, {}).update(values)
            origins.update({f"{section}.{key}": origin for key in values})
        settings = check_settings(merged, origin)  # after each layer, so that the error names the right one
    if "approve" not in merged.get("loop", {}) and (meant := _approval(settings.policy)) is not None:
        loop = msgspec.structs.replace(settings.loop, approve=meant)
        settings = msgspec.structs.replace(settings, loop=loop)
    return LoadedSettings(settings, origins)


_UNASKED = ("auto", "unlessDestructive", "bypassPermissions")


def _approval(policy: PolicySection) -> ApprovalMode | None:
    """What `approve` is where only the policy says something of it: the mildest that the policy allows."""
    if not policy.mode and policy.auto_run is None and policy.safe_mode == "off":
        return None
    mode = requested_mode(policy)
    return "never" if mode == "plan" else "auto" if mode in _UNASKED else "ask"


def is_profile_name(name: str) -> bool:
    """Whether a profile may be called so."""
    return re.fullmatch(r"[\w.-]+", name) is not None and not name.startswith(".")


def profile_names(folder: Path) -> list[str]:
    """The profiles beside the settings in this folder, sorted."""
    return sorted(file.stem for file in (folder / PROFILES).glob("*.toml") if is_profile_name(file.stem))


def read_profile(folder: Path, name: str) -> dict[str, dict[str, Any]]:
    """What a profile says, section by section; SettingsError if there is none, or it is wrong."""
    says, origin = _file(_profile_path(folder, name), required=True)
    check_settings(says, origin)
    return says


def _profile_path(folder: Path, profile: str) -> Path:
    if not is_profile_name(profile):
        raise SettingsError(f"{profile!r} is no name of a profile.", hint="Letters, digits, '-', '_' and '.'.")
    path = folder / PROFILES / f"{profile}.toml"
    if not path.exists():
        there = profile_names(folder)
        known = f"There are: {', '.join(there)}." if there else f"Profiles are TOML files in {path.parent}."
        raise SettingsError(f"There is no profile {profile!r}.", hint=known)
    return path


def _file(path: Path, *, required: bool) -> tuple[dict[str, Any], str]:
    try:
        return decode_toml(read_given_file(path, LARGEST_SETTINGS).decode()), str(path)
    except UnusableFile as error:
        if not isinstance(error.__cause__, FileNotFoundError):
            raise SettingsError(f"{path} {error}.") from error
        if not required:
            return {}, str(path)
        raise SettingsError(f"There is no file {path}.") from None
    except ValueError as error:
        raise SettingsError(f"{path} is not valid TOML: {error}.") from error


def _environment(environ: Mapping[str, str]) -> tuple[dict[str, dict[str, Any]], str]:
    layer: dict[str, dict[str, Any]] = {}
    names: list[str] = []
    for variable, (section, key) in ENVIRONMENT.items():
        if value := environ.get(variable, ""):
            layer.setdefault(section, {})[key] = int(value) if value.isdecimal() else _TRUTH.get(value, value)
            names.append(variable)
    if offline := layer.get("network"):
        offline["offline"] = environ["OI_TUI_OFFLINE"].lower() not in _OFF  # in doubt it is
    return layer, f"the environment ({', '.join(names)})"


def check_settings(values: Mapping[str, Any], origin: str) -> Settings:
    """What a table comes to by itself, over the defaults; SettingsError, which begins with `origin`, if it is wrong."""
    try:
        return msgspec.convert(values, Settings)
    except msgspec.ValidationError as error:
        raise SettingsError(f"{origin}: {_plain(str(error))}", hint=_nearest(str(error))) from error


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
