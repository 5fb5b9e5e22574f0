"""Sets of keys that come with the program: files in terms of ids, over the declared keys and under the person's own."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from oi_tui.app import commands
from oi_tui.app.engine.core.encoding import decode_toml
from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.engine.files.given_file import UnusableFile, read_given_file
from oi_tui.app.engine.files.paths import config_dir
from oi_tui.app.engine.files.settings_file import LARGEST_SETTINGS, settings_path
from oi_tui.app.engine.files.settings_lines import setting_lines
from oi_tui.app.screens.key_check import CheckedKeys, check_keys

DEFAULT_SET = "default"

_LARGEST = 100_000
"""Bytes of a file."""


class KeySet(NamedTuple):
    """A set, as Textual spells its keys."""

    name: str
    help: str
    keymap: dict[str, str]
    modal: bool = False
    """Whether the prompt has a normal mode."""


KEY_SETS: dict[str, str] = {DEFAULT_SET: "", "vim": "keys_vim.toml", "emacs": "keys_emacs.toml"}
"""The sets, and their files beside the commands."""


@cache
def key_set(name: str) -> KeySet:
    """The set of this name; KeyError if there is none."""
    file = KEY_SETS[name]
    if not file:
        return KeySet(name, "arrows, tab and letters; ctrl and alt as in most programs", {})
    read = decode_toml(read_given_file(Path(commands.__path__[0], file), _LARGEST).decode())
    return KeySet(name, read["help"], check_keys(read["keys"]).keymap, read.get("modal", False))


def check_in_set(wished: Mapping[str, str], name: str) -> CheckedKeys:
    """What can be bound of a person's own keys, over those of a set."""
    return check_keys(wished, key_set(name).keymap)


def key_faults(settings: Settings) -> tuple[str, ...]:
    """What is wrong with the person's own keys, over the set that they chose."""
    return tuple(check_in_set(settings.keys, settings.screen.keys).faults)


def place_of_fault(fault: str) -> str:
    """What is wrong with a key, and where it is set, if that is the person's own file."""
    name = fault.partition(":")[0]
    file = settings_path(config_dir())
    try:
        line = setting_lines(read_given_file(file, LARGEST_SETTINGS).decode()).get(("keys", name))
    except (UnusableFile, ValueError):
        line = None
    return f"{file.name}, line {line}: keys.{fault}" if line else f"[keys] in the settings: {fault}"
