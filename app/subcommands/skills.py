"""`oi-tui skills`: Agent Skills, which the model reads when a task is of their kind."""

from pathlib import Path

import click

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.files.paths import private_dir
from oi_tui.app.engine.skills.skill_folder import (
    SKILL_FILE,
    Skill,
    add_skill,
    find_skills,
    read_skill_file,
    remove_skill,
    skill_faults,
    skill_files,
    skills_dir,
)
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.flags import words
from oi_tui.app.terminal.echo import echo


@click.group(invoke_without_command=True)
@click.pass_context
def skills(context: click.Context) -> None:
    """List your skills, look at one, add or remove one."""
    if context.invoked_subcommand is None:
        context.invoke(print_skills)


@skills.command("list")
def print_skills() -> None:
    """List your skills, with what is wrong with some."""
    found = find_skills()
    for skill in found:
        if skill.wrong:
            echo(safe_text(f"✗ {skill.name} {skill.wrong}."), err=True)
        else:
            echo(safe_text(f"{skill.name:24} {skill.description}"))
    if not found:
        echo(f"There are no skills in {skills_dir()}. To add one: oi-tui skills add FOLDER")


@skills.command("show")
@click.argument("name", type=words)
def show_skill(name: str) -> None:
    """Print the skill NAME: where it is, its files, and what the model reads of it."""
    skill = _find(name)
    echo(safe_text(f"{skill.name}  {skill.folder}"))
    for file in skill_files(skill.folder):
        echo(safe_text(f"  {file}"))
    if skill.wrong:
        raise SettingsError(f"It {skill.wrong}.")
    echo(f"\n{safe_text(read_skill_file(skill.folder, SKILL_FILE))}")


@skills.command("add")
@click.argument("folder", type=words)
@click.option("--yes", is_flag=True, help="Add it without a question.")
def copy_skill(folder: str, yes: bool) -> None:
    """Copy the skill in FOLDER to yours. The model follows what it says: look at it first."""
    source = Path(folder).expanduser().absolute()
    if not yes:
        echo(safe_text(f"{source} has these files:"))
        for file in skill_files(source):
            echo(safe_text(f"  {file}"))
        click.confirm("The model follows what they say, and may run its scripts. Add it?", abort=True)
    private_dir(skills_dir())
    skill = add_skill(source)
    echo(safe_text(f"Added: {skill.name}, {skill.description}. Sessions that begin now have it."))


@skills.command("remove")
@click.argument("name", type=words)
def delete_skill(name: str) -> None:
    """Delete your skill NAME."""
    remove_skill(name)
    echo(safe_text(f"Removed: {name}"))


@skills.command("test")
@click.argument("name", type=words)
def check_skill(name: str) -> None:
    """Say what is wrong with the skill NAME: its head, files that it names, mistakes in its scripts. Runs nothing."""
    faults = skill_faults(_find(name))
    for fault in faults:
        echo(safe_text(f"✗ {fault}"), err=True)
    if faults:
        raise SystemExit(1)
    echo("Nothing is wrong with it.")


def _find(name: str) -> Skill:
    skill = next((one for one in find_skills() if one.name == name), None)
    if skill is None:
        raise SettingsError(f"There is no skill {name!r}.", hint="oi-tui skills list")
    return skill
