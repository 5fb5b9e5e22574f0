"""Row L36: a profile of Open Interpreter becomes settings key by key, each said, and nothing of it runs."""

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

from oi_tui.app.commands.profiles import profile_change, profiles_in_words
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.engine.core.verbs import SetApproval, SetBudget, SetComplete, UseInstructions, UseModel
from oi_tui.app.engine.files.settings_file import load_layers
from oi_tui.app.engine.formats.interpreter_profile import import_profile
from oi_tui.app.engine.text.template import render_template

PROFILE = """\
### OPEN INTERPRETER PROFILE
llm:
  model: "gpt-4o"
  temperature: 0
  api_base: http://127.0.0.1:1234/v1
  api_key: sk-secret
  max_tokens: 1000
  context_window: 25000
  supports_vision: true
  supports_functions: false
custom_instructions: "Answer briefly. {{ 6 * 7 }}"
system_message: |
  You are Open Interpreter.
auto_run: False
safe_mode: off
max_output: 2800
offline: true
computer:
  import_computer_api: True
  languages: [python]
version: 0.2.5
unheard_of: 1
"""


def test_L36_each_key_becomes_a_setting_or_is_named_with_the_reason() -> None:
    made = import_profile(PROFILE)
    assert made.settings == {
        "model": {
            "name": "gpt-4o",
            "temperature": 0,
            "api_base": "http://127.0.0.1:1234/v1",
            "max_output_tokens": 1000,
            "context_window": 25000,
            "images": "on",
            "tools": "off",
        },
        "policy": {"auto_run": False, "safe_mode": "off"},
        "loop": {"output_to_model": 2800},
        "network": {"offline": True},
        "instructions": {
            "text": "You are Open Interpreter.\n\n{% raw %}Answer briefly. {{ 6 * 7 }}{% endraw %}",
        },
    }
    assert render_template(made.settings["instructions"]["text"], {}).endswith("Answer briefly. {{ 6 * 7 }}")
    left = {key.key: key.became for key in made.keys if key.fate == "left"}
    assert sorted(left) == [
        "computer.import_computer_api",
        "computer.languages",
        "llm.api_key",
        "unheard_of",
        "version",
    ]
    assert "sk-secret" not in str(made)
    assert left["unheard_of"] == "oi-tui has no such setting"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: &x [1]\nb: *x", "aliases"),
        ("a: [", "not valid YAML"),
        ("!!python/object/apply:os.system ['echo hi']", "not valid YAML"),
        ("just words", "has no keys"),
        ("", "has no keys"),
        ("[" * 5000, "nested too deeply"),
        ("#" * 100_001, "at most 100,000 characters"),
        ("a: " + "{b: " * 3000, "nested too deeply"),
        ("a: 2001-99-99", "not valid YAML"),
    ],
)
def test_L36_what_is_no_profile_is_refused_in_words(text: str, why: str) -> None:
    with pytest.raises(SettingsError) as refused:
        import_profile(text)
    assert why in refused.value.title


@pytest.mark.parametrize(
    "text",
    ["llm: {temperature: hot}", "llm: {model: [1]}", "max_output: 5", "safe_mode: maybe", "custom_instructions: 3"],
)
def test_L36_a_value_that_cannot_be_is_left_and_said(text: str) -> None:
    made = import_profile(text)
    assert made.settings == {}
    assert [key.fate for key in made.keys] == ["left"]


@settings(max_examples=30)
@given(
    st.recursive(
        st.none() | st.booleans() | st.text(max_size=9), lambda inner: st.dictionaries(st.text(max_size=9), inner)
    )
)
def test_L36_whatever_the_values_are_the_settings_can_be_loaded(value: object) -> None:
    made = import_profile(json.dumps(dict.fromkeys(("llm", "computer", "auto_run", "system_message", "\ud800"), value)))
    assert tomllib.loads(tomli_w.dumps(made.settings).encode().decode()) == made.settings


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "oi-tui" / "profiles").mkdir(parents=True)
    return tmp_path / "oi-tui"


@pytest.fixture
def oi_tui(config: Path, clean_env: dict[str, str], tmp_path: Path) -> Callable[..., tuple[int, str]]:
    def ran(*arguments: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-m", "oi_tui.app.cli", "profile", *arguments],
            env=clean_env | {"XDG_CONFIG_HOME": str(config.parent)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    return ran


def test_L36_the_command_writes_a_profile_once_and_names_what_became_of_each_key(
    oi_tui: Callable[..., tuple[int, str]], config: Path, tmp_path: Path
) -> None:
    (tmp_path / "my own.yaml").write_text(PROFILE)
    code, said = oi_tui("import", "my own.yaml")
    assert code == 0, said
    assert "✓ llm.model                    model.name = gpt-4o" in said
    assert "✗ llm.api_key                  keys do not belong in a file" in said
    assert "sk-secret" not in said
    path = config / "profiles" / "my-own.toml"
    assert tomllib.loads(path.read_text())["model"]["name"] == "gpt-4o"
    assert load_layers(config, environ={}, profile="my-own").settings.policy.auto_run is False
    code, said = oi_tui("import", "my own.yaml")
    assert (code, "There is a profile 'my-own' already." in said) == (2, True)
    assert oi_tui("import", "my own.yaml", "--replace")[0] == 0
    assert "my-own " in oi_tui()[1]
    assert "model.name = gpt-4o" in oi_tui("show", "my-own")[1]


def test_L36_no_program_and_no_address_is_imported(oi_tui: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    (tmp_path / "fast.py").write_text("print('ran')")
    code, said = oi_tui("import", "fast.py")
    assert (code, "ran\n" in said) == (2, False)
    assert "is a program, and a profile is imported without running anything" in said
    assert "oi-tui downloads no profiles" in oi_tui("import", "https://example.org/p.yaml")[1]


def test_L36_a_session_takes_of_a_profile_what_it_can_and_says_what_waits(config: Path) -> None:
    (config / "profiles" / "work.toml").write_text(
        '[model]\nname = "ollama/big"\ntemperature = 0.5\n[loop]\napprove = "never"\nmax_cost = 1.0\ncomplete = true\n'
        '[instructions]\ntext = "Be brief."\n[sandbox]\nnetwork = "none"\n'
    )
    (config / "profiles" / "wrong.toml").write_text("[loop]\nmax_step = 3\n")
    own = {name: words for name, words in profiles_in_words().items() if name in ("work", "wrong")}
    assert own == {
        "work": "model ollama/big · approve never, max_cost 1.0, complete true · instructions · network none",
        "wrong": f"{config / 'profiles' / 'wrong.toml'}:2: loop: unknown key `max_step`.",
    }
    change = profile_change("work", Settings())
    assert change.verbs == (
        UseModel(name="ollama/big"),
        UseInstructions(text="Be brief."),
        SetApproval(mode="never"),
        SetComplete(on=True),
        SetBudget(max_cost=1.0, max_tokens=0),
    )
    assert change.words == (
        "profile work: model ollama/big, instructions, approval never, complete on, budget"
        " · from the next start with --profile work: model.temperature"
    )
    assert profile_change("nobody", Settings()).words.startswith(
        "There is no profile 'nobody'. There are: work, wrong, "
    )
    assert profile_change("wrong", Settings()).failed


def test_L36_a_profile_of_open_interpreter_asks_in_an_open_session_as_it_does_at_the_start(config: Path) -> None:
    keys = "top_p = 0.5\nseed = 1\nreasoning_effort = 'low'\nthinking_budget = 9"
    (config / "profiles" / "oi.toml").write_text(
        f'[policy]\nauto_run = true\nsafe_mode = "ask"\n[model.extra]\n{keys}\n[network]\noffline = false\n'
    )
    change = profile_change("oi", Settings())
    assert change.verbs == (SetApproval(mode="ask"),)
    assert "network.offline" not in change.words  # as it is already
    assert "offline false" in profiles_in_words()["oi"]
