"""The person's own instructions to the model, as settings and profile say them."""

from pathlib import Path

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.instructions import InstructionPart
from oi_tui.app.engine.core.settings import InstructionsSection
from oi_tui.app.engine.files.given_file import UnusableFile, read_given_text

_LARGEST = 1_000_000
"""Bytes of the file. How much of it a model may read is the template's matter."""


def own_instructions(section: InstructionsSection, folder: Path, origin: str) -> tuple[InstructionPart, ...]:
    """The file's, then the text's; SettingsError if the file cannot be read. `folder` has the settings, `origin` is
    what they are called: `config.toml`."""
    parts: list[InstructionPart] = []
    if section.file:
        path = folder / Path(section.file).expanduser()
        try:
            text = read_given_text(path, _LARGEST)
        except UnusableFile as error:
            raise SettingsError(f"instructions.file: {path} {error}.") from error
        parts.append(InstructionPart(origin="own", name=str(path), text=text))
    if section.text.strip():
        parts.append(InstructionPart(origin="own", name=origin, text=section.text))
    return tuple(parts)
