"""Changes of the person's own settings file, by a command or on a screen.

Only what is valid is written; comments, order and everything else of the file stay.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from oi_tui.app.engine.core.encoding import decode_toml
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.engine.files.given_file import UnusableFile, read_given_text
from oi_tui.app.engine.files.owned_file import file_lock, replace_owned_file
from oi_tui.app.engine.files.paths import config_dir, private_dir
from oi_tui.app.engine.files.settings_edit import key_text, with_setting, without_setting
from oi_tui.app.engine.files.settings_file import (
    ENVIRONMENT,
    LARGEST_SETTINGS,
    check_settings,
    read_toml,
    settings_path,
    take_over_settings,
)
from oi_tui.app.engine.files.settings_lines import KeyPath
from oi_tui.app.settings.effective import holds_secret


class WrittenSetting(NamedTuple):
    """What was written, and what to know of it."""

    file: Path
    value: Any
    remarks: tuple[str, ...] = ()


KeyFaults = Callable[[Settings], Iterable[str]]
"""What is wrong with the person's own keys. Who knows that knows every widget that has keys."""


def set_setting(path: KeyPath, readings: Iterable[Any], key_faults: KeyFaults | None = None) -> WrittenSetting:
    """Write the first of these values that the key takes; SettingsError, and nothing is written, if it takes none.
    For `[keys]` the `key_faults` are needed."""
    assert key_faults is not None or path[0] != "keys"
    with own_file() as (file, text):
        new, value = _first_valid(text, path, readings, file)
        if path[0] == "keys" and key_faults is not None:
            _require_keys(path[1], key_faults(check_settings(read_toml(new, file), "")))
        write_own_file(file, new)
    remarks: list[str] = []
    if variable := overriding_variable(path):
        remarks.append(f"{variable} is set, and is used instead.")
    if holds_secret(path, value):
        remarks.append(f"{key_text(path)} may be a secret. '$NAME' takes a header from the environment.")
    return WrittenSetting(file, value, tuple(remarks))


def unset_setting(path: KeyPath) -> WrittenSetting | None:
    """Remove a key; None if the file does not set it. The remark is what is still wrong: a key that is wrong can be
    removed from a file with others that are."""
    with own_file() as (file, text):
        new = without_setting(text, path)
        if new is None:
            return None
        write_own_file(file, new)
    try:
        check_settings(read_toml(new, file), str(file), new)
    except SettingsError as error:
        return WrittenSetting(file, None, (f"Still wrong: {error.title} {error.hint}".rstrip(),))
    return WrittenSetting(file, None)


def overriding_variable(path: KeyPath) -> str:
    """The variable of the environment that is used instead of what the file says; "" if there is none."""
    variables = (variable for variable, key in ENVIRONMENT.items() if key == path[:2])
    return next((variable for variable in variables if os.environ.get(variable)), "")


@contextmanager
def own_file(*, broken: bool = False) -> Iterator[tuple[Path, str]]:
    """The file and its text, locked against other processes of this program; SettingsError if it is not valid TOML,
    unless it is being corrected (`broken`)."""
    folder = private_dir(config_dir())
    take_over_settings(folder)
    file = settings_path(folder)
    with file_lock(file):
        try:
            text = read_given_text(file, LARGEST_SETTINGS)
        except UnusableFile as error:
            if not isinstance(error.__cause__, FileNotFoundError):
                raise SettingsError(f"{file} {error}.") from error
            text = ""
        if not broken:
            read_toml(text, file)
        yield file, text


def write_own_file(file: Path, text: str) -> None:
    """A link stays one: its target is replaced."""
    replace_owned_file(file.resolve(), text)


def _first_valid(text: str, path: KeyPath, readings: Iterable[Any], file: Path) -> tuple[str, Any]:
    """The text of the file with the first reading that the settings take; SettingsError if none is."""
    if len(path) < 2:
        raise SettingsError(f"{path[0]} is a table.", hint=f"Set one of its keys: {path[0]}.KEY.")
    wrong: SettingsError | None = None
    for value in readings:
        new = with_setting(text, path, value)
        try:
            check_settings(read_toml(new, file), "")
        except SettingsError as error:
            wrong = wrong or error
        else:
            return new, value
    assert wrong is not None, "there is always a reading"
    raise SettingsError(wrong.title.removeprefix(": "), hint=f"{wrong.hint} Nothing was changed.".strip())


def _require_keys(name: str, faults: Iterable[str]) -> None:
    """SettingsError if the keys of this id have a fault."""
    for fault in faults:
        if fault.startswith(f"{name}: "):
            raise SettingsError(f"keys.{fault}{'' if fault.endswith('?') else '.'}", hint="Nothing was changed.")


def readings_of(values: Sequence[str]) -> Iterator[Any]:
    """What words that a person typed may mean, the likeliest first: TOML, text, a list."""
    read = [_read_value(value) for value in values]
    if len(values) == 1:
        yield read[0]
        yield values[0]
    yield read
    yield list(values)


def _read_value(text: str) -> Any:
    try:
        table = decode_toml(f"value = {text}")
    except ValueError:
        return text
    return table["value"] if len(table) == 1 else text
