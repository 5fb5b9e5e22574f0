"""Changes a setting from a screen: asks where code could do more after it, writes it as `oi-tui config set` does, and
reports the result."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET
from textual.app import App

from oi_tui.app.commands.strictness import setting_of, strictness
from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.engine.files.settings_edit import key_text, value_text
from oi_tui.app.engine.files.settings_lines import KeyPath
from oi_tui.app.screens.confirm import ConfirmScreen
from oi_tui.app.settings.control import SettingsChange, SettingsControl
from oi_tui.app.settings.effective import holds_secret
from oi_tui.app.settings.own_file import set_setting, unset_setting

_DANGERS: dict[tuple[str, Any], str] = {
    ("sandbox.mode", "danger-full-access"): (
        "No sandbox: code has your full permissions. It can read, change and delete all your files, and reach the "
        "network."
    ),
    ("sandbox.rung", "lock"): (
        "The weaker lock: it protects files elsewhere and the network, not .git and .env of the folder."
    ),
    ("sandbox.network", "full"): "Code can reach the whole network, and send there whatever it can read.",
    ("sandbox.network", "hosts"): "Code can reach the hosts of sandbox.hosts, and send there whatever it can read.",
    ("loop.approve", "auto"): "Code of the model runs without your approval, except destructive code.",
    ("policy.mode", "bypassPermissions"): "Everything runs without your approval, also what deletes or overwrites.",
    ("policy.allow_destructive", True): "Deletes, forced pushes, dropped tables and the like run like any other code.",
}
"""What a value means that protects less."""

_ABOUT_CODE = ("sandbox.", "policy.", "network.", "loop.approve", "kernel.attach")
"""How keys begin that say what code can do: a budget is the person's own money."""

Told = Callable[[str, bool], None]
"""Called with the result as a message, and whether it failed."""


class SettingChanger:
    """Changes the person's file from a screen."""

    def __init__(self, app: App[Any], control: SettingsControl) -> None:
        self._app = app
        self._control = control

    def set(self, path: KeyPath, readings: Sequence[Any], told: Told) -> None:
        """Write the first of these values that the key takes, after a yes if it lets code do more."""
        after = next(
            (one for one in (_with_value(self._control.settings, path, value) for value in readings) if one), None
        )
        shown = f"{key_text(path)} = {value_text(readings[0])}"
        self._ask_first(path, after, f"Set {shown}?", lambda: self._write(path, readings, told), told)

    def keep(self, values: Mapping[str, Any], told: Told) -> None:
        """Write several at once, by key; UNSET removes one, which needs no words."""
        removed = [key for key, value in values.items() if value is UNSET]
        written = {key: value for key, value in values.items() if value is not UNSET}
        for key in removed:
            try:
                unset_setting(tuple(key.split(".")))
            except OiTuiError as error:
                told(f"{error.title} {error.hint}".strip(), True)
                return
        for key, value in written.items():
            self.set(tuple(key.split(".")), [value], told)

    def reset(self, path: KeyPath, default: Any, told: Told) -> None:
        """Remove the key from the person's file."""
        after = _with_value(self._control.settings, path, default)
        self._ask_first(path, after, f"Reset {key_text(path)}?", lambda: self._remove(path, told), told)

    def _ask_first(
        self, path: KeyPath, after: Settings | None, title: str, change: Callable[[], None], told: Told
    ) -> None:
        danger = find_danger(self._control.settings, after, path) if after is not None else ""
        if not danger:
            change()
            return

        def finish(yes: bool | None) -> None:
            if yes:
                change()
            else:
                told("Nothing was changed.", False)

        question = ConfirmScreen(
            title, f"{danger} It applies from the next start.", yes="yes", no="leave it", careful=True
        )
        self._app.push_screen(question, finish)

    def _write(self, path: KeyPath, readings: Sequence[Any], told: Told) -> None:
        try:
            written = set_setting(path, readings, self._control.key_faults)
        except OiTuiError as error:
            told(f"{error.title} {error.hint}".strip(), True)
            return
        value = "(hidden)" if holds_secret(path, written.value) else value_text(written.value)
        self._apply(path, f"Saved in {written.file.name}: {key_text(path)} = {value}", written.remarks, told)

    def _remove(self, path: KeyPath, told: Told) -> None:
        try:
            written = unset_setting(path)
        except OiTuiError as error:
            told(f"{error.title} {error.hint}".strip(), True)
            return
        if written is None:
            told(f"Your file does not set {key_text(path)}.", False)
        else:
            self._apply(path, f"Removed from {written.file.name}: {key_text(path)}", written.remarks, told)

    def _apply(self, path: KeyPath, words: str, remarks: Sequence[str], told: Told) -> None:
        """After the file was written: say when the change applies, or why it does not."""
        try:
            change = self._control.refresh()
        except OiTuiError as error:
            told(f"{words}. But: {error.title} {error.hint}".strip(), True)
            return
        other = self._control.overridden_by(".".join(path[:2]))
        instead = (f"But {other} sets it, and is used instead",) if other else ()
        parts = (words, *_when(change, path), *instead, *(remark.rstrip(".") for remark in remarks))
        told(". ".join(parts) + ".", False)


def find_danger(before: Settings, after: Settings, path: KeyPath) -> str:
    """What a change of this key lets code do that it could not before, as a sentence; "" if it is nothing."""
    key = ".".join(path[:2])
    if not key.startswith(_ABOUT_CODE) or strictness(key, before, after) != "milder":
        return ""
    value = setting_of(after, key)
    known = _DANGERS.get((key, value)) if isinstance(value, str | bool) else None
    return known or "This is less strict than before: more code runs without asking, or reaches more."


def _when(change: SettingsChange, path: KeyPath) -> tuple[str, ...]:
    """When it applies, if no other layer overrides it."""
    key = ".".join(path[:2])
    if key in change.now:
        return ("It applies now",)
    return ("It applies from the next start",) if key in change.later or path[0] in change.later else ()


def _with_value(settings: Settings, path: KeyPath, value: Any) -> Settings | None:
    """The settings with this value; None where that is none."""
    whole: dict[str, Any] = msgspec.to_builtins(settings)
    table = whole
    for part in path[:-1]:
        table = table.setdefault(part, {})
    table[path[-1]] = value
    try:
        return msgspec.convert(whole, Settings)
    except msgspec.ValidationError:
        return None
