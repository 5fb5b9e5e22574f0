"""What a text from the prompt asks for. Knows nothing of Textual: the command line reads prompts with it as well."""

import os
import re
from pathlib import Path

from oi_tui.app.commands.mentions import find_mentions
from oi_tui.app.engine.core.values import Value
from oi_tui.app.engine.core.verbs import AnyVerb, Run, Submit

CELL_MAGIC = "%%"
"""What a whole cell for another language begins with, as in IPython: `%%bash`."""


class SlashLine(Value, frozen=True, kw_only=True):
    """A text beginning with `/`."""

    name: str
    """Its first word, which need not be the name of a command."""
    argument: str = ""


def interpret(text: str, folder: Path) -> AnyVerb | SlashLine:
    """What a text from the composer is: a prompt, the user's own code, or a slash command.

    Code begins with its sign, without a space before it: that distinguishes it from pasted text. A text that begins
    with a path of this machine is a prompt, unless a command could have that name: who knows the commands decides.
    """
    stripped = text.strip()
    match text[:1]:
        case "!" if stripped[1:].strip():
            return Run(language="shell", source=stripped[1:].strip())
        case "%" if text.startswith(CELL_MAGIC):
            return Run(language="python", source=stripped)
        case "%" if stripped[1:].strip():
            source = stripped[1:].removeprefix("python") if re.match(r"%python\s", stripped) else stripped[1:]
            return Run(language="python", source=source.strip("\n ") if "\n" not in source else source.strip("\n"))
    if re.match(r"/(?:[A-Za-z]|\s|$)", stripped):
        name = re.split(r"\s", stripped[1:], maxsplit=1)[0]
        if "/" not in name or not exists_at_root(name.split("/")[0]):
            return SlashLine(name=name, argument=stripped[1 + len(name) :].strip())
    return Submit(text=text, files=find_mentions(text, folder).files)


def exists_at_root(name: str) -> bool:
    """Whether the root of this machine has something of this name."""
    try:
        return name.strip(".") != "" and os.path.lexists(f"/{name}")
    except ValueError:  # a NUL
        return False


def needs_body(text: str) -> bool:
    """Whether it is the first line of a cell like `%%bash`, whose other lines are still to come."""
    return re.fullmatch(r"%%\w+[^\n]*\n*", text) is not None
