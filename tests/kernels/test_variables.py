"""What a Python kernel holds: told by a real one, without running what its values bring along."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from oi_tui.app.engine.kernels.base import Kernel
from oi_tui.app.engine.kernels.inspection import CodeNames, Listing, NameRow, VariableRow
from oi_tui.app.engine.kernels.jupyter import JupyterKernel
from oi_tui.app.engine.kernels.preparation import for_inspection
from oi_tui.app.engine.session.variable_inspector import run_difference
from support.kernel_places import HERE_ALONE
from support.runs import collect, interrupted, prints

pytestmark = pytest.mark.kernel

Test = TypeVar("Test", bound=Callable[..., object])

in_module = pytest.mark.asyncio(loop_scope="module")


def real(test: Test) -> Test:
    """With a kernel here: that one elsewhere answers too is shown with the servers."""
    marked: Test = HERE_ALONE(in_module(test))
    return marked


HOSTILE = """\
import time
ran = []
def bad(name):
    def method(*args, **options):
        ran.append(name)
        print("loud", flush=True)
        time.sleep(100)
    return method
names = ["repr", "str", "len", "getattr", "getattribute", "hash", "eq", "sizeof", "iter", "getitem", "bool", "dir"]
names += ["format", "class_getitem", "index", "array", "fspath", "contains", "instancecheck", "subclasscheck"]
def methods(owner): return {f"__{name}__": bad(f"{owner} {name}") for name in names}
def read(owner, *names): return {name: property(bad(f"{owner} {name}")) for name in names}
Meta = type("Meta", (type,), methods("Meta") | read("Meta", "__mro__", "__name__", "__dict__"))
Evil = type.__new__(Meta, "Evil", (), methods("Evil") | read("Evil", "__dict__", "__class__", "shape", "dtype"))
evil = object.__new__(Evil)
evil_list = type("EvilList", (list,), methods("list"))([1, 2])
evil_dict = type("EvilDict", (dict,), methods("dict"))(a=1)
evil_float = type("EvilFloat", (float,), methods("float"))(1)
evil_str = type("EvilStr", (str,), methods("str"))("x")
nested, held = [evil, {1: evil}], {"a": evil_list}
"""


async def listing(kernel: Kernel, before: Listing | None = None, *, again: bool = False) -> Listing:
    """Ask a kernel that must be able to answer."""
    assert isinstance(kernel, JupyterKernel)
    known = tuple(row.name for row in before.variables) if before is not None else ()
    found = await kernel.variables(known, again=again)
    assert found is not None
    return found


CLEAR = """\
globals()["_oh"].clear()
for _ in [*globals()]:
    if _ not in get_ipython().user_ns_hidden: del globals()[_]
    elif _ == "open": open = get_ipython().user_ns_hidden["open"]
"""


async def fresh(kernel: Kernel) -> None:
    """A namespace with nothing in it. IPython's own way looks for garbage, for a tenth of a second."""
    await collect(kernel, f"{CLEAR}import gc")


def row(found: Listing, name: str) -> VariableRow:
    (one,) = (row for row in found.variables if row.name == name)
    return one


def part() -> dict[str, Any]:
    """Our part as the kernel has it, in this process."""
    names: dict[str, Any] = {"__name__": "not in a kernel"}
    exec(compile(for_inspection(), "<oi-tui>", "exec"), names)
    return names


# -- what is told


@real
async def test_a_variable_is_told_with_its_type_its_length_its_size_and_a_look_at_its_value(python: Kernel) -> None:
    await fresh(python)
    await collect(
        python, "n = 42\ntext = 'hello'\nnumbers = list(range(1000))\nhere = {'a': [1, 2], 'b': None}\nt = (1,)"
    )
    found = await listing(python)
    told = {row.name: (row.type, row.shape, row.peek) for row in found.variables}
    assert told["n"] == ("int", "", "42")
    assert told["text"] == ("str", "5", "'hello'")
    assert told["here"] == ("dict", "2", "{'a': [1, 2], 'b': None}")
    assert told["t"] == ("tuple", "1", "(1,)")
    assert told["numbers"][:2] == ("list", "1000")
    assert told["numbers"][2].startswith("[0, 1, 2, ")
    assert row(found, "numbers").size == 8056
    assert not found.cut


@real
async def test_what_is_not_the_persons_is_not_told(python: Kernel) -> None:
    await fresh(python)
    source = """\
import math, sys as system
from math import *
from collections import OrderedDict
from abc import ABC
from json import dumps
_hidden = 1
globals()["not a name"] = 1
globals()[5] = 1
def mine(a, b=1): return a
class Mine: pass
1 + 1
"""
    await collect(python, source)
    found = await listing(python)
    assert {row.name for row in found.variables} == {"mine", "Mine", "e", "inf", "nan", "pi", "tau"}
    assert row(found, "mine").peek == "(a, b)"


@real
async def test_names_of_ipython_that_the_person_took_are_told(python: Kernel) -> None:
    await fresh(python)
    await collect(python, "open = 5")
    assert [row.name for row in (await listing(python)).variables] == ["open"]


@real
async def test_a_table_and_an_array_of_any_size_are_told_by_their_shape(python: Kernel) -> None:
    await fresh(python)
    source = """\
import numpy as np, pandas as pd
array = np.zeros((1000, 5000))
frame = pd.DataFrame({"a": np.arange(1_000_000), "b": 1.5, "when": pd.Timestamp("2020-01-01")})
series, scalar = frame["a"], np.float64(2.5)
masked = np.ma.array([1, 2], mask=[0, 1])
objects = np.array([object(), None])
strange = pd.DataFrame({"a": ["text", object()]})
"""
    await collect(python, source)
    found = await listing(python)
    for _ in range(20):  # on a busy machine the time of a look can be over before it has seen all
        if found.cut:
            found = await listing(python, found, again=True)
    assert (row(found, "array").shape, row(found, "array").size) == ("1000×5000", 40_000_000)
    assert row(found, "array").peek.startswith("float64 [0.0, 0.0")
    assert (row(found, "frame").shape, row(found, "frame").peek) == ("1000000×3", "a, b, when")
    assert (row(found, "frame").size or 0) > 24_000_000
    assert (row(found, "series").shape, row(found, "series").peek[:9]) == ("1000000", "int64 [0,")
    assert row(found, "scalar").peek == "2.5"
    assert (row(found, "masked").type, row(found, "masked").shape) == ("MaskedArray", "2")
    assert row(found, "objects").peek == "object [<object>, None]"
    assert isinstance(python, JupyterKernel)
    seen, strange = await python.peek("frame"), await python.peek("strange")
    assert seen is not None
    assert strange is not None
    assert (seen.table["rows"], len(seen.table["head"]), seen.table["head"][1][:2]) == (1_000_000, 500, ["1", "1"])
    assert strange.table["head"] == [["0", "text"], ["1", "<object>"]]  # nothing of its own code runs for that


# -- what a run did


@real
@pytest.mark.parametrize(
    ("made", "run", "done"),
    [
        ("x = 1", "y = 2", ("y", "", "")),
        ("x = 1", "x = 2", ("", "x", "")),
        ("x = 1", "x = 1.0", ("", "x", "")),
        ("x = 1", "del x", ("", "", "x")),
        ("x = 1", "import math as x", ("", "", "x")),
        ("x = 1000\ns = 'abc def'", "x = 999 + 1\ns = ' '.join(['abc', 'def'])", ("", "", "")),
        ("x = [1, 2, 3]", "x[1] = 5", ("", "x", "")),
        ("x = list(range(100_000))", "x.append(1)", ("", "x", "")),
        ("x = list(range(100_000))", "x[-1] = None", ("", "x", "")),
        ("x = [[1], {}]", "x[0].append(2)", ("", "x", "")),
        ("x = {'a': 1}", "x['a'] = 2", ("", "x", "")),
        ("x = {'a': [1]}", "x['a'].append(2)", ("", "x", "")),
        ("x = {1, 2}", "x ^= {2, 3}", ("", "x", "")),
        ("class A: pass\nx = A(); x.a = 1", "x.a = 2", ("", "x", "")),
        ("def f(): return 1", "def f(): return 1", ("", "f", "")),
        ("x = [1, 2, 3]; y = {'a': x}; class_ = print", "sum(x); repr(y)", ("", "", "")),
        ("import numpy as np; x = np.zeros(1000)", "x[500] = 1", ("", "x", "")),
        ("import numpy as np; x = np.zeros((1000, 1000))", "x += 1", ("", "x", "")),
        ("import numpy as np; x = np.zeros(1000)", "x.sum(); x.copy()", ("", "", "")),
        ("import pandas as pd; x = pd.DataFrame({'a': range(9)})", "x['b'] = 1", ("", "x", "")),
        ("import pandas as pd; x = pd.DataFrame({'a': range(9)})", "x.loc[3, 'a'] = 1", ("", "x", "")),
        ("import pandas as pd; x = pd.DataFrame({'a': ['x'] * 9})", "x.loc[3, 'a'] = 'y'", ("", "x", "")),
        ("import pandas as pd; x = pd.DataFrame({'a': range(10**6)})", "x['a'] = x['a'] * 2", ("", "x", "")),
        ("import pandas as pd; x = pd.DataFrame({'a': range(9), 'b': 'x'})", "x.head(); x.describe()", ("", "", "")),
        ("import pandas as pd; x = pd.Series(pd.date_range('2020', periods=9, tz='UTC'))", "x.max()", ("", "", "")),
    ],
)
async def test_what_a_run_did_to_the_variables_is_told(
    python: Kernel, made: str, run: str, done: tuple[str, str, str]
) -> None:
    await fresh(python)
    await collect(python, made)
    before = await listing(python)
    await collect(python, run)
    told = run_difference(before, await listing(python, before))
    assert tuple("".join(names) for names in told) == done


@real
async def test_to_look_again_changes_nothing_about_what_the_run_did(python: Kernel) -> None:
    await fresh(python)
    await collect(python, "x = 1")
    before = await listing(python)
    await collect(python, "y = 1")
    first = await listing(python, before)
    second = await listing(python, before, again=True)
    assert first == second
    assert second.new == ("y",)


@real
async def test_among_ten_thousand_names_those_of_the_last_run_are_told_first_and_rightly(python: Kernel) -> None:
    await fresh(python)
    await collect(python, "for number in range(10_000): globals()[f'v{number}'] = number\nold = 1\ndel number")
    before = await listing(python)
    for _ in range(20):  # on a busy machine the time of a look can be over before it has seen the first
        if not before.variables:
            before = await listing(python, again=True)
    assert before.cut
    await collect(python, "v3 = 'three'; fresh = v5; del old")
    found = await listing(python, before)
    assert [row.name for row in found.variables[:3]] == ["v3", "fresh", "v5"]
    told = run_difference(before, found)
    assert (told.added, told.removed) == (("fresh",), ("old",))


# -- what it costs


def test_a_listing_ends_at_its_bound_of_time_whatever_is_still_to_come() -> None:
    ticks = iter(range(10**9))
    looked = part()
    variables = looked["Variables"]({f"v{n}": n for n in range(150)}, {}, lambda: next(ticks) * 0.001)
    found = variables.listing([], [], False)
    assert found["cut"]
    assert len(found["variables"]) == 20


def test_a_listing_ends_at_its_bound_of_names_and_is_whole_right_below_it() -> None:
    make = part()["Variables"]
    whole = make({f"v{n}": n for n in range(200)} | {"_hidden": 1}, {}, lambda: 0.0).listing([], [], False)
    more = make({f"v{n}": n for n in range(201)}, {}, lambda: 0.0).listing([], [], False)
    assert [(len(found["variables"]), found["cut"]) for found in (whole, more)] == [(200, False), (200, True)]


def test_names_that_are_no_variables_take_of_the_time_as_well() -> None:
    ticks = iter(range(10**9))
    names = {f"_{n}": n for n in range(10**6)}
    assert part()["Variables"](names, {}, lambda: next(ticks) * 0.001).listing([], [], False)["cut"]
    assert next(ticks) < 30


def test_of_a_huge_value_only_a_bounded_part_is_looked_at() -> None:
    looked = part()
    taken = 0

    class Counted(list[int]):
        def __iter__(self) -> Any:
            raise AssertionError("its own method was called")

    def elements(value: Any, base: Any, plain: Callable[..., Any] = looked["elements"]) -> Any:
        nonlocal taken
        for item in plain(value, base):
            taken += 1
            yield item

    looked["elements"] = elements
    value = Counted(range(10**6))
    assert looked["listing_row"](value)["shape"] == "1000000"
    assert looked["detail_of"](value).endswith("more")
    assert taken < 100
    assert len(looked["sample_of"](value, list, 10**6)) <= 220


# -- hostile values


@real
async def test_no_code_of_a_value_is_run_for_a_look_at_it(python: Kernel) -> None:
    await fresh(python)
    assert (await collect(python, HOSTILE)).finished.status == "ok"
    await collect(python, "ran.clear()")
    found = await listing(python)
    names = {row.name for row in found.variables}
    assert {"evil", "evil_list", "evil_dict", "evil_float", "evil_str", "nested", "held"} <= names
    assert (row(found, "evil").type, row(found, "evil").peek) == ("Evil", "")
    assert (row(found, "evil_list").shape, row(found, "evil_list").peek) == ("2", "[1, 2]")
    assert row(found, "nested").peek == "[<Evil>, {1: <Evil>}]"
    assert isinstance(python, JupyterKernel)
    for name in names:
        seen = await python.peek(name)
        assert seen is not None
        assert seen.text is not None
    assert (await collect(python, "ran")).result == "[]"


@real
async def test_a_broken_value_hides_no_other(python: Kernel) -> None:
    await fresh(python)
    source = "r = range(10**30)\nhuge = 10**6000\nloop = []; loop.append(loop)\nbroken = 'a\\ud800b'\nlast = 1"
    await collect(python, source)
    found = await listing(python)
    assert {row.name: row.peek for row in found.variables} == {
        "r": "",
        "huge": "<19932 bits>",
        "loop": "[[[…]]]",
        "broken": "'a\\ud800b'",
        "last": "1",
    }


@real
async def test_a_namespace_of_odd_keys_is_looked_at(python: Kernel) -> None:
    await fresh(python)
    source = """\
class Key(str):
    def __eq__(self, other): raise RuntimeError
    __hash__ = str.__hash__
globals()[Key("k")] = globals()[(1, 2)] = globals()["\\ud800"] = globals()["x" * 10_000] = 1
fine = 1
"""
    await collect(python, source)
    assert {row.name for row in (await listing(python)).variables} == {"Key", "fine"}


@in_module
async def test_a_kernel_that_was_taken_over_is_believed_in_nothing(make_python: Callable[..., JupyterKernel]) -> None:
    kernel = make_python()
    await collect(kernel, "x = 1")
    await listing(kernel)
    source = """\
kernel = get_ipython().kernel
def lie(stream, ident, parent):
    kernel.session.send(stream, "oi_tui_variables_reply", {"variables": "all of them"}, parent, ident)
kernel.shell_handlers["oi_tui_variables"] = lie
"""
    await collect(kernel, source)
    assert await kernel.variables((), again=False) is None
    assert (await collect(kernel, "x")).result == "1"


# -- that nothing is left behind, and nothing is in the way


@real
async def test_a_look_leaves_nothing_in_the_namespace_the_history_or_the_output(python: Kernel) -> None:
    await fresh(python)
    await collect(python, "x = 1\nprint = None; exec = None; compile = None; open = None")
    names = "sorted(n for n in globals() if not n.startswith('_')), len(In)"
    before = (await collect(python, names)).result
    await listing(python)
    assert await peeked(python, "x") == "1"
    after = await collect(python, names.replace("len(In)", "len(In) - 1"))
    assert after.result == before
    assert len(after.outputs) == 1


@real
async def test_hooks_of_the_person_do_not_notice_a_look(python: Kernel) -> None:
    await fresh(python)
    source = """\
noticed = []
hooks = {name: lambda *info, name=name: noticed.append(name) for name in ("pre_execute", "post_execute")}
for name, hook in hooks.items(): get_ipython().events.register(name, hook)
"""
    await collect(python, source)
    await collect(python, "noticed.clear()")
    await listing(python)
    await peeked(python, "name")
    noticed = (await collect(python, "noticed")).result
    await collect(python, "for name, hook in hooks.items(): get_ipython().events.unregister(name, hook)")
    assert noticed == "['post_execute', 'pre_execute']"  # of the cell that clears, and of the one that shows


@in_module
async def test_a_busy_kernel_is_not_asked(make_python: Callable[..., JupyterKernel]) -> None:
    kernel = make_python()
    await collect(kernel, "x = 1")
    await listing(kernel)
    answers: list[object] = []

    def look(event: object) -> bool:
        if prints("now")(event):  # type: ignore[arg-type]  # any event of a run
            answers.append(kernel.state)
            return True
        return False

    task = asyncio.ensure_future(interrupted(kernel, "print('now', flush=True)\nwhile True: pass", look))
    async with asyncio.timeout(20):
        while kernel.state != "busy":  # noqa: ASYNC110 - a state sets no event
            await asyncio.sleep(0)
        assert await kernel.variables((), again=False) is None
        assert await kernel.peek("x") is None
        assert await kernel.names("x", 1) is None
        collected, means = await task
    assert (collected.finished.status, means) == ("interrupted", "signal")
    assert row(await listing(kernel), "x").peek == "1"
    found = await kernel.names("1\nget_ipyt", 10)
    assert found == CodeNames(start=2, names=(NameRow(name="get_ipython", kind="method"),))


@in_module
async def test_a_run_right_after_the_question_is_not_in_the_answer_and_can_be_interrupted(
    make_python: Callable[..., JupyterKernel],
) -> None:
    kernel = make_python()
    await collect(kernel, "x = 1")
    question = asyncio.ensure_future(kernel.variables((), again=False))
    collected, _ = await interrupted(kernel, "x = 2\nprint('now', flush=True)\nwhile True: pass", prints("now"))
    assert collected.finished.status == "interrupted"
    found = await question
    assert found is not None
    assert row(found, "x").peek == "1"


@real
async def test_no_answer_is_missed_where_something_is_sent_the_moment_it_comes(python: Kernel) -> None:
    await fresh(python)
    assert isinstance(python, JupyterKernel)
    for _ in range(50):
        question = asyncio.ensure_future(python.variables((), again=False))
        await collect(python, "1 + 1")
        assert await question is not None


@in_module
async def test_a_kernel_that_ends_meanwhile_answers_nothing(make_python: Callable[..., JupyterKernel]) -> None:
    kernel = make_python()
    assert await kernel.variables((), again=False) is None  # cold
    assert await kernel.names("x", 1) is None
    assert kernel.state == "cold"
    await collect(kernel, "x = 1")
    question = asyncio.ensure_future(kernel.variables((), again=False))
    await kernel.close()
    async with asyncio.timeout(5):
        assert (await question) is None or kernel.state == "cold"
    assert await kernel.variables((), again=False) is None


# -- a longer look


async def peeked(kernel: Kernel, name: str) -> str:
    assert isinstance(kernel, JupyterKernel)
    seen = await kernel.peek(name)
    assert seen is not None
    assert seen.text is not None
    return seen.text


@real
async def test_a_longer_look_at_a_table_is_its_head(python: Kernel) -> None:
    await fresh(python)
    source = "import pandas as pd\nframe = pd.DataFrame({'a': range(1000), 'name': ['Ada'] * 1000})"
    await collect(python, source)
    lines = (await peeked(python, "frame")).split("\n")
    assert lines[:3] == ["     a  name", " 0   0   Ada", " 1   1   Ada"]
    assert lines[-1] == "… 1000 rows × 2 columns"
    assert len(lines) == 22


@real
async def test_a_longer_look_at_an_array_has_its_extremes(python: Kernel) -> None:
    await fresh(python)
    await collect(
        python, "import numpy as np\nsmall = np.arange(6).reshape(2, 3)\nempty = np.zeros((0, 3))\nzero = np.array(5)"
    )
    assert (await peeked(python, "small")).split("\n") == [
        "int64, 2×3",
        "min 0, max 5",
        "   0  1  2",
        "0  0  1  2",
        "1  3  4  5",
    ]
    assert (await peeked(python, "empty")).startswith("float64, 0×3")
    assert (await peeked(python, "zero")) == "int64, no dimension\nmin 5, max 5\n[5]"


@real
async def test_a_longer_look_at_other_things(python: Kernel) -> None:
    await fresh(python)
    source = """\
class Point:
    def __init__(self): self.x, self.y = 1, [2]
point, text, numbers, pairs = Point(), "one\\ntwo", list(range(100)), {"a": 1, "b": {"c": 2}}
opaque = object()
wide = "x" * 100_000
"""
    await collect(python, source)
    assert await peeked(python, "point") == ".x = 1\n.y = [2]"
    assert await peeked(python, "text") == "one\ntwo"
    assert (await peeked(python, "numbers")).split("\n")[38:] == ["38", "… 61 more"]
    assert await peeked(python, "pairs") == "'a': 1\n'b': {'c': 2}"
    assert await peeked(python, "opaque") == ""
    assert len(await peeked(python, "wide")) < 200
    assert isinstance(python, JupyterKernel)
    assert (gone := await python.peek("nothing")) is not None
    assert gone.text is None
