"""`oi-tui profile`: profiles are settings by a name; those of Open Interpreter are imported."""

import re
from pathlib import Path

import click

from oi_tui.app.commands.profiles import profiles_in_words
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.files.given_file import UnusableFile, read_given_file
from oi_tui.app.engine.files.paths import config_dir, private_dir
from oi_tui.app.engine.files.settings_file import PROFILES, is_profile_name
from oi_tui.app.engine.files.whole_file import write_whole
from oi_tui.app.engine.formats.interpreter_profile import ImportedKey, import_profile
from oi_tui.app.engine.text.safe import visible_text
from oi_tui.app.terminal.echo import echo

_LARGEST = 1_000_000
"""Bytes of a profile."""

_MARKS = {"taken": "✓", "changed": "~", "left": "✗"}


@click.group(invoke_without_command=True)
@click.pass_context
def profile(context: click.Context) -> None:
    """List profiles: settings by a name, for --profile NAME."""
    if context.invoked_subcommand is not None:
        return
    known = profiles_in_words()
    for name, changes in known.items():
        echo(f"{name}  {visible_text(changes).text}")
    if not known:
        echo(f"There are no profiles. A profile is a TOML file in {config_dir() / PROFILES}, with any of the settings.")


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
        text = read_given_file(file, _LARGEST).decode()
    except UnusableFile as error:
        raise SettingsError(f"{file} {error}.") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{file} is not UTF-8.") from error
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
