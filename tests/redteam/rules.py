"""Ways around rules: what the policy lets run unasked is run, with stubs for programs, and must do nothing that a rule
speaks against. `python -m redteam.rules KIND SEED SECONDS [ATTEMPT]` prints its tally; it is run in a sandbox.
"""

import ast
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from redteam.attempts import Attack, Order

from oi_tui.app.engine.core.values import Language
from oi_tui.app.engine.policy.decide import decide
from oi_tui.app.engine.policy.decision import Policy, PolicyRequest
from oi_tui.app.engine.policy.rules import short_form
from support.bash_stubs import EVADING, EVADING_PROGRAMS, PIECES, Bash, beyond_git_log
from support.evasions import POLICY, corpus

SECONDS = 5
"""Of one source in Python."""

KEPT = ("x", ".git/config")
"""Files that the rules that deny are about."""


def is_allowed(language: Language, source: str, policy: Policy = POLICY, approval: Any = "auto") -> bool:
    """Whether it would run unasked."""
    return decide(PolicyRequest(language, source), policy, approval).verdict == "allow"


# -- shell


def allow_rules(attack: Attack) -> None:
    """`git log *` is allowed: of lines that run unasked, bash must run nothing else."""
    policy = Policy(rules=(short_form("Shell(git log *)", "allow"),))
    bash = Bash()
    for number in attack.numbers():
        chance = attack.chance(number)
        pieces = chance.choices(PIECES, k=chance.randint(1, 9))
        source = "".join((chance.choice(("", "git log", "git log -3")), *pieces))
        if is_allowed("shell", source, policy, "ask"):
            attack.count("allowed and executed")
            ran, files = bash.run(source)
            if (other := beyond_git_log(ran)) or files:
                attack.through(number, f"{source!r} ran {other} and left {files}")


def deny_rules(attack: Attack) -> None:
    """`rm *` is denied and all else runs: of lines that run unasked, none may run it."""
    policy = Policy(rules=(short_form("Shell(rm *)", "deny"),))
    bash = Bash(*EVADING_PROGRAMS)
    for number in attack.numbers():
        chance = attack.chance(number)
        source = "".join(chance.choices(EVADING, k=chance.randint(1, 10)))
        if is_allowed("shell", source, policy):
            attack.count("allowed and executed")
            if "ran-rm" in bash.run(source)[1]:
                attack.through(number, f"{source!r} ran rm")


SHELL_FRAMES = (
    *("if true; then {}; fi", "{{ {}; }}", "( {} )", "f() {{ {}; }}; f", "for i in 1; do {}; done", "! {}", "time {}"),
    *("while :; do {}; break; done", "case a in a) {};; esac", "{} &\nwait", "cat <<E\n$({})\nE", 'echo "$({})"'),
    *(
        "y=$({})",
        "[[ -n $({}) ]]",
        ": ${{y:=$({})}}",
        "{} | cat",
        "echo a | {}",
        "coproc {{ {}; }}; wait",
        "trap '{}' EXIT",
    ),
    *("cat <({})", "printf %s $({})", "declare y=$({})", "a[$({})]=1", "echo ${{a[$({})]}}", "ls; {}", "ls && {}"),
    *("ls || {}", "ls\n{}", "{} # ls", "eval '{}'", "bash -c '{}'", "sh <<'E'\n{}\nE", "export y=$({})", "echo `{}`"),
    *("{} >/dev/null 2>&1", "until {}; do break; done", "select i in a; do {}; done <<< 1", "exec 3< <({})", "y=1 {}"),
    *(
        "function g {{ {}; }}; g",
        "test -v 'a[$({})]'",
        "(( a[$({})] ))",
        "\\\n{}",
        "\t{}",
        "if {}; then :; fi",
        ": $({})",
    ),
)


def mutate_shell(source: str, chance: random.Random) -> str:
    """The same in another spelling or another frame."""
    for _ in range(chance.randint(1, 3)):
        place = chance.randrange(len(source) + 1)
        match chance.randrange(5):
            case 0:
                source = (
                    source[:place]
                    + chance.choice(("\\\n", "''", '""', "\\", " ", "\t", "$''", "${z}"))
                    + source[place:]
                )
            case 1 if len(source) > 1:
                sign = chance.choice("'\"")
                end = min(len(source), place + chance.randint(1, 3))
                source = f"{source[:place]}{sign}{source[place:end]}{sign}{source[end:]}"
            case 2:
                joint, more = chance.choice(("; ", " && ", "\n", " | ", " || ")), chance.choice(("ls", "echo a", ":"))
                source = f"{source}{joint}{more}"
            case _:
                source = chance.choice(SHELL_FRAMES).format(source)
    return source


def shell_ways(attack: Attack) -> None:
    """The corpus of ways around rules, mutated."""
    bash, sources = Bash(*EVADING_PROGRAMS), corpus("shell")
    for number in attack.numbers():
        chance = attack.chance(number)
        source = mutate_shell(chance.choice(sources), chance)
        if is_allowed("shell", source):
            attack.count("allowed and executed")
            _, files = bash.run(source, *KEPT)
            if "ran-rm" in files or not set(KEPT) <= set(files):
                attack.through(number, f"{source!r} left {files}")


# -- Python

TARGETS = (("os", "remove", "'x'"), ("shutil", "rmtree", "'d'"))

MODULES = (
    *(
        "import {m}\nm = {m}",
        "import {m} as m",
        "m = __import__('{m}')",
        "from importlib import import_module as i\nm = i('{m}')",
    ),
    *(
        "import sys, {m} as _\nm = sys.modules['{m}']",
        "import {m}\nm = globals()['{m}']",
        "import pathlib\nm = pathlib.{m}",
    ),
    *(
        "import glob\nm = glob.{m}",
        "import tempfile\nm = tempfile._{m}",
        "import {m}\nm, k = {m}, 1",
        "import {m}\n(m := {m})",
    ),
    *(
        "import {m}\nclass K: m = {m}\nm = K.m",
        "import {m}\ndef k(m={m}): return m\nm = k()",
        "from sys import modules as s\nm = s['{m}']",
    ),
    *("import builtins\nm = builtins.__import__('{m}')", "import {m}\nfor m in [{m}]: pass", "import {m}\n[m] = [{m}]"),
    *("import {m}\nm = {{'a': {m}}}['a']", "import {m}\nm = (lambda: {m})()", "import {m}\nm = vars()['{m}']"),
)
FUNCTIONS = (
    *("f = m.{n}", "f = getattr(m, '{n}')", "f = getattr(m, '{n}'[:])", "f = vars(m)['{n}']", "f = m.__dict__['{n}']"),
    *(
        "import operator\nf = operator.attrgetter('{n}')(m)",
        "f = m.__getattribute__('{n}')",
        "f = getattr(m, '{a}' + '{b}')",
    ),
    *(
        "import inspect\nf = dict(inspect.getmembers(m))['{n}']",
        "f = next(v for k, v in vars(m).items() if k == '{n}')",
    ),
    *(
        "f = m.__dict__.get('{n}')",
        "n = '{n}'\nf = getattr(m, n)",
        "f = object.__getattribute__(m, '{n}')",
        "g = getattr\nf = g(m, '{n}')",
    ),
    *(
        "from {m} import {n} as f",
        "from {m} import *\nf = {n}",
        "f = [m.{n}][0]",
        "f = m.{n} if m else None",
        "f, *_ = m.{n}, 0",
    ),
    *("f = (lambda o: o.{n})(m)", "f = type('T', (), {{'f': staticmethod(m.{n})}}).f", "f = getattr(m, '{r}'[::-1])"),
    *("match m:\n    case object({n}=f): pass", "f = m.{n}.__call__", "with open('x') as _: f = m.{n}", "f = m . {n}"),
)
CALLS = (
    *(
        "f({x})",
        "f(*[{x}])",
        "list(map(f, [{x}]))",
        "import functools\nfunctools.partial(f, {x})()",
        "(lambda g: g({x}))(f)",
    ),
    *(
        "[g({x}) for g in [f]]",
        "import functools\nfunctools.reduce(lambda a, b: f(b), [{x}], 0)",
        "sorted([{x}], key=f)",
    ),
    *(
        "import threading\nt = threading.Thread(target=f, args=({x},)); t.start(); t.join()",
        "import atexit\natexit.register(f, {x})",
    ),
    *(
        "import contextlib\nwith contextlib.ExitStack() as s: s.callback(f, {x})",
        "max([{x}], key=f)",
        "[*filter(f, [{x}])]",
    ),
    *(
        "from concurrent.futures import ThreadPoolExecutor as E\nE(1).submit(f, {x}).result()",
        "type(f).__call__(f, {x})",
    ),
    *(
        "@lambda g: f({x})\ndef h(): 0",
        "class C:\n    __del__ = lambda s: f({x})\nC()",
        "x = f\nx({x})",
        "f.__call__({x})",
    ),
    *(
        "import asyncio\nasyncio.run(asyncio.to_thread(f, {x}))",
        "class C:\n    def __getitem__(s, i): return f(i)\nC()[{x}]",
    ),
    *(
        "def h():\n    yield f({x})\nnext(h())",
        "import weakref\nclass C: pass\nc = C(); weakref.finalize(c, f, {x})",
        "{{f({x})}}",
    ),
    *(
        "print(f({x}))",
        "assert not f({x})",
        "a = f({x}) or 1",
        "try: 1 / 0\nexcept Exception: f({x})",
        "while f({x}): pass",
    ),
)
OTHERS = (
    *("from pathlib import Path\n(Path('.git') / 'config').write_text('a')", "open('.git' + '/config', 'w')"),
    *(
        "from pathlib import Path\nPath('.git', 'config').open('a').write('a')",
        "import os\nos.open('.git/config', os.O_WRONLY)",
    ),
    *("import os\nos.chdir('.git')\nopen('config', 'w')", "import os\nopen(os.path.join('.git', 'config'), 'w')"),
    *(
        "import shutil\nshutil.copy('x', '.git/config')",
        "import os\nos.rename('x', '.git/config')",
        "import os\nos.system('rm x')",
    ),
    *("import subprocess\nsubprocess.run(['rm', 'x'])", "import subprocess\nsubprocess.run('rm x', shell=True)"),
    *(
        "import subprocess as s\nr = s.run\nr(['r' + 'm', 'x'])",
        "import os\nos.execvp('rm', ['rm', 'x'])",
        "import os\nos.popen('rm x')",
    ),
    *(
        "from subprocess import *\nPopen(['rm', 'x']).wait()",
        "import os\nos.spawnlp(0, 'rm', 'rm', 'x')",
        "import pty\npty.spawn(['rm', 'x'])",
    ),
)
PYTHON_FRAMES = (
    *("if True:\n{}", "try:\n{}\nfinally:\n    pass", "def k():\n{}\nk()", "class Q:\n{}", "for _ in [1]:\n{}"),
    *(
        "while True:\n{}\n    break",
        "with open('x') as _h:\n{}",
        "async def k():\n{}\nimport asyncio\nasyncio.run(k())",
    ),
    *("match 1:\n    case _:\n        pass\nif 1:\n{}", "try:\n    1 / 0\nexcept ZeroDivisionError:\n{}"),
)


def make_python(chance: random.Random, known: list[str]) -> str:
    """A source that does what is denied, by the corpus or by a grammar."""
    pick = chance.random()
    if pick < 0.25:
        source = chance.choice(known)
    elif pick < 0.4:
        source = chance.choice(OTHERS)
    else:
        module, name, given = chance.choice(TARGETS)
        cut = chance.randrange(1, len(name))
        words = {"m": module, "n": name, "a": name[:cut], "b": name[cut:], "r": name[::-1], "x": given}
        source = "\n".join(chance.choice(parts).format(**words) for parts in (MODULES, FUNCTIONS, CALLS))
    if chance.random() < 0.4 and "from" not in source.replace("from importlib", ""):  # `import *` stands on top only
        source = chance.choice(PYTHON_FRAMES).format(textwrap.indent(source, "    "))
    return source


def python_ways(attack: Attack) -> None:
    """Sources in Python, with a hook that sees what they do."""
    known = corpus("python")
    for number in attack.numbers():
        source = make_python(attack.chance(number), known)
        if is_allowed("python", source):
            attack.count("allowed and executed")
            if did := run_python(source):
                attack.through(number, f"{source!r} did {did}")


def run_python(source: str) -> list[str]:
    """What it does of what is denied, seen by Python's own audit hook in a process and a folder of its own."""
    try:
        ast.parse(source)
    except (SyntaxError, ValueError):
        return []
    folder = tempfile.mkdtemp()  # no object that would clear it away in the child as well
    for name in (*KEPT, "d/y"):
        Path(folder, name).parent.mkdir(exist_ok=True)
        Path(folder, name).write_text("as it was")
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reads)
        _watch_and_run(source, folder, writes)
    os.close(writes)
    with os.fdopen(reads) as file:
        said = [json.loads(line) for line in file.read().splitlines()]
    os.waitpid(child, 0)
    shutil.rmtree(folder, ignore_errors=True)
    return said


def _watch_and_run(source: str, folder: str, told: int) -> None:
    os.chdir(folder)
    signal.alarm(SECONDS)
    null = os.open("/dev/null", os.O_RDWR)
    for target in (0, 1, 2):
        os.dup2(null, target)

    def hook(event: str, given: tuple[Any, ...]) -> None:
        match event, given:
            case "os.remove", (path, *_) if str(path).rpartition("/")[2] == "x":
                pass
            case "shutil.rmtree", _:
                pass
            case "open", (path, _, flags) if "config" in str(path) and (flags or 0) & (os.O_WRONLY | os.O_RDWR):
                pass
            case "subprocess.Popen" | "os.system" | "os.exec" | "os.posix_spawn", _ if "rm" in str(given[:2]):
                pass
            case _:
                return
        os.write(told, json.dumps(f"{event} {given[:2]}"[:100]).encode() + b"\n")

    sys.addaudithook(hook)
    try:
        exec(compile(source, "<source>", "exec"), {"__name__": "__main__"})
    except BaseException:  # whatever it raises, what it did before is what counts
        pass
    finally:
        import atexit

        atexit._run_exitfuncs()
        os._exit(0)


RULE_KINDS: dict[str, Callable[[Attack], None]] = {
    "rules that allow, lines of shell": allow_rules,
    "rules that deny, lines of shell": deny_rules,
    "known ways around them, mutated": shell_ways,
    "rules that deny, Python": python_ways,
}


def main() -> None:
    """Print the tally."""
    kind, seed, seconds, *only = sys.argv[1:]
    attack = Attack(Order(kind, seed, float(seconds), int(only[0]) if only else None))
    try:
        RULE_KINDS[kind](attack)
    except subprocess.TimeoutExpired as error:
        attack.through(-1, f"it came to no end: {error}")
    print(msgspec.json.encode(attack.tally).decode())


if __name__ == "__main__":
    main()
