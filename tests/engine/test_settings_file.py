"""Settings from files, environment and flags: what wins, and what a mistake is told as."""

import os
from pathlib import Path

import pytest

from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.modes import OF_APPROVAL, requested_mode, strictest
from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.engine.files.settings_file import load_layers
from oi_tui.app.engine.trust.folder_decisions import FolderDecisions
from oi_tui.app.frontend.workplace import Workplace
from support.unprivileged import Nobody


def write(folder: Path, text: str, name: str = "config.toml") -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_without_anything_the_defaults_hold(tmp_path: Path) -> None:
    assert load_layers(tmp_path, environ={}).settings == Settings()


def test_flags_win_over_environment_over_profile_over_file(tmp_path: Path) -> None:
    write(tmp_path, '[model]\nname = "file"\napi_base = "http://file"\ntemperature = 0.5\n[loop]\nmax_steps = 3\n')
    write(tmp_path, '[model]\nname = "profile"\napi_base = "http://profile"\n', "profiles/work.toml")
    settings = load_layers(
        tmp_path,
        environ={"OI_TUI_MODEL": "environment", "OI_TUI_MAX_STEPS": "7"},
        flags={"loop": {"approve": "never"}},
        profile="work",
    ).settings
    assert settings.model.name == "environment"
    assert settings.model.api_base == "http://profile"
    assert settings.model.temperature == 0.5
    assert (settings.loop.max_steps, settings.loop.approve) == (7, "never")


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("[model]\nnane = 'x'\n", r"config\.toml:2: model: unknown key `nane`", "Did you mean 'name'?"),
        ("[modle]\n", r"config\.toml:1: unknown key `modle`", "Did you mean 'model'?"),
        ("[sandbox]\n\nhosts = [\n 'a',\n 5,\n]\n", r"config\.toml:3: sandbox\.hosts\[1\]", ""),
        ("[loop]\nmax_steps = 'many'\n", r"config\.toml:2: loop\.max_steps: Expected `int`, got `str`", ""),
        ("[loop]\nmax_steps = 0\n", r"loop\.max_steps", ""),
        ("[loop]\napprove = 'maybe'\n", r"loop\.approve", ""),
        ("loop = 3\n", r"'loop' must be a table", "Sections are"),
        ("[loop\n", r"not valid TOML", ""),
    ],
)
def test_a_mistake_names_file_key_and_the_nearest_name(tmp_path: Path, text: str, message: str, hint: str) -> None:
    write(tmp_path, text)
    with pytest.raises(SettingsError, match=message) as caught:
        load_layers(tmp_path, environ={})
    assert hint in caught.value.hint
    assert str(tmp_path) in caught.value.title or "must be" in caught.value.title


def test_L21_a_profile_that_is_not_there_is_an_error_that_lists_those_there_are(tmp_path: Path) -> None:
    write(tmp_path, "", "profiles/work.toml")
    with pytest.raises(SettingsError, match="no profile 'home'") as caught:
        load_layers(tmp_path, environ={}, profile="home")
    assert "work" in caught.value.hint


def write_admin(folder: Path, text: str) -> Path:
    if os.getuid() != 0:
        pytest.skip("NOT TESTED: an administrator's settings, which only root can write")
    write(folder, text, "etc/config.toml")
    (folder / "etc" / "config.toml").chmod(0o644)
    return folder / "etc" / "config.toml"


@pytest.mark.parametrize(
    ("admins", "own", "holds"),
    [
        ("[screen]\ntheme = 'nord'", "", {"screen.theme": "nord"}),
        ("[screen]\ntheme = 'nord'", "[screen]\ntheme = 'dracula'", {"screen.theme": "dracula"}),
        ("[sandbox]\nmode = 'read-only'", "[sandbox]\nmode = 'danger-full-access'", {"sandbox.mode": "read-only"}),
        ("[sandbox]\nmode = 'danger-full-access'", "", {"sandbox.mode": "danger-full-access"}),
        (
            "[sandbox]\nmode = 'danger-full-access'",
            "[sandbox]\nmode = 'read-only'",
            {"sandbox.mode": "read-only"},
        ),
        ("[sandbox]\nrung = 'auto'", "[sandbox]\nrung = 'lock'", {"sandbox.rung": "auto"}),
        ("[network]\noffline = true", "[network]\noffline = false", {"network.offline": True}),
        ("[network]\noffline = true", "[sandbox]\nnetwork = 'full'", {"sandbox.network": "none"}),
        ("[policy]\ndeny = ['Shell(a *)']", "[policy]\ndeny = []", {"policy.deny": ("Shell(a *)",)}),
        (
            "[policy]\nallow_destructive = false",
            "[policy]\nallow_destructive = true",
            {"policy.allow_destructive": False},
        ),
        (
            "[policy]\nsafe_mode = 'ask'",
            "[policy]\nsafe_mode = 'off'\n[loop]\napprove = 'auto'",
            {"policy.mode": "default"},
        ),
        ("[loop]\napprove = 'never'", "[loop]\napprove = 'auto'", {"loop.approve": "never", "policy.mode": "plan"}),
        ("[loop]\napprove = 'auto'", "[policy]\nmode = 'plan'", {"loop.approve": "auto", "policy.mode": "plan"}),
        ("[loop]\nmax_steps = 5", "[loop]\nmax_steps = 9", {"loop.max_steps": 5}),
        (
            "[sandbox]\nwritable = ['/srv/data', '~/out']\nreadable = []\nenvironment = ['LANG']",
            "[sandbox]\nwritable = ['/srv/data/mine', '/srv', '/srv/data/../x', '~/out', '/srv/database']\n"
            "readable = ['/etc']\nenvironment = ['LANG', 'AWS_SECRET_ACCESS_KEY']",
            {
                "sandbox.writable": ("/srv/data/mine", "~/out"),
                "sandbox.readable": (),
                "sandbox.environment": ("LANG",),
            },
        ),
        ("[sandbox]\nwritable = ['/srv']", "", {"sandbox.writable": ("/srv",)}),
        ("[kernel]\nattach = false", "[kernel]\nattach = true", {"kernel.attach": False}),
        ("[kernel]\nattach = 'never'", "[kernel]\nattach = true", {"kernel.attach": "never"}),
        ("[kernel]\nattach = true", "[kernel]\nattach = 'never'", {"kernel.attach": "never"}),
        ("[loop]\nmax_steps = 5", "[loop]\nmax_steps = 3", {"loop.max_steps": 3}),
    ],
)
def test_C6_an_administrators_value_is_a_default_and_one_that_protects_is_a_limit(
    tmp_path: Path, admins: str, own: str, holds: dict[str, object]
) -> None:
    admin = write_admin(tmp_path, admins)
    write(tmp_path, own)
    settings = load_layers(tmp_path, environ={}, admin=admin).settings
    found = {key: getattr(getattr(settings, key.split(".")[0]), key.split(".")[1]) for key in holds}
    assert found == holds


def test_C6_no_session_and_no_choice_for_a_folder_is_milder_than_an_administrator(tmp_path: Path) -> None:
    admin = write_admin(tmp_path, "[loop]\napprove = 'ask'\n[sandbox]\nmode = 'workspace-write'\n")
    loaded = load_layers(tmp_path, environ={}, flags={"loop": {"approve": "auto"}}, admin=admin)
    assert loaded.held == ("loop.approve", "policy.mode")
    session = OF_APPROVAL["auto"]  # /approve auto
    assert strictest(session, requested_mode(loaded.settings.policy)) == "default"
    folder = tmp_path / "work"
    folder.mkdir()
    folders = FolderDecisions(tmp_path / "folders.toml", owner=os.getuid())
    place = Workplace(Configure(settings=loaded.settings, cwd=str(folder)), said=loaded.origins.keys(), folders=folders)
    place.choose("open")
    assert place.settings.sandbox.mode == "workspace-write"


def test_C6_an_administrators_file_that_others_can_write_or_that_is_wrong_stops_the_start(tmp_path: Path) -> None:
    admin = write_admin(tmp_path, "[sandbox]\nmode = 'read-only'\n")
    for mode in (0o666, 0o664):
        admin.chmod(mode)
        with pytest.raises(SettingsError, match="can be written by others"):
            load_layers(tmp_path, environ={}, admin=admin)
    admin.chmod(0o644)
    os.chown(admin, 12345, -1)
    with pytest.raises(SettingsError, match="belongs to somebody else"):
        load_layers(tmp_path, environ={}, admin=admin)
    os.chown(admin, 0, -1)
    admin.write_text("[sandbox]\nmod = 'read-only'\n")
    with pytest.raises(SettingsError, match=r"etc/config\.toml:2: sandbox: unknown key `mod`"):
        load_layers(tmp_path, environ={}, admin=admin)
    admin.unlink()
    admin.symlink_to(tmp_path / "config.toml")
    with pytest.raises(SettingsError, match="is a link"):
        load_layers(tmp_path, environ={}, admin=admin)


READ_ONLY = """
import os, sys
from pathlib import Path
from oi_tui.app.engine.files.settings_file import load_layers, take_over_settings

folder = Path(sys.argv[1])
(folder / "settings.toml").write_text("[loop]\\nmax_steps = 3\\n")
folder.chmod(0o555)
print(take_over_settings(folder))
print(load_layers(folder, environ={}).settings.loop.max_steps)
"""


def test_C7_a_file_by_its_old_name_that_cannot_be_renamed_is_read(nobody: Nobody) -> None:
    told, steps = nobody(READ_ONLY).strip().split("\n")
    assert "could not be renamed to config.toml: " in told
    assert told.endswith("Permission denied.")
    assert steps == "3"


@pytest.mark.parametrize("name", ["../settings", "/etc/passwd", ".hidden", ""])
def test_a_profile_cannot_lead_out_of_its_folder(tmp_path: Path, name: str) -> None:
    write(tmp_path, "")
    with pytest.raises(SettingsError):
        load_layers(tmp_path, environ={}, profile=name)
