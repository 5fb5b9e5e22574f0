"""Row S29: settings, rules and themes that are nested thousands deep, or lead to devices and pipes: an error that names
the file, at once, and the exit code of wrong settings."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.files.paths import PROJECT
from oi_tui.app.engine.files.settings_file import load_layers
from oi_tui.app.engine.trust.folder_settings import CONFIG, RULES, read_folder_settings
from oi_tui.app.engine.trust.rule_files import read_rules
from oi_tui.themes.loader import ThemeError, load_palette

OI_TUI = Path(sys.executable).with_name("oi-tui")

pytestmark = pytest.mark.timeout(30)


def nested(path: Path) -> None:
    path.write_text("x = " + "[" * 5_000 + "]" * 5_000)


def table_in_table(path: Path) -> None:
    path.write_text("x = " + "{a = " * 5_000 + "1" + "}" * 5_000)


def dotted(path: Path) -> None:
    path.write_text("a" + ".a" * 5_000 + " = 1")


def dotted_further(path: Path) -> None:
    path.write_text("a" + '."a" .a' * 20_000 + " = 1")


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def silent(path: Path) -> None:
    path.symlink_to("/dev/tty")


def pipe(path: Path) -> None:
    os.mkfifo(path)


def link_to_pipe(path: Path) -> None:
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to("pipe")


def huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(50_000_000_000)


MAKERS = (nested, table_in_table, dotted, dotted_further, endless, silent, pipe, link_to_pipe, huge)


@pytest.mark.parametrize("make", MAKERS)
def test_S29_settings_that_cannot_be_any_are_an_error_that_names_them(
    tmp_path: Path, make: Callable[..., None]
) -> None:
    make(tmp_path / "config.toml")
    with pytest.raises(SettingsError, match=r"config\.toml"):
        load_layers(tmp_path, environ={})


@pytest.mark.parametrize("make", MAKERS)
def test_S29_so_are_a_profile_and_rules_and_what_a_folder_brings(tmp_path: Path, make: Callable[..., None]) -> None:
    for folder in (tmp_path / "profiles", tmp_path / PROJECT, tmp_path / "rules"):
        folder.mkdir()
    for path in (tmp_path / "profiles" / "x.toml", tmp_path / PROJECT / CONFIG, tmp_path / "rules" / RULES):
        make(path)
    with pytest.raises(SettingsError, match=r"x\.toml"):
        load_layers(tmp_path, environ={}, profile="x")
    with pytest.raises(SettingsError, match=r"config\.toml"):
        read_folder_settings(tmp_path)
    with pytest.raises(SettingsError, match=r"permissions\.toml"):
        read_rules(tmp_path / "rules" / RULES, "user", owner=os.getuid())


@pytest.mark.parametrize("make", MAKERS)
def test_S29_so_is_a_theme(tmp_path: Path, make: Callable[..., None]) -> None:
    make(tmp_path / "mine.toml")
    with pytest.raises(ThemeError, match="mine"):
        load_palette("mine", [tmp_path])


@pytest.mark.parametrize("make", [nested, endless, pipe])
@pytest.mark.parametrize("name", ["config.toml", "permissions.toml"])
def test_S29_the_program_ends_at_once_with_the_code_of_wrong_settings(
    clean_env: dict[str, str], tmp_path: Path, make: Callable[..., None], name: str
) -> None:
    folder = Path(clean_env["XDG_CONFIG_HOME"]) / "oi-tui"
    folder.mkdir(parents=True)
    make(folder / name)
    ended = subprocess.run(
        [str(OI_TUI), "run", "-m", "fake/none.json", "hello"],
        env=clean_env, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout) == (2, ""), ended.stderr
    assert name in ended.stderr
    assert "Traceback" not in ended.stderr
    assert len(ended.stderr) < 1_000
