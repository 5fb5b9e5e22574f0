"""A folder's rules and settings, which apply if it is trusted, and can only be stricter.

`.oi/permissions.toml` has rules (see `rule_files.py`), `.oi/config.toml` the few settings below. A project, trusted or
not, never decides where data goes, which key is used, or whether code runs without asking. Users trust what they saw:
later changes, by `git pull` for example, allow nothing until somebody has looked at them.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from oi_tui.app.engine.core.encoding import decode_toml, text_digest
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.modes import strictest, with_limits
from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.engine.core.settings_section import SettingsSection
from oi_tui.app.engine.files.owned_file import read_owned_file
from oi_tui.app.engine.files.paths import PROJECT

RULES = "permissions.toml"
CONFIG = "config.toml"

_HINT = "Nothing is run until its settings can be relied on."


class FolderLoopSettings(SettingsSection, frozen=True, kw_only=True):
    """The section [loop] of a folder's settings."""

    approve: Literal["never", "ask"] | None = None
    max_steps: Annotated[int, msgspec.Meta(ge=1)] | None = None
    output_to_model: Annotated[int, msgspec.Meta(ge=1000)] | None = None


class FolderSandboxSettings(SettingsSection, frozen=True, kw_only=True):
    """The section [sandbox] of a folder's settings."""

    mode: Literal["read-only", "workspace-write"] | None = None
    network: Literal["none"] | None = None


class FolderPolicySettings(SettingsSection, frozen=True, kw_only=True):
    """The section [policy] of a folder's settings."""

    mode: Literal["plan", "dontAsk", "default", "acceptEdits"] | None = None


class FolderFunctionsSettings(SettingsSection, frozen=True, kw_only=True):
    """The section [functions] of a folder's settings."""

    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] | None = None


class FolderSettings(SettingsSection, frozen=True, kw_only=True):
    """All that a project's `config.toml` may say."""

    loop: FolderLoopSettings = FolderLoopSettings()
    sandbox: FolderSandboxSettings = FolderSandboxSettings()
    policy: FolderPolicySettings = FolderPolicySettings()
    functions: FolderFunctionsSettings = FolderFunctionsSettings()

    def items(self) -> Iterator[tuple[str, object]]:
        """Each setting by its name."""
        for section in self.__struct_fields__:
            for key, value in msgspec.structs.asdict(getattr(self, section)).items():
                if value is not None:
                    yield f"{section}.{key}", value


def digest_of(text: str | None) -> str:
    """SHA-256 of a file's text, "" for a missing file."""
    return text_digest(text) if text is not None else ""


def read_folder_settings(folder: Path) -> FolderSettings:
    """What the `config.toml` of a trusted folder says; SettingsError if it says more than it may."""
    path = folder / PROJECT / CONFIG
    if path.parent.is_symlink():
        raise SettingsError(f"{path.parent} is a link.", hint=_HINT)
    text = read_owned_file(path, "settings file", _HINT, owner=os.getuid(), private_group=True)
    if text is None:
        return FolderSettings()
    try:
        table = decode_toml(text)
    except ValueError as error:
        raise SettingsError(f"{path} is not valid TOML: {error}.", hint=_HINT) from error
    for section, values in table.items():
        for key in values if isinstance(values, dict) else ("",):
            if key not in _keys(section):
                name = f"{section}.{key}".rstrip(".")
                raise SettingsError(f"{path}: {name} cannot be set by a folder.", hint=f"It may set {_possible()}.")
    try:
        return msgspec.convert(table, FolderSettings)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$.")
        raise SettingsError(
            f"{path}: {where.rstrip('`')}: {what}.", hint="A folder can only ask for something stricter."
        ) from error


def _keys(section: str) -> tuple[str, ...]:
    return getattr(FolderSettings(), section).__struct_fields__ if section in FolderSettings.__struct_fields__ else ()


def _possible() -> str:
    return ", ".join(f"{section}.{key}" for section in FolderSettings.__struct_fields__ for key in _keys(section))


def apply_folder_settings(settings: Settings, wishes: FolderSettings) -> Settings:
    """The settings with the wishes, of each two the stricter."""
    return with_limits(settings, dict(wishes.items()))


def untrusted_settings(settings: Settings) -> Settings:
    """The settings for a folder that is only looked at: nothing is written or reached, and code is asked about."""
    replace = msgspec.structs.replace
    loop, sandbox, policy = settings.loop, settings.sandbox, settings.policy
    return replace(
        settings,
        loop=replace(loop, approve="never" if loop.approve == "never" else "ask"),
        sandbox=replace(sandbox, mode="read-only", network="none", writable=()),
        policy=replace(policy, mode=strictest(policy.mode or "default", "default")),
    )
