"""Servers that ask the session's model: with leave only, after a question each time, within bounds, and on record."""

import asyncio
import json
from pathlib import Path
from typing import Literal

import pytest

from oi_tui.app.engine.core.blocks import CallBlock
from oi_tui.app.engine.core.events import DecisionRequested, TurnEnded
from oi_tui.app.engine.core.verbs import Decide, Open, Submit
from oi_tui.app.engine.log.audit.audit_hook import AuditTrail
from oi_tui.app.engine.log.audit.records import Surroundings
from oi_tui.app.engine.testing import FakeModel
from oi_tui.app.engine.trust.change_scan import FolderScanner
from support.front import engine
from support.mcp_servers import Said, Stage, joined, scripted
from support.tool_calls import answer, call, text_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    return place


@pytest.mark.parametrize("verdict", ["run", "skip"])
async def test_N18_the_person_sees_what_a_server_asks_the_model_and_decides_even_in_auto(
    verdict: Literal["run", "skip"], folder: Path, tmp_path: Path
) -> None:
    server = scripted(folder, "model_asked", sampling=True)
    model = FakeModel(answer(*call(name="x__echo")), *(["Roses are red"] if verdict == "run" else []), "Done.")
    where = Surroundings(cwd=str(folder), sandbox="read-only")
    trail = AuditTrail(
        folder=tmp_path / "audit", surroundings=where, make_watch=lambda: FolderScanner((), None), sandboxed=True
    )
    stage = Stage(folder, server, pauses=())
    async with asyncio.timeout(60), engine(tmp_path, model, mcp=stage.servers, trail=trail, approve="auto") as front:
        await front.client.send(Open())
        await front.client.send(Submit(text="go"))
        question = await front.until_event(DecisionRequested)
        while question.tool != "ask_model":
            await front.client.send(Decide(request_id=question.request_id, verdict="run"))
            question = await front.until_event(DecisionRequested)
        assert json.loads(question.source) == {"prompt": "Be brief.\n\nWrite me a poem."}
        assert question.asked_by == "tool x__echo"
        assert "at your expense" in question.why
        await front.client.send(Decide(request_id=question.request_id, verdict=verdict))
        await front.until_event(TurnEnded)
        block = next(one for one in front.transcript.blocks if isinstance(one, CallBlock) and not one.caller)
        result = text_of(block)
    if verdict == "run":
        assert "Roses ar" in result
        assert "red" not in result, "two tokens, at most"
        assert "Be brief." in str(model.requests[1].messages)
        assert not model.requests[1].tools
    else:
        assert "refused" in result
        assert len(model.requests) == 1
    written = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "audit").glob("*.jsonl"))
    assert "ask_model" in written


HOSTILE = {
    "sampling_flood": (3, "more than 3 times within one call"),
    "huge_sampling": (0, "more than 20,000 characters"),
    "sampling_out_of_nowhere": (0, "although nothing was asked of it"),
}


@pytest.mark.parametrize("behaviour", HOSTILE)
async def test_N18_a_server_that_asks_the_model_too_much_costs_one_notice(behaviour: str, folder: Path) -> None:
    asked, notice = HOSTILE[behaviour]
    async with asyncio.timeout(30), joined(folder, scripted(folder, behaviour, sampling=True)) as stage:
        said = Said()
        assert await stage.call("x__echo", said) == "echo: hi"
        await stage.until(lambda: stage.warnings)
        assert [notice in title for title in stage.warnings] == [True]
        assert len(said.calls) == asked


async def test_N18_leave_to_ask_the_model_is_a_wish_that_is_asked_about(folder: Path) -> None:
    assert scripted(folder, "good", sandbox=True, sampling=True).entry.wishes == ("may ask the model",)
    async with joined(folder, scripted(folder, "good")) as stage:
        (tool,) = stage.toolbox
        assert not tool.asks_model
