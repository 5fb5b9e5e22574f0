"""Profiles: what each changes, and what of that a session can take while it is open."""

import os
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple

from msgspec.structs import replace

from oi_tui.app.commands.strictness import Strictness, setting_of, strictness
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.engine.core.verbs import AnyVerb, SetApproval, SetBudget, SetComplete, UseInstructions, UseModel
from oi_tui.app.engine.files.own_instructions import own_instructions
from oi_tui.app.engine.files.paths import config_dir
from oi_tui.app.engine.files.profile_files import ProfileFile, find_profile, profile_files
from oi_tui.app.engine.files.settings_file import load_layers, read_profile
from oi_tui.app.engine.text.words import some_names


class SettingDifference(NamedTuple):
    """A setting whose value a profile changes."""

    key: str
    """`loop.approve`."""
    before: Any
    after: Any
    strictness: Strictness
    """Whether it protects the person more, or less."""

    @property
    def words(self) -> str:
        """In one line, as the file has it."""
        mark = {"stricter": "  ▲ stricter", "milder": "  ▼ less strict", "": ""}[self.strictness]
        before = f"  (now {_value_in_words(self.key, self.before)})" if self.before not in (None, "", (), {}) else ""
        return f"{self.key} = {_value_in_words(self.key, self.after)}{before}{mark}"


class ProfileRow(NamedTuple):
    """A profile and what it does."""

    file: ProfileFile
    purpose: str
    changes: tuple[SettingDifference, ...] = ()
    problem: str = ""
    """What is wrong with it, "" if nothing is."""

    @property
    def origin(self) -> str:
        """Who made the profile, and whether one of ours has the same name."""
        return "shipped" if self.file.is_shipped else "yours, instead of ours" if self.file.replaces else "yours"

    @property
    def milder(self) -> tuple[SettingDifference, ...]:
        """The settings with which it protects the person less."""
        return tuple(change for change in self.changes if change.strictness == "milder")


class ProfileChange(NamedTuple):
    """The effects of choosing a profile in an open session."""

    words: str
    """For the person: what changes now, and what at the next start; or what is wrong."""
    verbs: tuple[AnyVerb, ...] = ()
    later: bool = False
    """Whether something holds only from the next start with `--profile`."""
    failed: bool = False
    milder: tuple[SettingDifference, ...] = ()
    """What of this session would protect the person less than now."""


def profile_rows(now: Settings) -> list[ProfileRow]:
    """All profiles, with what differs from the settings `now`. Reads their files."""
    return [profile_row(file, now) for file in profile_files(config_dir())]


def profile_row(file: ProfileFile, now: Settings) -> ProfileRow:
    """The same of one."""
    try:
        read_profile(file.path)
        settings = load_layers(config_dir(), environ=os.environ, profile=file.name).settings
    except SettingsError as error:
        return ProfileRow(file, file.purpose, problem=f"{error.title} {error.hint}".strip())
    return ProfileRow(file, file.purpose, tuple(setting_differences(now, settings)))


def setting_differences(now: Settings, then: Settings) -> Iterator[SettingDifference]:
    """The settings that differ, except look and keys of the screen, which profiles do not choose."""
    for section in now.__struct_fields__:
        if section in ("screen", "profile", "keys"):
            continue
        before, after = getattr(now, section), getattr(then, section)
        for key in before.__struct_fields__:
            name = f"{section}.{key}"
            if (one := getattr(before, key)) != (other := getattr(after, key)) and (other or name not in _CHOSEN):
                yield SettingDifference(name, one, other, strictness(name, now, then))


def plain_settings() -> Settings:
    """The person's, without a profile; SettingsError if something is wrong."""
    return load_layers(config_dir(), environ=os.environ).settings


def profiles_in_words() -> dict[str, str]:
    """Each profile with what it changes, or what is wrong with it. Reads their files."""
    return {file.name: _in_words(file) for file in profile_files(config_dir())}


def profile_change(name: str, now: Settings, before: str = "") -> ProfileChange:
    """What a session with the settings `now` can take of this profile; `before` is the one in use: what that changed is
    as the settings say. Reads files; never raises."""
    folder = config_dir()
    try:
        says = _keys(find_profile(folder, name))
        undone = _keys(find_profile(folder, before)) if before and before != name else set[str]()
        settings = load_layers(folder, environ=os.environ, profile=name).settings
        plain = plain_settings()
        verbs = dict(_live_verbs(settings, says | undone))
    except SettingsError as error:
        return ProfileChange(f"{error.title} {error.hint}".strip(), failed=True)
    words = f"profile {name}: {', '.join(verbs) or 'nothing changes now'}"
    later = sorted(key for key in says - _LIVE if setting_of(settings, key) != setting_of(plain, key))
    if later:
        words += f" · from the next start with --profile {name}: {some_names(later, _NAMED)}"
    sent = tuple(verbs.values())
    milder = tuple(
        change for change in setting_differences(now, _with_verbs(now, sent)) if change.strictness == "milder"
    )
    return ProfileChange(words, sent, bool(later), milder=milder)


def _keys(file: ProfileFile) -> set[str]:
    return {f"{section}.{key}" for section, values in read_profile(file.path).values.items() for key in values}


def _with_verbs(now: Settings, verbs: Sequence[AnyVerb]) -> Settings:
    """The protections, as they are after these verbs."""
    loop = now.loop
    for verb in verbs:
        match verb:
            case SetApproval(mode=mode):
                loop = replace(loop, approve=mode)
            case SetBudget(max_cost=cost, max_tokens=tokens):
                loop = replace(loop, max_cost=cost or 0.0, max_tokens=tokens or 0)
            case _:
                pass
    return replace(now, loop=loop)


_APPROVAL = {"loop.approve", "policy.auto_run", "policy.safe_mode", "policy.mode"}
"""What the approval mode follows from. Of these, only `loop.approve` holds in a session that is open."""

_LIVE = {
    *("model.name", "model.api_base", "instructions.text", "instructions.file"),
    *("loop.approve", "loop.complete", "loop.max_cost", "loop.max_tokens"),
}
"""Keys that an open session can change."""

_CHOSEN = {"model.name", "model.api_base"}
"""Where these are not set, what was chosen in the session stays."""

_NAMED = 3
"""Keys named in the message, which has three lines on a narrow screen; `oi-tui profile show` lists all."""

_LONGEST = 40
"""Characters of a value."""


def _live_verbs(settings: Settings, said: Set[str]) -> Iterator[tuple[str, AnyVerb]]:
    """Verbs for the session, by the words that the person reads. `said` are the keys that profiles set."""
    model, loop = settings.model, settings.loop
    if "model.name" in said and model.name:
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


def _in_words(file: ProfileFile) -> str:
    try:
        says = read_profile(file.path).values
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
            return ", ".join(f"{key} {_value_in_words(f'{section}.{key}', value)}" for key, value in values.items())


def _value_in_words(key: str, value: object) -> str:
    """The value of `section.name` as it is in the file, as far as a line has room, if it is no secret."""
    if key == "model.extra" or (key == "model.api_base" and set(str(value)) & set("@?")):
        return "(hidden)"  # headers and fields of requests, an address with a password or a key
    match value:
        case bool():
            return str(value).lower()
        case str():
            text = " ".join(value.split())
        case tuple() | list():
            text = ", ".join(map(str, value)) or "none"
        case None:
            return "unset"
        case _:
            text = str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
