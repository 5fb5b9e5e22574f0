"""Skills as files: what is read of their folders, never through a link; and those that a project has, which
are used only as the person saw them.
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from oi_tui.app.engine.files.paths import SKILLS_FOLDERS
from oi_tui.app.engine.text.plain_yaml import NotPlainYaml, read_plain_yaml
from oi_tui.app.engine.text.words import one_line

SKILL_FILE = "SKILL.md"

MOST_SKILLS, MOST_FILES = 100, 200
"""Of a project, and of a skill, whose folders count as files."""

MORE = f"… (a skill has {MOST_FILES} files at most)"
"""The last name in the list of a skill's files where there are more."""

LARGEST_TEXT, LARGEST_SKILL = 200_000, 20_000_000
"""Bytes of a file that a model reads, and of all that a skill has."""

LONGEST_LINE = 300
"""Characters of a description, as far as it is listed."""

SKILL_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")
_FRONT = re.compile(r"---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_LONGEST_FRONT = 8_000


class WrongSkill(Exception):
    """Why it cannot be used, as the rest of a sentence about it."""


class Skill(NamedTuple):
    """One of them. Either it can be used, or something is wrong with it."""

    name: str
    folder: Path
    description: str = ""
    """One line."""
    wrong: str = ""


def read_skills(place: Path) -> tuple[Skill, ...]:
    """All skills in this folder by name; none where there is no such folder. Never raises."""
    try:
        names = sorted(entry.name for entry in os.scandir(place) if not entry.name.startswith("."))
    except OSError:
        return ()
    return tuple(_look(place / name) for name in names[:MOST_SKILLS])


def find_folder_skills(folder: Path) -> tuple[Skill, ...]:
    """The skills of a project, trusted or not; of two with the same name the first. Never raises."""
    found: dict[str, Skill] = {}
    for place in (folder / name for name in SKILLS_FOLDERS):
        if not place.is_symlink() and not place.parent.is_symlink():
            for skill in read_skills(place):
                found.setdefault(skill.name, skill)
    return tuple(found.values())[:MOST_SKILLS]


def folder_skills_digest(folder: Path) -> str:
    """SHA-256 of the skills that a project has, with all of their files; "" where there are none."""
    import hashlib  # few folders have any

    found, room = hashlib.sha256(), LARGEST_SKILL
    skills = find_folder_skills(folder)
    for skill in skills:
        for name in skill_files(skill.folder):
            data = (
                b"" if name == MORE or name.endswith("(a link, not read)") else _file_bytes(skill.folder / name, room)
            )
            room = max(0, room - len(data))
            for part in (skill.name.encode(errors="surrogateescape"), name.encode(errors="surrogateescape"), data):
                found.update(len(part).to_bytes(8, "big") + part)
    return found.hexdigest() if skills else ""


def trusted_skills(folder: Path, *, trusted: bool, seen: str) -> tuple[Skill, ...]:
    """The skills of this folder that can be used: all where it is `trusted` and they are still those that the person
    has `seen`, by their digest, else none."""
    if not trusted or not seen or folder_skills_digest(folder) != seen:
        return ()
    return tuple(skill for skill in find_folder_skills(folder) if not skill.wrong and not _is_too_large(skill.folder))


def skills_in_words(skills: Iterable[Skill]) -> Iterator[str]:
    """For the person, before they trust a folder: each skill with what it is for, or why it is not used."""
    for skill in skills:
        if skill.wrong or _is_too_large(skill.folder):
            yield f"{skill.name}, not used: it {skill.wrong or 'is too large'}"
        else:
            yield f"{skill.name}: {skill.description}"


def _is_too_large(folder: Path) -> bool:
    names = list(skill_files(folder))
    sizes = (os.lstat(folder / name).st_size for name in names if os.path.lexists(folder / name))
    return MORE in names or sum(sizes) > LARGEST_SKILL


def _file_bytes(path: Path, most: int) -> bytes:
    """The beginning of a plain file; why there is none, where it cannot be read."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        return f"unreadable: {error.errno}".encode()
    with os.fdopen(handle, "rb") as file:
        return file.read(most + 1) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b"no plain file"


def _look(folder: Path) -> Skill:
    try:
        return read_skill(folder)
    except WrongSkill as error:
        return Skill(one_line(folder.name)[:64], folder, wrong=str(error))


def read_skill(folder: Path) -> Skill:
    """What the skill in this folder says of itself; WrongSkill."""
    if folder.is_symlink() or not folder.is_dir():
        raise WrongSkill("is no folder")
    if not SKILL_NAME.fullmatch(folder.name):
        raise WrongSkill("has a name with more than small letters, digits and -")
    found = _FRONT.match(read_skill_file(folder, SKILL_FILE).replace("\r\n", "\n"))
    if found is None or len(found[1]) > _LONGEST_FRONT:
        raise WrongSkill(f"has a {SKILL_FILE} without front matter between lines ---")
    try:
        says = read_plain_yaml(found[1])
    except NotPlainYaml as error:
        raise WrongSkill(f"has front matter that {error}") from error
    name, description = (says.get("name"), says.get("description")) if isinstance(says, dict) else (None, None)
    if name != folder.name:
        called = one_line(name)[:80] if isinstance(name, str) else ""  # the text of a number can be refused
        raise WrongSkill(f"says that its name is {called!r}, and its folder is named otherwise")
    if not isinstance(description, str) or not description.strip():
        raise WrongSkill("has no description")
    return Skill(folder.name, folder, one_line(description)[:LONGEST_LINE])


def read_skill_file(folder: Path, name: str) -> str:
    """The text of a file of a skill; WrongSkill for what is none, leads out of the folder, or is a link anywhere."""
    parts = Path(name).parts
    if not parts or Path(name).is_absolute() or ".." in parts:
        raise WrongSkill(f"has no file {one_line(name)[:80]!r}")
    opened: list[int] = []
    try:
        opened.append(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW))
        for part in parts[:-1]:
            opened.append(os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=opened[-1]))
        opened.append(os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=opened[-1]))
        if not stat.S_ISREG(os.fstat(opened[-1]).st_mode):
            raise WrongSkill(f"has no plain file {one_line(name)[:80]!r}")
        with os.fdopen(os.dup(opened[-1]), "rb") as file:
            data = file.read(LARGEST_TEXT + 1)
    except OSError as error:
        raise WrongSkill(f"has no file {one_line(name)[:80]!r} that can be read: {error.strerror}") from error
    finally:
        for handle in opened:
            os.close(handle)
    if len(data) > LARGEST_TEXT:
        raise WrongSkill(f"has a file {one_line(name)[:80]!r} of more than {LARGEST_TEXT:,} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise WrongSkill(f"has a file {one_line(name)[:80]!r} that is no text") from error


def skill_files(folder: Path) -> Iterator[str]:
    """Names of the files of a skill below its folder; links are named with a mark, and not followed."""
    count = 0
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in (".git", "__pycache__"))
        count += 1
        for name in sorted((*files, *(one for one in folders if Path(place, one).is_symlink()))):
            count += 1
            if count > MOST_FILES:
                break
            path = Path(place, name)
            yield f"{path.relative_to(folder)}{' (a link, not read)' if path.is_symlink() else ''}"
        if count > MOST_FILES:
            yield MORE
            return
