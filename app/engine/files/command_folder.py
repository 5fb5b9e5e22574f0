"""The files of a folder `commands`, as they are now: `NAME.md` each, a bounded number of bounded texts."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.files.given_file import UnusableFile, read_given_text
from oi_tui.app.engine.files.owned_file import read_owned_file
from oi_tui.app.engine.files.paths import COMMANDS_FOLDER, PROJECT

ENDING = ".md"

MOST_COMMANDS = 100
"""Files of one folder."""

LARGEST_COMMAND = 64_000
"""Bytes of one file."""


class CommandSource(NamedTuple):
    """One such file. Either it has a text, or something is wrong with it."""

    path: Path
    name: str
    """"" for what is wrong with the whole folder."""
    text: str = ""
    wrong: str = ""
    """Why it is not used, as the rest of a sentence about it."""


def read_command_folder(folder: Path, *, links: bool) -> tuple[CommandSource, ...]:
    """The commands in it by name, none where there is no such folder. Never raises. Without `links`, nothing that is
    one is read."""
    paths = command_paths(folder)
    if paths and not links and any(os.path.islink(place) for place in (folder, folder.parent)):
        return (CommandSource(folder, "", wrong="the folder is a link"),)
    found = [_read(path, links=links) for path in paths[:MOST_COMMANDS]]
    if len(paths) > MOST_COMMANDS:
        found.append(CommandSource(folder, "", wrong=f"only the first {MOST_COMMANDS} files are read"))
    return tuple(found)


def find_command_files(folder: Path) -> tuple[CommandSource, ...]:
    """The commands of exactly this project, none of the folders above it. They are used only where the person trusted
    the folder with exactly these texts. Never raises."""
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


def command_paths(folder: Path) -> list[Path]:
    """Its files, in the order of their names; none if it cannot be read. A quick look."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.name.endswith(ENDING) and entry.name[0] != "."]
    except OSError:
        return []
    return [folder / name for name in sorted(names)]


def _read(path: Path, *, links: bool) -> CommandSource:
    name = path.name.removesuffix(ENDING)
    try:
        text = read_given_text(path, LARGEST_COMMAND) if links else _read_owned(path)
    except UnusableFile as error:
        return CommandSource(path, name, wrong=f"it {error}")
    except SettingsError as error:
        return CommandSource(path, name, wrong=error.title.removesuffix("."))
    return CommandSource(path, name, text)


def _read_owned(path: Path) -> str:
    text = read_owned_file(path, "file", "", owner=None)
    if text is None:
        raise UnusableFile("is gone")
    if len(text.encode()) > LARGEST_COMMAND:
        raise UnusableFile(f"is larger than {LARGEST_COMMAND:,} bytes")
    return text
