"""`oi-tui tools`: what the model may call, and files of tools: enabled and disabled, begun, tried and called."""

import asyncio
import difflib
import sys
from pathlib import Path

import click

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.tool_replies import ToolRecord
from oi_tui.app.engine.text.words import one_line
from oi_tui.app.engine.trust.folder_decisions import trusts_folder
from oi_tui.app.flags import Flags, words
from oi_tui.app.options import common
from oi_tui.app.terminal.echo import echo
from oi_tui.app.terminal.tty_prompt import confirm
from oi_tui.plugins.decisions_file import tool_file_decisions
from oi_tui.plugins.description import IN_THE_SANDBOX, describe_plugin, plugin_line
from oi_tui.plugins.finding import FoundPlugin
from oi_tui.plugins.template import write_tool_file
from oi_tui.plugins.tool_files import FOLDER_TOOLS, find_tool_file, find_tool_files, own_tools_folder, tool_file_in

FOR_SESSIONS = "Open sessions notice it at their next prompt."

OF_OURS = "part of oi-tui"


@click.group(invoke_without_command=True)
@click.pass_context
def tools(context: click.Context) -> None:
    """List what the model may call, enable files of tools, begin one of your own."""
    if context.invoked_subcommand is None:
        context.invoke(print_all_tools)


@tools.command("list")
@common
def print_all_tools(flags: Flags) -> None:
    """List the tools that the model may call here, who brought each and what it may do; then files of tools.

    MCP servers are started for it, in their sandboxes. No file of tools runs.
    """
    records = _records(flags)
    name = max((len(one.name) for one in records), default=0)
    origin = min(32, max((len(one.origin or OF_OURS) for one in records), default=0))
    for one in records:
        echo(f"{one.name:<{name}}  {one_line(one.origin or OF_OURS):<{origin}}  {one_line(', '.join(one.effects))}")
    decisions = tool_file_decisions().all()
    for found in find_tool_files(_trusted_folder()):
        echo(plugin_line(found, decisions.get(found.name), 40))
    echo(f"Files of tools go into {own_tools_folder()}, or into {FOLDER_TOOLS} of a folder that you trust.")


@tools.command("show")
@click.argument("name", type=words)
@common
def print_tool(flags: Flags, name: str) -> None:
    """Show what the model reads about the tool NAME, or details of the tool file NAME."""
    if (found := find_tool_file(name, _trusted_folder())) is not None:
        _describe(found)
        return
    records = _records(flags)
    one = next((one for one in records if one.name == name), None)
    if one is None:
        raise _unknown(
            name, [*(one.name for one in records), *(one.name for one in find_tool_files(_trusted_folder()))]
        )
    echo(f"{one.name}  {one_line(one.origin or OF_OURS)}  {', '.join(one.effects)}")
    echo(f"\n{one.description}\n\n{one.schema}")


@tools.command("enable")
@click.argument("name", type=words)
@click.option("--yes", is_flag=True, help="Do not ask: you have looked at it.")
def enable_tool_file(name: str, yes: bool) -> None:
    """Enable the file of tools NAME as it is now: the model may call its functions, until it changes."""
    found = _find(name)
    if found.fault:
        raise SettingsError(f"{found.name} cannot be enabled: {found.fault}.")
    _describe(found)
    if not yes and not (sys.stdin.isatty() and confirm("Enable it?", err=True)):
        raise SettingsError("Nothing has changed.", hint="Answer y, or give --yes, to enable it.")
    if _find(name) != found:
        raise SettingsError(f"{found.name} changed while you looked at it: nothing has changed.")
    tool_file_decisions().decide(found.name, "enabled", found.digest)
    echo(f"{found.name} is enabled. {FOR_SESSIONS}")


@tools.command("disable")
@click.argument("name", type=words)
def disable_tool_file(name: str) -> None:
    """Disable the file of tools NAME. (/tools switches any tool off for one session, a rule denies it in all.)"""
    found = _find(name)
    tool_file_decisions().decide(found.name, "disabled", found.digest)
    echo(f"{found.name} is disabled. {FOR_SESSIONS}")


@tools.command("new")
@click.argument("name", type=words)
@click.option("--here", is_flag=True, help=f"Into {FOLDER_TOOLS} of this folder, not beside your settings.")
def write_tools(name: str, here: bool) -> None:
    """Write a file of tools NAME.py with one function and an example, to change."""
    place = write_tool_file(name, Path.cwd() / FOLDER_TOOLS if here else own_tools_folder())
    echo(f"Written: {place}")
    echo(f"To try it:     oi-tui tools test {place}")
    echo(f"To enable it:  oi-tui tools enable {place.name}")


@tools.command("test")
@click.argument("target", type=words)
@common
def try_tools(flags: Flags, target: str) -> None:
    """Execute a file of tools in the sandbox, with the examples in its docstrings (`>>> convert(2)`).

    TARGET is the name of a file that is enabled, or the path of any file.
    """
    from oi_tui.app.subcommands.tool_session import try_tool_file

    if not asyncio.run(try_tool_file(flags.workplace(can_ask=False).setup, tool_file_in(target, _trusted_folder()))):
        raise click.exceptions.Exit(1)


@tools.command("run")
@click.argument("name", type=words)
@click.argument("arguments", type=words, default="{}", metavar="[JSON]")
@common
def run_tool(flags: Flags, name: str, arguments: str) -> None:
    """Call the tool NAME with a JSON object of arguments, after a question; --yes answers it.

    It is decided about by the same rules and written to the same audit log as a call of the model.
    """
    from oi_tui.app.subcommands.tool_session import call_tool

    setup = flags._replace(yes=False).workplace().setup
    if code := asyncio.run(call_tool(setup, name, arguments, yes=flags.yes)):
        raise click.exceptions.Exit(code)


def _records(flags: Flags) -> tuple[ToolRecord, ...]:
    from oi_tui.app.subcommands.tool_session import list_tools

    return asyncio.run(list_tools(flags.workplace().setup))


def _trusted_folder() -> Path | None:
    return Path.cwd() if trusts_folder(Path.cwd()) else None


def _describe(found: FoundPlugin) -> None:
    for line in describe_plugin(found, tool_file_decisions().all().get(found.name)):
        echo(line)
    echo(IN_THE_SANDBOX)


def _find(name: str) -> FoundPlugin:
    found = find_tool_file(name, _trusted_folder())
    if found is None:
        if (Path.cwd() / FOLDER_TOOLS).is_dir() and _trusted_folder() is None:
            hint = f"{FOLDER_TOOLS} of this folder counts once you trust the folder: oi-tui trust"
            raise SettingsError(f"There is no file of tools {name}.", hint=hint)
        raise _unknown(name, [one.name for one in find_tool_files(_trusted_folder())], "file of tools")
    return found


def _unknown(name: str, known: list[str], what: str = "tool") -> SettingsError:
    close = difflib.get_close_matches(name, known, n=1)
    meant = f"Did you mean {close[0]}? " if close else ""
    return SettingsError(f"There is no {what} {name}.", hint=f"{meant}oi-tui tools list shows those there are.")
