"""The folder of the person's skills: add and remove skills, and list what is wrong with them."""

import re
import shutil
from pathlib import Path

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.files.paths import data_dir
from oi_tui.app.engine.trust.skill_files import (
    LARGEST_SKILL,
    MORE,
    MOST_FILES,
    SKILL_FILE,
    SKILL_NAME,
    Skill,
    WrongSkill,
    read_skill,
    read_skill_file,
    read_skills,
    skill_files,
)

_ASIDE = ".removed"
"""Ending of the folder of a skill that can be brought back."""


def skills_dir() -> Path:
    """The person's skills: `$XDG_DATA_HOME/oi-tui-skills`."""
    return data_dir().with_name("oi-tui-skills")


def find_skills(folder: Path | None = None) -> tuple[Skill, ...]:
    """The person's skills by name. Never raises."""
    return read_skills(folder or skills_dir())


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
    if MORE in names or sum(path.stat().st_size for path in paths) > LARGEST_SKILL:
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
    if not SKILL_NAME.fullmatch(name) or not (place / name).is_dir() or (place / name).is_symlink():
        raise SettingsError(f"There is no skill {name!r}.", hint="oi-tui skills list")
    try:
        shutil.rmtree(place / name)
    except OSError as error:
        raise SettingsError(f"The skill {name} cannot be deleted: {error.strerror}.") from error


def set_skill_aside(name: str, folder: Path | None = None) -> None:
    """Remove a skill so that `restore_skill` can bring it back, until the next one is removed; SettingsError if there
    is none."""
    place = folder or skills_dir()
    if not SKILL_NAME.fullmatch(name) or not (place / name).is_dir() or (place / name).is_symlink():
        raise SettingsError(f"There is no skill {name!r}.", hint="oi-tui skills list")
    try:
        for old in place.glob(f".*{_ASIDE}"):
            shutil.rmtree(old)
        (place / name).rename(place / f".{name}{_ASIDE}")
    except OSError as error:
        raise SettingsError(f"The skill {name} cannot be removed: {error.strerror}.") from error


def restore_skill(name: str, folder: Path | None = None) -> None:
    """Restore the skill that was removed last; SettingsError if that is another one."""
    place = folder or skills_dir()
    aside = place / f".{name}{_ASIDE}"
    if not SKILL_NAME.fullmatch(name) or not aside.is_dir() or (place / name).exists():
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
