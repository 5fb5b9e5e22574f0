"""Limited functions: lists over full names, in the reading of a source, in settings and in the model's instructions."""

import time
from pathlib import Path

import pytest

from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.modes import joint_patterns, with_limits
from oi_tui.app.engine.core.settings import FunctionsSection, LoopSection, Settings
from oi_tui.app.engine.policy.decide import decide
from oi_tui.app.engine.policy.decision import Policy, PolicyRequest
from oi_tui.app.engine.policy.function_patterns import (
    LONGEST_NAME,
    WrongPattern,
    check_pattern,
    matches_name,
    may_match_within,
)
from oi_tui.app.engine.policy.functions import check_lists, describe_lists
from oi_tui.app.engine.policy.rules import Effect
from oi_tui.app.engine.testing import FakeKernels, FakeModel
from oi_tui.app.engine.trust.folder_settings import apply_folder_settings, read_folder_settings
from support.turns import play

PANDAS = ("pandas.*", r"json\.loads", r"matplotlib\..*", "shell:(ls|git)", "tool:fetch_url")


def verdict_of(
    source: str, *, allow: tuple[str, ...] = (), deny: tuple[str, ...] = (), language: str = "python", tool: str = ""
) -> tuple[Effect, str]:
    policy = Policy(functions=FunctionsSection(allow=allow, deny=deny))
    decision = decide(PolicyRequest(language, source, tool=tool), policy)
    return decision.verdict, decision.by


@pytest.mark.parametrize(
    "source",
    [
        "import pandas as pd\ndf = pd.read_csv('a.csv')\nprint(df.head().describe())\ndf.to_csv('b.csv')",
        "from pandas import read_csv as rc\nrc('x').groupby('a').mean()",
        "from json import loads\nprint(sorted(loads(text).items(), key=lambda one: one[1]))",
        "import json\nx = [json.loads(line) for line in lines]\nprint(len(x), x[0]['a'].strip().split(','))",
        "import matplotlib.pyplot as plt\nplt.plot([1, 2])",
        "def double(x):\n    return x * 2\n\nfor code in range(3):\n    print(double(code), f'{code:>3}')",
        "class A:\n    def go(self):\n        return 1\n\nA()",
        "x = {}\nx.update(a=1)\n'%d' % 3\ntry:\n    raise ValueError\nexcept ValueError as error:\n    print(error)",
        "!ls -l\n!git status",
        "pd.read_csv('a')",
    ],
)
def test_D1_what_is_on_the_list_runs(source: str) -> None:
    assert verdict_of(source, allow=PANDAS) == ("allow", "the mode “bypassPermissions”")


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("import os\nos.system('ls')", "os"),
        ("from os import system", "os.system"),
        ("import json\njson.dumps({})", "json.dumps"),
        ("open('x')", "open"),
        ("eval('1')", "eval"),
        ("exec('1')", "exec"),
        ("__import__('os').system('x')", "os.system"),
        ("getattr(x, 'y')()", "x.y"),
        ("getattr(x, name)()", "getattr"),
        ("map(eval, ['1'])", "eval"),
        ("f = open\nf('x')", "open"),
        ("open = open\nopen('x')", "open"),
        ("os = os\nos.system('x')", "os"),
        ("[os for os in [os]]", "os"),
        ("def f(os=os):\n    os.system('x')", "os"),
        ("os.getcwd()", "os.getcwd"),
        ("import pandas as os\nimport subprocess as pandas\npandas.run('x')", "subprocess"),
        ("o.system('x')", ".system"),
        ("df.to_parquet('x')", ".to_parquet"),
        ("save = df.to_parquet", ".to_parquet"),
        ("helper(3)", "helper"),
        ("().__class__.__mro__[1].__subclasses__()", ".__subclasses__"),
        ("import pandas\npandas.io.common.os.system('x')", "os"),
        ("from json import *", "json.*"),
        ("import json, sys", "sys"),
        ("!rm x", "shell:rm"),
        ("!git log; rm x", "shell:rm"),
        ("!$cmd", "only the run"),
        ("%run x.py", "%run runs"),
        ("%who", "magic:who"),
        ("handlers[0]()", "only the run"),
        ("x = ", "cannot be read"),
        ("import re\n@re.compile\ndef f(): ...", "re"),
        ("import pandas\npandas.read_csv('" + "x" * 200_000 + "')", "too long"),
    ],
)
def test_D2_what_is_not_on_the_list_or_cannot_be_read_does_not_run(source: str, named: str) -> None:
    verdict, by = verdict_of(source, allow=PANDAS)
    assert verdict == "deny"
    assert named in by


def test_D2_shell_code_other_kernels_and_tools_need_names_of_their_own() -> None:
    assert verdict_of("ls -l | git log", allow=PANDAS, language="shell")[0] == "allow"
    assert verdict_of("ls; curl x", allow=PANDAS, language="shell")[1].endswith("which has no shell:curl, line 1")
    assert verdict_of("$(echo ls)", allow=PANDAS, language="shell")[0] == "deny"
    assert verdict_of("python -c 'import os'", allow=(*PANDAS, "shell:python"), language="shell")[0] == "deny"
    assert verdict_of("x <- 1", allow=PANDAS, language="ir")[0] == "deny"
    assert verdict_of("x <- 1", allow=(*PANDAS, "kernel:ir"), language="ir")[0] == "allow"
    assert verdict_of("{}", allow=PANDAS, language="", tool="fetch_url")[0] == "allow"
    assert verdict_of("{}", allow=PANDAS, language="", tool="write_file")[1].endswith("which has no tool:write_file")
    assert verdict_of("{}", allow=PANDAS, language="", tool="recall")[0] == "allow"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import os\nos.system('ls')", "deny"),
        ("from os import system as s\ns('ls')", "deny"),
        ("from os import *\nsystem('ls')", "deny"),
        ("import os\nf = os.system", "deny"),
        ("import os\nos.system.__call__('ls')", "deny"),
        ("import glob\nglob.os.system('ls')", "deny"),
        ("import os\ngetattr(os, 'system')('ls')", "deny"),
        ("import subprocess\nsubprocess.run(['ls'])", "deny"),
        ("import subprocess as s\ns.Popen('ls')", "deny"),
        ("df.to_pickle('x')", "deny"),
        ("import pandas as pd\npd.DataFrame().to_pickle('x')", "deny"),
        ("!curl x", "deny"),
        ("import os\nprint(os.getcwd())", "allow"),
        ("df.head()", "allow"),
        ("!ls", "allow"),
        ("exec(text)", "ask"),
        ("%run x.py", "ask"),
    ],
)
def test_D3_what_is_denied_does_not_run_and_what_may_hide_it_is_asked_about(source: str, expected: Effect) -> None:
    deny = (r"os\.system", r"subprocess\..*", r"\.to_pickle", "shell:curl", "tool:danger")
    assert verdict_of(source, deny=deny)[0] == expected


def test_D3_tools_are_denied_by_name() -> None:
    assert verdict_of("{}", deny=("tool:dan.*",), language="", tool="danger")[0] == "deny"
    assert verdict_of("{}", deny=("tool:dan.*",), language="", tool="clock")[0] == "allow"


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+",
        "(a|b)*c",
        "(?=a)b",
        r"(a)\1",
        "a*b*c*d",
        "x" * 400,
        "",
        "(",
        "a{1000}",
        "(?P<n>a)",
        "((a?))*",
        "a & ",
        "[z-a]",
    ],
)
def test_D4_expressions_that_could_take_long_are_refused(pattern: str) -> None:
    with pytest.raises(WrongPattern):
        check_pattern(pattern)
    with pytest.raises(SettingsError, match=r"functions\.deny"):
        check_lists(FunctionsSection(deny=(pattern,)))


def test_D4_what_is_taken_ends_soon_and_long_names_are_on_no_list() -> None:
    worst = r"\w*\w*!"
    check_pattern(worst)
    begun = time.process_time()
    for number in range(200):
        assert not matches_name(worst, f"a{number}".ljust(LONGEST_NAME, "a"))
    assert time.process_time() - begun < 5
    long = "pandas." + "a" * LONGEST_NAME
    assert verdict_of(f"import pandas\n{long}()", allow=("pandas.*",))[0] == "deny"
    assert verdict_of(f"import pandas\n{long}()", deny=("numpy.*",))[0] == "deny"
    many = "\n".join(f"import m{number}" for number in range(1_100))
    assert verdict_of(many, allow=("m.*",))[0] == "deny"


@pytest.mark.parametrize(
    ("entry", "module", "may"),
    [
        ("pandas.*", "pandas", True),
        (r"pandas\.read_.*", "pandas", True),
        (r"pandas\.io\.sql\..*", "pandas.io", True),
        (r"os\.path\.join|json\.loads", "json", True),
        (r"os\.path\.join|json\.loads", "os", True),
        (r"os\.path\.join|json\.loads", "sys", False),
        (r"os\.getcwd", "os.path", False),
        ("(os|sys).*", "os", True),
        ("shell:.*", "shell", False),
        ("pandas.* & .*read_csv", "pandas", True),
    ],
)
def test_D1_a_module_is_imported_for_what_the_list_has_of_it(entry: str, module: str, may: bool) -> None:
    check_pattern(entry)
    assert may_match_within(entry, module) is may


def test_D5_a_folder_and_an_administrator_can_only_be_stricter(tmp_path: Path) -> None:
    (tmp_path / ".oi").mkdir()
    (tmp_path / ".oi" / "config.toml").write_text('[functions]\nallow = ["pandas.*", "json.*"]\ndeny = ["os.*"]\n')
    mine = Settings(functions=FunctionsSection(allow=(r"pandas\.read_csv", "csv.*"), deny=("sys.*",)))
    held = apply_folder_settings(mine, read_folder_settings(tmp_path)).functions
    assert held.deny == ("os.*", "sys.*")
    policy = Policy(functions=held)

    def runs(source: str) -> bool:
        return decide(PolicyRequest("python", source), policy).verdict == "allow"

    assert runs("import pandas\npandas.read_csv('x')")
    assert not runs("import pandas\npandas.read_json('x')")  # of the folder's list, not of the person's
    assert not runs("import csv\ncsv.reader(x)")
    assert with_limits(Settings(), {"functions.allow": ("a",)}).functions.allow == ("a",)
    assert joint_patterns(("a",), ()) == ("a",)
    assert joint_patterns(("a", "b"), ("a",)) == ("a", "b & a")


def test_D6_the_model_reads_what_it_may_call_within_bounds() -> None:
    assert describe_lists(FunctionsSection()) == ""
    told = describe_lists(FunctionsSection(allow=("pandas.*", "tool:fetch_url"), deny=("os.*",)))
    assert "may call only functions whose full names match one of these regular expressions: pandas.*, tool:" in told
    assert "may not call functions whose full names match one of these regular expressions: os.*." in told
    many = describe_lists(FunctionsSection(allow=tuple(f"module{number}.*" for number in range(5_000))))
    assert len(many) < 2_500
    assert "more" in many


async def test_D8_code_of_ones_own_is_not_held_to_the_lists_before_it_runs() -> None:
    policy = Policy(functions=FunctionsSection(deny=(r"os\.system",)))
    source = "import os\nos.system('ls')"
    model = FakeModel(f"```python\n{source}\n```", "Done.")
    session = Session(kernels=FakeKernels(), settings=LoopSection(approve="auto"), model=model, policy=policy)
    await play(session, session.run("go"))
    await play(session, session.run_code("python", source))
    codes = [block for block in session.transcript.blocks if isinstance(block, CodeBlock)]
    assert [(block.author, block.state) for block in codes] == [("assistant", "refused"), ("user", "ok")]
