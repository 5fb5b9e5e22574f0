"""Ways around rules that deny: none of the corpus runs unasked, and what is harmless is not asked about for ever."""

from typing import Any

import pytest

from oi_tui.app.engine.core.values import Confinement, Language, Reach
from oi_tui.app.engine.policy.decide import decide
from oi_tui.app.engine.policy.decision import Policy, PolicyDecision, PolicyRequest
from oi_tui.app.engine.policy.rules import fixed_path, short_form
from support.evasions import DENIED, POLICY, corpus


def decided(language: Language, source: str, policy: Policy = POLICY, **more: Any) -> PolicyDecision:
    return decide(PolicyRequest(language, source, **more), policy, "auto")


@pytest.mark.parametrize("language", ["shell", "python"])
def test_U23_no_known_way_around_a_rule_that_denies_runs_unasked(language: Language) -> None:
    sources = corpus(language)
    assert [source for source in sources if decided(language, source).verdict == "allow"] == []
    assert len(sources) == len(set(sources))


def test_U23_the_corpus_has_at_least_400_ways() -> None:
    assert len(corpus("shell")) + len(corpus("python")) >= 400


HARMLESS: dict[Language, tuple[str, ...]] = {
    "shell": (
        *("ls -la", "git log -3 | head", "grep -rn rm src", "cat f | sort -u", "cp a b && mkdir -p c", "echo 'rm x'"),
        *(
            "git status; git diff --stat",
            "cd src && ls",
            "wc -l *.py",
            "find . -name '*.py'",
            "x=1; echo $x",
            "git add a",
        ),
        *("for f in *.py; do wc -l $f; done", "echo $((1 + 2))", "[ -f a ] && cat a", 'echo "$PATH"', "touch a.txt"),
    ),
    "python": (
        *("import os\nos.getcwd(), os.path.join('a', 'b')", "import shutil\nshutil.copy('a', 'b')", "open('a', 'w')"),
        *(
            "import pandas as pd\ndf = pd.read_csv('a.csv')\ndf.eval('a + b')\ndf.to_csv('b.csv')",
            "x = getattr(a, name)",
        ),
        *("import sys\nprint(sys.version, sys.argv)", "import subprocess\nsubprocess.run(['git', 'log'])", "!ls -la"),
        *("import re\nre.compile('rm x')", "import platform\nplatform.system()", "fig.savefig(f'{name}.png')", "a / b"),
        *("from pathlib import Path\n(Path('a') / name).write_text('x')", "import os\nos.environ['A'] = '1'", "%pwd"),
    ),
}


@pytest.mark.parametrize(("language", "source"), [(one, source) for one in HARMLESS for source in HARMLESS[one]])
def test_U23_what_can_run_nothing_else_is_not_asked_about_because_something_is_denied(
    language: Language, source: str
) -> None:
    assert decided(language, source).verdict == "allow"


@pytest.mark.parametrize(
    ("first", "second", "again"),
    [
        ("make", "make -j4 all", "allow"),
        ("pytest -q", "pytest tests", "allow"),
        ("python -m pytest a", "python -m pytest b", "allow"),
        ("python a.py", "python b.py", "ask"),
        ("git commit -m a", "git commit -m 'b c'", "allow"),
        ("npm run a", "npm run b", "allow"),
        ("awk '{print}' f", "awk '{print $1}' f", "ask"),
        ("env a", "env -S 'b'", "ask"),
        ("make", "echo 'rm x' > Makefile; make", "ask"),
    ],
)
def test_U23_what_runs_others_is_asked_about_once_and_text_each_time_it_is_another(
    first: str, second: str, again: str
) -> None:
    asked = decided("shell", first)
    assert (asked.verdict, asked.ground) == ("ask", "rule")
    assert asked.reading is not None
    handed = frozenset(one.key for one in asked.reading.handovers)
    assert decided("shell", first, handed=handed).verdict == "allow"
    assert decided("shell", second, handed=handed).verdict == again


def test_U23_a_rule_that_allows_what_runs_others_answers_the_doubt_but_not_a_denial() -> None:
    allowed = short_form("Shell(make *)", "allow", unchecked=True)
    policy = Policy(rules=(*DENIED, allowed), base=POLICY.base)
    assert decided("shell", "make all", policy).verdict == "allow"
    assert decided("shell", "make -f- rm", policy).verdict == "ask"
    assert decided("shell", "make && rm x", policy).verdict == "deny"


REACH = Reach(writes=("/work",), kept=("/work/.git",), reads=("/usr", "/work", "/home/me/tools"))
FULL = Confinement(sandboxed=True, offline=True, reach=REACH)
LOCK = Confinement(offline=True, reach=Reach(writes=("/work",), reads=("/usr", "/work")))
ONLINE = Confinement(sandboxed=True, reach=REACH)


def denying(text: str, real: str = "") -> Policy:
    """One rule that denies; `real` is where it leads, "" if to what it says."""
    rule = short_form(text, "deny")
    if rule.tool in ("Edit", "Read"):
        rule = rule._replace(real=real or fixed_path(rule, POLICY.base))
    return Policy(rules=(rule,), base=POLICY.base)


@pytest.mark.parametrize(
    ("rule", "full", "lock", "online"),
    [
        ("Edit(.git/**)", "allow", "ask", "allow"),
        ("Edit(.git/config)", "allow", "ask", "allow"),
        ("Edit(/etc/**)", "allow", "allow", "allow"),
        ("Edit(~/.ssh/**)", "allow", "allow", "allow"),
        ("Read(~/.ssh/**)", "allow", "allow", "allow"),
        ("Read(~/.ssh/id_*)", "allow", "allow", "allow"),
        ("Read(/srv)", "allow", "allow", "allow"),
        ("Read(/usr/share/x)", "ask", "ask", "ask"),
        ("Read(~/**)", "ask", "allow", "ask"),
        ("Read(~/t*)", "ask", "allow", "ask"),
        ("Read(/**)", "ask", "ask", "ask"),
        ("Read(data/**)", "ask", "ask", "ask"),
        ("Edit(src/**)", "ask", "ask", "ask"),
        ("Edit(**/*.pem)", "ask", "ask", "ask"),
        ("Edit(/**)", "ask", "ask", "ask"),
        ("Edit", "ask", "ask", "ask"),
        ("Edit(.gitignore)", "ask", "ask", "ask"),
        ("Shell(rm *)", "ask", "ask", "ask"),
        ("Shell(curl *)", "allow", "allow", "ask"),
        ("Shell(ssh *)", "allow", "allow", "ask"),
        ("Shell(sudo *)", "allow", "ask", "allow"),
        ("Shell(git push *)", "ask", "ask", "ask"),
        ("Shell", "deny", "deny", "deny"),
    ],
)
def test_U29_what_the_sandbox_keeps_by_itself_is_not_asked_about(rule: str, full: str, lock: str, online: str) -> None:
    policy = denying(rule)
    for source in ("pytest -q", "make", "$x"):
        assert decided("shell", source, policy).verdict in ("ask", "deny")
        for confinement, verdict in ((FULL, full), (LOCK, lock), (ONLINE, online)):
            assert decided("shell", source, policy, confinement=confinement).verdict == verdict, (source, confinement)


def test_U29_what_is_denied_by_its_name_stays_denied_in_a_sandbox() -> None:
    for rule, source in (
        ("Edit(.git/**)", "echo x > .git/config"),
        ("Read(~/.ssh/**)", "cat ~/.ssh/id_rsa"),
        ("Shell(curl *)", "curl http://a"),
        ("Shell(sudo *)", "sudo ls"),
    ):
        assert decided("shell", source, denying(rule), confinement=FULL).verdict == "deny"


def test_U29_a_rule_counts_where_its_links_lead_and_one_that_was_not_looked_at_is_asked_about() -> None:
    assert decided("shell", "make", denying("Edit(/data/**)", "/work/data"), confinement=FULL).verdict == "ask"
    assert decided("shell", "make", denying("Read(/data/**)", "/srv/data"), confinement=FULL).verdict == "allow"
    unseen = Policy(rules=(short_form("Edit(/data/**)", "deny"),), base=POLICY.base)
    assert decided("shell", "make", unseen, confinement=FULL).verdict == "ask"


def test_U29_python_is_held_to_the_same() -> None:
    runs = "import subprocess\nsubprocess.run(['make'])"
    for rule, verdict in (
        ("Python(requests.*)", "allow"),
        ("Python(socket)", "allow"),
        ("Python(shutil.rmtree)", "ask"),
    ):
        assert (
            decided("python", "import code\ncode.InteractiveConsole()", denying(rule), confinement=FULL).verdict
            == verdict
        )
    assert decided("python", runs, denying("Read(~/.ssh/**)"), confinement=FULL).verdict == "allow"
    assert decided("python", runs, denying("Read(~/.ssh/**)")).verdict == "ask"
