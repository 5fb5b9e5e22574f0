"""Skills and kept functions as a front end lists them."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from oi_tui.app.engine.core.tool_replies import SkillRecord
from oi_tui.app.engine.skills.kept_functions import find_functions
from oi_tui.app.engine.skills.skill_folder import find_skills
from oi_tui.app.engine.trust.skill_files import SKILL_FILE, Skill, WrongSkill, read_skill_file, trusted_skills

FindTrusted = Callable[[], Sequence[Skill]]
"""Gives the skills of the folder, as long as they are what the person trusted."""


def folder_skills(folder: Path, *, trusted: bool, seen: str) -> FindTrusted:
    """A function that finds the skills of this folder, as they were when it was trusted with this digest."""
    return partial(trusted_skills, folder, trusted=trusted, seen=seen)


def list_records(find_trusted: FindTrusted) -> Iterator[SkillRecord]:
    """Kept functions, the person's skills, and those of the folder."""
    for one in find_functions():
        yield SkillRecord(
            kind="function",
            name=one.name,
            summary=one.summary or one.signature,
            place=str(one.path),
            text=one.text,
            digest=one.digest,
            wrong=one.wrong,
            agreed=one.agreed,
            version=one.head.version,
            tested=one.head.tested,
        )
    for own, skills in ((True, find_skills()), (False, find_trusted())):
        yield from (_skill_record(skill, own=own) for skill in skills)


def _skill_record(skill: Skill, *, own: bool) -> SkillRecord:
    try:
        text = read_skill_file(skill.folder, SKILL_FILE)
    except WrongSkill:
        text = ""
    return SkillRecord(
        kind="skill",
        name=skill.name,
        summary=skill.description,
        place=str(skill.folder),
        text=text,
        wrong=skill.wrong,
        own=own,
    )
