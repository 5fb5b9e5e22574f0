"""What a text from the prompt asks for. Knows nothing of Textual: the command line reads prompts with it as well."""

import re
from pathlib import Path

from oi_tui.app.commands.mentions import find_mentions
from oi_tui.app.engine.core.values import Value
from oi_tui.app.engine.core.verbs import AnyVerb, Run, Submit

CELL_MAGIC = "%%"
"""What a whole cell for another language begins with, as in IPython: `%%bash`."""


class SlashLine(Value, frozen=True, kw_only=True):
    """A line beginning with `/`."""

    name: str
    argument: str = ""


def interpret(text: str, folder: Path) -> AnyVerb | SlashLine:
    """What a text from the composer is: a prompt, the user's own code, or a slash command.

    Code begins with its sign, without a space before it: that distinguishes it from pasted text. A text that begins
    with `/` but looks like a path, or has more than one line, is a prompt.
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
    if re.fullmatch(r"/(?:[a-z][a-z0-9-]*)?(?: [^\n]*)?", stripped):
        name, _, argument = stripped[1:].partition(" ")
        return SlashLine(name=name, argument=argument.strip())
    return Submit(text=text, files=find_mentions(text, folder).files)


def needs_body(text: str) -> bool:
    """Whether it is the first line of a cell like `%%bash`, whose other lines are still to come."""
    return re.fullmatch(r"%%\w+[^\n]*\n*", text) is not None
