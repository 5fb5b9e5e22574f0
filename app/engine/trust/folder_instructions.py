"""What of a folder's instructions the model gets, and what the person reads of them before they trust the folder."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from oi_tui.app.engine.core.instructions import InstructionPart, fit_instructions
from oi_tui.app.engine.text.words import quantity
from oi_tui.app.engine.trust.instruction_files import InstructionFile, find_instruction_files, instructions_digest

NOT_TRUSTED = "this folder is not trusted"


def files_in_words(files: Iterable[InstructionFile]) -> Iterator[str]:
    """For the person, before they trust the folder: each file with its size, and what of it is not used."""
    files = tuple(files)
    parts = {part.name: part for part in fit_instructions(_as_parts(files))}
    for file in files:
        if file.wrong:
            yield file.wrong
        elif (part := parts.get(file.name)) is not None:
            used = f"the first {len(part.text):,} of " if part.cut else ""
            yield f"{file.name}, {used}{quantity(len(file.text), 'character')}"


def _as_parts(files: Iterable[InstructionFile]) -> tuple[InstructionPart, ...]:
    return tuple(
        InstructionPart(origin="folder", name=file.name, text=file.text) for file in files if file.text.strip()
    )


class FolderInstructions(NamedTuple):
    """The instructions of a folder that are used, and those that are not."""

    parts: tuple[InstructionPart, ...] = ()
    remarks: tuple[str, ...] = ()
    """Why something is not, one sentence each."""


def folder_instructions(folder: Path, *, trusted: bool, seen: str) -> FolderInstructions:
    """The instructions of this folder as the model gets them: all where it is `trusted` and they are still those that
    the person has `seen`, by their digest, else none. Never raises."""
    folder = folder.resolve()
    files = find_instruction_files(folder)
    names = " and ".join(file.name for file in files)
    if files and instructions_digest(files, folder) != seen:
        verb = "are" if len(files) > 1 else "is"
        why = f"{'they' if len(files) > 1 else 'it'} changed since you trusted this folder"
        return FolderInstructions(remarks=(f"{names} {verb} not used: {why if seen else NOT_TRUSTED}.",))
    if files and not trusted:
        return FolderInstructions(remarks=(f"{names} {'are' if len(files) > 1 else 'is'} not used: {NOT_TRUSTED}.",))
    return FolderInstructions(
        _as_parts(files),
        tuple(file.wrong for file in files if file.wrong),
    )
