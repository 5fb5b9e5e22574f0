"""One line for the value of a setting, judged while it is typed."""

from typing import Any

from textual.widgets import Input

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.files.settings_file import check_settings
from oi_tui.app.screens.line_ask import LineAskScreen
from oi_tui.app.settings.catalog import SettingEntry
from oi_tui.app.settings.own_file import readings_of
from oi_tui.widgets.lettering import Words, lettering


class SettingLineScreen(LineAskScreen):
    """One value, judged while it is typed; Enter takes no wrong one."""

    def __init__(self, entry: SettingEntry, text: str, hint: str) -> None:
        super().__init__(entry.key, text, hint=hint)
        self._entry = entry
        self._values = hint

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        fault = setting_fault(self._entry, event.value.strip())
        hint = lettering(("✗ ", "$error"), fault) if fault else lettering(self._values)
        self.query_one("#line-hint", Words).update(hint)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Only what the key takes."""
        if setting_fault(self._entry, event.value.strip()):
            event.stop()
            event.prevent_default()
            self.app.bell()


def setting_fault(entry: SettingEntry, text: str) -> str:
    """Why a setting does not take what was typed; "" if it does. Nothing typed is no value."""
    faults: list[str] = []
    for value in typed_readings(entry, text) if text else ():
        table: Any = value
        for part in reversed(entry.path):
            table = {part: table}
        try:
            check_settings(table, "")
        except SettingsError as error:
            faults.append(f"{error.title.removeprefix(': ').removeprefix(f'{entry.key}: ')} {error.hint}".strip())
        else:
            return ""
    if faults and entry.kind == "number":
        return f"It takes {entry.values}."
    return faults[0] if faults else ""


def typed_readings(entry: SettingEntry, text: str) -> list[Any]:
    """What a typed line may mean for this kind."""
    if entry.kind == "text":
        return [text]
    words = [text] if text.startswith(("[", "{", '"', "'")) else text.replace(",", " ").split()
    return list(readings_of(words if entry.kind == "list" else [text]))
