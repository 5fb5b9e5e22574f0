"""What kernels hold, told to one front end: when they are asked, and what a run is said to have done."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.events import ExecutionStarted, KernelChanged
from oi_tui.app.engine.core.kernel_looks import FrameSeen, Inspect, Peek, ReadFrame, VariableSeen, VariablesFound
from oi_tui.app.engine.core.protocol import Batch, Reply
from oi_tui.app.engine.core.settings import LoopSection, ModelSection, Settings
from oi_tui.app.engine.core.variable import FramePage, FrameQuestion
from oi_tui.app.engine.core.verbs import AnyVerb, Clear, Interrupt, Open, Restart, Run, Submit, UseKernel
from oi_tui.app.engine.kernels.base import RunResult
from oi_tui.app.engine.kernels.inspection import (
    FrameAnswer,
    Listing,
    VariableRow,
    names_in,
    read_detail,
    read_frame,
    read_listing,
)
from oi_tui.app.engine.session.engine import Engine
from oi_tui.app.engine.session.services import Services
from oi_tui.app.engine.session.variable_inspector import run_difference
from oi_tui.app.engine.testing import FakeKernel, FakeKernels, FakeModel, FakeModels, Happenings
from oi_tui.app.frontend.client import LocalClient

PAGE = FramePage(mark="a", rows=1, matching=1, width=0, first=0, columns=(), cells=((),))

Source = dict[str, dict[str, str | None]]
"""Sources, and the values that they give to names (None: delete)."""


def kernel_that(effects: Source, language: str = "python") -> FakeKernel:
    def script(source: str) -> Happenings:
        for name, value in effects.get(source, {}).items():
            if value is None:
                del kernel.holds[name]
            else:
                kernel.holds[name] = value
        return (RunResult(status="died" if source == "die" else "ok"),)

    kernel = FakeKernel(script, language)
    return kernel


class Front:
    def __init__(self, client: LocalClient) -> None:
        self.client = client
        self.told: list[VariablesFound | VariableSeen] = []

    async def send(self, *verbs: AnyVerb) -> None:
        for verb in verbs:
            await self.client.send(verb)

    async def until(self, wanted: Callable[[Reply], bool]) -> Reply:
        async with asyncio.timeout(10):
            async for reply in self.client.replies():
                if isinstance(reply, VariablesFound | VariableSeen):
                    assert reply.session_id
                    reply = replace(reply, session_id="")
                    self.told.append(reply)
                if wanted(reply):
                    return reply
        raise AssertionError("the replies ended")

    async def found(self) -> VariablesFound:
        reply = await self.until(lambda r: isinstance(r, VariablesFound))
        assert isinstance(reply, VariablesFound)
        return reply

    async def seen(self) -> VariableSeen:
        reply = await self.until(lambda r: isinstance(r, VariableSeen))
        assert isinstance(reply, VariableSeen)
        return reply

    async def running(self) -> None:
        await self.until(lambda r: isinstance(r, Batch) and any(isinstance(e, ExecutionStarted) for e in r.events))

    async def ran(self) -> None:
        """Until a kernel is idle again."""

        def idle(reply: Reply) -> bool:
            events = reply.events if isinstance(reply, Batch) else ()
            return any(isinstance(event, KernelChanged) and event.state == "idle" for event in events)

        await self.until(idle)


@asynccontextmanager
async def front_of(model: FakeModel | None = None, **kernels: FakeKernel) -> AsyncIterator[Front]:
    settings = Settings(model=ModelSection(name="fake/model"), loop=LoopSection(approve="auto"))
    setup = Configure(settings=settings, cwd="/work")
    models = FakeModels(model or FakeModel("x"))
    client = LocalClient(
        lambda send: Engine(
            Services(setup=setup, models=models, make_kernels=lambda ties: FakeKernels(**kernels), send=send)
        )
    )
    try:
        await client.send(Open())
        yield Front(client)
    finally:
        await client.close()


def python(source: str) -> Run:
    return Run(language="python", source=source)


def named(found: VariablesFound) -> list[str]:
    return [variable.name for variable in found.variables]


# -- when kernels are asked


async def test_nothing_is_asked_while_nobody_looks() -> None:
    kernel = kernel_that({"a": {"x": "1"}})
    async with front_of(python=kernel) as front:
        await front.send(python("a"))
        await front.ran()
        await front.send(Inspect(on=True))
        assert named(await front.found()) == ["x"]
        await front.send(Inspect(on=False), python("a"))
        await front.ran()
        await front.send(Inspect(on=True))
        await front.found()
    assert kernel.asked == ["*", "*"]


async def test_a_kernel_that_has_not_started_is_not_started_for_a_look() -> None:
    kernel = kernel_that({})
    async with front_of(python=kernel) as front:
        await front.send(Inspect(on=True))
        assert (await front.found()).telling == "cold"
        await front.send(Peek(name="x"))
        assert (await front.seen()).telling == "cold"
    assert kernel.generation == 0


async def test_a_busy_kernel_is_not_asked_but_as_soon_as_it_is_idle() -> None:
    kernel = kernel_that({"a": {"x": "1"}})
    kernel.blocked = True
    async with front_of(python=kernel) as front:
        await front.send(python("a"))
        await front.running()
        await front.send(Inspect(on=True), Peek(name="x"))
        assert (await front.found()).telling == "busy"
        assert (await front.seen()).telling == "busy"
        assert kernel.asked == []
        await front.send(Interrupt())
        assert named(await front.found()) == ["x"]
    assert kernel.asked == ["*"]


async def test_each_run_of_one_answer_is_looked_at_before_the_next_one_begins() -> None:
    code = "```python\na\n```\n```python\nb\n```"
    kernel = kernel_that({"a": {"x": "1"}, "b": {"x": "2", "y": "1"}})
    async with front_of(FakeModel(code, "done"), python=kernel) as front:
        await front.send(Inspect(on=True))
        assert (await front.found()).telling == "cold"
        await front.send(Submit(text="go"))
        found = await front.found()
        while "y" not in named(found):
            found = await front.found()
        assert (found.added, found.changed) == (("y",), ("x",))


async def test_a_shell_command_leaves_the_variables_of_python_where_they_are() -> None:
    kernel, shell = kernel_that({"a": {"x": "1"}}), FakeKernel(language="shell")
    async with front_of(python=kernel, shell=shell) as front:
        await front.send(Inspect(on=True), python("a"))
        assert (await front.found()).telling == "cold"
        assert named(await front.found()) == ["x"]
        await front.send(Run(language="shell", source="ls"))
        await front.ran()
        await front.send(Inspect(on=True))
        found = await front.found()
        assert (found.language, named(found)) == ("python", ["x"])
    assert shell.asked == []


async def test_another_language_is_told_of_once_it_has_run_and_may_have_nothing_to_tell() -> None:
    kernel, other = kernel_that({"a": {"x": "1"}}), kernel_that({}, "r")
    other.tells = False
    async with front_of(python=kernel, r=other) as front:
        await front.send(python("a"), Inspect(on=True))
        await front.until(lambda r: isinstance(r, VariablesFound) and r.telling == "told")
        await front.send(Run(language="r", source="x"))
        found = await front.found()
        assert (found.language, found.telling) == ("r", "silent")


# -- what a run did


async def test_what_the_last_run_added_changed_and_removed_is_told() -> None:
    kernel = kernel_that({"a": {"x": "1", "y": "1", "z": "1"}, "b": {"x": "2", "z": None, "w": "1"}})
    async with front_of(python=kernel) as front:
        await front.send(python("a"))
        await front.ran()
        await front.send(Inspect(on=True))
        first = await front.found()
        assert (first.added, first.changed, first.removed) == ((), (), ())
        await front.send(python("b"))
        second = await front.found()
        assert (second.added, second.changed, second.removed) == (("w",), ("x",), ("z",))
        await front.send(Inspect(on=True))
        assert await front.found() == second
    assert kernel.asked == ["*", "*", "* again"]


async def test_several_runs_that_nobody_watched_are_not_told_as_one() -> None:
    kernel = kernel_that({"a": {"x": "1"}, "b": {"y": "1"}, "c": {"z": "1"}})
    async with front_of(python=kernel) as front:
        await front.send(python("a"), Inspect(on=True))
        await front.until(lambda r: isinstance(r, VariablesFound) and r.telling == "told")
        await front.send(Inspect(on=False), python("b"))
        await front.ran()
        await front.send(python("c"))
        await front.ran()
        await front.send(Inspect(on=True))
        found = await front.found()
        assert (named(found), found.added) == (["x", "y", "z"], ())


@pytest.mark.parametrize("verb", [Restart(), Clear()])
async def test_after_a_restart_there_is_nothing_and_nothing_is_said_to_be_removed(verb: AnyVerb) -> None:
    kernel = kernel_that({"a": {"x": "1"}})
    async with front_of(python=kernel) as front:
        await front.send(Inspect(on=True), python("a"))
        await front.until(lambda r: isinstance(r, VariablesFound) and r.telling == "told")
        await front.send(verb)
        found = await front.found()
        assert (found.variables, found.removed) == ((), ())


async def test_after_a_change_to_another_kernel_the_variables_of_the_old_one_are_not_told_any_more() -> None:
    kernel = kernel_that({"a": {"x": "1"}})
    async with front_of(python=kernel) as front:
        await front.send(Inspect(on=True), python("a"))
        await front.until(lambda r: isinstance(r, VariablesFound) and named(r) == ["x"])
        await front.send(UseKernel(name="another"))
        assert (await front.found()).telling == "cold"


async def test_a_kernel_that_died_has_nothing_to_tell() -> None:
    kernel = kernel_that({})
    async with front_of(python=kernel) as front:
        await front.send(Inspect(on=True), python("die"))
        await front.until(lambda r: isinstance(r, VariablesFound) and r.telling == "dead")
        await front.send(Peek(name="x"))
        assert (await front.seen()).telling == "dead"


async def test_one_variable_is_looked_at_longer() -> None:
    kernel = kernel_that({"a": {"x": "1"}})
    async with front_of(python=kernel) as front:
        await front.send(python("a"))
        await front.ran()
        await front.send(Peek(name="x"), Peek(name="y"))
        assert await front.seen() == VariableSeen(language="python", name="x", text="1")
        assert await front.seen() == VariableSeen(language="python", name="y", telling="gone")
        kernel.tells = False
        await front.send(Peek(name="x"))
        assert (await front.seen()).telling == "silent"


def rows(**marks: str) -> tuple[VariableRow, ...]:
    return tuple(VariableRow(name=name, type="int", mark=mark) for name, mark in marks.items())


def test_what_a_cut_listing_did_not_hold_is_only_new_if_the_kernel_says_so() -> None:
    before = Listing(variables=rows(a="1"), cut=True)
    now = Listing(variables=rows(a="1", b="1", c="1"), new=("c",))
    assert run_difference(before, now).added == ("c",)
    assert run_difference(Listing(variables=rows(a="1")), now).added == ("b", "c")


def test_what_is_not_listed_any_more_is_only_removed_if_the_kernel_says_so() -> None:
    before = Listing(variables=rows(a="1", b="1"))
    assert run_difference(before, Listing(variables=(), cut=True, gone=("b",))).removed == ("b",)


# -- answers of a kernel that says what it likes


async def said(content: object) -> object:
    return content


ROW = {"name": "x", "type": "int"}


@pytest.mark.parametrize(
    "content",
    [
        None,
        {},
        {"variables": "x"},
        {"variables": [{"name": "x"}]},
        {"variables": [{**ROW, "name": "x" * 101}]},
        {"variables": [{**ROW, "peek": "x" * 101}]},
        {"variables": [{**ROW, "size": -1}]},
        {"variables": [{**ROW, "size": 2**200}]},
        {"variables": [{**ROW, "name": f"x{number}"} for number in range(201)]},
        {"variables": [], "gone": ["x"] * 201},
        {"variables": [], "new": "x"},
    ],
)
async def test_a_listing_that_is_none_is_not_believed(content: object) -> None:
    assert await read_listing(said(content)) is None  # type: ignore[arg-type]  # what a kernel may send


async def test_names_that_are_none_or_come_twice_and_broken_text_do_no_harm() -> None:
    content = {"variables": [ROW, {**ROW, "peek": "\ud800"}, {**ROW, "name": "a b"}, {**ROW, "name": "\ud800"}]}
    found = await read_listing(said(content))  # type: ignore[arg-type]  # what a kernel may send
    assert found is not None
    assert [row.variable.peek for row in found.variables] == ["\ufffd"]


async def test_an_answer_that_does_not_come_is_waited_for_no_longer_than_its_bound() -> None:
    loop = asyncio.get_running_loop()
    assert await read_listing(loop.create_future(), within=0.01) is None
    assert await read_detail(loop.create_future(), within=0.01) is None


async def test_a_longer_look_is_cut_however_long_it_is() -> None:
    lines = await read_detail(said({"text": "x\n" * 10_000}))  # type: ignore[arg-type]  # what a kernel may send
    text = await read_detail(said({"text": "x" * 100_000}))  # type: ignore[arg-type]  # what a kernel may send
    assert lines is not None
    assert text is not None
    assert (len((lines.text or "").split("\n")), len(text.text or "")) == (40, 4_000)
    assert await read_detail(said({"text": 1})) is None  # type: ignore[arg-type]  # what a kernel may send


def test_the_names_in_a_source_are_its_words_in_order_without_keywords() -> None:
    assert names_in("for größe in x: y = größe + 1e5") == ["größe", "x", "y"]
    assert len(names_in(" ".join(f"x{number}" for number in range(1000)))) == 200


# -- parts of frames


class FrameKernel(FakeKernel):
    """Answers about frames, too."""

    def __init__(self, **frames: FrameAnswer) -> None:
        super().__init__()
        self._frames = frames

    def frame(self, question: FrameQuestion) -> Awaitable[FrameAnswer | None]:
        self.asked.append(f"{question.ref} from row {question.first}")
        return self._answer(self._frames.get(question.ref, FrameAnswer(state="gone")))


def rows_of(ref: str, request_id: str = "1") -> ReadFrame:
    return ReadFrame(request_id=request_id, language="python", question=FrameQuestion(ref=ref, first=5, count=10))


async def frame_seen(front: Front) -> FrameSeen:
    reply = await front.until(lambda r: isinstance(r, FrameSeen))
    assert isinstance(reply, FrameSeen)
    return reply


async def test_rows_of_a_frame_are_asked_of_its_kernel() -> None:
    problem = FrameAnswer(state="problem", problem="There is no column x.")
    kernel = FrameKernel(a=FrameAnswer(state="told", page=PAGE), b=problem)
    async with front_of(python=kernel) as front:
        await front.send(rows_of("a"))
        assert (await frame_seen(front)).telling == "cold"
        await front.send(python("x"))
        await front.ran()
        await front.send(rows_of("a"))
        assert (await frame_seen(front)).page == PAGE
        await front.send(rows_of("b"))
        assert (await frame_seen(front)).problem == "There is no column x."
        await front.send(rows_of("c"))
        assert (await frame_seen(front)).telling == "gone"
    assert kernel.asked == ["a from row 5", "b from row 5", "c from row 5"]


async def test_a_busy_kernel_is_said_to_be_so_and_asked_for_the_last_rows_when_it_is_idle() -> None:
    kernel = FrameKernel(a=FrameAnswer(state="told", page=PAGE))
    kernel.blocked = True
    async with front_of(python=kernel) as front:
        await front.send(python("x"))
        await front.running()
        await front.send(rows_of("a", "1"), rows_of("a", "2"))
        assert [(await frame_seen(front)).telling for _ in range(2)] == ["busy", "busy"]
        await front.send(Interrupt())
        seen = await frame_seen(front)
        assert (seen.request_id, seen.telling, seen.page) == ("2", "told", PAGE)
    assert kernel.asked == ["a from row 5"]


COUNTS = {"mark": "a", "rows": 9, "matching": 9, "width": 0, "first": 0, "columns": [], "cells": []}
INDEX = {"number": -1, "name": "", "kind": "int64", "is_number": True}
COLUMN = INDEX | {"number": 0, "name": "n"}
WINDOW = COUNTS | {"width": 1, "columns": [INDEX, COLUMN], "cells": [["0", "1"]]}


@pytest.mark.parametrize(
    "answer",
    [
        {"state": "told", "page": {"mark": "a"}},
        {"state": "told", "page": COUNTS | {"rows": -1}},
        {"state": "told", "page": COUNTS | {"cells": [["x"]]}},
        {"state": "told", "page": COUNTS | {"cells": [[]] * 2_001}},
        {"state": "told", "page": COUNTS | {"width": 10**9}},
        {"state": "told", "page": WINDOW | {"first": 3}},
        {"state": "told", "page": WINDOW | {"columns": [INDEX], "cells": [["0"]]}},
        {"state": "told", "page": WINDOW | {"columns": [INDEX, COLUMN | {"number": 40}]}},
        {"state": "told", "page": WINDOW | {"columns": [INDEX | {"number": -2}, COLUMN]}},
        {"state": "told", "page": WINDOW | {"columns": [INDEX, COLUMN, COLUMN], "cells": [["0", "1", "1"]]}},
        {"state": "told", "page": WINDOW | {"cells": [["0", "1"]] * 3}},
        {"state": "told", "page": WINDOW | {"matching": 0}},
        {"state": "something"},
        {},
    ],
)
async def test_rows_that_cannot_be_believed_are_none(answer: dict[str, object]) -> None:
    coming: asyncio.Future[dict[str, object] | None] = asyncio.get_running_loop().create_future()
    coming.set_result(answer)
    assert await read_frame(coming, FrameQuestion(ref="a", count=2, columns=(0,))) is None


async def test_rows_that_were_asked_for_are_believed() -> None:
    coming: asyncio.Future[dict[str, object] | None] = asyncio.get_running_loop().create_future()
    coming.set_result({"state": "told", "page": WINDOW})
    seen = await read_frame(coming, FrameQuestion(ref="a", count=2, columns=(0,)))
    assert seen is not None
    assert seen.page is not None
    assert seen.page.cells == (("0", "1"),)
