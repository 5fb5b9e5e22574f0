"""`oi-tui skills`: Agent Skills, and functions that were kept from sessions."""

import asyncio
import difflib
from pathlib import Path

import click

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.files.paths import private_dir
from oi_tui.app.engine.skills.kept_functions import (
    KeptFunction,
    find_function,
    find_functions,
    functions_dir,
    keep_function,
    remove_function,
)
from oi_tui.app.engine.skills.skill_folder import add_skill, find_skills, remove_skill, skill_faults, skills_dir
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.trust.skill_files import SKILL_FILE, Skill, read_skill_file, skill_files
from oi_tui.app.flags import Flags, words
from oi_tui.app.options import common
from oi_tui.app.screens.external_editor import EditorFailed, edit_file, editor_command
from oi_tui.app.terminal.echo import echo


@click.group(invoke_without_command=True)
@click.pass_context
def skills(context: click.Context) -> None:
    """List your skills and kept functions, look at one, add, edit or remove one."""
    if context.invoked_subcommand is None:
        context.invoke(print_skills)


@skills.command("list")
def print_skills() -> None:
    """List your skills and kept functions, with any problems."""
    functions, found = find_functions(), find_skills()
    for function in functions:
        if function.wrong:
            echo(safe_text(f"✗ {function.name} {function.wrong}."), err=True)
        else:
            changed = "" if function.agreed else "  (changed: not used until you look at it, in /skills or with edit)"
            echo(safe_text(f"{function.signature:24} {function.summary}{changed}"))
    for skill in found:
        if skill.wrong:
            echo(safe_text(f"✗ {skill.name} {skill.wrong}."), err=True)
        else:
            echo(safe_text(f"{skill.name:24} {skill.description}"))
    if not functions and not found:
        echo(f"There are no skills in {skills_dir()}. To add one: oi-tui skills add FOLDER")
        echo(f"There are no functions in {functions_dir()}. To keep one of a session: /keep NAME")


@skills.command("show")
@click.argument("name", type=words)
def show_skill(name: str) -> None:
    """Print the skill or function NAME: its folder, its text and its files."""
    if (function := _function(name)) is not None:
        echo(safe_text(f"{function.name}  {function.path}"))
        echo(f"\n{safe_text(function.text)}")
        if function.wrong:
            raise SettingsError(f"It {function.wrong}.")
        return
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
    echo(safe_text(f"Added: {skill.name}, {skill.description.rstrip('.')}. Sessions that begin now have it."))


@skills.command("edit")
@click.argument("name", type=words)
def edit_skill(name: str) -> None:
    """Open the skill or function NAME in your editor. A changed function is shown, and kept after a yes."""
    function = _function(name)
    try:
        if function is None:
            click.edit(filename=str(_find(name).folder / SKILL_FILE), editor=" ".join(editor_command("")))
            return
        text = edit_file(editor_command(""), function.text, f"{name}.py")
    except (EditorFailed, click.ClickException) as failed:
        raise SettingsError(str(failed)) from failed
    if text == function.text and function.agreed:
        echo("Nothing was changed.")
        return
    changes = difflib.unified_diff(function.text.splitlines(), text.splitlines(), "before", "after", lineterm="")
    echo(safe_text("\n".join(changes) or text))
    click.confirm("Keep it like this? It is not tested here; `t` in /skills does that.", abort=True)
    keep_function(name, text)
    echo(safe_text(f"Kept: {name}"))


@skills.command("remove")
@click.argument("name", type=words)
def delete_skill(name: str) -> None:
    """Delete your skill or function NAME."""
    if _function(name) is not None:
        remove_function(name)
    else:
        remove_skill(name)
    echo(safe_text(f"Removed: {name}"))


@skills.command("test")
@click.argument("name", type=words)
@common
def check_skill(flags: Flags, name: str) -> None:
    """Run the kept function NAME and its example in a fresh kernel, in the sandbox, as `t` in /skills does. Of a skill,
    which runs nothing, say what is wrong: its head, files that it names, mistakes in its code."""
    from oi_tui.app.subcommands.tool_session import try_function

    function = _function(name)
    faults = skill_faults(_find(name)) if function is None else _function_faults(function)
    for fault in faults:
        echo(safe_text(f"✗ {fault}"), err=True)
    if faults:
        raise SystemExit(1)
    if function is None:
        echo("Nothing is wrong with it.")
    elif not asyncio.run(try_function(flags.workplace(can_ask=False).setup, name)):
        raise SystemExit(1)


def _function_faults(function: KeptFunction) -> list[str]:
    if function.wrong:
        return [function.wrong]
    return [] if function.agreed else ["was changed since you agreed to it, so nothing of it runs"]


def _function(name: str) -> KeptFunction | None:
    try:
        return find_function(name)
    except SettingsError:
        return None


def _find(name: str) -> Skill:
    skill = next((one for one in find_skills() if one.name == name), None)
    if skill is None:
        raise SettingsError(f"There is no skill or function {name!r}.", hint="oi-tui skills list")
    return skill
