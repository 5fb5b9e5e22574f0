"""`oi-tui plugins`: those there are, enabled and disabled, begun and tried."""

import difflib
import sys
from pathlib import Path

import click

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.terminal.echo import echo
from oi_tui.plugins.decisions_file import plugin_decisions
from oi_tui.plugins.description import FULL_RIGHTS, NEXT_START, describe_plugin, plugin_line
from oi_tui.plugins.finding import FoundPlugin, find_plugin, find_plugins, plugin_folder
from oi_tui.plugins.template import write_package
from oi_tui.plugins.trial import try_target


@click.group(invoke_without_command=True)
@click.pass_context
def plugins(context: click.Context) -> None:
    """List plugins, enable and disable them, begin one of your own."""
    if context.invoked_subcommand is None:
        context.invoke(print_plugins)


@plugins.command("list")
def print_plugins() -> None:
    """List all plugins, enabled or not. None of them is imported."""
    decisions, found = plugin_decisions().all(), find_plugins()
    width = min(40, max((len(one.name) + len(one.version) + 1 for one in found), default=1))
    for one in found:
        echo(safe_text(plugin_line(one, decisions.get(one.name), width)))
    for name in sorted(decisions.keys() - {one.name for one in found}):
        echo(safe_text(f"{'gone':<12} {name}"))
    echo(safe_text(f"Packages are installed beside oi-tui; single files go into {plugin_folder()}."))


@plugins.command("info")
@click.argument("name")
def print_plugin(name: str) -> None:
    """Show details of the plugin NAME: who made it, where it is, which hooks it has."""
    found = _find(name)
    for line in describe_plugin(found, plugin_decisions().all().get(found.name)):
        echo(safe_text(line))
    if found.kind != "built-in":
        echo(FULL_RIGHTS)


@plugins.command("enable")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask: you have looked at it.")
def enable_plugin(name: str, yes: bool) -> None:
    """Enable the plugin NAME as it is now: it is loaded from the next start on, until it changes."""
    found = _find(name)
    if found.fault:
        raise SettingsError(f"{found.name} cannot be enabled: {found.fault}.")
    if found.kind != "built-in":
        for line in describe_plugin(found, plugin_decisions().all().get(found.name)):
            echo(safe_text(line))
        echo(FULL_RIGHTS)
        if not yes and not (sys.stdin.isatty() and click.confirm("Enable it?", default=False, err=True)):
            raise SettingsError("Nothing has changed.", hint="Answer y, or give --yes, to enable it.")
        if _find(name) != found:
            raise SettingsError(f"{found.name} changed while you looked at it: nothing has changed.")
    plugin_decisions().decide(found.name, "enabled", found.digest)
    echo(safe_text(f"{found.name} is enabled. {NEXT_START}"))


@plugins.command("disable")
@click.argument("name")
def disable_plugin(name: str) -> None:
    """Disable the plugin NAME, also a built-in one."""
    found = find_plugin(name)
    if found is None and name not in plugin_decisions().all():
        found = _find(name)
    plugin_decisions().decide(found.name if found else name, "disabled", found.digest if found else "")
    echo(safe_text(f"{name} is disabled. {NEXT_START}"))


@plugins.command("new")
@click.argument("name")
@click.option("--in", "folder", type=click.Path(path_type=Path), default=Path(), help="Folder to write it into.")
def write_plugin(name: str, folder: Path) -> None:
    """Write a package NAME with a slash command, a tool and a test that passes, to change."""
    place = write_package(name, folder)
    echo(safe_text(f"Written: {place}"))
    echo("To try it:      oi-tui plugins test " + safe_text(str(place)))
    echo("To install it:  install it beside oi-tui (pipx inject oi-tui, uv tool install --with, pip install), then")
    echo("                oi-tui plugins enable " + safe_text(place.name))


@plugins.command("test")
@click.argument("target")
@click.pass_context
def try_plugin(context: click.Context, target: str) -> None:
    """Import a plugin in a process of its own, say what it has and how long that takes, and run its tests.

    TARGET is an enabled plugin's name, a file, or the folder of a package. Its code runs with your full rights.
    """
    lines, passed = try_target(target)
    for line in lines:
        echo(safe_text(line))
    if not passed:
        context.exit(1)


def _find(name: str) -> FoundPlugin:
    found = find_plugin(name)
    if found is None:
        close = difflib.get_close_matches(name, [one.name for one in find_plugins()], n=1)
        meant = f"Did you mean {safe_text(close[0])}? " if close else ""
        hint = f"{meant}oi-tui plugins list shows those there are."
        raise SettingsError(f"There is no plugin {safe_text(name)}.", hint=hint)
    return found
