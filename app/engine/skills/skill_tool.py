"""The tool by which a model reads a skill: it lists them by one line each, and reads nothing else."""

import asyncio
from collections.abc import Callable, Iterable, Sequence

from oi_tui.app.engine.skills.skill_folder import find_skills
from oi_tui.app.engine.tools.ties import ToolTies
from oi_tui.app.engine.tools.tool import Arguments, Tool, ToolFailed, ToolOutput, session_tool
from oi_tui.app.engine.trust.skill_files import SKILL_FILE, Skill, WrongSkill, read_skill_file, skill_files

LONGEST_LIST = 4_000
"""Characters of what the model reads of all skills in each request."""

_SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "Of the skill."},
        "file": {"type": "string", "description": f"A file of it; {SKILL_FILE} where there is none."},
    },
    "required": ["name"],
}


def make_skill_tool(ties: ToolTies, find_trusted: Callable[[], Sequence[Skill]] = tuple) -> Iterable[Tool]:
    """The tool, where there are skills. `find_trusted` gives those of the folder, as long as they are what the person
    trusted: it is asked again before each is read."""
    skills = _usable_skills(find_trusted)
    if not skills:
        return

    async def run(arguments: Arguments, output: ToolOutput) -> str:
        usable = await asyncio.to_thread(_usable_skills, find_trusted)
        return await asyncio.to_thread(_load, usable, str(arguments["name"]), str(arguments.get("file") or SKILL_FILE))

    yield session_tool(
        name="load_skill",
        description=f"Read instructions for a kind of task before you begin. There are:\n{_skill_lines(skills)}",
        schema=_SCHEMA,
        run=run,
        unasked="it reads a skill that you added or trusted",
    )


def _usable_skills(find_trusted: Callable[[], Sequence[Skill]]) -> list[Skill]:
    """The person's own, and those of the folder that have another name."""
    own = [skill for skill in find_skills() if not skill.wrong]
    names = {skill.name for skill in own}
    return [*own, *(skill for skill in find_trusted() if skill.name not in names)]


def _skill_lines(skills: list[Skill]) -> str:
    room = LONGEST_LIST
    lines: list[str] = []
    for skill in skills:
        line = f"{skill.name}: {skill.description}"
        room -= len(line) + 1
        if room < 0:
            lines.append(f"and {len(skills) - len(lines)} more, by name: the user knows them")
            break
        lines.append(line)
    return "\n".join(lines)


def _load(skills: list[Skill], name: str, file: str) -> str:
    skill = next((one for one in skills if one.name == name), None)
    if skill is None:
        there = ", ".join(one.name for one in skills) or "none"
        raise ToolFailed(f"There is no skill {name!r}, or it changed since the user trusted it. There are: {there}")
    try:
        text = read_skill_file(skill.folder, file)
    except WrongSkill as error:
        raise ToolFailed(f"The skill {name} {error}.") from error
    if file != SKILL_FILE:
        return text
    files = "\n".join(one for one in skill_files(skill.folder) if one != SKILL_FILE)
    place = f"Its folder, which code can read and not change: {skill.folder}"
    return f"{text}\n\n{place}\n{files}" if files else text
