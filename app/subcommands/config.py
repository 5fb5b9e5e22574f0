"""`oi-tui config`: look at the settings, and change those of the person's file."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from oi_tui.app.engine.core.errors import OiTuiError, SettingsError
from oi_tui.app.engine.files.paths import config_dir
from oi_tui.app.engine.files.settings_edit import key_path, key_text, value_text
from oi_tui.app.engine.files.settings_file import (
    SETTINGS,
    check_settings,
    load_layers,
    read_toml,
    settings_path,
    take_over_settings,
)
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.flags import Flags, words
from oi_tui.app.options import common
from oi_tui.app.screens.external_editor import EditorFailed, edit_file, editor_command
from oi_tui.app.settings.effective import ShownSetting, holds_secret, setting_at, shown_settings
from oi_tui.app.settings.own_file import own_file, readings_of, set_setting, unset_setting, write_own_file
from oi_tui.app.subcommands.settings_schema import settings_schema
from oi_tui.app.subcommands.stored import as_json_option, print_json
from oi_tui.app.terminal.echo import echo

NOT_SET = 1
"""Exit code where a key has no value."""


@click.group()
def config() -> None:
    """Look at your settings, and change them."""
    if remark := take_over_settings(config_dir()):
        echo(f"▪ {remark}", err=True)


@config.command("path")
def config_path() -> None:
    """Print the path of your settings file; it need not exist."""
    echo(str(settings_path(config_dir())))


@config.command("show")
@click.option("--origin", is_flag=True, help="With each value, where it comes from.")
@click.option("--all", "everything", is_flag=True, help="The defaults, too.")
@as_json_option
@common
def config_show(flags: Flags, origin: bool, everything: bool, as_json: bool) -> None:
    """Print the settings that apply in this folder, as TOML. Defaults are left out, and secrets are hidden."""
    shown = [one for one in shown_settings(flags) if everything or not one.is_default]
    if as_json:
        print_json([_as_object(one) for one in shown])
        return
    lines = [
        f"# {key_text(one.path)} is hidden" if one.is_secret else f"{key_text(one.path)} = {value_text(one.value)}"
        for one in shown
    ]
    width = max((len(line) for line in lines if len(line) <= 60), default=0)
    for one, line in zip(shown, lines, strict=True):
        echo(safe_text(f"{line:{width}}  # {one.origin or 'default'}" if origin else line))
    if not shown:
        echo("All settings are defaults. To see them: oi-tui config show --all", err=True)


def _as_object(one: ShownSetting) -> dict[str, Any]:
    hidden = one.is_secret
    value = None if hidden else one.value
    return {"key": key_text(one.path), "value": value, "hidden": hidden, "origin": one.origin or "default"}


@config.command("get")
@click.argument("key", type=words)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def config_get(key: str, as_json: bool) -> None:
    """Print the value of KEY: text as it is, all else as TOML. Exit code 1 if it has none."""
    path = key_path(key)
    value = setting_at(load_layers(config_dir(), environ=os.environ).settings, path)
    if holds_secret(path, value):
        raise SettingsError(f"{key_text(path)} is hidden: it may hold a secret.", hint="Look at: oi-tui config path")
    if value is None or value == "" or value == {}:
        sys.exit(NOT_SET)
    echo(json.dumps(value) if as_json else safe_text(value if isinstance(value, str) else value_text(value)))


@config.command("set", context_settings={"ignore_unknown_options": True})
@click.argument("key", type=words)
@click.argument("values", nargs=-1, required=True, type=words, metavar="VALUE...")
def config_set(key: str, values: tuple[str, ...]) -> None:
    """Set KEY to VALUE in your settings file, if that is valid; comments and order stay.

    \b
    oi-tui config set model.name openai/gpt-5
    oi-tui config set sandbox.hosts example.org pypi.org
    oi-tui config set 'model.prices."openrouter/x/y"' 3.0 15.0
    oi-tui config set model.extra.headers.X-Team '$TEAM'
    """
    from oi_tui.app.screens.key_sets import key_faults  # every widget that has keys

    written = set_setting(key_path(key), readings_of(values), key_faults)
    for remark in written.remarks:
        echo(safe_text(f"▪ {remark}"), err=True)


@config.command("unset")
@click.argument("key", type=words)
def config_unset(key: str) -> None:
    """Remove KEY from your settings file. Exit code 1 if it is not in it."""
    path = key_path(key)
    written = unset_setting(path)
    if written is None:
        echo(f"{key_text(path)} is not set in {settings_path(config_dir())}.", err=True)
        sys.exit(NOT_SET)
    for remark in written.remarks:
        echo(safe_text(f"▪ {remark}"), err=True)


@config.command("edit")
def config_edit() -> None:
    """Open your settings in $EDITOR; what you save is used if it is valid."""
    try:
        setting = load_layers(config_dir(), environ=os.environ).settings.screen.editor
    except SettingsError:
        setting = ""  # that is why it is opened
    try:
        command = editor_command(setting)
        with own_file(broken=True) as (file, text):
            _edit(file, text, lambda text: edit_file(command, text, SETTINGS))
    except EditorFailed as error:
        raise OiTuiError(str(error)) from error


def _edit(file: Path, text: str, edit: Callable[[str], str]) -> None:
    """Edit until it is valid, or until the person discards it."""
    new = text
    while True:
        new = edit(new)
        if new == text:
            echo("Nothing was changed.", err=True)
            return
        try:
            check_settings(read_toml(new, file), str(file), new)
        except SettingsError as error:
            echo(safe_text(f"✗ {error.title}\n  {error.hint}".rstrip()), err=True)
            if not sys.stdin.isatty() or not click.confirm("Edit it again? Otherwise it is discarded", default=True):
                raise SettingsError("The settings are as they were.") from error
        else:
            write_own_file(file, new)
            return


@config.command("schema")
def config_schema() -> None:
    """Print a JSON schema of the settings file, for editors."""
    echo(json.dumps(settings_schema(), indent=2))
