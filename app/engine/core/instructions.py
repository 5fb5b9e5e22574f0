"""What a model reads before the first prompt: its parts, and where each comes from."""

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, NamedTuple

import msgspec

from oi_tui.app.engine.core.values import Value

MOST_OF_ONE = 32_000
"""Characters of one file or text of instructions."""

MOST_OF_FILES = 64_000
"""Characters of all files of a folder together."""

TemplateValue = str | int | float | bool | tuple[str, ...]
"""What a variable of a template can be."""

InstructionOrigin = Literal["program", "folder", "own", "plugin", "facts"]
"""The program itself; a file of the trusted folder; the person, by settings, profile or for this session; a plugin;
facts about this machine and the day."""


class InstructionPart(Value, frozen=True, kw_only=True):
    """One part of the system message."""

    origin: InstructionOrigin
    name: str
    """Where exactly it comes from: `../AGENTS.md`, `config.toml`, `profile work`."""
    text: str
    """Of the person's own: as it was written, which may be a template, or what that came to."""
    cut: int = 0
    """Characters of the whole, where this is only its beginning."""


class InstructionSources(NamedTuple):
    """What is beside the program's own words, as it was read when the engine started."""

    own: tuple[InstructionPart, ...] = ()
    """The person's, by settings and profile."""
    folder: tuple[InstructionPart, ...] = ()
    """Of the folder that is worked in, if it is trusted; the nearest last."""
    remarks: tuple[str, ...] = ()
    """What is not used, and why."""
    limits: tuple[InstructionPart, ...] = ()
    """What the model may not do, in words."""
    variables: Mapping[str, TemplateValue] = {}
    is_small: Callable[[str], bool] = lambda name: False
    """Whether a model of this name is a small one, which more words make worse."""
    writes_helpers: Callable[[str], bool] = lambda name: False
    """Whether a model of this name is to write its code between lines `<helpers>` and `</helpers>`."""


NO_INSTRUCTIONS = InstructionSources()
"""Nothing beside the program's own words."""


def fit_instructions(parts: Iterable[InstructionPart], most: int = MOST_OF_FILES) -> tuple[InstructionPart, ...]:
    """The parts in at most so many characters together, and each in `MOST_OF_ONE`. What is too much is cut at the end
    of a line; the last one, which is the nearest, has its room first."""
    fitting: list[InstructionPart] = []
    for part in reversed(tuple(parts)):
        room = min(MOST_OF_ONE, most)
        if len(part.text) > room:
            kept = part.text[:room]
            kept = kept[: kept.rfind("\n") + 1] or kept
            part = msgspec.structs.replace(part, text=kept, cut=len(part.text))
        most -= len(part.text)
        fitting.append(part)
    return tuple(reversed(fitting))


_HEADINGS = {
    "folder": "Instructions of this project, from {}:",
    "own": "Instructions of the user:",
    "plugin": "Instructions of the plugin {}:",
}


def instructions_message(parts: Iterable[InstructionPart]) -> str:
    """All parts as one text, those that are not the program's own words with a line that says whose they are."""
    return "\n\n".join(map(_with_heading, parts))


def _with_heading(part: InstructionPart) -> str:
    text = part.text.strip()
    if part.cut:
        text = f"{text}\n[cut: the beginning of {part.cut:,} characters]"
    heading = _HEADINGS.get(part.origin, "").format(part.name)
    return f"{heading}\n\n{text}" if heading else text
