"""`oi-tui commands`: commands of your own, as files."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.files.paths import COMMANDS_FOLDER, PROJECT, config_dir, private_dir
from oi_tui.app.engine.files.whole_file import write_whole
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.trust.folder_decisions import known_folders
from oi_tui.app.flags import words
from oi_tui.app.terminal.echo import echo

if TYPE_CHECKING:  # Textual, which --help does not need
    from oi_tui.app.commands.own_commands import FoundCommand, OwnCommands

_EXAMPLE = """\
---
description: Review a file
arguments:
  - name: file
    help: the file to review
  - name: level
    choices: [quick, thorough]
    default: quick
---
Review @{{{{file}}}}: a {{{{level}}}} look at errors, then at names.
{{% if level == "thorough" %}}Read the files that it imports, too.{{% endif %}}
"""


@click.group(invoke_without_command=True)
@click.pass_context
def commands(context: click.Context) -> None:
    """List your own commands, or write one."""
    if context.invoked_subcommand is None:
        context.invoke(print_commands)


@commands.command("list")
def print_commands() -> None:
    """List your commands and those of this folder, with any problems."""
    own = _own_commands()
    for one in own.entries():
        if one.says is not None:
            echo(safe_text(f"{_usage(one):40} {one.origin:12} {one.says.description}"))
    for fault in own.faults():
        echo(f"✗ {safe_text(fault)}", err=True)
    if not own.entries():
        places = f"{config_dir() / COMMANDS_FOLDER} or {PROJECT}/{COMMANDS_FOLDER} of a trusted folder"
        echo(f"There are no commands in {places}. To write one: oi-tui commands new NAME")


@commands.command("new")
@click.argument("name", type=words)
def write_command(name: str) -> None:
    """Write a command NAME with an example in it, to change."""
    from oi_tui.app.commands.command_set import TakenName, check_new_name  # as above

    try:
        check_new_name(name)
    except TakenName as error:
        raise SettingsError(f"{name!r} cannot be the name of a command: {error}.") from error
    path = private_dir(private_dir(config_dir()) / COMMANDS_FOLDER) / f"{name}.md"
    try:
        write_whole(path, _EXAMPLE.format().encode())
    except FileExistsError as error:
        raise SettingsError(f"There is a command {name!r} already.", hint=f"Edit {path}.") from error
    except OSError as error:
        raise SettingsError(f"{path} cannot be written: {error.strerror}.") from error
    echo(f"Written: {path}. To use it: /{name}, or oi-tui run /{name}. Each save shows at once.")


@commands.command("show")
@click.argument("name", type=words)
@click.argument("typed", nargs=-1, type=words, metavar="[ARGUMENTS]")
def show_command(name: str, typed: tuple[str, ...]) -> None:
    """Print where the command NAME comes from, its arguments, and the prompt that it makes of ARGUMENTS."""
    from oi_tui.app.commands.argument_verbs import WrongArgument  # as above

    own, name = _own_commands(), name.removeprefix("/")
    one = next((one for one in own.entries() if one.source.name == name), None)
    if one is None:
        raise SettingsError(f"There is no command {name!r} of yours or of this folder.", hint="oi-tui commands")
    if one.says is None:
        raise SettingsError(f"{one.source.path}: {one.wrong}.")
    echo(safe_text(f"{_usage(one)}  {one.origin}  {one.source.path}"))
    for argument in one.says.arguments:
        default = f" (default: {argument.default})" if argument.default else ""
        choices = f"one of {', '.join(argument.choices)}" if argument.choices else ""
        echo(safe_text(f"  {argument.name:12} {' · '.join(filter(None, (argument.help, choices)))}{default}"))
    if typed or not any(argument.required for argument in one.says.arguments):
        try:
            prompt = own.prompt(name, " ".join(typed))
        except WrongArgument as error:
            raise SettingsError(str(error)) from error
        echo(f"\n{safe_text(prompt.text)}")


def _own_commands() -> "OwnCommands":
    from oi_tui.app.commands.own_commands import OwnCommands  # as above

    folder = Path.cwd()
    decision = known_folders().find(folder)
    trusted = None if decision is None else decision.trusted_commands(folder)
    return OwnCommands(lambda: folder, lambda: trusted)


def _usage(one: "FoundCommand") -> str:
    row = one.row()
    return f"/{row.slash} {row.argument}".rstrip()
