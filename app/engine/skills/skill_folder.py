"""The folder of skills: what there is, what is wrong with some, and their files, never through a link."""

import os
import re
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.files.paths import data_dir
from oi_tui.app.engine.text.plain_yaml import NotPlainYaml, read_plain_yaml
from oi_tui.app.engine.text.words import one_line

SKILL_FILE = "SKILL.md"

MOST_SKILLS, MOST_FILES = 100, 200

LARGEST_TEXT, LARGEST_SKILL = 200_000, 20_000_000
"""Bytes of a file that a model reads, and of all that a skill has."""

LONGEST_LINE = 300
"""Characters of a description, as far as it is listed."""

_ASIDE = ".removed"
"""Ending of the folder of a skill that can be brought back."""

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")
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


def skills_dir() -> Path:
    """The person's skills: `$XDG_DATA_HOME/oi-tui-skills`."""
    return data_dir().with_name("oi-tui-skills")


def find_skills(folder: Path | None = None) -> tuple[Skill, ...]:
    """All skills by name; none where there is no such folder. Never raises."""
    place = folder or skills_dir()
    try:
        names = sorted(entry.name for entry in os.scandir(place) if not entry.name.startswith("."))
    except OSError:
        return ()
    return tuple(_look(place / name) for name in names[:MOST_SKILLS])


def _look(folder: Path) -> Skill:
    try:
        return read_skill(folder)
    except WrongSkill as error:
        return Skill(one_line(folder.name)[:64], folder, wrong=str(error))


def read_skill(folder: Path) -> Skill:
    """What the skill in this folder says of itself; WrongSkill."""
    if folder.is_symlink() or not folder.is_dir():
        raise WrongSkill("is no folder")
    if not _NAME.fullmatch(folder.name):
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
        raise WrongSkill(f"says that its name is {one_line(str(name))[:80]!r}, and its folder is named otherwise")
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
        for name in sorted((*files, *(one for one in folders if Path(place, one).is_symlink()))):
            count += 1
            if count > MOST_FILES:
                return
            path = Path(place, name)
            yield f"{path.relative_to(folder)}{' (a link, not read)' if path.is_symlink() else ''}"


def add_skill(source: Path, folder: Path | None = None) -> Skill:
    """A copy of this skill among the person's own, without links and within bounds; SettingsError if it is none, or one
    of that name is there."""
    place = folder or skills_dir()
    try:
        skill = read_skill(source)
    except WrongSkill as error:
        raise SettingsError(f"{source} {error}.") from error
    if (place / skill.name).exists():
        raise SettingsError(f"There is a skill {skill.name} already.", hint=f"oi-tui skills remove {skill.name}")
    names = list(skill_files(source))
    paths = [source / name for name in names if not name.endswith("(a link, not read)")]
    if len(names) >= MOST_FILES or sum(path.stat().st_size for path in paths) > LARGEST_SKILL:
        raise SettingsError(f"{source} is too large for a skill: {MOST_FILES} files, {LARGEST_SKILL:,} bytes at most.")
    made = place / f".{skill.name}.new"
    try:
        shutil.rmtree(made, ignore_errors=True)
        for path in paths:
            target = made / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            shutil.copyfile(path, target, follow_symlinks=False)
        made.rename(place / skill.name)
    except OSError as error:
        shutil.rmtree(made, ignore_errors=True)
        raise SettingsError(f"The skill cannot be written to {place}: {error.strerror}.") from error
    return skill._replace(folder=place / skill.name)


def remove_skill(name: str, folder: Path | None = None) -> None:
    """Delete this skill of the person; SettingsError if there is none."""
    place = folder or skills_dir()
    if not _NAME.fullmatch(name) or not (place / name).is_dir() or (place / name).is_symlink():
        raise SettingsError(f"There is no skill {name!r}.", hint="oi-tui skills list")
    try:
        shutil.rmtree(place / name)
    except OSError as error:
        raise SettingsError(f"The skill {name} cannot be deleted: {error.strerror}.") from error


def set_skill_aside(name: str, folder: Path | None = None) -> None:
    """As if it were removed, until `restore_skill` or the next one is set aside; SettingsError if there is none."""
    place = folder or skills_dir()
    if not _NAME.fullmatch(name) or not (place / name).is_dir() or (place / name).is_symlink():
        raise SettingsError(f"There is no skill {name!r}.", hint="oi-tui skills list")
    try:
        for old in place.glob(f".*{_ASIDE}"):
            shutil.rmtree(old)
        (place / name).rename(place / f".{name}{_ASIDE}")
    except OSError as error:
        raise SettingsError(f"The skill {name} cannot be removed: {error.strerror}.") from error


def restore_skill(name: str, folder: Path | None = None) -> None:
    """Bring back what was set aside last; SettingsError if that is another one."""
    place = folder or skills_dir()
    aside = place / f".{name}{_ASIDE}"
    if not _NAME.fullmatch(name) or not aside.is_dir() or (place / name).exists():
        raise SettingsError(f"The skill {name!r} cannot be brought back.")
    aside.rename(place / name)


def skill_faults(skill: Skill) -> list[str]:
    """What is wrong with it: its `SKILL.md`, files that this names and that are not there, scripts with mistakes."""
    import ast  # few ask

    if skill.wrong:
        return [skill.wrong]
    faults = []
    text = read_skill_file(skill.folder, SKILL_FILE)
    for link in dict.fromkeys(re.findall(r"\]\(([^)\s#:]+)\)", text)):
        try:
            read_skill_file(skill.folder, link)
        except WrongSkill as error:
            faults.append(str(error))
    for name in skill_files(skill.folder):
        if name.endswith(".py"):
            try:
                ast.parse(read_skill_file(skill.folder, name))
            except (WrongSkill, SyntaxError, ValueError) as error:
                faults.append(f"{name}: {error}")
    return faults
