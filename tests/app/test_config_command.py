"""`oi-tui config`: settings looked at with their origins, and changed without touching anything else."""

import json
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from oi_tui.app.cli import program
from oi_tui.app.engine.core.encoding import decode_toml
from oi_tui.app.engine.core.errors import OiTuiError, SettingsError
from oi_tui.app.engine.files.paths import config_dir
from oi_tui.app.engine.files.settings_edit import key_path, key_text, with_setting, without_setting
from oi_tui.app.engine.files.settings_lines import setting_lines
from oi_tui.app.engine.trust.folder_decisions import known_folders
from oi_tui.app.engine.trust.folder_digests import folder_digests

MINE = """\
# what I use at work
[model]
name = "ollama/llama3" # fast enough
fallback = [
    "openai/gpt-5", # costs
]
extra = { top_p = 0.5 }

[loop] # careful
max_steps = 3
"""

Run = Callable[..., Result]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for kind in ("CONFIG", "STATE", "DATA"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind))
    monkeypatch.chdir(tmp_path)
    path = config_dir() / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(MINE)
    return path


@pytest.fixture
def run(file: Path) -> Run:
    def ran(*args: str, exit_code: int = 0) -> Result:
        result = CliRunner().invoke(program, ["config", *args])
        if isinstance(result.exception, OiTuiError):
            raise result.exception
        assert result.exit_code == exit_code, result.output
        return result

    return ran


def test_C1_a_value_is_set_and_nothing_else_of_the_file_changes(run: Run, file: Path) -> None:
    run("set", "model.name", "openai/gpt-5")
    assert file.read_text() == MINE.replace("ollama/llama3", "openai/gpt-5")
    run("set", "loop.max_cost", "2.5")
    assert file.read_text().endswith("max_steps = 3\nmax_cost = 2.5\n")
    run("unset", "loop.max_cost")
    run("set", "model.name", "ollama/llama3")
    assert file.read_text() == MINE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (("sandbox.hosts", "example.org"), ["example.org"]),
        (("sandbox.hosts", "example.org", "*.pypi.org"), ["example.org", "*.pypi.org"]),
        (("sandbox.hosts", '["a.org", "b.org"]'), ["a.org", "b.org"]),
        (("sandbox.hosts", "[]"), []),
        (("model.extra.headers.X-Team", "$TEAM"), "$TEAM"),
        (("model.extra.body.seed_of_ours", "7"), 7),
        (("model.extra.body.options", "{ deep = [1, true] }"), {"deep": [1, True]}),
        (("model.name", "5"), "5"),
        (("model.name", "true"), "true"),
        (("model.temperature", "-0.5"), -0.5),
        (("budget.providers.openai.day", "3"), 3),
        (('model.prices."openrouter/x/y.z"', "3.0", "15.0"), [3.0, 15.0]),
        (("instructions.text", "a\n“b” \x07 ]"), "a\n“b” \x07 ]"),
    ],
)
def test_C1_words_mean_what_the_key_takes(run: Run, file: Path, words: tuple[str, ...], value: object) -> None:
    run("set", *words)
    found: object = decode_toml(file.read_text())
    for part in key_path(words[0]):
        assert isinstance(found, dict)
        found = found[part]
    assert found == value
    run("unset", words[0])
    assert "# what I use at work" in file.read_text()
    run("unset", words[0], exit_code=1)


@pytest.mark.parametrize(
    ("words", "said", "hint"),
    [
        (("loop.max_steps", "many"), "^loop.max_steps: Expected `int`, got `str`", "Nothing was changed"),
        (("loop.max_steps", "0"), "^loop.max_steps: Expected `int` >= 1", ""),
        (("model.nane", "x"), "unknown key `nane`", "Did you mean 'name'?"),
        (("modle.name", "x"), "unknown key `modle`", "Did you mean 'model'?"),
        (("model", "x"), "model is a table", "model.KEY"),
        (("model.name.x", "x"), "model.name is a value", ""),
        (("model.extra.headers.Authorization", "x"), "oi-tui sets it", ""),
        (("model.name = 3 #", "x"), "is no key", "quote"),
        (("model..name", "x"), "is no key", ""),
        (("model\nname", "x"), "is no key", ""),
        (("a." * 200 + "b", "x"), "is no key", ""),
        (
            ("keys.sesions", "f9"),
            "no such command, did you mean sessions[?]$",
            "Nothing was changed.",
        ),
    ],
)
def test_C1_what_is_wrong_is_not_written(run: Run, file: Path, words: tuple[str, ...], said: str, hint: str) -> None:
    with pytest.raises(SettingsError, match=said) as caught:
        run("set", *words)
    assert hint in caught.value.hint
    assert file.read_text() == MINE


def test_C1_a_file_that_is_a_link_stays_one(run: Run, file: Path, tmp_path: Path) -> None:
    target = tmp_path / "dotfiles" / "oi-tui.toml"
    target.parent.mkdir()
    file.rename(target)
    file.symlink_to(target)
    run("set", "loop.max_steps", "4")
    assert file.is_symlink()
    assert "max_steps = 4" in target.read_text()


def test_C1_a_broken_file_is_named_and_stays_and_a_wrong_key_can_be_removed(run: Run, file: Path) -> None:
    file.write_text("[model\n")
    with pytest.raises(SettingsError, match=r"config\.toml is not valid TOML"):
        run("set", "model.name", "x")
    assert file.read_text() == "[model\n"
    file.write_text('[model]\nnane = "x"\n[loop]\nmax_steps = "many"\n')
    assert "Still wrong" in run("unset", "model.nane").stderr
    run("set", "loop.max_steps", "5")
    assert run("get", "loop.max_steps").stdout == "5\n"


def test_C7_a_file_by_its_old_name_is_taken_over_once_and_that_is_told(run: Run, file: Path) -> None:
    old = file.with_name("settings.toml")
    file.rename(old)
    result = run("get", "model.name")
    assert result.stdout == "ollama/llama3\n"
    assert f"{old} was renamed" in result.stderr
    assert (file.read_text(), old.exists()) == (MINE, False)
    assert run("get", "model.name").stderr == ""
    old.write_text("[model]\nname = 'old'\n")
    result = run("get", "model.name")
    assert result.stdout == "ollama/llama3\n"
    assert f"{old} is not" in result.stderr
    assert old.exists()


def test_C1_without_a_file_one_is_made(run: Run, file: Path) -> None:
    file.unlink()
    assert run("path").stdout == f"{file}\n"
    run("unset", "model.name", exit_code=1)
    run("set", "budget.providers.openai.day", "3")
    assert file.read_text() == "[budget.providers.openai]\nday = 3\n"


def test_C2_a_value_is_printed_for_programs_and_a_key_without_one_is_exit_code_1(run: Run) -> None:
    assert run("get", "model.name").stdout == "ollama/llama3\n"
    assert run("get", "model.fallback").stdout == '["openai/gpt-5"]\n'
    assert run("get", "model.fallback", "--json").stdout == '["openai/gpt-5"]\n'
    assert run("get", "model.images").stdout == "auto\n"
    for key in ("model.api_base", "model.temperature", "budget.providers.openai.day"):
        assert run("get", key, exit_code=1).stdout == ""
    with pytest.raises(SettingsError, match=r"no setting model\.nane") as caught:
        run("get", "model.nane")
    assert caught.value.exit_code == 2


def test_C2_secrets_are_not_shown(run: Run, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "kx9w-Zq7rT2-vbN44")
    secrets = {
        "model.extra.headers.X-Auth": "q1q1",
        "model.extra.body.access_token": "q2q2",
        "model.api_base": "http://me:q3q3@127.0.0.1/v1",
        "instructions.text": "use kx9w-Zq7rT2-vbN44 there",
    }
    for key, value in secrets.items():
        assert "may be a secret" in run("set", key, value).stderr
        with pytest.raises(SettingsError, match="is hidden"):
            run("get", key)
    shown = run("show", "--all", "--origin").stdout + run("show", "--json").stdout
    for word in ("q1q1", "q2q2", "q3q3", "kx9w"):
        assert word not in shown
    assert "# model.extra.headers.X-Auth is hidden" in shown
    run("set", "model.extra.headers.X-Auth", "$TOKEN")
    assert '"$TOKEN"' in run("show").stdout


def test_C2_each_value_that_is_no_default_says_where_it_comes_from(
    run: Run, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = file.parent / "profiles" / "work.toml"
    profile.parent.mkdir()
    profile.write_text("[policy]\nmode = 'auto'\n[model.extra]\nseed = 7\n")
    monkeypatch.setenv("OI_TUI_MODEL", "openai/gpt-6")
    shown = run("show", "--json", "--profile", "work", "--max-steps", "9", "--keep-kernel").stdout
    found = {row["key"]: (row["value"], row["origin"]) for row in json.loads(shown)}
    assert found == {
        "model.name": ("openai/gpt-6", "OI_TUI_MODEL"),
        "model.fallback": (["openai/gpt-5"], f"{file}:4"),
        "model.extra.seed": (7, f"profile: {profile}:4"),
        "loop.max_steps": (9, "--max-steps"),
        "loop.approve": ("auto", f"policy.mode, profile: {profile}:2"),
        "kernel.keep": (True, "--keep-kernel"),
        "policy.mode": ("auto", f"profile: {profile}:2"),
    }
    lines = run("show", "--origin").stdout
    assert f"# {file}:7\n" in lines
    assert decode_toml(lines)["model"]["extra"] == {"top_p": 0.5}


def test_C2_a_stricter_origin_says_what_it_is_stricter_than(run: Run, file: Path, tmp_path: Path) -> None:
    (tmp_path / ".oi").mkdir()
    own = tmp_path / ".oi" / "config.toml"
    own.write_text("[loop]\nmax_steps = 2\n")
    own.chmod(0o600)
    run("set", "sandbox.network", "full")
    assert f"loop.max_steps = 3 # {file}:10" in " ".join(run("show", "--origin").stdout.split())
    known_folders().decide(tmp_path, trusted=True, sandbox="", seen=folder_digests(tmp_path))
    shown = " ".join(run("show", "--origin", "--offline").stdout.split())
    assert f"loop.max_steps = 2 # this folder: {own}:2, stricter than {file}:10" in shown
    assert f'sandbox.network = "none" # --offline, stricter than {file}:13' in shown
    known_folders().decide(tmp_path, trusted=False, sandbox="", seen=folder_digests(tmp_path))
    shown = " ".join(run("show", "--origin").stdout.split())
    assert 'sandbox.mode = "read-only" # this folder is read-only (oi-tui trust)' in shown


ADMIN = """\
[sandbox]
network = "hosts" # only these
hosts = ["pypi.org"]
[loop]
approve = "ask"
max_cost = 5.0
[network]
offline = false
"""


@pytest.fixture
def admin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The administrator's file, which is root's."""
    if os.getuid() != 0:
        pytest.skip("NOT TESTED: an administrator's settings, which only root can write")
    path = tmp_path / "etc" / "config.toml"
    path.parent.mkdir()
    path.write_text(ADMIN)
    path.chmod(0o644)
    monkeypatch.setattr("oi_tui.app.engine.files.settings_file.admin_dir", lambda: path.parent)
    return path


def test_C6_C2_what_the_administrator_says_is_a_default_or_a_limit_and_is_named(
    run: Run, file: Path, admin: Path
) -> None:
    run("set", "sandbox.network", "full")
    run("set", "sandbox.hosts", "pypi.org", "example.org")
    shown = " ".join(run("show", "--origin", "--approve", "auto").stdout.split())
    assert f'sandbox.network = "hosts" # administrator: {admin}:2, stricter than {file}:13' in shown
    assert f'sandbox.hosts = ["pypi.org"] # administrator: {admin}:3, stricter than {file}:14' in shown
    assert f"loop.max_cost = 5.0 # administrator: {admin}:6" in shown
    assert f'loop.approve = "ask" # administrator: {admin}:5, stricter than --approve' in shown
    assert f'policy.mode = "default" # loop.approve, administrator: {admin}:5' in shown
    run("set", "loop.max_cost", "9.0")
    run("set", "sandbox.network", "none")
    shown = " ".join(run("show", "--origin").stdout.split())
    assert f"loop.max_cost = 9.0 # {file}:11" in shown
    assert f'sandbox.network = "none" # {file}:14' in shown


def editor(folder: Path, program: str) -> str:
    script = folder / "editor.py"
    script.write_text(f"import sys, pathlib\nfile = pathlib.Path(sys.argv[1])\n{program}\n")
    return f"{sys.executable} {script}"


def test_C1_what_the_editor_leaves_is_used_if_it_is_valid(
    run: Run, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", editor(tmp_path, "file.write_text(file.read_text().replace('= 3', '= 4'))"))
    monkeypatch.delenv("VISUAL", raising=False)
    run("edit")
    assert file.read_text() == MINE.replace("= 3", "= 4")
    assert "Nothing was changed" in run("edit").stderr
    monkeypatch.setenv("EDITOR", editor(tmp_path, "file.write_text('[loop]\\nmax_steps = 0\\n')"))
    with pytest.raises(SettingsError, match="as they were"):  # nobody is there to edit it again
        run("edit")
    assert file.read_text() == MINE.replace("= 3", "= 4")
    monkeypatch.setenv("EDITOR", "/nowhere/vi")
    with pytest.raises(OiTuiError, match="cannot be started"):
        run("edit")


def test_C1_the_schema_describes_every_key(run: Run) -> None:
    schema = json.loads(run("schema").stdout)
    assert schema["$schema"].startswith("https://json-schema.org/")
    loop = schema["$defs"]["LoopSection"]
    assert loop["additionalProperties"] is False
    assert loop["properties"]["max_steps"]["description"] == "Model answers in one turn."
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(decode_toml(MINE), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"loop": {"max_steps": 0}}, schema)


KEYS = st.lists(st.text(min_size=1, max_size=3), min_size=1, max_size=3).map(tuple)
VALUES = st.one_of(st.booleans(), st.integers(-9, 9), st.text(max_size=4), st.lists(st.text(max_size=2), max_size=2))


@given(st.lists(st.tuples(KEYS, VALUES), max_size=4))
def test_C1_what_is_written_reads_as_it_was_meant_or_is_refused(changes: list[tuple[tuple[str, ...], object]]) -> None:
    text = MINE
    for path, value in changes:
        path = ("model", "extra", "body", *path)
        before = decode_toml(text)
        try:
            text = with_setting(text, path, value)
        except SettingsError:
            assert decode_toml(text) == before
            continue
        assert key_path(key_text(path)) == path
        found: object = decode_toml(text)
        for part in path:
            assert isinstance(found, dict)
            found = found[part]
        assert found == value
        assert path in setting_lines(text)
        assert without_setting(text, path) is not None


def test_C1_two_at_once_lose_nothing(file: Path, clean_env: dict[str, str]) -> None:
    import subprocess

    command = [str(Path(sys.executable).with_name("oi-tui")), "config", "set"]
    pairs = [("loop.max_steps", "11"), ("loop.max_repeats", "12"), ("screen.bell", "false")]
    environ = clean_env | {name: os.environ[name] for name in os.environ if name.startswith("XDG_")}
    running = [subprocess.Popen([*command, *pair], env=environ) for pair in pairs]
    assert [one.wait(60) for one in running] == [0, 0, 0]
    found = decode_toml(file.read_text())
    assert (found["loop"], found["screen"]) == ({"max_steps": 11, "max_repeats": 12}, {"bell": False})
