"""Rules files and modes: what is said is kept or refused with its place, and of two settings the stricter wins."""

import os
from pathlib import Path
from typing import Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.modes import MODES, OF_APPROVAL, requested_mode, strictest
from oi_tui.app.engine.core.settings import PolicySection, SandboxSection, Settings
from oi_tui.app.engine.core.values import ApprovalMode, Confinement, PermissionMode
from oi_tui.app.engine.files.settings_file import load_layers
from oi_tui.app.engine.kernels.jupyter import JupyterKernel
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.shell_kernel import ShellKernel
from oi_tui.app.engine.policy.decide import decide
from oi_tui.app.engine.policy.decision import Policy, PolicyRequest
from oi_tui.app.engine.policy.rule_text import parse_rules
from oi_tui.app.engine.policy.rules import KINDS
from oi_tui.app.engine.sandbox.profile_choice import chosen_profile
from oi_tui.app.engine.trust.rule_files import load_policy, read_rules

FILE = """\
deny = ["Shell(rm *)", "Python(shutil.rmtree)"]
ask = ["Shell(git push *)"]

[[rule]]
tool = "Shell"
prefix = ["git", ["status", "diff", "log"]]
decision = "allow"
why = "only looks"
match = ["git status -s", "git log && git diff"]
not_match = ["git -c core.pager=sh log", "git log && rm x", "git logout"]

[[rule]]
rule = "Python"
decision = "allow"
sandbox = "verified"
"""


def test_a_rules_file_is_read_and_each_rule_knows_its_line() -> None:
    rules = parse_rules(FILE, "/home/me/permissions.toml", "user")
    assert [(rule.verdict, rule.name) for rule in rules] == [
        ("ask", "Shell(git push *) (permissions.toml, line 2)"),
        ("deny", "Shell(rm *) (permissions.toml, line 1)"),
        ("deny", "Python(shutil.rmtree) (permissions.toml, line 1)"),
        ("allow", "Shell(git status|diff|log *) (permissions.toml, line 4)"),
        ("allow", "Python (permissions.toml, line 12)"),
    ]
    found = decide(PolicyRequest("shell", "git diff"), Policy(rules=rules), "ask")
    assert found.verdict == "allow"
    assert found.by == "the rule Shell(git status|diff|log *) (permissions.toml, line 4): only looks"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("deny = [", "rules.toml is not valid TOML"),
        ("x=" + "[" * 5_000, "rules.toml is not valid TOML: more than 100 brackets within brackets"),
        ("x=" + "[{a=" * 200, "more than 100 brackets within brackets"),
        ("x = '" + "[" * 5_000 + "' # " + "{" * 5_000, "unknown key 'x'"),
        ("forbid = []", "rules.toml: unknown key 'forbid'"),
        ("deny = 'Shell'", "rules.toml: deny is a list of texts"),
        ("\ndeny = ['Shel(rm *)']", "rules.toml, line 2: 'Shel' is no tool"),
        ("deny = ['rm x']", "'rm x' is no rule"),
        ('deny = ["Shell(\'rm)"]', "the quotes"),
        (
            "\n\n[[rule]]\ntool = 'Shell'\ndecision = 'permit'",
            "rules.toml, line 3: decision is allow, ask, deny; not 'permit'",
        ),
        ("[[rule]]\ntool = 'Shell'\nprefx = []\ndecision = 'deny'", "unknown key 'prefx'"),
        ("[[rule]]\ntool = 'Edit'\nprefix = ['a']\ndecision = 'deny'", "Edit has no prefix"),
        ("[[rule]]\ntool = 'Shell'\nprefix = []\ndecision = 'deny'", "prefix is a list of words"),
        ("allow = ['Python']", "can be allowed only with sandbox"),
        ("allow = ['Shell']", "an allowed command is named"),
        ("allow = ['Shell(* log)']", "an allowed command is named"),
        ("\nallow = ['Shell(python *)']", "rules.toml, line 2: Shell(python *): python is not known to do no more"),
        ("allow = ['Shell(git *)']", "known is, for instance, git log"),
        ("allow = ['Shell(make *)']", 'sandbox = "verified" or unchecked = true'),
        ("allow = ['Shell(git log --output *)']", "git log --output is not known to be harmless"),
        ("[[rule]]\nrule = 'Python'\nunchecked = true\ndecision = 'allow'", "unchecked is for Shell rules only"),
        ("[[rule]]\nrule = 'Shell(make *)'\nunchecked = 'yes'\ndecision = 'allow'", "unchecked is true or false"),
        ("allow = ['Edit(src/**)']", "where a path leads is not known"),
        ("deny = ['Mcp(github:*)']", "there are no MCP servers here yet"),
        ("deny = ['Net(https://example.org/)']", "a host is named"),
        ("[[rule]]\nrule = 'Python'\nsandbox = 'maybe'\ndecision = 'allow'", 'sandbox can only be "verified"'),
        (
            "[[rule]]\nrule = 'Shell(git log *)'\ndecision = 'allow'\nmatch = ['git status']",
            "rules.toml, line 1: the rule Shell(git log *) does not match its example 'git status'",
        ),
        (
            "[[rule]]\nrule = 'Shell(rm *)'\ndecision = 'deny'\nnot_match = ['sudo rm x']",
            "the rule Shell(rm *) matches its example 'sudo rm x'",
        ),
    ],
)
def test_U11_a_rule_that_cannot_be_kept_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_rules(text, "/etc/rules.toml", "user")
    assert message in caught.value.title


def test_examples_of_files_and_names_are_verified_too() -> None:
    parse_rules(
        "[[rule]]\nrule = 'Edit(.git/**)'\ndecision = 'deny'\nmatch = ['.git/hooks/x']\nnot_match = ['git/x']\n"
        "[[rule]]\nrule = 'Python(requests.*)'\ndecision = 'ask'\nmatch = ['requests.get', 'import requests']\n"
        "[[rule]]\nrule = 'Kernel(ir*)'\ndecision = 'deny'\nmatch = ['ir']\nnot_match = ['julia']\n",
        "rules.toml",
        "user",
    )


@pytest.fixture
def rules_file(tmp_path: Path) -> Path:
    path = tmp_path / "permissions.toml"
    path.write_text("deny = ['Shell(rm *)']")
    path.chmod(0o600)
    return path


def test_U11_a_file_that_others_can_write_is_not_trusted_and_kept(rules_file: Path) -> None:
    assert len(read_rules(rules_file, "user", owner=os.getuid())) == 1
    rules_file.chmod(0o664)
    with pytest.raises(SettingsError, match="can be written by others"):
        read_rules(rules_file, "user", owner=os.getuid())
    assert rules_file.read_text() == "deny = ['Shell(rm *)']"


def test_U11_a_link_a_folder_and_a_broken_file_stop_the_start(rules_file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.toml"
    link.symlink_to(rules_file)
    with pytest.raises(SettingsError, match="is a link"):
        read_rules(link, "user", owner=os.getuid())
    with pytest.raises(SettingsError, match="is no plain file"):
        read_rules(tmp_path, "user", owner=os.getuid())
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(SettingsError, match="is no plain file"):
        read_rules(pipe, "user", owner=os.getuid())
    rules_file.write_bytes(b"deny = ['\xff']")
    with pytest.raises(SettingsError, match="is not UTF-8"):
        read_rules(rules_file, "user", owner=os.getuid())
    assert read_rules(tmp_path / "none.toml", "user", owner=os.getuid()) == ()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_U11_a_file_of_somebody_else_is_not_trusted(rules_file: Path) -> None:
    os.chown(rules_file, 12345, -1)
    with pytest.raises(SettingsError, match="belongs to somebody else"):
        read_rules(rules_file, "admin", owner=0)


@pytest.mark.skipif(os.getuid() != 0, reason="NOT TESTED: an administrator's rules, which only root can write")
def test_the_administrators_the_persons_and_the_settings_rules_become_one_policy(
    rules_file: Path, tmp_path: Path
) -> None:
    admin = tmp_path / "etc" / "permissions.toml"
    admin.parent.mkdir()
    admin.write_text("deny = ['Shell(git push *)']")
    admin.chmod(0o644)
    section = PolicySection(allow=("Shell(git status *)",), mode="default")
    policy = load_policy(Settings(policy=section), folder=tmp_path, cwd=Path("/work"), admin=admin)
    assert [(rule.origin, rule.verdict) for rule in policy.rules] == [
        ("admin", "deny"),
        ("user", "deny"),
        ("settings", "allow"),
    ]
    assert (
        decide(PolicyRequest("shell", "git push"), policy).by == "the rule Shell(git push *) (permissions.toml, line 1)"
    )
    assert (
        decide(PolicyRequest("shell", "git status"), policy).by
        == "the rule Shell(git status *) (settings, policy.allow)"
    )
    with pytest.raises(SettingsError, match=r"policy\.deny: 'Shel' is no tool"):
        load_policy(Settings(policy=PolicySection(deny=("Shel(x)",))), folder=tmp_path, cwd=tmp_path, admin=admin)


def test_our_own_settings_are_asked_about_in_every_mode(tmp_path: Path) -> None:
    policy = load_policy(Settings(), folder=tmp_path / "config", cwd=tmp_path, admin=tmp_path / "none" / "x")
    for language, source in (
        ("shell", "echo x >> config/permissions.toml"),
        ("shell", "cd a; ls ../config; cat config"),
        ("python", "open('./config/config.toml', 'w')"),
    ):
        found = decide(PolicyRequest(language, source), policy, "auto")
        assert (found.verdict, found.ground) == ("ask", "guard")
    assert decide(PolicyRequest("shell", "echo x >> config.toml"), policy, "auto").verdict == "allow"


SafeMode = Literal["off", "ask", "auto"]

# -- modes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("safe_mode", ["ask", "auto"])
def test_L17_auto_run_together_with_a_safe_mode_is_as_strict_as_the_safe_mode(safe_mode: SafeMode) -> None:
    section = PolicySection(auto_run=True, safe_mode=safe_mode)
    policy = load_policy(Settings(policy=section), folder=Path("/nowhere"), cwd=Path("/work"), admin=Path("/nowhere/x"))
    assert decide(PolicyRequest("python", "eval(x)"), policy, "auto").verdict == "ask"


@given(st.sampled_from(MODES), st.sampled_from(["off", "ask", "auto"]), st.sampled_from([None, True, False]))
def test_L17_no_setting_makes_another_one_milder(
    mode: PermissionMode, safe_mode: SafeMode, auto_run: bool | None
) -> None:
    both = requested_mode(PolicySection(mode=mode, safe_mode=safe_mode, auto_run=auto_run))
    named: PermissionMode | Literal[""] = (
        "bypassPermissions" if mode == "bypassPermissions" else ""
    )  # the only name that makes anything milder
    others = PolicySection(mode=named, safe_mode=safe_mode), PolicySection(mode=named, auto_run=auto_run)
    for section in (PolicySection(mode=mode), *others):
        assert strictest(both, requested_mode(section)) == both


def test_every_mode_and_every_tool_of_a_rule_is_in_the_guide() -> None:
    section = (Path(__file__).parents[2] / "app" / "guide" / "approval.md").read_text(encoding="utf-8")
    assert [name for name in MODES if f"| `{name}` |" not in section] == []
    assert [tool for tool in KINDS if f"`{tool}" not in section] == []
    example = section.partition("```toml\n")[2].partition("```")[0]
    assert {rule.verdict for rule in parse_rules(example, "approval.md", "user")} == {"allow", "ask", "deny"}


@pytest.mark.parametrize(
    ("approval", "verdict"), [("never", "deny"), ("plan", "deny"), ("ask", "ask"), ("auto", "allow")]
)
def test_todays_names_of_the_modes_mean_what_they_meant(approval: ApprovalMode, verdict: str) -> None:
    assert decide(PolicyRequest("python", "import os; os.remove('x')"), Policy(), approval).verdict == verdict
    assert set(OF_APPROVAL) == {"never", "plan", "ask", "auto"}


@pytest.mark.parametrize(
    ("mode", "source", "verdict"),
    [
        ("plan", "print(1)", "deny"),
        ("dontAsk", "print(1)", "deny"),
        ("dontAsk", "x = '\u202e'", "deny"),
        ("default", "print(1)", "ask"),
        ("acceptEdits", "print(1)", "ask"),
        ("auto", "print(1)", "allow"),
        ("auto", "import os; os.remove('x')", "ask"),
        ("unlessDestructive", "import os; os.remove('x')", "ask"),
        ("unlessDestructive", "eval(x)", "allow"),
        ("bypassPermissions", "import os; os.remove('x')", "allow"),
        ("auto", "eval(x)", "ask"),
        ("auto", "def f(:", "ask"),
        ("auto", "open('.env')", "ask"),
        ("bypassPermissions", "eval(x)", "allow"),
    ],
)
def test_each_mode_in_a_sandbox_without_network(mode: PermissionMode, source: str, verdict: str) -> None:
    request = PolicyRequest("python", source, confinement=Confinement(sandboxed=True, offline=True))
    assert decide(request, Policy(mode=mode)).verdict == verdict


def test_the_mode_auto_runs_nothing_unasked_without_a_sandbox_that_has_no_network() -> None:
    for sandbox in (SandboxSection(mode="danger-full-access"), SandboxSection(network="full")):
        settings = Settings(policy=PolicySection(mode="auto"), sandbox=sandbox)
        policy = load_policy(settings, folder=Path("/nowhere"), cwd=Path("/work"), admin=Path("/nowhere/x"))
        launch = Launch(cwd=Path("/work"), sandbox=chosen_profile(sandbox, Path("/work")))
        found = decide(PolicyRequest("python", "print(1)", confinement=launch.confine("python")), policy)
        assert found.verdict == "ask"
        assert "which needs a sandbox" in found.by


@pytest.mark.parametrize(
    ("sandbox", "confinement"),
    [
        (SandboxSection(mode="danger-full-access", network="none"), Confinement()),
        (SandboxSection(mode="read-only", network="none"), Confinement(sandboxed=True, offline=True)),
        (SandboxSection(mode="workspace-write", network="hosts"), Confinement(sandboxed=True)),
        (SandboxSection(mode="workspace-write", network="full"), Confinement(sandboxed=True)),
    ],
)
def test_a_kernel_without_a_sandbox_is_never_offline_whatever_its_network_is_set_to(
    sandbox: SandboxSection, confinement: Confinement
) -> None:
    launch = Launch(cwd=Path("/work"), sandbox=chosen_profile(sandbox, Path("/work")))
    assert launch.confine("python") == JupyterKernel(launch).confinement
    for kernel in (JupyterKernel(launch), ShellKernel(launch)):
        assert msgspec.structs.replace(kernel.confinement, reach=None, packages=None) == confinement


@pytest.mark.parametrize("how", ["sandbox = 'verified'", "unchecked = true"])
def test_U21_an_open_rule_for_any_program_says_that_it_needs_a_sandbox_or_goes_unchecked(how: str) -> None:
    rules = parse_rules(f"[[rule]]\nrule = 'Shell(make *)'\ndecision = 'allow'\n{how}", "r", "user")
    assert rules[0].text == ("Shell(make *) unchecked" if how.startswith("unchecked") else "Shell(make *)")
    enclosed = PolicyRequest("shell", "make test", confinement=Confinement(sandboxed=True))
    assert decide(enclosed, Policy(rules=rules), "ask").verdict == "allow"
    alone = decide(PolicyRequest("shell", "make test"), Policy(rules=rules), "ask").verdict
    assert alone == ("allow" if how.startswith("unchecked") else "ask")


def test_code_is_allowed_by_a_rule_in_a_sandbox_only() -> None:
    rules = parse_rules("[[rule]]\nrule = 'Python'\ndecision = 'allow'\nsandbox = 'verified'", "r", "user")
    policy, enclosed = Policy(rules=rules), Confinement(sandboxed=True)
    assert decide(PolicyRequest("python", "1"), policy, "ask").verdict == "ask"
    assert decide(PolicyRequest("python", "1", confinement=enclosed), policy, "ask").verdict == "allow"
    assert decide(PolicyRequest("python", "def (", confinement=enclosed), policy, "ask").verdict == "ask"


def test_another_kernel_is_not_looked_into_and_says_so() -> None:
    found = decide(PolicyRequest("ir", "unlink('x')"), Policy(), "ask")
    assert found.labels == ("ir is not looked into, line 1",)


@pytest.mark.parametrize(
    ("text", "approve"),
    [
        ("[policy]\nauto_run = true", "auto"),
        ("[policy]\nmode = 'plan'", "never"),
        ("[policy]\nmode = 'auto'", "auto"),
        ("[policy]\nmode = 'dontAsk'", "ask"),
        ("[loop]\napprove = 'ask'\n[policy]\nauto_run = true", "ask"),
        ("[policy]\nsafe_mode = 'ask'", "ask"),
        ("", "ask"),
    ],
)
def test_the_policy_says_what_approve_is_where_nobody_said_it(text: str, approve: str, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(text)
    assert load_layers(tmp_path, environ={}).settings.loop.approve == approve
