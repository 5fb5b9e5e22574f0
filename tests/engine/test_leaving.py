"""A session that is left: it takes its time to end, and nobody else waits for that."""

import asyncio
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import pytest

from oi_tui.app.engine.core.blocks import UserBlock
from oi_tui.app.engine.core.events import NoticeAdded, OutputAdded, TurnEnded
from oi_tui.app.engine.core.verbs import Interrupt, Leave, Open, SetBudget, Submit
from oi_tui.app.engine.hooks import EngineHooks, Hooks, hookimpl
from oi_tui.app.engine.testing import FakeModel
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
