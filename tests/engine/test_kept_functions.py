"""Kept functions: what of a session is kept, when it is used, and how a model finds it."""

import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from itertools import repeat
from pathlib import Path

import pytest

from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.embedding import Embedding
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.events import DecisionRequested, KernelChanged, NoticeAdded, TurnEnded
from oi_tui.app.engine.core.protocol import Failed
from oi_tui.app.engine.core.tool_replies import FunctionDrafted, SkillsFound
from oi_tui.app.engine.core.tool_verbs import ChangeSkill, DraftFunction, FindSkills, KeepFunction, UseFunction
from oi_tui.app.engine.core.verbs import Decide, Open, Run, Submit
from oi_tui.app.engine.hooks.calling import Hooks
from oi_tui.app.engine.hooks.registered import registered_embedding
from oi_tui.app.engine.hooks.specs import EngineHooks, hookimpl
from oi_tui.app.engine.kernels.base import RunResult
from oi_tui.app.engine.skills import function_tools
from oi_tui.app.engine.skills.function_search import (
    FOUND,
    NoMeaning,
    merge_found,
    search_by_meaning,
    search_by_words,
)
from oi_tui.app.engine.skills.function_tools import LONGEST_NAMES, make_function_tools
from oi_tui.app.engine.skills.kept_functions import (
    PASSED,
    FunctionHead,
    KeptFunction,
    find_function,
    find_functions,
    function_file,
    functions_dir,
    keep_function,
    remove_function,
)
from oi_tui.app.engine.skills.session_functions import CannotKeep, defined_names, read_session_function
from oi_tui.app.engine.testing import FakeKernel, FakeKernels, FakeModel
from oi_tui.app.engine.tools.ties import MakeTools
from oi_tui.plugins.host import built_in_hooks
from support.front import Front, engine
from support.kinds import narrow, of
from support.tool_calls import answer, call

PRICES = '''import re, json
import numpy as np
from decimal import Decimal as D

RATE = 0.19
table = open("x")

def digits(text):
    return re.sub(r"[^0-9.]", "", text)

@staticmethod
def net_price(text: str, *, rate=RATE) -> float:
    """The price without tax.

    >>> net_price("119")
    100.0
    """
    return float(D(digits(text))) / (1 + rate)
'''


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the person's functions are kept."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return functions_dir()


DOUBLE = 'def double(n):\n    """Twice the number."""\n    return 2 * n\n'


def keep(name: str = "double", code: str = DOUBLE) -> KeptFunction:
    return keep_function(name, function_file(FunctionHead(example=f"{name}(2)", tested=PASSED), code))


def many(**docstrings: str) -> list[KeptFunction]:
    for name, docstring in docstrings.items():
        keep(name, f'def {name}(n):\n    """{docstring}"""\n')
    return list(find_functions())


# -- what is taken out of a session


def test_H5_a_function_is_kept_with_the_imports_constants_and_functions_that_it_needs() -> None:
    cells = [PRICES, "net_price('238', rate=RATE)", "%matplotlib inline\nnet_price(text)"]
    found = read_session_function("net_price", cells)
    assert found.imports == ("import re", "from decimal import Decimal as D")
    assert found.needs == ("RATE", "digits")
    assert found.code.startswith("import re\nfrom decimal import Decimal as D\n\n\nRATE = 0.19\n\n\ndef digits")
    assert found.code.index("def digits") < found.code.index("@staticmethod\ndef net_price")
    assert "numpy" not in found.code
    assert "json" not in found.code
    assert found.example == "net_price('238', rate=RATE)"  # the one behind it needs a variable of the session


def test_H5_the_last_definition_counts_and_an_example_of_the_docstring_where_no_call_ran() -> None:
    again = PRICES.replace("return float(D(digits(text)))", "return 1.0")
    found = read_session_function("net_price", [PRICES, again, "%%time\ndef late():\n    return net_price('1')"])
    assert found.needs == ("RATE",)
    assert (found.example, found.example_ran) == ('net_price("119")', False)
    late = read_session_function("late", [again, "%%time\ndef late():\n    return net_price('1')\nlate()"])
    assert late.needs == ("RATE", "net_price")
    assert (late.example, late.example_ran) == ("late()", True)


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        (
            ["df = load()", "def f():\n    return df"],
            "f reads df, a variable of this session (df = load()). Make it an arg",
        ),
        (["def f():\n    return g()"], "f reads g, which no cell of this session defines"),
        (["count = 0\ncount += 1\ndef f():\n    return count"], "f reads count, a variable"),
        (["def f():\n    global total\n    total = 1"], "f reads total"),
        (["with open('x') as g:\n    pass\ndef f():\n    return g"], "f reads g, a variable"),
        (["f = 3"], "f is no function or class in this session"),
        (["def g(): pass"], "f is not defined at the top of a cell that ran in this session. There are: g."),
        (["def f(:"], "f is not defined"),
        (["def f(): return g()", "def g(): return h()", "h = 2\nh = print"], "g reads h, a variable"),
    ],
)
def test_H5_what_reads_the_session_is_not_kept_and_the_reason_names_it(cells: list[str], why: str) -> None:
    with pytest.raises(CannotKeep) as caught:
        read_session_function("f", cells)
    assert why in str(caught.value)


def test_H5_classes_coroutines_and_recursion_are_kept_too() -> None:
    tree = "class Tree:\n    sep: str = os.sep\n    def up(self) -> 'Tree':\n        return Tree()"
    cells = ["import os", tree, "Tree()"]
    found = read_session_function("Tree", cells)
    assert (found.imports, found.needs, found.example) == (("import os",), (), "Tree()")
    waits = "async def wait(n):\n    return await wait(n - 1) if n else [i for i in range(n)]\nx = 1; y = await wait(3)"
    assert read_session_function("wait", [waits]).example == "await wait(3)"
    assert defined_names("def a(): pass\nclass B: pass\nx = 1") == ("a", "B")


def test_H5_the_file_is_plain_python_with_a_head_that_may_be_missing(folder: Path) -> None:
    keep("shout", 'def shout(text: str, *, mark="!") -> str:\n    """Louder.\n\n    Much."""\n    return text\n')
    text = (folder / "shout.py").read_text(encoding="utf-8")
    assert text.startswith("# /// oi-tui\n# version = 1\n")
    compile(text, "shout.py", "exec")
    (folder / "shout.py").write_text(text.split("# ///\n", 1)[1], encoding="utf-8")
    found = find_function("shout")
    assert found.head == FunctionHead()
    assert found.signature == "shout(text: str, *, mark='!') -> str"
    assert found.summary == "Louder."
    odd = function_file(FunctionHead(version=3, example='f("""a\n# ///\nb""")'), "def f(x): pass")
    (folder / "f.py").write_text(odd, encoding="utf-8")
    assert find_function("f").head.example == 'f("""a\n# ///\nb""")'
    assert find_function("f").code == "def f(x): pass\n"


# -- what is agreed to


def test_H8_a_file_that_was_changed_or_put_there_is_not_agreed_to(folder: Path) -> None:
    kept = keep()
    assert find_function("double").agreed
    kept.path.write_text(kept.text.replace("2 * n", "3 * n"), encoding="utf-8")
    assert not find_function("double").agreed
    (folder / "odd.py").write_text("def odd(): pass\n", encoding="utf-8")
    (folder / "broken.py").write_text("def broken(", encoding="utf-8")
    (folder / "other.py").write_text("x = 1", encoding="utf-8")
    (folder / "not-a-name.py").write_text("x = 1", encoding="utf-8")
    (folder / "link.py").symlink_to(kept.path)
    found = {one.name: (one.agreed, one.wrong) for one in find_functions()}
    assert found["odd"] == (False, "")
    assert "is no Python" in found["broken"][1]
    assert "does not define other" in found["other"][1]
    assert "a name that is none" in found["not-a-name"][1]
    assert not any(agreed for agreed, _ in found.values())
    for name in ("../data", "link", "gone", ""):
        with pytest.raises(SettingsError):
            find_function(name) if name != "link" else remove_function("gone")


def test_H8_where_the_record_cannot_be_relied_on_nothing_is_agreed_to_and_keeping_says_why(folder: Path) -> None:
    keep()
    (folder.parent / "functions.json").write_text("{", encoding="utf-8")
    assert not find_function("double").agreed
    with pytest.raises(SettingsError, match="record of kept functions"):
        keep("other", "def other(): pass")


# -- found


def test_H9_functions_are_found_by_words_in_names_signatures_and_docstrings() -> None:
    functions = many(cleanPrices="Removes currency signs", parse_date="Reads a day", other="Cleaning of rooms")
    assert [one.name for one in search_by_words(functions, "clean the prices")] == ["cleanPrices", "other"]
    assert [one.name for one in search_by_words(functions, 'date" OR * (NEAR')] == ["parse_date"]
    assert search_by_words(functions, "zebra") == []
    assert search_by_words(functions, '"*') == []


def letters(texts: Sequence[str]) -> list[list[float]]:
    """A small embedding: which letters there are."""
    asked.append(len(texts))
    return [[float(text.count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts]


asked: list[int] = []


def test_H9_functions_are_found_by_meaning_and_vectors_are_made_once(tmp_path: Path) -> None:
    asked.clear()
    functions = many(zzz="zzz zzz", aaa="aaa aaa")
    cache = tmp_path / "cache" / "vectors"
    for _ in range(2):
        found = search_by_meaning(functions, "zz", Embedding("letters 1", letters), cache)
        assert found[0].name == "zzz"
    assert asked == [3, 1]  # two functions and the query, then the query alone
    cache.write_bytes(b"no database")
    assert search_by_meaning(functions, "zz", Embedding("letters 1", letters), cache)[0].name == "zzz"
    assert search_by_meaning(functions, "zz", Embedding("letters 2", letters), cache)[0].name == "zzz"
    assert asked == [3, 1, 3, 3]
    longer = Embedding("letters 2", lambda texts: [[*one, 0.0] for one in letters(texts)])
    assert search_by_meaning(functions, "zz", longer, cache)[0].name == "zzz", "vectors of another length are made anew"
    assert search_by_meaning(functions, "zz", longer, cache)[0].name == "zzz"
    assert asked == [3, 1, 3, 3, 1, 3, 1]
    ranks = merge_found([functions[0]], [functions[1], functions[0]])
    assert [one.name for one in ranks] == [functions[0].name, functions[1].name]


@pytest.mark.parametrize(
    "vectors",
    [
        [],
        [[1.0]],
        [[1.0], [1.0, 2.0]],
        [[float("nan")]] * 2,
        [["x"]] * 2,
        3,
        [[]] * 2,
        [[1e300]] * 2,
        repeat([1.0]),
        [repeat(1.0)] * 2,
    ],
)
def test_H9_an_embedding_that_fails_costs_a_remark(tmp_path: Path, vectors: object) -> None:
    functions = many(aaa="aaa")
    with pytest.raises(NoMeaning, match="lab"):
        search_by_meaning(functions, "a", Embedding("lab", lambda texts: vectors), tmp_path / "v")  # type: ignore[arg-type, return-value]  # what a plugin may do


def test_H9_the_first_plugin_that_gives_an_embedding_counts_and_what_is_none_is_named() -> None:
    class Gives:
        def __init__(self, value: object) -> None:
            self.value = value

        @hookimpl
        def register_embedding(self) -> object:
            return self.value

    lab = Embedding("lab", letters)
    hooks = Hooks(EngineHooks, [("none", Gives(None)), ("odd", Gives("x")), ("lab", Gives(lab)), ("b", Gives(lab))])
    assert registered_embedding(hooks) is lab
    assert [(one.plugin, one.fault) for one in hooks.troubles] == [("odd", "failed")]
    assert registered_embedding(Hooks(EngineHooks)) is None


# -- in a session


def functions_of(tmp_path: Path, embedding: Embedding | None = None) -> MakeTools:
    return partial(make_function_tools, find_embedding=lambda: embedding, cache=tmp_path / "vectors")


@asynccontextmanager
async def open_session(
    tmp_path: Path, model: FakeModel, kernels: FakeKernels, embedding: Embedding | None = None, approve: str = "auto"
) -> AsyncIterator[Front]:
    tmp_path.mkdir(exist_ok=True)
    tools = (functions_of(tmp_path, embedding),)
    async with engine(tmp_path, model, kernels=kernels, make_tools=tools, approve=approve) as front:  # type: ignore[arg-type]  # a literal
        await front.client.send(Open())
        yield front


async def drafted(front: Front, name: str = "") -> FunctionDrafted:
    await front.client.send(DraftFunction(name=name))
    return narrow(await front.until(lambda reply: isinstance(reply, FunctionDrafted)), FunctionDrafted)


async def test_H6_H7_what_was_tested_and_shown_is_kept_and_used_later(tmp_path: Path, folder: Path) -> None:
    kernels = FakeKernels(python=FakeKernel({f"{DOUBLE}double(4)": (RunResult(status="ok"),)}))
    find, load = call('{"query": "twice"}', "find_functions"), call('{"name": "double"}', "load_function", 1)
    model = FakeModel("Hello.", answer(*find, *load), "Done.")
    source = f"{DOUBLE}double(4)"
    async with open_session(tmp_path, model, kernels) as front:
        await front.client.send(Run(language="python", source=source))
        shown = await drafted(front)
        assert (shown.name, shown.version, shown.passed, shown.changes) == ("double", 1, True, "")
        fresh = kernels.by_language["fresh"]
        assert fresh.ran == [f"{DOUBLE}\n\n# An example\ndouble(4)\n"]
        assert fresh.closed.is_set()
        assert not folder.exists()  # nothing is kept yet
        # Neither the kernel of the session nor the model knows anything of the test.
        states = [event.state for event in of(KernelChanged, front.events)]
        assert states.count("busy") == 1
        await front.turn("hi")
        told = str(model.requests[0].messages)
        assert "An example" not in told
        assert "find_functions" not in {tool.name for tool in model.requests[0].tools}
        await front.client.send(KeepFunction(name="double", digest="another"))
        refused = narrow(await front.until(lambda reply: isinstance(reply, Failed)), Failed)
        assert "not what was shown" in refused.title
        await front.client.send(KeepFunction(name="double", digest=shown.digest))
        assert (await front.until_event(NoticeAdded)).title == "Kept: double(n)."
        assert find_function("double").text == shown.text
        assert find_function("double").agreed
        await front.turn("go")
        assert "kept these Python functions from earlier sessions: double." in str(model.requests[1].messages)
        blocks = front.transcript.blocks
        loaded = narrow(blocks[-2], CodeBlock)
        assert (loaded.source, loaded.state, loaded.caller) == (shown.text.split("# ///\n\n")[1], "ok", blocks[-3].id)
        answered = str(model.requests[2].messages)
        assert "double(n): Twice the number." in answered
        assert "Defined in the Python kernel: double(n)" in answered
        assert answered.count("return 2 * n") == 1  # as the person typed it: not the source that was loaded


async def test_H6_an_example_that_only_the_docstring_has_does_not_run_before_the_person_saw_it(tmp_path: Path) -> None:
    kernels = FakeKernels(python=FakeKernel())
    source = 'def double(n):\n    """Twice.\n\n    >>> open("mark", "w")\n    >>> double(4)\n    """\n    return 2 * n'
    async with open_session(tmp_path, FakeModel(), kernels) as front:
        await front.client.send(Run(language="python", source=source))
        shown = await drafted(front)
        assert kernels.by_language["fresh"].ran == [f"{source}\n"]
        assert "has not run" in shown.tested
        await front.client.send(KeepFunction(name="double", digest=shown.digest))
        await front.until_event(NoticeAdded)
        assert find_function("double").head.example == 'open("mark", "w")\ndouble(4)'


async def test_H7_a_function_kept_again_is_shown_as_a_diff_and_gets_a_version(tmp_path: Path) -> None:
    keep()
    kernels = FakeKernels(python=FakeKernel())
    async with open_session(tmp_path, FakeModel(), kernels) as front:
        await front.client.send(Run(language="python", source="def double(n):\n    return n + n"))
        shown = await drafted(front, "double")
        assert shown.version == 2
        assert "-    return 2 * n" in shown.changes
        assert "+    return n + n" in shown.changes
        await front.client.send(KeepFunction(name="double", digest=shown.digest))
        assert (await front.until_event(NoticeAdded)).title == "Kept: double(n), version 2."
        await front.client.send(DraftFunction(name="double"))
        assert "is kept already" in (await front.until_event(NoticeAdded)).title
        await front.client.send(DraftFunction(name="absent"))
        assert "absent is not defined" in (await front.until_event(NoticeAdded)).title


async def test_H8_a_changed_function_is_not_used_until_the_person_agreed_to_it_again(tmp_path: Path) -> None:
    kept = keep()
    kernels = FakeKernels(python=FakeKernel())
    load = answer(*call('{"name": "double"}', "load_function"))
    model = FakeModel(load, "Done.", load, "Done.")
    async with open_session(tmp_path, model, kernels) as front:
        kept.path.write_text(kept.text.replace("2 * n", "3 * n"), encoding="utf-8")
        await front.client.send(UseFunction(name="double"))
        assert "was changed since you agreed" in (await front.until_event(NoticeAdded)).title
        await front.turn("go")
        assert "the user must look at it first" in str(model.requests[1].messages)
        assert kernels.by_language["python"].ran == []
        await front.client.send(FindSkills(names=True))
        found = narrow(await front.until(lambda reply: isinstance(reply, SkillsFound)), SkillsFound)
        assert ([(one.name, one.agreed) for one in found.skills], found.names) == ([("double", False)], True)
        await front.client.send(DraftFunction(name="double", text=found.skills[0].text))
        shown = narrow(await front.until(lambda reply: isinstance(reply, FunctionDrafted)), FunctionDrafted)
        assert (shown.version, shown.changes) == (1, "")
        await front.client.send(KeepFunction(name="double"))
        await front.until_event(NoticeAdded)
        await front.turn("again")
        assert "3 * n" in kernels.by_language["python"].ran[0]


async def test_H12_what_was_removed_is_brought_back_as_it_was(tmp_path: Path) -> None:
    kept = keep()
    async with open_session(tmp_path, FakeModel(), FakeKernels(python=FakeKernel())) as front:
        for change, there in (("remove", 0), ("restore", 1), ("remove", 0)):
            await front.client.send(ChangeSkill(kind="function", name="double", change=change))  # type: ignore[arg-type]  # a literal in a loop
            found = narrow(await front.until(lambda reply: isinstance(reply, SkillsFound)), SkillsFound)
            assert (len(found.skills), found.problem) == (there, "")
            assert kept.path.exists() == bool(there)
            assert all(one.agreed for one in found.skills)


async def test_H10_the_source_is_decided_about_like_code_of_the_model(tmp_path: Path) -> None:
    keep("wipe", "import shutil\n\n\ndef wipe():\n    pass\n\n\nshutil.rmtree('/work')\n")
    load = answer(*call('{"name": "wipe"}', "load_function"))
    for verdict, ran in (("skip", 0), ("run", 1)):
        kernels = FakeKernels(python=FakeKernel())
        model = FakeModel(load, "Done.")
        async with open_session(tmp_path / verdict, model, kernels, approve="ask") as front:
            await front.client.send(Submit(text="go"))
            asked = await front.until_event(DecisionRequested)
            assert (asked.asked_by, "rmtree" in asked.source) == ("tool load_function", True)
            await front.client.send(Decide(request_id=asked.request_id, verdict=verdict))  # type: ignore[arg-type]  # a literal in a loop
            await front.until_event(TurnEnded)
        assert len(kernels.by_language["python"].ran) == ran
        assert len(model.requests) == 1 + ran  # who refuses says what comes next


async def test_H11_a_model_without_tools_loads_one_by_a_fence_and_names_are_bounded(tmp_path: Path) -> None:
    many(**{f"function_{number:03}": "x" for number in range(80)})
    kernels = FakeKernels(python=FakeKernel())
    model = FakeModel("```load_function\nfunction_007\n```\n", "```find_functions\nfunction 9\n```\n", "Done.")
    async with open_session(tmp_path, model, kernels) as front:
        await front.turn("go")
    system = model.requests[0].messages[0].text
    told = system[system.index("The user kept") :]
    assert len(told.split(". To use one")[0]) < LONGEST_NAMES + 100
    assert "more. To use one, call load_function, or reply with a ```load_function block" in told
    assert "def function_007" in kernels.by_language["python"].ran[0]
    assert "Defined in the Python kernel: function_007(n)" in model.requests[1].messages[-1].text
    assert model.requests[2].messages[-1].text.count("function_") <= FOUND + 1


async def test_H9_a_slow_or_broken_embedding_costs_a_remark_and_words_still_find(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep()
    monkeypatch.setattr(function_tools, "PATIENCE", 0.05)

    def slow(texts: Sequence[str]) -> list[list[float]]:
        time.sleep(0.5)
        return letters(texts)

    def broken(texts: Sequence[str]) -> list[list[float]]:
        raise RuntimeError("no server")

    for embed, remark in ((slow, "took too long"), (broken, "failed: RuntimeError")):
        model = FakeModel(answer(*call('{"query": "twice"}', "find_functions")), "Done.")
        kernels = FakeKernels(python=FakeKernel())
        async with open_session(tmp_path / embed.__name__, model, kernels, Embedding("lab", embed)) as front:
            await front.turn("go")
        said = str(model.requests[1].messages)
        assert remark in said
        assert "double(n): Twice the number." in said


def test_H9_the_small_model_of_the_extra_finds_what_no_word_of_the_query_names(tmp_path: Path) -> None:
    functions = many(
        net_price="The price of an article without value added tax",
        parse_date="Reads a day of the calendar from a text",
        draw_map="A map of the world with a dot for each city",
        read_mail="Fetches new messages from a mailbox",
    )
    embedding = registered_embedding(built_in_hooks())
    assert embedding is not None
    for query, name in (
        ("VAT removed from a cost", "net_price"),
        ("geographic plot", "draw_map"),
        ("inbox", "read_mail"),
    ):
        assert search_by_words(functions, query)[:1] != [find_function(name)]
        assert search_by_meaning(functions, query, embedding, tmp_path / "vectors")[0].name == name


def test_H8_the_command_lists_shows_edits_and_removes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = keep()

    def run(*arguments: str, said: str = "") -> str:
        argv = [sys.executable, "-m", "oi_tui.app.cli", "skills", *arguments]
        finished = subprocess.run(argv, capture_output=True, text=True, timeout=60, input=said)
        return f"{finished.returncode} {finished.stdout}{finished.stderr}"

    assert "double(n)" in run("list")
    assert "return 2 * n" in run("show", "double")
    assert run("test", "double") == "0 4\ndouble: The test in a fresh kernel passed: its example ran.\n"
    kept.path.write_text(kept.text.replace("2 * n", "3 * n"), encoding="utf-8")
    assert "not used until you look at it" in run("list")
    assert run("test", "double").startswith("1 ")
    monkeypatch.setenv("EDITOR", "true")  # it changes nothing
    monkeypatch.delenv("VISUAL", raising=False)
    assert not run("edit", "double", said="n\n").startswith("0 ")
    assert not find_function("double").agreed
    assert "Kept: double" in run("edit", "double", said="y\n")
    assert find_function("double").agreed
    assert "Removed: double" in run("remove", "double")
    assert find_functions() == ()
