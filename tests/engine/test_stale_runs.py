"""Which runs used what has changed since: read off sources, told by kernels, kept as marks of blocks."""

import pytest

from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.events import (
    AnyEvent,
    CodeFinished,
    CodeStarted,
    ExecutionFinished,
    ExecutionStarted,
    RunTraced,
)
from oi_tui.app.engine.core.outputs import RunInput
from oi_tui.app.engine.parsing.name_use import _SHELL_LINE, _TIMED_LINE, LARGEST, CellNames, name_use
from oi_tui.app.engine.session.run_tracer import NAMES, RETOLD, RunTracer
from oi_tui.app.engine.transcript.stale_runs import TracedRun, chain, run_inputs
from oi_tui.app.engine.transcript.transcript import Transcript


@pytest.mark.parametrize(
    ("source", "reads", "changes"),
    [
        ("x = 1\nx + 1", "", "x"),
        ("y = x + 1", "x", "y"),
        ("x += 1", "x", "x"),
        ("del x", "x", "x"),
        ("df['b'] = df.a * 2", "df", "df"),
        ("rows.append(1)", "rows", "rows"),
        ("df.drop(columns=['a'], inplace=True)", "df", "df"),
        ("weights.add_(1)", "weights", "weights"),
        ("a.b[0].c = d", "a d", "a"),
        ("import pandas as pd\nfrom os import path", "", "pd path"),
        ("[i for i in rows if i > low]", "rows low", ""),
        ("{k: v for k, v in pairs}", "pairs", ""),
        ("for r in rows:\n    total += r\nr", "rows total", "r total"),
        ("if a:\n    b = 1\nelse:\n    b = 2\nb", "a", "b"),
        ("if a:\n    b = 1\nb", "a b", "b"),
        ("try:\n    b = 1\nexcept E as e:\n    b = 2\nb", "E", "b e"),
        ("with f(p) as g:\n    s = g.t", "f p", "g s"),
        ("def f(a, b=k):\n    return df[a] + b", "k", "f"),
        ("def f():\n    return df\nf()", "df", "f"),
        ("def f():\n    def g():\n        return q\n    return g", "", "f"),
        ("class A(B):\n    k = q\n    def m(self):\n        return r", "B q", "A"),
        ("f = lambda v: v + off", "off", "f"),
        ("(n := m) + n", "m", "n"),
        ("match p:\n    case {'a': q, **rest}:\n        q", "p", "q rest"),
        ("%%time\nq = p", "p", "q"),
        ("%time q = g(p)", "g p", "q"),
        ("files = !ls\n!rm x\n%matplotlib inline", "", "files"),
        ("%%bash\nx = y", "", ""),
        ("this is no Python", "", ""),
        ("x = '" + "a" * 200_000 + "'", "", ""),
        ("(" * 5000, "", ""),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else None,
)
def test_R19_what_a_cell_reads_and_changes_is_read_off_its_source(source: str, reads: str, changes: str) -> None:
    use = name_use(source)
    assert (use.reads, use.binds | use.mutates) == (frozenset(reads.split()), frozenset(changes.split()))


def test_R19_a_function_brings_what_it_reads_when_it_is_called() -> None:
    assert name_use("def f():\n    return df + k\n").behind == {"f": frozenset({"df", "k"})}
    assert name_use("def f(df):\n    x = 1\n    return df + x\n").behind == {"f": frozenset()}
    assert name_use("import numpy as np\nnp = 1").imports == frozenset()
    assert name_use("") == CellNames()


def run(block_id: str, used: dict[str, str], changed: str, source: str = "", *, ok: bool = True) -> TracedRun:
    return TracedRun(block_id, source or block_id, used, frozenset(changed.split()), ok)


def stale(*runs: TracedRun) -> dict[str, list[str]]:
    """By block: the names by which it is stale."""
    found = run_inputs(runs)
    return {block: names for block, inputs in found.items() if (names := [i.name for i in inputs if i.stale_by])}


LOAD, CLEAN, PLOT = run("load", {}, "df"), run("clean", {"df": "load"}, "tidy"), run("plot", {"tidy": "clean"}, "")


def test_R19_what_used_a_variable_that_another_run_changed_is_stale_and_so_is_what_was_made_of_it() -> None:
    assert stale(LOAD, CLEAN, PLOT) == {}
    assert stale(LOAD, CLEAN, PLOT, run("other", {}, "df")) == {"clean": ["df"], "plot": ["tidy"]}
    assert stale(LOAD, CLEAN, PLOT, run("other", {}, "tidy")) == {"plot": ["tidy"]}
    assert stale(LOAD, CLEAN, PLOT, run("other", {}, "else")) == {}


def test_R19_a_run_is_not_stale_by_what_it_changed_itself() -> None:
    assert stale(LOAD, run("more", {"df": "load"}, "df"), run("show", {"df": "more"}, "")) == {}


def test_R19_what_is_changed_in_place_step_by_step_is_not_stale_until_it_is_made_anew() -> None:
    steps = [run("a", {"df": "load"}, "df"), run("b", {"df": "a"}, "df"), run("show", {"df": "b"}, "")]
    assert stale(LOAD, *steps) == {}
    other = run("other", {}, "df")
    assert stale(LOAD, *steps, other) == {"a": ["df"], "b": ["df"], "show": ["df"]}
    assert stale(LOAD, CLEAN, *steps) == {"clean": ["df"]}
    again = run("a 2", {"df": "other"}, "df", "a")
    assert stale(LOAD, *steps, other, again) == {"b": ["df"], "show": ["df"]}


def test_R19_a_repetition_takes_the_place_of_the_run_before() -> None:
    other = run("other", {}, "df")
    again = run("clean 2", {"df": "other"}, "tidy", "clean")
    assert stale(LOAD, CLEAN, PLOT, other, again) == {"plot": ["tidy"]}
    last = run("plot 2", {"tidy": "clean 2"}, "", "plot")
    assert stale(LOAD, CLEAN, PLOT, other, again, last) == {}
    failed = run("clean 2", {"df": "other"}, "", "clean", ok=False)
    assert stale(LOAD, CLEAN, PLOT, other, failed) == {"clean": ["df"], "plot": ["tidy"]}


def block(block_id: str, *inputs: tuple[str, str, str], source: str = "") -> CodeBlock:
    given = tuple(RunInput(name=name, block_id=by, stale_by=stale_by) for name, by, stale_by in inputs)
    return CodeBlock(id=block_id, source=source or block_id, language="python", state="ok", inputs=given)


def test_R19_a_stale_run_is_run_again_behind_what_it_needs_and_with_all_that_follows_from_it() -> None:
    blocks = [
        block("load"),
        block("clean", ("df", "load", "other")),
        block("count", ("tidy", "clean", "clean")),
        block("plot", ("tidy", "clean", "clean")),
        block("other"),
        block("alone"),
    ]
    assert chain(blocks, "plot") == ("clean", "count", "plot")
    assert chain(blocks, "clean") == ("clean", "count", "plot")
    assert chain(blocks, "other") == ("other", "clean", "count", "plot")
    assert chain(blocks, "alone") == ("alone",)


def test_R19_of_runs_of_one_source_the_last_one_is_run_again() -> None:
    blocks = [block("load"), block("plot", ("df", "load", "")), block("plot 2", ("df", "load", ""), source="plot")]
    assert chain(blocks, "load") == ("load", "plot 2")
    assert chain(blocks, "plot") == ("plot 2",)


def test_R19_what_follows_from_a_run_follows_from_its_repetition() -> None:
    blocks = [block("load"), block("plot", ("df", "load", "load")), block("load 2", source="load")]
    assert chain(blocks, "load 2") == ("load 2", "plot")
    assert chain(blocks, "plot") == ("load 2", "plot")


@pytest.mark.parametrize(
    "source",
    [
        "".join(f"a{i}=0\n" for i in range(14_000)) + "if x:y\n" * 9_000,
        "def f():\n " + ",".join(f"a{i}" for i in range(12_000)) + "\n" + "f\n" * 60_000,
        ("lambda:" * 90 + "(" + "a," * 400 + ")\n") * 100,
        "".join(f"{' ' * d}def f():\n" for d in range(95)) + (" " * 95 + "a(b,c,d,e,g,h)\n") * 1_500,
    ],
    ids=("branches", "functions", "lambdas", "nested"),
)
def test_R19_a_source_that_is_made_to_be_read_for_long_is_given_up(source: str) -> None:
    assert len(source) <= LARGEST
    assert name_use(source) == CellNames(calls=True)


def test_R19_lines_of_blanks_are_read_once() -> None:
    assert _SHELL_LINE.match("\n" * 10) is None
    assert _TIMED_LINE.match("\n\n%time x") is None


class Tracing:
    """A tracer on a transcript of its own; the kernel tells nothing."""

    def __init__(self) -> None:
        self.transcript = Transcript()
        self.told: list[RunTraced] = []
        self.tracer = RunTracer(self.transcript, self._emit, lambda language, tell: None)

    def _emit(self, event: AnyEvent) -> None:
        self.transcript.apply(event)
        if isinstance(event, RunTraced):
            self.told.append(event)

    def run(self, block_id: str, source: str) -> None:
        """A run that goes well, and after which its changes are known."""
        self._emit(CodeStarted(block_id=block_id, language="python"))
        self._emit(CodeFinished(block_id=block_id, language="python", source=source))
        for event in (
            ExecutionStarted(block_id=block_id, generation=1),
            ExecutionFinished(block_id=block_id, status="ok", duration=0.0),
        ):
            self._emit(event)
            self.tracer.follow(event)

    def stale(self) -> list[str]:
        blocks = [one for one in self.transcript.blocks if isinstance(one, CodeBlock)]
        return [one.id for one in blocks if any(used.stale_by for used in one.inputs)]


def test_R19_a_long_loop_of_runs_that_change_one_variable_is_told_in_few_words() -> None:
    tracing, count = Tracing(), 60
    tracing.run("m", "df = 1")
    for number in range(count):
        tracing.run(f"r{number}", f"y{number} = df + {number}")
        tracing.run(f"m{number}", f"df = {number}")
    tracing.run("last", "df")
    assert tracing.stale() == [f"r{number}" for number in range(count)]
    assert len(tracing.told) <= count * (RETOLD + 2)
    steps = Tracing()
    for number in range(count):
        steps.run(f"s{number}", f"df['c{number}'] = df.a * {number}" if number else "df = 1")
    steps.run("last", "df")
    assert (steps.stale(), len(steps.told)) == ([], count)


def test_R19_of_a_run_that_uses_many_variables_so_many_are_followed() -> None:
    tracing = Tracing()
    names = [f"x{number}" for number in range(4 * NAMES)]
    tracing.run("make", "\n".join(f"{name} = 1" for name in names))
    tracing.run("use", " + ".join(names))
    long = "x" * 100_000
    tracing.run("long", f"{long} = 1")
    tracing.run("reads", f"{long} + x1")
    tracing.run("last", "0")
    assert sum(len(one.name) for told in tracing.told for one in told.inputs) < 1000
    used = tracing.transcript.block("use")
    assert isinstance(used, CodeBlock)
    assert len(used.inputs) == NAMES
