"""Ways around rules that deny: none of the corpus runs unasked, and what is harmless is not asked about for ever."""

from pathlib import Path
from typing import Any

import pytest

from oi_tui.app.engine.core.values import Confinement, Language
from oi_tui.app.engine.policy.decide import Policy, PolicyDecision, PolicyRequest, decide
from oi_tui.app.engine.policy.rules import Base, short_form

CORPUS = Path(__file__).parent / "policy_corpus"
DENIED = tuple(
    short_form(text, "deny") for text in ("Shell(rm *)", "Python(shutil.rmtree)", "Python(os.remove)", "Edit(.git/**)")
)
POLICY = Policy(rules=DENIED, base=Base(cwd="/work", home="/home/me"), kept=("/work/.git",))


def corpus(language: str) -> list[str]:
    lines = (CORPUS / f"{language}.txt").read_text(encoding="utf-8").splitlines()
    return [line.replace("⏎", "\n") for line in lines if line and not line.startswith("# ")]


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


def test_U23_what_the_sandbox_keeps_by_itself_is_not_asked_about() -> None:
    policy = Policy(rules=(short_form("Edit(.git/**)", "deny"),), base=POLICY.base, kept=POLICY.kept)
    enclosed = Confinement(sandboxed=True)
    assert decided("shell", "make", policy).verdict == "ask"
    assert decided("shell", "make", policy, confinement=enclosed).verdict == "allow"
    assert decided("shell", "$x", policy, confinement=enclosed).verdict == "allow"
    assert decided("shell", "echo x > .git/config", policy, confinement=enclosed).verdict == "deny"
