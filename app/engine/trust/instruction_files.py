"""What a folder says to the model: `AGENTS.md` and `.oi/instructions.md`, from the root of its repository down to the
folder that is worked in. Nothing of them is used before the person trusted the folder with exactly this text.

The nearest file comes last: where two contradict each other, it is the one that models follow.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.files.owned_file import read_owned_file
from oi_tui.app.engine.files.paths import PROJECT

INSTRUCTION_NAMES = ("AGENTS.md", f"{PROJECT}/instructions.md")
"""In each folder, in this order."""

MOST_LEVELS = 40
"""Folders above the one that is worked in, in which the root of a repository is looked for."""


class InstructionFile(NamedTuple):
    """One such file. Either it has a text, or something is wrong with it."""

    path: Path
    name: str
    """Relative to the folder that is worked in: `../AGENTS.md`."""
    text: str = ""
    wrong: str = ""
    """Why it is not used, as a sentence."""


def find_instruction_files(folder: Path) -> tuple[InstructionFile, ...]:
    """The instruction files of this folder and of the folders above it up to the root of its repository, the nearest
    last; without a repository, its own. Never raises. `folder` is an absolute path without links."""
    root = _repository_root(folder)
    return tuple(_read(path, folder, root) for path in _places(folder, root) if os.path.lexists(path))


def has_instruction_file(folder: Path) -> bool:
    """Whether there is one in exactly this folder. A quick look: nothing is read."""
    return any(os.path.lexists(folder / name) for name in INSTRUCTION_NAMES)


def instructions_digest(files: Iterable[InstructionFile], folder: Path) -> str:
    """SHA-256 of which files there are and what is in them, "" where there are none. The same from each folder of a
    repository between which there are no further files."""
    import hashlib  # importing the library above would cost the first frame milliseconds

    root, found = _repository_root(folder), hashlib.sha256()
    there = False
    for file in files:
        there = True
        for part in (str(file.path.relative_to(root)), file.text, file.wrong):
            data = part.encode(errors="surrogateescape")
            found.update(len(data).to_bytes(8, "big") + data)
    return found.hexdigest() if there else ""


def _repository_root(folder: Path) -> Path:
    """The nearest folder with a `.git`, which may be a file; the folder itself where there is none."""
    near = (folder, *folder.parents[:MOST_LEVELS])
    return next((place for place in near if os.path.lexists(place / ".git")), folder)


def _places(folder: Path, root: Path) -> Iterator[Path]:
    between = [place for place in (folder, *folder.parents) if place.is_relative_to(root)]
    for place in reversed(between):
        for name in INSTRUCTION_NAMES:
            yield place / name


def _read(path: Path, folder: Path, root: Path) -> InstructionFile:
    """A link may lead to another Markdown file of the repository, as from `AGENTS.md` to `CLAUDE.md`."""
    name, real = os.path.relpath(path, folder), Path(os.path.realpath(path))
    if real != path and not real.is_relative_to(root):
        return InstructionFile(path, name, wrong=f"{name} is not used: it is a link that leads out of the repository.")
    if real.suffix.lower() != ".md":
        return InstructionFile(path, name, wrong=f"{name} is not used: it is a link to something other than Markdown.")
    try:
        text = read_owned_file(real, "file", "", owner=None)
    except SettingsError as error:
        return InstructionFile(path, name, wrong=f"{name} is not used. {error.title}")
    if text is None:
        return InstructionFile(path, name, wrong=f"{name} is not used: it is a link that leads nowhere.")
    return InstructionFile(path, name, text)
