"""Settings from files, environment and flags: what wins, and what a mistake is told as."""

from pathlib import Path

import pytest

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.engine.files.settings_file import load_layers


def write(folder: Path, text: str, name: str = "settings.toml") -> None:
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
        ("[model]\nnane = 'x'\n", r"settings\.toml: model: unknown key `nane`", "Did you mean 'name'?"),
        ("[modle]\n", r"unknown key `modle`", "Did you mean 'model'?"),
        ("[loop]\nmax_steps = 'many'\n", r"loop\.max_steps: Expected `int`, got `str`", ""),
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


@pytest.mark.parametrize("name", ["../settings", "/etc/passwd", ".hidden", ""])
def test_a_profile_cannot_lead_out_of_its_folder(tmp_path: Path, name: str) -> None:
    write(tmp_path, "")
    with pytest.raises(SettingsError):
        load_layers(tmp_path, environ={}, profile=name)
