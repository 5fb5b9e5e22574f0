"""What is read off Python before it runs: labels with lines, the shell within, and nothing that makes it milder."""

import ast
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_tui.app.engine.core.values import ApprovalMode, Confinement
from oi_tui.app.engine.policy.decide import decide
from oi_tui.app.engine.policy.decision import Policy, PolicyDecision, PolicyRequest
from oi_tui.app.engine.policy.magics import split_magics
from oi_tui.app.engine.policy.python import read_python
from oi_tui.app.engine.policy.reading import LONGEST_SOURCE
from oi_tui.app.engine.policy.risks import labels
from oi_tui.app.engine.policy.rules import short_form
from support.fuzzing import examples


def decided(source: str, *deny: str, approval: ApprovalMode = "auto", **more: Any) -> PolicyDecision:
    rules = tuple(short_form(text, "deny") for text in deny)
    return decide(PolicyRequest("python", source, **more), Policy(rules=rules), approval)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (
            "import os, requests, subprocess\n\nos.remove('a')\n\n\nsubprocess.run(['ls'])\nrequests.get(url)",
            ("deletes files, line 3", "network, line 7", "starts a process, line 6"),
        ),
        ("from shutil import rmtree as clean\nclean('x')", ("deletes files, line 2",)),
        ("from pathlib import Path\nPath('x').unlink()", ("deletes files, line 2",)),
        ("from os import *\nremove('x')", ("deletes files, line 2",)),
        ("x = open\nx('f', 'w')", ("writes files, line 2",)),
        ("open('f')\nopen('f', mode='rb')", ()),
        ("df.to_csv('out.csv')\nax.figure.savefig('a.png')", ("writes files, lines 1 and 2",)),
        ("import pandas as pd\npd.read_csv('https://example.org/a.csv')", ("network, line 2",)),
        ("eval(input())", ("runs text as code, line 1",)),
        ("import pickle\npickle.load(f)", ("unpickles data, line 2",)),
        ("().__class__.__base__.__subclasses__()", ("runs text as code, line 1",)),
        ("open('/home/me/.aws/credentials')", ("names a place of secrets, line 1",)),
        ("import re\nre.compile('a')\nprint('os.remove')", ()),
        ("def f(:", ("cannot be read as Python, line 1",)),
    ],
)
def test_what_code_does_is_told_with_its_lines(source: str, told: tuple[str, ...]) -> None:
    assert labels(read_python(source)) == told


def test_U6_a_disguised_name_is_told() -> None:
    assert decided("ｅｖａｌ('1')").labels == (
        "runs text as code, line 1",
        "a name is read otherwise than it looks, line 1",
    )
    assert "calls os “json”, line 1" in decided("import os as json\njson.getcwd()").labels


@pytest.mark.parametrize(
    "source",
    [
        *("!rm -rf ~", "x = 1\n!rm x", "files = !rm x", "%sx rm x", "!!rm x", "%%bash\nls\nrm x", "%%sh\nrm x", "rm x"),
        *("get_ipython().system('rm x')", "get_ipython().run_cell_magic('bash', '', 'rm x')", "%%time\n!rm x"),
        *(
            "get_ipython().run_line_magic('sx', 'rm x')",
            "import os\nos.system('rm x')",
            "from os import system as s\ns('rm x')",
        ),
        *("import subprocess as p\np.run(['rm', path])", "import subprocess\nsubprocess.run('ls; rm x', shell=True)"),
        *("import subprocess\nsubprocess.Popen(['sudo', 'rm', 'x'])", "for f in fs:\n    !rm {f}", "%timeit !rm x"),
        *("import os\nos.execvp('rm', ['rm', 'x'])", "import subprocess\nsubprocess.check_output(args=['rm', 'x'])"),
    ],
)
def test_U7_shell_within_python_is_held_to_the_rules_of_shell(source: str) -> None:
    found = decided(source, "Shell(rm *)")
    assert (found.verdict, found.by) == ("deny", "the rule Shell(rm *)")


@pytest.mark.parametrize(
    "source",
    [
        "get_ipython().input_transformers_cleanup.append(lambda l: ['evil()'])",
        "ip = get_ipython(); ip.input_transformers_post[:] = []",
        "get_ipython().ast_transformers.append(T())",
        "get_ipython().kernel.shell_handlers['execute_request'] = f",
        "import builtins; builtins.print = evil",
        "import builtins as b; b.open = evil",
        "__builtins__.print = evil",
        "__builtins__['print'] = evil",
        "import builtins; setattr(builtins, 'print', evil)",
        "import builtins; builtins.__dict__['print'] = evil",
        "import builtins; vars(builtins).update(print=evil)",
        "get_ipython().run_cell = evil",
        "ip.run_cell_async = evil",
        "setattr(ip, 'run_cell', evil)",
        "getattr(ip, 'ast_transformers').append(T())",
        "import sys; sys.modules['os'] = evil",
        "import sys; sys.meta_path.insert(0, evil)",
        "import sys; sys.settrace(evil)",
        "%load_ext evil",
        "%alias ls rm",
    ],
)
def test_U24_what_changes_how_later_code_is_read_is_labelled(source: str) -> None:
    found = decided(source)
    assert found.rereads
    assert any(label.startswith("changes how later code is read, line 1") for label in found.labels)


@pytest.mark.parametrize(
    "source",
    ["print(1)", "m.compile('adam')", "a.update(b)", "d['print'] = 1", "%pwd"],
)
def test_U24_ordinary_code_does_not(source: str) -> None:
    assert not decided(source).rereads


@pytest.mark.parametrize(
    "source", [">>> %%bash\nrm x", "In [1]: !rm x", "\n  %%bash\n  rm x", ">>> a = 1\n... !rm x", "\n>>> !rm x"]
)
def test_U7_prompts_and_indents_that_ipython_takes_away_hide_nothing(source: str) -> None:
    assert decided(source, "Shell(rm *)").verdict == "deny"


@pytest.mark.parametrize(
    "source",
    [
        "a\n%%bash\nrm x",
        "import os\nos.system(line)",
        "!$line",
        "%run x.py",
        "get_ipython().system(x)",
        "import os\ngetattr(os, n)('x')",
        "%nope x",
    ],
)
def test_U7_a_command_that_only_the_run_tells_is_asked_about_where_one_is_denied(source: str) -> None:
    assert decided(source, "Shell(rm *)").verdict == "ask"
    assert decided(source).verdict == "allow"


def test_a_rule_for_python_speaks_of_imports_and_calls() -> None:
    assert decided("import shutil\nshutil.rmtree('x')", "Python(shutil.rmtree)").verdict == "deny"
    assert decided("from shutil import *\nrmtree('x')", "Python(shutil.rmtree)").verdict == "deny"
    assert decided("import requests", "Python(requests.*)").verdict == "deny"
    assert decided("from requests import get", "Python(requests.*)").verdict == "deny"
    assert decided("import shutil\nshutil.copy('a', 'b')", "Python(shutil.rmtree)").verdict == "allow"
    assert decided("print(1)", "Python").verdict == "deny"


def test_rules_for_files_speak_of_the_paths_in_the_code() -> None:
    assert decided("open('.env')", "Read(.env)").verdict == "deny"
    assert decided("open('.git/config', 'w')", "Edit(.git/**)").verdict == "deny"
    assert decided("open('.git/config')", "Edit(.git/**)").verdict == "allow"


@pytest.mark.parametrize(
    "source",
    [
        "x = '''\n!rm x\n'''\n%matplotlib inline",
        'print("!rm x")\n%pwd',
        "y = (5\n % x)\n%pwd",
        "# !rm x\n%pwd",
        "a = [1,\n% 2]\n%pwd",
    ],
)
def test_what_only_looks_like_a_command_is_none(source: str) -> None:
    assert read_python(source).commands == ()


def test_magics_are_taken_out_without_moving_a_line() -> None:
    source = "a = 1\n!ls \\\n  -la\nif a:\n    b = %pwd\n    x?\nc = '''\n!no\n'''\n"
    apart = split_magics(source)
    assert [(magic.sign, magic.line) for magic in apart.magics] == [("!", 2), ("%", 5), ("?", 6)]
    assert [node.lineno for node in ast.parse(apart.python).body] == [1, 2, 4, 7]


@pytest.mark.parametrize("approval", ["ask", "auto"])
@pytest.mark.parametrize(
    "source", ["x = 'a\u202eb'", "dеl = 1  # Cyrillic", "p\u200brint(1)", "x = '\u00a0'", "\U000e0041"]
)
def test_U5_hidden_and_deceiving_characters_are_asked_about_in_every_mode(source: str, approval: ApprovalMode) -> None:
    found = decided(source, approval=approval, confinement=Confinement(sandboxed=True, offline=True))
    assert (found.verdict, found.ground) == ("ask", "guard")


def test_U5_the_parts_of_an_emoji_hide_nothing() -> None:
    assert decided("print('👩\u200d💻 ✔\ufe0f größer Δ')").verdict == "allow"


def test_U14_what_is_too_long_or_too_deep_is_not_read_and_does_not_raise() -> None:
    assert read_python("x = 1\n" * (LONGEST_SOURCE // 6 + 1)).has_unseen
    for source in (
        "(" * 90_000,
        "-" * 90_000 + "1",
        "[" * 50_000,
        "x" + ".a" * 40_000,
        "!ls\n" * 10_000,
        "1+" * 40_000 + "1",
    ):
        read_python(source)
    assert decided("x = 1\n" * 50_000, "Python(shutil.rmtree)").verdict == "deny"


LINES = st.lists(
    st.sampled_from([
        *("!rm x", "!!rm x", "%sx rm x", "%%bash\nrm x\n", "\n", "\n    ", "x = ", "x, y = ", "a.b[0] = ", "("),
        *("if a:\n    ", ")"),
        *("'''", '"', "#", "\\\n", "?", "1", " ", "[", "]", "x", "; ", "f'", "'", ">>> ", "In [1]: "),
        *("%system rm x", "... "),
    ]),
    max_size=8,
).map("".join)  # fmt: skip
SHELL = re.compile(r"get_ipython\(\)\.(?:system\(|getoutput\(|run_line_magic\('(?:sx|system)'|run_cell_magic\('bash')")


@examples(800)
@given(LINES)
def test_U7_whatever_ipython_takes_for_shell_is_taken_for_shell_here(source: str) -> None:
    from IPython.core.inputtransformer2 import TransformerManager  # late: only one test process needs it

    try:
        transformed = TransformerManager().transform_cell(source)
        ast.parse(transformed)
    except (SyntaxError, ValueError):
        return  # it does not run
    if SHELL.search(transformed):
        reading = read_python(source)
        assert "starts a process" in {risk.what for risk in reading.risks} or not reading.complete


SOURCES = st.lists(
    st.one_of(
        st.text(max_size=8),
        st.sampled_from([
            *("!rm x", "%%bash\n", "\n", "import os\n", "os.system('", "')", "'''", "(", ")", "x = ", "%", "?", "!"),
            *("\\", "\\\n"),
            *("{", "}", "f'", "subprocess.run([", "])", "    ", "\x00", "get_ipython().", "run_cell_magic("),
            *("eval(", "#", ","),
        ]),
    ),
    max_size=25,
).map("".join)  # fmt: skip


@given(SOURCES)
def test_reading_python_never_raises_and_denies_what_is_denied(source: str) -> None:
    read_python(source)
    assert decided(source, "Python").verdict == "deny"
    assert decided(source, approval="ask").verdict == "ask"
