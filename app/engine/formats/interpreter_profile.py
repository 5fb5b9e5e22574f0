"""Open Interpreter's profiles: their YAML as settings of ours, key by key. Nothing of a profile is run.

A profile may be anybody's: it is read by PyYAML's safe loader, without aliases, which could make a small file huge.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.instructions import MOST_OF_ONE
from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.engine.text.plain_yaml import NotPlainYaml, read_plain_yaml
from oi_tui.app.engine.text.template import is_template

Fate = Literal["taken", "changed", "left"]
"""Kept as it is; kept with another meaning or form, which is reported; dropped."""


class ImportedKey(NamedTuple):
    """The fate of one key of a profile."""

    key: str
    """`llm.model`."""
    fate: Fate
    became: str
    """The setting and its value, or why there is none."""


class ImportedProfile(NamedTuple):
    """A profile in settings of ours."""

    settings: dict[str, dict[str, Any]]
    """Section, key, value."""
    keys: tuple[ImportedKey, ...]


_SAME: Mapping[str, tuple[str, str]] = {
    "llm.model": ("model", "name"),
    "llm.api_base": ("model", "api_base"),
    "llm.temperature": ("model", "temperature"),
    "llm.max_tokens": ("model", "max_output_tokens"),
    "llm.max_output": ("model", "max_output_tokens"),
    "llm.context_window": ("model", "context_window"),
    "llm.max_budget": ("loop", "max_cost"),
    "max_output": ("loop", "output_to_model"),
    "loop": ("loop", "complete"),
    "auto_run": ("policy", "auto_run"),
    "safe_mode": ("policy", "safe_mode"),
    "offline": ("network", "offline"),
}
_SWITCHES: Mapping[str, tuple[str, str]] = {
    "llm.supports_vision": ("model", "images"),
    "llm.supports_functions": ("model", "tools"),
}
_TEXTS = ("system_message", "custom_instructions")
"""In this order."""

_LEFT: Mapping[str, str] = {
    "llm.api_key": "keys do not belong in a file: put it into the provider's variable, or OI_TUI_API_KEY",
    "llm.api_version": "set AZURE_API_VERSION in the environment",
    "llm.execution_instructions": "oi-tui has its own",
    "verbose": "oi-tui logs shows what happens",
    "disable_telemetry": "there is no telemetry",
    "anonymous_telemetry": "there is no telemetry",
    "os": "there is no control of screen and mouse",
    "version": "of Open Interpreter; it says nothing here",
}
_LEFT_BELOW: Mapping[str, str] = {
    "computer": "code runs in Jupyter kernels, without Open Interpreter's computer API",
    "llm": "there is no such setting",
}
_LARGEST = 100_000
"""Characters of a profile; PyYAML takes a second for so many."""


def import_profile(text: str) -> ImportedProfile:
    """Settings that do what this YAML profile does, and what became of each of its keys; SettingsError if the text is
    no profile."""
    found = dict(_flatten(_parse(text)))
    settings: dict[str, dict[str, Any]] = {}
    keys: list[ImportedKey] = []
    for key, value in found.items():
        if key not in _TEXTS:
            place, value, fate = _translate(key, value)
            keys.append(_take(settings, key, place, value, fate) if place else ImportedKey(key, "left", _why(key)))
    said = {key: found[key] for key in _TEXTS if found.get(key)}
    if said:
        keys += _take_texts(settings, said)
    return ImportedProfile(settings, tuple(keys))


def _parse(text: str) -> Mapping[str, Any]:
    if len(text) > _LARGEST:
        raise SettingsError(f"A profile has at most {_LARGEST:,} characters, this one has {len(text):,}.")
    try:
        value = read_plain_yaml(text)
    except NotPlainYaml as error:
        raise SettingsError(f"The profile {error}.") from error
    if not isinstance(value, Mapping):
        raise SettingsError("The profile has no keys.")
    return value


def _flatten(table: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        key = f"{prefix}{name}".encode(errors="replace").decode()
        if isinstance(value, Mapping) and value:
            yield from _flatten(value, f"{key}.")
        else:
            # An escape may be half of a character, which no file can hold.
            yield key, value.encode(errors="replace").decode() if isinstance(value, str) else value


def _translate(key: str, value: Any) -> tuple[tuple[str, str] | None, Any, Fate]:
    """The setting, its value, and whether that means something else; no setting where there is none."""
    if key in _SAME:
        if key == "safe_mode" and value is False:
            return _SAME[key], "off", "taken"  # YAML 1.1 reads a bare `off` so
        return (None, value, "left") if value is None else (_SAME[key], value, "taken")
    if key in _SWITCHES:
        return _SWITCHES[key], {True: "on", False: "off"}.get(value, "auto") if _is_flag(value) else value, "changed"
    return None, value, "left"


def _is_flag(value: Any) -> bool:
    return value is None or isinstance(value, bool)


def _take(settings: dict[str, dict[str, Any]], key: str, place: tuple[str, str], value: Any, fate: Fate) -> ImportedKey:
    """Put the value where it belongs, if it can be there."""
    section, name = place
    try:
        msgspec.convert({section: {name: value}}, Settings)
    except msgspec.ValidationError as error:
        return ImportedKey(
            key, "left", f"{section}.{name} cannot be {_short(value)}: {str(error).partition(' - at')[0]}"
        )
    settings.setdefault(section, {})[name] = value
    return ImportedKey(key, fate, f"{section}.{name} = {_short(value)}")


def _take_texts(settings: dict[str, dict[str, Any]], said: Mapping[str, Any]) -> Iterator[ImportedKey]:
    """Both are instructions here, behind the program's own. What Open Interpreter would run in them is text."""
    texts = []
    for key, value in said.items():
        if not isinstance(value, str) or len(value) > MOST_OF_ONE:
            yield ImportedKey(key, "left", f"it is no text of at most {MOST_OF_ONE:,} characters")
            continue
        marks = is_template(value)
        texts.append(f"{{% raw %}}{value.strip()}{{% endraw %}}" if marks else value.strip())
        note = "; what is between {{ and }} is text and does not run" if marks else ""
        yield ImportedKey(key, "changed", f"instructions.text, after oi-tui's own words{note}")
    if texts:
        settings["instructions"] = {"text": "\n\n".join(texts)}


def _why(key: str) -> str:
    return _LEFT.get(key) or _LEFT_BELOW.get(key.partition(".")[0]) or "oi-tui has no such setting"


def _short(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
