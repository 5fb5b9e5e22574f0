"""`/extract` in a session: its model and budget, paused, stopped, continued, and a notice at the end."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oi_tui.app.engine.core.blocks import NoticeBlock
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.events import NoticeAdded, SessionOpened, UsageReported
from oi_tui.app.engine.core.extractions import ChangeExtraction, ExtractionFound, FindExtraction
from oi_tui.app.engine.core.protocol import Failed
from oi_tui.app.engine.core.verbs import Open, SetBudget
from oi_tui.app.engine.extraction.records import read_records
from oi_tui.app.engine.structured.typed_fields import reads_as_fields, typed_schema
from oi_tui.app.engine.testing import FakeModel
from support.extractions import GatedModel, begin
from support.front import Front, engine
from support.kinds import narrow, of


async def opened(front: Front) -> None:
    await front.client.send(Open())
    await front.until_event(SessionOpened)
    await front.client.send(FindExtraction())


async def stands(front: Front, holds: Callable[[ExtractionFound], bool]) -> ExtractionFound:
    """The first word of the engine of which this is so."""
    reply = await front.until(lambda reply: isinstance(reply, ExtractionFound) and holds(reply))
    return narrow(reply, ExtractionFound)


def values(folder: Path) -> list[Any]:
    return [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]


async def test_E18_an_extraction_in_a_session_counts_in_it_and_ends_with_a_notice_that_the_model_reads(
    tmp_path: Path,
) -> None:
    model = GatedModel()
    model.gate = asyncio.Semaphore(6)
    async with engine(tmp_path, model) as front:
        await opened(front)
        await front.client.send(begin(tmp_path))
        done = await stands(front, lambda found: found.state == "done")
        while not (notices := of(NoticeBlock, front.transcript.blocks)):
            await front.until_event(NoticeAdded)
        assert (done.done, done.failed, done.total, round(done.cost or 0, 2)) == (6, 0, 6, 0.06)
        assert json.loads(done.newest[-1].text) == {"name": "fruit5", "price": 1.2}
        assert values(tmp_path)[0] == {"_source": "1", "name": "fruit0", "price": 1.2}
        assert "6 records extracted into" in notices[-1].title
        assert "_source, name, price" in notices[-1].to_model
        assert front.transcript.usage.priced == pytest.approx(0.06), "it counts as the session's spending"
        assert all(event.aside for event in of(UsageReported, front.events)), "and not as context"


async def test_E18_it_pauses_stops_and_continues_and_asks_about_no_record_twice(tmp_path: Path) -> None:
    model = GatedModel()
    async with engine(tmp_path, model) as front:
        await opened(front)
        await front.client.send(begin(tmp_path))
        await model.wait_for_requests(1)
        await front.client.send(ChangeExtraction(change="pause"))
        await stands(front, lambda found: found.state == "paused")
        model.gate.release()
        await stands(front, lambda found: found.done == 1)
        assert len(model.requests) == 1, "nothing is asked while it is paused"
        await front.client.send(ChangeExtraction(change="continue"))
        await model.wait_for_requests(2)
        await front.client.send(begin(tmp_path))
        refused = await front.until(lambda reply: isinstance(reply, Failed))
        assert "already running" in narrow(refused, Failed).title
        await front.client.send(ChangeExtraction(change="stop"))
        await stands(front, lambda found: found.state == "stopping")
        model.gate.release()
        stopped = await stands(front, lambda found: found.state == "stopped")
        assert (stopped.done, len(model.requests)) == (2, 2)
        assert not (tmp_path / "out.jsonl").exists()
        model.gate = asyncio.Semaphore(9)
        await front.client.send(ChangeExtraction(change="continue"))
        done = await stands(front, lambda found: found.state == "done")
    assert (done.done, done.skipped, len(model.requests)) == (6, 2, 6)
    assert [value["name"] for value in values(tmp_path)] == [f"fruit{number}" for number in range(6)]


async def test_E18_how_far_it_is_is_reported_to_those_who_do_not_look_without_results(tmp_path: Path) -> None:
    model = GatedModel()
    model.gate = asyncio.Semaphore(2)
    async with engine(tmp_path, model) as front:
        await front.client.send(Open())
        await front.until_event(SessionOpened)
        await front.client.send(begin(tmp_path))
        found = await stands(front, lambda found: found.done == 2)
        assert (found.state, found.total, found.newest) == ("running", 6, ())
        await front.client.send(FindExtraction())
        assert (await stands(front, lambda found: bool(found.newest))).done == 2
        await front.client.send(FindExtraction(on=False))
        model.gate.release()
        await stands(front, lambda found: found.done == 3 and not found.newest)
        await front.client.send(ChangeExtraction(change="stop"))
        await front.client.send(ChangeExtraction(change="stop"))
        assert not (await stands(front, lambda found: found.state == "stopped")).is_open


async def test_E18_a_second_stop_waits_for_no_answer_and_a_session_that_ends_loses_nothing(tmp_path: Path) -> None:
    model = GatedModel()
    model.gate = asyncio.Semaphore(2)
    async with engine(tmp_path, model) as front:
        await opened(front)
        await front.client.send(begin(tmp_path))
        await model.wait_for_requests(3)
        await front.client.send(ChangeExtraction(change="stop"))
        await stands(front, lambda found: found.state == "stopping")
        await front.client.send(ChangeExtraction(change="stop"))
        assert (await stands(front, lambda found: found.state == "stopped")).done == 2
        await front.client.send(ChangeExtraction(change="continue"))
        await model.wait_for_requests(4)
    model = GatedModel()
    model.gate = asyncio.Semaphore(9)
    async with engine(tmp_path, model) as front:
        await opened(front)
        await front.client.send(begin(tmp_path))
        assert (await stands(front, lambda found: found.state == "done")).skipped == 2
    assert len(model.requests) == 4


async def test_E18_the_budget_of_the_session_and_its_own_stop_it(tmp_path: Path) -> None:
    model = GatedModel()
    model.gate = asyncio.Semaphore(9)
    async with engine(tmp_path, model) as front:
        await opened(front)
        await front.client.send(begin(tmp_path, max_cost=0.02))
        own = await stands(front, lambda found: found.state == "stopped")
        assert (own.done, "$0.02 of $0.02" in own.why) == (2, True)
        await front.client.send(SetBudget(max_cost=0.03))
        await front.client.send(begin(tmp_path, max_cost=0.0))
        wide = await stands(front, lambda found: found.state == "stopped" and found.done == 3)
        assert "this session has spent $0.03 of its $0.03" in wide.why
    assert len(model.requests) == 3


async def test_E18_what_cannot_be_is_said_and_ends_no_session(tmp_path: Path) -> None:
    async with engine(tmp_path, FakeModel("Hello.")) as front:
        await opened(front)
        (tmp_path / "there.csv").write_text("mine\n")
        for wrong, why in (
            ({"schema": "name: colour"}, "an unknown type: colour"),
            ({"source": str(tmp_path / "gone.csv")}, "no file or folder"),
            ({"output": str(tmp_path / "out.xlsx")}, "ends in .jsonl or .csv"),
            ({"output": str(tmp_path / "there.csv")}, "is there already"),
        ):
            await front.client.send(begin(tmp_path, **wrong))
            failed = await stands(front, lambda found: found.state == "failed")
            assert (why in failed.why, failed.wrong) == (True, next(iter(wrong.keys() - {"output"}), ""))
            await stands_again(front)
        assert (await front.turn("hi")).reason == "done"
    assert (tmp_path / "there.csv").read_text() == "mine\n"


async def stands_again(front: Front) -> None:
    """A word of the engine that is not the one before."""
    await front.client.send(FindExtraction())
    await stands(front, lambda found: True)


def test_E19_fields_are_typed_with_their_types() -> None:
    assert reads_as_fields("name, price: number")
    assert not any(map(reads_as_fields, ("schema.json", "shop.models:Order", "")))
    schema = typed_schema("name, kind : new|used, day: date, größe: number")
    assert list(schema["properties"]) == schema["required"] == ["name", "kind", "day", "größe"]
    assert schema["properties"]["kind"] == {"enum": ["new", "used", None]}
    for wrong in ("a, a", "a: colour", "a,,b", "a, b: |"):
        with pytest.raises(SettingsError):
            typed_schema(wrong)


def test_E19_records_are_files_that_a_pattern_matches(tmp_path: Path) -> None:
    (tmp_path / "docs" / "deep").mkdir(parents=True)
    for name in ("a.txt", "b.md", ".hidden.txt", "deep/c.txt"):
        (tmp_path / "docs" / name).write_text(name)
    (tmp_path / "docs" / "link.txt").symlink_to("b.md")
    assert [one.source for one in read_records(tmp_path / "docs" / "*.txt")] == ["a.txt"]
    assert [one.source for one in read_records(tmp_path / "docs" / "**" / "*.txt")] == ["a.txt", "deep/c.txt"]
    with pytest.raises(SettingsError, match="No file is called"):
        read_records(tmp_path / "docs" / "*.pdf")
