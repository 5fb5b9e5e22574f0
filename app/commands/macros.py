"""The person's macros: what they type one after the other, by a name.

No step decides about code or loosens how that is decided, in a file written by hand neither.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from oi_tui.app.commands.command_set import CommandSet, is_command_name
from oi_tui.app.commands.macro_file import MACRO_WORDS, MACROS_FILE, read_macros_text, steps_in_words
from oi_tui.app.commands.registry import Command
from oi_tui.app.commands.typed import SlashLine, interpret, needs_body
from oi_tui.app.engine.core.encoding import decode_toml
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.files.settings_lines import setting_line, setting_lines
from oi_tui.app.engine.text.safe import visible_text

MOST_STEPS, LONGEST_STEP = 50, 16_000
"""Steps of a macro, characters of a step."""


class Macros(NamedTuple):
    """The macros of the file."""

    steps: Mapping[str, tuple[str, ...]]
    faults: Mapping[str, str]
    """By name of a macro that is not used ("" is the whole file): why, with its line."""


def why_not_a_step(text: str) -> str:
    """Why no macro holds this, as the rest of a sentence; "" if one can."""
    if not text.strip() or len(text) > LONGEST_STEP:
        return f"a step has 1 to {LONGEST_STEP:,} characters"
    if needs_body(text):
        return "the lines of its cell are missing"
    asked = interpret(text, Path())
    row = CommandSet().by_name(asked.name) if isinstance(asked, SlashLine) else None
    if not isinstance(asked, SlashLine) or row is None:
        return ""
    if row.id == "macro":
        return "a macro plays no other"
    return f"/{row.slash} decides about code, which you do yourself" if row.decides(asked.argument) else ""


def read_macros() -> Macros:
    """The macros of the file, none where there is no file. Never raises."""
    try:
        return _parse(read_macros_text())
    except SettingsError as error:
        return Macros({}, {"": error.title})


@lru_cache(maxsize=1)
def _parse(text: str) -> Macros:
    """It is asked for with each key that is typed after a `/`."""
    try:
        table = decode_toml(text)
    except ValueError as error:
        return Macros({}, {"": f"{MACROS_FILE} is not valid TOML: {error}."})
    steps: dict[str, tuple[str, ...]] = {}
    faults: dict[str, str] = {}
    for name, value in table.items():
        wrong, where = _fault_of(name, value)
        if wrong:
            line = _line_of(text, name, where)
            faults[name] = visible_text(f"{MACROS_FILE}, line {line}: {wrong}.").text
        else:
            steps[name] = tuple(value)
    return Macros(steps, faults)


def is_macro_name(name: str) -> bool:
    """Whether a macro can be called so."""
    return is_command_name(name) and name not in MACRO_WORDS


def macro_rows() -> Iterator[Command]:
    """A row for each macro, so that a key can play it."""
    for name, steps in read_macros().steps.items():
        yield Command(
            f"macro.{name}",
            f"Macro {name}",
            steps_in_words(steps),
            action=f"screen.part('macro', {name!r})",
            origin="your macro",
        )


def _fault_of(name: str, value: object) -> tuple[str, str]:
    """The fault of a macro, and the step that has it."""
    if not is_macro_name(name):
        return f"{name!r} cannot be the name of a macro", ""
    if not (isinstance(value, list) and 0 < len(value) <= MOST_STEPS and all(isinstance(one, str) for one in value)):
        return f"{name} is no list of 1 to {MOST_STEPS} texts", ""
    for step in value:
        if wrong := why_not_a_step(step):
            return f"{name}: {wrong}", step
    return "", ""


def _line_of(text: str, name: str, step: str) -> int:
    """Where the step is, or its macro; from 1 on."""
    from oi_tui.app.engine.files.settings_edit import value_text  # tomlkit, only for what is wrong

    first = setting_line(setting_lines(text), (name,)) or 1
    lines = text.split("\n")[first - 1 :]
    return next((first + at for at, line in enumerate(lines) if step and value_text(step) in line), first)
