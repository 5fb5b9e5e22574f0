"""Rows C8 to C10: profiles that ship, profiles of one's own, which of them is used where, and what protects less."""

import os
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from oi_tui.app.cli import program
from oi_tui.app.commands.profiles import profile_change, profile_row, profile_rows, profiles_in_words
from oi_tui.app.commands.strictness import strictness
from oi_tui.app.engine.core.errors import OiTuiError, SettingsError
from oi_tui.app.engine.core.settings import FunctionsSection, LoopSection, PolicySection, SandboxSection, Settings
from oi_tui.app.engine.core.verbs import SetApproval, SetBudget, UseModel
from oi_tui.app.engine.files.profile_files import SHIPPED, find_profile, profile_files
from oi_tui.app.engine.files.settings_file import load_layers
from oi_tui.app.flags import Flags

Run = Callable[..., Result]


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for kind in ("CONFIG", "STATE", "DATA"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind))
    for name in [name for name in os.environ if name.startswith("OI_TUI_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "CONFIG" / "oi-tui"
    (folder / "profiles").mkdir(parents=True)
    return folder


@pytest.fixture
def run(config: Path) -> Run:
    def ran(*args: str, input: str | None = None) -> Result:
        result = CliRunner().invoke(program, ["profile", *args], input=input)
        if isinstance(result.exception, OiTuiError):
            raise result.exception
        return result

    return ran


def own(config: Path, name: str, text: str) -> Path:
    path = config / "profiles" / f"{name}.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", [file.stem for file in sorted(SHIPPED.glob("*.toml"))])
def test_C8_each_shipped_profile_is_valid_says_what_it_is_for_and_protects_no_less(config: Path, name: str) -> None:
    row = profile_row(find_profile(config, name), Settings())
    assert (row.problem, row.origin, row.milder) == ("", "shipped", ())
    assert 20 < len(row.purpose) <= 78
    assert bool(row.changes) == (name != "default")


def test_C8_the_cautious_one_asks_even_where_a_rule_allows_and_the_offline_ones_reach_nothing(config: Path) -> None:
    (config / "config.toml").write_text('[policy]\nallow = ["Shell(git log *)"]\n[loop]\napprove = "auto"\n')
    careful = load_layers(config, environ={}, profile="cautious").settings
    assert careful.loop.approve == "ask"
    assert careful.policy.ask == ("Python", "Shell", "Kernel", "Tool")
    assert (careful.sandbox.mode, careful.sandbox.network) == ("read-only", "none")
    for name in ("local", "offline"):
        assert load_layers(config, environ={}, profile=name).settings.network.offline


def test_C8_a_profile_of_ones_own_wins_over_ours_and_the_list_says_so(config: Path, run: Run) -> None:
    own(config, "offline", "# on the train\n[loop]\nmax_steps = 3\n")
    own(config, "bare", "[loop]\nmax_steps = 4\n")
    assert load_layers(config, environ={}, profile="offline").settings.loop.max_steps == 3
    listed = run().output
    assert "offline        on the train  (yours, instead of ours)" in listed
    assert "bare           no first line that says what it is for  (yours)" in listed
    assert listed.count("offline ") == 1


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("# mine\n\n[loop]\nmax_step = 3\n", ":4: loop: unknown key `max_step`", "Did you mean 'max_steps'?"),
        ("\n[modle]\nname = 'x'\n", ":2: unknown key `modle`", "Did you mean 'model'?"),
        ("[loop]\napprove = 'maybe'\n", ":2: loop.approve: Invalid enum value 'maybe'", ""),
        ("[sandbox]\nhosts = [\n  'a',\n  3,\n]\n", ":2: sandbox.hosts", ""),
        ("loop.max_steps = 0\n", ":1: loop.max_steps", ""),
        ("[profile]\ndefault = 'x'\n", ": profile: a profile cannot choose another", "Only config.toml"),
        ("[loop\n", "is not valid TOML: Expected ']'", ""),
    ],
)
def test_C8_a_mistake_is_named_with_file_line_and_the_nearest_key(
    config: Path, run: Run, text: str, said: str, hint: str
) -> None:
    path = own(config, "odd", text)
    for attempt in (lambda: load_layers(config, environ={}, profile="odd"), lambda: run("show", "odd")):
        with pytest.raises(SettingsError) as caught:
            attempt()
        told = f"{caught.value.title} {caught.value.hint}"
        assert f"{path}{said}" in told or f"{path} {said}" in told
        assert hint in told
    assert f"✗ {path}" in run().output  # the others are listed all the same


def test_C8_what_a_profile_of_anybody_says_writes_nothing_else_on_the_terminal(config: Path, run: Run) -> None:
    own(config, "red", "# \x1b[31mred \u202e\n")
    own(config, "blue", '# blue \u202e evil\n[model]\nname = "\\u001b[34mx"\n')
    shown = run().output + run("show", "blue").output
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_C8_no_secret_of_a_profile_is_shown(config: Path, run: Run) -> None:
    secret = "hunter2-SuperToken-ABC"
    said = f'api_base = "https://me:{secret}@example.com/v1"\n[model.extra]\nheaders = {{X-A = "{secret}"}}\n'
    own(config, "mine", f"[model]\n{said}")
    (config / "config.toml").write_text(f"[model]\n{said.replace('ABC', 'DEF')}")
    shown = run("show", "mine").output
    assert "model.api_base = (hidden)  (now (hidden))" in shown
    assert "hunter2" not in shown + "".join(profiles_in_words().values())


def test_C8_profiles_are_begun_edited_and_deleted_by_a_command(
    config: Path, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert run("new", "mine", "--from", "cautious").exit_code == 0
    path = config / "profiles" / "mine.toml"
    assert path.read_text() == (SHIPPED / "cautious.toml").read_text()
    with pytest.raises(SettingsError, match="There is a profile 'mine' already"):
        run("new", "mine")
    assert run("new", "empty").exit_code == 0
    assert tomllib.loads((config / "profiles" / "empty.toml").read_text()) == {}
    editor = tmp_path / "editor.sh"
    editor.write_text('sed -i "s/max_steps = 10/max_steps = 2/" "$1"\n')
    monkeypatch.setenv("EDITOR", f"sh {editor}")
    monkeypatch.delenv("VISUAL", raising=False)
    assert run("edit", "mine").exit_code == 0
    assert "max_steps = 2" in path.read_text()
    assert run("edit", "cautious").output.endswith("cautious.toml\n")  # ours stays, a copy is changed
    assert "max_steps = 2" in (config / "profiles" / "cautious.toml").read_text()
    assert "max_steps = 10" in (SHIPPED / "cautious.toml").read_text()
    editor.write_text('echo "[loop" > "$1"\n')
    before = path.read_text()
    with pytest.raises(SettingsError, match="The profile is as it was"):
        run("edit", "mine")
    assert path.read_text() == before
    with pytest.raises(SettingsError, match="needs your approval"):
        run("rm", "mine")
    assert run("rm", "--yes", "mine").exit_code == 0
    assert not path.exists()
    with pytest.raises(SettingsError, match="ships with oi-tui"):
        run("rm", "--yes", "local")


def test_C8_show_lists_what_differs_and_what_is_stricter(config: Path, run: Run) -> None:
    (config / "config.toml").write_text("[loop]\nmax_steps = 10\n")
    shown = run("show", "cautious").output
    assert "sandbox.mode = read-only  (now workspace-write)  ▲ stricter" in shown
    assert "max_steps" not in shown  # as it is already
    own(config, "wild", "[policy]\nallow_destructive = true\n")
    assert "policy.allow_destructive = true  (now false)  ▼ less strict" in run("show", "wild").output


def test_C9_the_settings_choose_a_profile_for_all_folders_or_for_one_and_those_in_it(
    config: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = tmp_path / "sales" / "2031"
    inside.mkdir(parents=True)
    (config / "config.toml").write_text(
        f'[profile]\ndefault = "offline"\nfolders = {{ "{tmp_path / "sales"}" = "cautious" }}\n'
    )
    assert Flags().workplace().setup.profile == "offline"
    assert Flags(cwd=inside).workplace().setup.profile == "cautious"
    assert Flags(cwd=inside).workplace().settings.loop.max_steps == 10
    assert Flags(cwd=inside, profile="local").workplace().setup.profile == "local"
    assert Flags(cwd=inside, profile="default").workplace().setup.profile == ""
    assert "* offline" in run().output
    monkeypatch.chdir(inside)
    assert "* cautious" in run().output


def test_C9_a_chosen_profile_that_is_gone_is_named_with_the_way_out(config: Path, tmp_path: Path) -> None:
    (config / "config.toml").write_text('[profile]\ndefault = "ofline"\n')
    with pytest.raises(SettingsError, match=r"config\.toml: profile\.default: There is no profile 'ofline'") as caught:
        Flags().settings()
    assert caught.value.hint == "Did you mean offline? --profile default starts without one."
    assert Flags(profile="default").settings().profile == ""


def test_C10_milder_and_stricter_are_told_apart() -> None:
    plain = Settings()
    cases = [
        ("loop.approve", replace(plain, loop=LoopSection(approve="auto")), "milder"),
        ("loop.approve", replace(plain, loop=LoopSection(approve="never")), "stricter"),
        ("loop.max_cost", replace(plain, loop=LoopSection(max_cost=1.0)), "stricter"),
        ("sandbox.mode", replace(plain, sandbox=SandboxSection(mode="danger-full-access")), "milder"),
        ("sandbox.hosts", replace(plain, sandbox=SandboxSection(hosts=("a",))), "milder"),
        ("policy.deny", replace(plain, policy=PolicySection(deny=("Shell",))), "stricter"),
        ("policy.mode", replace(plain, policy=PolicySection(mode="bypassPermissions")), "milder"),
        ("loop.output_to_model", replace(plain, loop=LoopSection(output_to_model=1000)), ""),
    ]
    for key, after, verdict in cases:
        assert strictness(key, plain, after) == verdict, key
        opposite = {"milder": "stricter", "stricter": "milder", "": ""}[verdict]
        assert strictness(key, after, plain) == opposite, key


def test_C10_a_session_is_told_what_of_a_profile_is_milder_than_it_is_now(config: Path) -> None:
    own(config, "fast", '[loop]\napprove = "auto"\nmax_cost = 5.0\n')
    now = replace(Settings(), loop=LoopSection(max_cost=1.0))
    change = profile_change("fast", now)
    assert [one.key for one in change.milder] == ["loop.approve", "loop.max_cost"]
    assert profile_change("cautious", now).milder == ()


def test_C10_another_profile_undoes_what_the_one_before_changed(config: Path) -> None:
    (config / "config.toml").write_text('[model]\nname = "ollama/x"\n[loop]\nmax_cost = 2.0\n')
    own(config, "other", '[model]\nname = "gpt-5"\n[loop]\napprove = "auto"\n')
    now = replace(Settings(), loop=LoopSection(approve="ask", max_cost=0.5))
    assert profile_change("default", now, "other").verbs == (UseModel(name="ollama/x"), SetApproval(mode="ask"))
    change = profile_change("default", now, "cautious")
    assert change.verbs == (SetApproval(mode="ask"), SetBudget(max_cost=2.0, max_tokens=0))
    assert [one.key for one in change.milder] == ["loop.max_cost"]


def test_C10_each_row_of_the_list_says_whose_it_is(config: Path) -> None:
    own(config, "offline", "# mine\n")
    rows = {row.file.name: row.origin for row in profile_rows(Settings())}
    assert rows["offline"] == "yours, instead of ours"
    assert rows["local"] == "shipped"
    assert len(rows) == len(profile_files(config)) == len([*SHIPPED.glob("*.toml")])


def test_D8_a_profile_limits_functions(config: Path) -> None:
    own(config, "narrow", '[functions]\nallow = ["pandas[.].*"]\ndeny = ["os[.]system"]\n')
    held = Flags(profile="narrow").workplace().settings.functions
    assert (held.allow, held.deny) == (("pandas[.].*",), ("os[.]system",))
    assert Flags().workplace().settings.functions == FunctionsSection()
