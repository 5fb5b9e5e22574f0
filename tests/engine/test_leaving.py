"""A session that is left: it takes its time to end, and nobody else waits for that."""

import asyncio
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import pytest

from oi_tui.app.engine.core.blocks import UserBlock
from oi_tui.app.engine.core.chat_model import Model
from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.events import NoticeAdded, OutputAdded, OutputKept, TurnEnded
from oi_tui.app.engine.core.protocol import Reply
from oi_tui.app.engine.core.settings import ModelSection, Settings
from oi_tui.app.engine.core.verbs import AddRule, Fork, Interrupt, Leave, Open, Restart, SetBudget, Submit, UseModel
from oi_tui.app.engine.hooks.calling import Hooks
from oi_tui.app.engine.hooks.specs import EngineHooks, hookimpl
from oi_tui.app.engine.log.log import Log
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.session.services import Services
from oi_tui.app.engine.session.sessions import Sessions
from oi_tui.app.engine.testing import FakeKernels, FakeModel, FakeModels
from oi_tui.app.engine.tools.tool import Arguments, Tool, ToolOutput
from support.front import engine
from support.kinds import of
from support.many import OwnModels, many
from support.tool_calls import answer, call, tool


class Stubborn:
    """A plugin with one tool, whose calls go on until they are released."""

    def __init__(self) -> None:
        self.release = asyncio.Event()

    async def insist(self, arguments: Arguments, output: ToolOutput) -> None:
        output.print("begun\n")
        while not self.release.is_set():
            with suppress(asyncio.CancelledError):
                await self.release.wait()

    @hookimpl
    def register_tools(self) -> list[Tool]:
        return [tool(self.insist)]


async def test_a_session_that_takes_long_to_end_holds_up_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oi_tui.app.engine.tools.tool_runner.GRACE", 600.0)
    models = OwnModels(
        FakeModel(answer(*call()), "Done."), FakeModel("Beside."), FakeModel("Third."), FakeModel("Again.")
    )
    plugin = Stubborn()
    async with (
        engine(tmp_path, FakeModel("x"), models=models, hooks=Hooks(EngineHooks, [("stubborn", plugin)])) as one,
        many(one.client) as front,
        asyncio.timeout(10),
        AsyncExitStack() as stack,
    ):
        stack.callback(plugin.release.set)
        left, other = await front.open(), await front.open()
        await front.send(Submit(session_id=left, text="go"))
        await front.until_event(left, OutputAdded)
        await front.send(Interrupt(session_id=left))
        await front.send(Leave(session_id=left))
        await front.send(Submit(session_id=left, text="too late"))
        await front.until(lambda: front.failures)
        assert "not open" in front.failures[0].title
        await front.send(SetBudget(session_id=other, max_tokens=7))
        await front.until_event(other, NoticeAdded)
        await front.send(Submit(session_id=other, text="go"))
        await front.until_event(other, TurnEnded)
        await front.open()
        assert front.gone == []
        assert (tmp_path / "open" / f"{left}.lock").exists()  # no other program takes it before it has ended
        again = asyncio.create_task(front.send(Open(session_id=left, beside=True)))
        await asyncio.sleep(0)
        assert not again.done()
        plugin.release.set()
        await front.until(lambda: front.gone == [left])
        await again
        await front.until(lambda: of(UserBlock, front.transcripts[left].blocks))


async def test_a_model_of_a_session_that_is_being_forked_is_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oi_tui.app.engine.tools.tool_runner.GRACE", 600.0)

    class Elsewhere(OwnModels):
        """Takes note of the models in use elsewhere while one is opened."""

        async def open(self, name: str, *where: str | None, **more: object) -> Model:
            if name == "fake/other":
                opening.set()
                await forking.wait()
                elsewhere = more["elsewhere"]
                assert callable(elsewhere)
                in_use.append(set(elsewhere()))
            return await super().open(name)

    opening, forking, in_use = asyncio.Event(), asyncio.Event(), list[set[str]]()
    plugin = Stubborn()
    models = Elsewhere(FakeModel(answer(*call()), "Done."), *(FakeModel("Beside.") for _ in range(3)))
    async with (
        engine(tmp_path, FakeModel("x"), models=models, hooks=Hooks(EngineHooks, [("stubborn", plugin)])) as one,
        many(one.client) as front,
        asyncio.timeout(10),
        AsyncExitStack() as stack,
    ):
        stack.callback(plugin.release.set)
        forked, other = await front.open(), await front.open()
        await front.send(Submit(session_id=forked, text="go"))
        await front.until_event(forked, OutputAdded)
        await front.send(Interrupt(session_id=forked))
        await front.send(UseModel(session_id=other, name="fake/other"))
        await opening.wait()
        block = front.transcripts[forked].blocks[0].id
        fork = asyncio.create_task(front.send(Fork(session_id=forked, block_id=block)))
        await asyncio.sleep(0)
        forking.set()
        await front.until(lambda: in_use)
        plugin.release.set()
        await fork
    assert in_use == [{"fake/model"}]


async def test_a_session_that_was_left_before_is_not_taken_for_the_one_that_has_its_id_now(tmp_path: Path) -> None:
    sent: list[Reply] = []

    async def send(reply: Reply) -> None:
        sent.append(reply)

    setup = Configure(settings=Settings(model=ModelSection(titles=False)), cwd="/work", api_key=None)
    services = Services(
        setup=setup,
        models=FakeModels(FakeModel("x")),
        make_kernels=lambda ties: FakeKernels(),
        send=send,
        log=Log(store=Store(tmp_path / "sessions.db")),
    )
    sessions = Sessions(services, lambda session, error: None)
    await sessions.open(Open())
    left = sessions.find("")
    assert left is not None
    left.session.notice("info", "It is kept.")
    left.add(Restart())
    ending = sessions.leave(left, "Left.")
    assert ending is not None
    await ending
    await sessions.open(Open(session_id=left.id))
    assert sessions.leave(left, "Left again.") is None
    assert sessions.find(left.id) is not None
    await sessions.close()


async def test_what_a_session_cannot_do_is_told_as_of_that_session(tmp_path: Path) -> None:
    async with engine(tmp_path, FakeModel("x")) as one, many(one.client) as front, asyncio.timeout(10):
        first, _ = await front.open(), await front.open()
        await front.send(AddRule(session_id=first, verdict="deny", rule="Nonsense("))
        await front.until(lambda: front.failures)
        assert [failed.session_id for failed in front.failures] == [first]


async def test_a_long_output_of_a_tool_is_kept_in_a_file(tmp_path: Path) -> None:
    class Wordy:
        @hookimpl
        def register_tools(self) -> list[Tool]:
            async def talk(arguments: Arguments, output: ToolOutput) -> None:
                for number in range(60_000):
                    output.print(f"line {number}\n")

            return [tool(talk)]

    model = FakeModel(answer(*call()), "Done.")
    hooks = Hooks(EngineHooks, [("wordy", Wordy())])
    async with (
        engine(tmp_path, model, hooks=hooks, spill_dir=tmp_path) as one,
        many(one.client) as front,
        asyncio.timeout(10),
    ):
        session_id = await front.open()
        await front.send(Submit(session_id=session_id, text="go"))
        await front.until_event(session_id, TurnEnded)
        (kept,) = {event.whole.path for event in front.of(session_id, OutputKept)}
    assert Path(kept).read_text(encoding="utf-8").splitlines()[-1] == "line 59999"
