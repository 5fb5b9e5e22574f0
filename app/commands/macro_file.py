"""The file of the person's macros as it is, whatever it holds: `macros.toml` beside the settings.

tidy = ["/restart", "!git status --short", "Explain what changed"]
"""

import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from oi_tui.app.engine.core.encoding import decode_toml
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.files.owned_file import file_lock, read_owned_file, replace_owned_file
from oi_tui.app.engine.files.paths import config_dir, private_dir
from oi_tui.app.engine.text.safe import visible_text
from oi_tui.app.engine.text.words import quantity

MACROS_FILE = "macros.toml"
MACRO_WORDS = {
    "record": "Record what you send, under a name: /macro record NAME",
    "stop": "Stop recording and keep it, or stop the macro that plays",
    "delete": "Delete a macro: /macro delete NAME",
}
"""What may follow `/macro` besides a name, each with its meaning."""

_HINT = 'A macro is a name with a list of what you would type: tidy = ["/restart", "!ls"].'


def macros_path() -> Path:
    """Where the person's macros are."""
    return config_dir() / MACROS_FILE


def read_macros_text() -> str:
    """The text of the file, "" where there is none; SettingsError if it is not the person's alone."""
    return read_owned_file(macros_path(), "file of macros", _HINT, owner=os.getuid()) or ""


def macro_words() -> dict[str, str]:
    """What can follow `/macro`, each with its meaning. Never raises: a name that cannot be played says so then."""
    try:
        table = _table(read_macros_text())
    except SettingsError:
        table = {}
    return {visible_text(name).text: steps_in_words(steps) for name, steps in table.items()} | MACRO_WORDS


def steps_in_words(steps: object) -> str:
    """How many they are, and how they begin."""
    if not isinstance(steps, list | tuple):
        return ""
    shown = " · ".join(" ".join(visible_text(str(step)[:60]).text.split()) for step in steps[:4])
    return f"{quantity(len(steps), 'step')}: {shown}{' …' if len(steps) > 4 else ''}"


def save_macro(name: str, steps: Iterable[str]) -> None:
    """Write it into the file, replacing one of the same name; OiTuiError if that fails."""
    from oi_tui.app.engine.files.settings_edit import with_setting  # tomlkit, only to write

    private_dir(config_dir())
    with file_lock(macros_path()):
        replace_owned_file(macros_path(), with_setting(_text_to_edit(), (name,), list(steps)))


def delete_macro(name: str) -> bool:
    """Whether there was one; OiTuiError if the file cannot be changed."""
    from oi_tui.app.engine.files.settings_edit import without_setting  # as above

    if not macros_path().exists():
        return False
    with file_lock(macros_path()):
        text = without_setting(_text_to_edit(), (name,))
        if text is not None:
            replace_owned_file(macros_path(), text)
    return text is not None


@lru_cache(maxsize=1)
def _table(text: str) -> dict[str, Any]:
    """The table in the text, empty if it is not TOML; called with each typed key."""
    try:
        return decode_toml(text)
    except ValueError:
        return {}


def _text_to_edit() -> str:
    """SettingsError if it is not TOML: it is not overwritten then."""
    text = read_macros_text()
    try:
        decode_toml(text)
    except ValueError as error:
        raise SettingsError(f"{macros_path()} is not valid TOML: {error}.", hint=_HINT) from error
    return text
