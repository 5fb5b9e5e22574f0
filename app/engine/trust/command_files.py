"""A folder's own commands, `.oi/commands/NAME.md`. None is used before the person trusted the folder with exactly these
texts. There are none of the folders above it."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from oi_tui.app.engine.files.command_folder import CommandSource, read_command_folder
from oi_tui.app.engine.files.paths import COMMANDS_FOLDER
from oi_tui.app.engine.text.words import quantity
from oi_tui.app.engine.trust.folder_settings import PROJECT


def find_command_files(folder: Path) -> tuple[CommandSource, ...]:
    """Those of exactly this folder. Never raises."""
    return read_command_folder(folder / PROJECT / COMMANDS_FOLDER, links=False)


def commands_digest(sources: Iterable[CommandSource]) -> str:
    """SHA-256 of which commands there are and what is in them, "" where there are none."""
    import hashlib  # as for instructions

    found, there = hashlib.sha256(), False
    for source in sources:
        there = True
        for part in (source.name, source.text, source.wrong):
            data = part.encode(errors="surrogateescape")
            found.update(len(data).to_bytes(8, "big") + data)
    return found.hexdigest() if there else ""


def commands_in_words(sources: Iterable[CommandSource]) -> Iterator[str]:
    """For the person, before they trust the folder: each command with its size, or why it is not used."""
    for source in sources:
        what = f"/{source.name}" if source.name else f"{PROJECT}/{COMMANDS_FOLDER}"
        size = f"a prompt of {quantity(len(source.text), 'character')}"
        yield f"{what}, {f'not used: {source.wrong}' if source.wrong else size}"
