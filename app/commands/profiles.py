"""The person's profiles: what each changes, and what of that a session can take while it is open."""

import os
from collections.abc import Iterator, Mapping, Set
from typing import Any, NamedTuple

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.engine.core.verbs import AnyVerb, SetApproval, SetBudget, SetComplete, UseInstructions, UseModel
from oi_tui.app.engine.files.own_instructions import own_instructions
from oi_tui.app.engine.files.paths import config_dir
from oi_tui.app.engine.files.settings_file import PROFILES, load_layers, profile_names, read_profile


class ProfileChange(NamedTuple):
    """What choosing a profile does to an open session."""

    words: str
    """For the person: what changes now, and what at the next start; or what is wrong."""
    verbs: tuple[AnyVerb, ...] = ()
    later: bool = False
    """Whether something holds only from the next start with `--profile`."""
    failed: bool = False


def profiles_in_words() -> dict[str, str]:
    """Each profile with what it changes, or what is wrong with it. Reads their files."""
    return {name: _in_words(name) for name in profile_names(config_dir())}


def profile_change(name: str) -> ProfileChange:
    """What a session can take of this profile now. Reads its file; never raises."""
    folder = config_dir()
    if not name:
        return ProfileChange(f"There are no profiles. A profile is a TOML file in {folder / PROFILES}.")
    try:
        says = read_profile(folder, name)
        settings = load_layers(folder, environ=os.environ, profile=name).settings
        before = load_layers(folder, environ=os.environ).settings
        said = {f"{section}.{key}" for section, values in says.items() for key in values}
        verbs = dict(_live_verbs(settings, said))
    except SettingsError as error:
        return ProfileChange(f"{error.title} {error.hint}".strip(), failed=True)
    words = f"profile {name}: {', '.join(verbs) or 'nothing changes now'}"
    later = sorted(key for key in said - _LIVE if _value(settings, key) != _value(before, key))
    if later:
        more = f" and {len(later) - _NAMED} more" if len(later) > _NAMED else ""
        words += f" · from the next start with --profile {name}: {', '.join(later[:_NAMED])}{more}"
    return ProfileChange(words, tuple(verbs.values()), bool(later))


_APPROVAL = {"loop.approve", "policy.auto_run", "policy.safe_mode", "policy.mode"}
"""What the approval mode follows from. Of these, only `loop.approve` holds in a session that is open."""

_LIVE = {
    *("model.name", "model.api_base", "instructions.text", "instructions.file"),
    *("loop.approve", "loop.complete", "loop.max_cost", "loop.max_tokens"),
}
"""Keys that an open session can change."""

_NAMED = 3
"""Keys named in the message, which has three lines on a narrow screen; `oi-tui profile` lists all."""


def _value(settings: Settings, key: str) -> object:
    section, _, name = key.rpartition(".")
    return getattr(getattr(settings, section), name)


def _live_verbs(settings: Settings, said: Set[str]) -> Iterator[tuple[str, AnyVerb]]:
    """What is asked of the session, by what the person reads of it. `said` are the profile's keys."""
    model, loop = settings.model, settings.loop
    if "model.name" in said:
        yield f"model {model.name}", UseModel(name=model.name, api_base=model.api_base or None)
    if said & {"instructions.text", "instructions.file"}:
        texts = (part.text for part in own_instructions(settings.instructions, config_dir(), "the profile"))
        yield "instructions", UseInstructions(text="\n\n".join(texts))
    if said & _APPROVAL:
        yield f"approval {loop.approve}", SetApproval(mode=loop.approve)
    if "loop.complete" in said:
        yield f"complete {'on' if loop.complete else 'off'}", SetComplete(on=loop.complete)
    if said & {"loop.max_cost", "loop.max_tokens"}:
        yield "budget", SetBudget(max_cost=loop.max_cost, max_tokens=loop.max_tokens)


def _in_words(name: str) -> str:
    try:
        says = read_profile(config_dir(), name)
    except SettingsError as error:
        return error.title
    return " · ".join(_section_in_words(section, values) for section, values in says.items()) or "changes nothing"


def _section_in_words(section: str, values: Mapping[str, Any]) -> str:
    match section:
        case "model" if "name" in values:
            return f"model {values['name']}"
        case "instructions":
            return "instructions"
        case _:
            return ", ".join(f"{key} {_in_toml(value)}" for key, value in values.items())


def _in_toml(value: object) -> str:
    """The value as it is in the file, as far as a line has room."""
    return str(value).lower() if isinstance(value, bool) else str(value)[:40]
