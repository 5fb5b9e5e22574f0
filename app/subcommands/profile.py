"""`oi-tui profile`: profiles are settings by a name: listed, shown, begun, edited, imported from Open Interpreter."""

import re
import sys
from pathlib import Path

import click

from oi_tui.app.commands.own_profile import begin_profile, profile_text, remove_profile, save_profile
from oi_tui.app.commands.profiles import plain_settings, profile_row, profile_rows
from oi_tui.app.engine.core.errors import OiTuiError, SettingsError
from oi_tui.app.engine.files.given_file import UnusableFile, read_given_text
from oi_tui.app.engine.files.paths import config_dir, private_dir
from oi_tui.app.engine.files.profile_files import PROFILES, ProfileFile, find_profile, is_profile_name, profile_for
from oi_tui.app.engine.files.settings_file import SETTINGS
from oi_tui.app.engine.files.whole_file import write_whole
from oi_tui.app.engine.formats.interpreter_profile import ImportedKey, import_profile
from oi_tui.app.engine.text.safe import safe_text, visible_text
from oi_tui.app.flags import words
from oi_tui.app.screens.external_editor import EditorFailed, edit_file, editor_command
from oi_tui.app.subcommands.stored import as_json_option, print_json
from oi_tui.app.terminal.echo import echo

_LARGEST = 1_000_000
"""Bytes of a profile of Open Interpreter."""

_MARKS = {"taken": "✓", "changed": "~", "left": "✗"}


@click.group(invoke_without_command=True)
@click.pass_context
def profile(context: click.Context) -> None:
    """Profiles: settings by a name, for --profile NAME."""
    if context.invoked_subcommand is None:
        context.invoke(list_profiles)


@profile.command("list")
@as_json_option
def list_profiles(as_json: bool = False) -> None:
    """List all profiles: yours, then those of oi-tui. A * marks the one that is used in this folder."""
    settings = plain_settings()
    here = profile_for(settings.profile, Path(), config_dir(), SETTINGS)
    rows = profile_rows(settings)
    if as_json:
        print_json([
            {
                "name": row.file.name,
                "purpose": row.purpose,
                "shipped": row.file.is_shipped,
                "path": str(row.file.path),
                "used_here": row.file.name == here,
                "error": row.problem,
            }
            for row in rows
        ])  # fmt: skip
        return
    width = max(len(row.file.name) for row in rows)
    for row in rows:
        said = f"✗ {row.problem}" if row.problem else row.purpose or "no first line that says what it is for"
        origin = "" if row.file.is_shipped else f"  ({row.origin})"
        mark = "*" if row.file.name == here else " "
        echo(safe_text(f"{mark} {row.file.name:{width}}  {visible_text(said).text}{origin}"))


@profile.command("show")
@click.argument("name", type=words)
def show_profile(name: str) -> None:
    """Print what the profile NAME changes in your settings."""
    row = profile_row(find_profile(config_dir(), name), plain_settings())
    if row.problem:
        raise SettingsError(row.problem)
    echo(safe_text(f"# {visible_text(row.purpose or name).text}"))
    echo(safe_text(f"# {row.origin}: {row.file.path}"))
    for change in row.changes:
        echo(visible_text(change.words).text)
    if not row.changes:
        echo("# It changes nothing in your settings.")


@profile.command("new")
@click.argument("name", type=words)
@click.option("--from", "based", default="default", type=words, metavar="PROFILE", help="Start from PROFILE.")
def new_profile(name: str, based: str) -> None:
    """Write a profile NAME of your own, to change."""
    path = begin_profile(name, based)
    echo(f"Written: {path}. To change it: oi-tui profile edit {name}. To use it: oi-tui --profile {name}")


@profile.command("edit")
@click.argument("name", type=words)
def edit_profile(name: str) -> None:
    """Open your profile NAME in $EDITOR; what you save is used if it is valid. One of oi-tui becomes yours."""
    file = find_profile(config_dir(), name)
    try:
        setting = plain_settings().screen.editor
    except SettingsError:
        setting = ""  # a problem there is one of another file
    before = text = profile_text(file)
    try:
        command = editor_command(setting)
        while (text := edit_file(command, text, f"{name}.toml")) != before:
            try:
                path = save_profile(name, text, over=not file.is_shipped)
            except SettingsError as error:
                echo(safe_text(f"✗ {error.title}\n  {error.hint}".rstrip()), err=True)
                if not sys.stdin.isatty() or not click.confirm(
                    "Edit it again? Otherwise it is discarded", default=True
                ):
                    raise SettingsError("The profile is as it was.") from error
            else:
                echo(f"Written: {path}")
                return
    except EditorFailed as failed:
        raise OiTuiError(str(failed)) from failed
    echo("Nothing was changed.", err=True)


@profile.command("rm")
@click.argument("name", type=words)
@click.option("--yes", is_flag=True, help="Without asking.")
def delete_profile(name: str, yes: bool) -> None:
    """Delete your profile NAME. This cannot be undone."""
    file = find_profile(config_dir(), name)
    if not yes and not file.is_shipped:
        if not sys.stdin.isatty():
            raise SettingsError("Deleting a profile needs your approval.", hint="Without a terminal: --yes.")
        click.confirm(safe_text(f"Delete {file.path}? This cannot be undone"), abort=True)
    echo(f"Deleted: {remove_profile(name)}")
    _tell_uses(name, file)


def _tell_uses(name: str, file: ProfileFile) -> None:
    """Where the settings still choose a profile that is gone."""
    section = plain_settings().profile
    if not file.replaces and name in (section.default, *section.folders.values()):
        echo(f"▪ Your settings still use it: look at [profile] in {config_dir() / SETTINGS}.", err=True)


@profile.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--name", metavar="NAME", help="Name of the profile; default: that of the file.")
@click.option("--replace", is_flag=True, help="Replace a profile of this name.")
def import_yaml(file: Path, name: str | None, replace: bool) -> None:
    """Make a profile from FILE, a YAML profile of Open Interpreter; lists what became of each key."""
    if re.match(r"[a-zA-Z]+:/", str(file)):
        raise SettingsError("oi-tui downloads no profiles.", hint="Download the file, look at it, then import it.")
    if file.suffix == ".py":
        raise SettingsError(
            f"{file.name} is a program, and a profile is imported without running anything.",
            hint="Write its settings into a YAML or TOML file.",
        )
    name = name or re.sub(r"[^\w.-]+", "-", file.stem).strip(".-")
    if not is_profile_name(name):
        raise SettingsError(f"{name!r} is no name of a profile.", hint="Choose one with --name NAME.")
    try:
        text = read_given_text(file, _LARGEST)
    except UnusableFile as error:
        raise SettingsError(f"{file} {error}.") from error
    made = import_profile(text)
    path = private_dir(private_dir(config_dir()) / PROFILES) / f"{name}.toml"
    _write(path, made.settings, file.name, over=replace)
    for key in made.keys:
        echo(visible_text(_line(key)).text)
    echo(f"Written: {path}. To use it: oi-tui --profile {name}")


def _line(key: ImportedKey) -> str:
    return f"{_MARKS[key.fate]} {key.key:28} {key.became}"


def _write(path: Path, settings: dict[str, dict[str, object]], source: str, *, over: bool) -> None:
    import tomli_w  # only where something is written

    head = f"# Imported from Open Interpreter's profile {visible_text(source).text}\n\n"
    body = tomli_w.dumps(settings, multiline_strings=True)
    try:
        write_whole(path, (head + body).encode(), over=over)
    except FileExistsError as error:
        raise SettingsError(
            f"There is a profile {path.stem!r} already.",
            hint="--replace overwrites it; --name NAME gives yours another name.",
        ) from error
    except OSError as error:
        raise SettingsError(f"{path} cannot be written: {error.strerror}.") from error
