"""Extraction without a program: memory, order, and a model that is asked beside any session."""

import asyncio
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from oi_tui.app.engine.core.chat_model import ChatMessage
from oi_tui.app.engine.core.errors import ModelError, SettingsError
from oi_tui.app.engine.extraction.extraction import Extraction, ExtractionPlan
from oi_tui.app.engine.extraction.journal import Journal
from oi_tui.app.engine.extraction.records import SourceRecord
from oi_tui.app.engine.secrets.redaction import Redactor
from oi_tui.app.engine.structured.answer_schema import AnswerSchema
from oi_tui.app.engine.structured.asking import ask_for_value
from oi_tui.app.engine.testing import FakeModel

NUMBER = AnswerSchema({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
PLAN = ExtractionPlan(schema=NUMBER, workers=8)


class ForgetfulModel(FakeModel):
    """Keeps no request: what grows in these tests is the program's."""

    async def stream(self, request):  # type: ignore[no-untyped-def] # as the one that it is made of
        async for delta in super().stream(request):
            yield delta
        self.requests.clear()


def records(count: int) -> Iterator[SourceRecord]:
    return (SourceRecord(str(number), f"{number} " + "word " * 400) for number in range(count))


@pytest.mark.parametrize("count", [600, pytest.param(5_000, marks=pytest.mark.thorough)])
async def test_E16_thousands_of_records_do_not_fill_memory(tmp_path: Path, count: int) -> None:
    with Journal(tmp_path / "part", PLAN.digest) as journal:
        extraction = Extraction(PLAN, ForgetfulModel('{"n": 1}'), journal, Redactor())
        await extraction.run(records(100))
        tracemalloc.start()
        try:
            before, _ = tracemalloc.get_traced_memory()
            await extraction.run(SourceRecord(f"b{one.source}", one.text) for one in records(count))
            after, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert extraction.tally.done == count + 100
    assert after - before < count * 700  # a digest and a place for each; a record alone has 2,000 bytes
    assert most - before < count * 1_400 + 200_000


async def test_E12_two_runs_do_not_write_one_journal_and_its_order_does_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "part"
    with Journal(path, PLAN.digest) as journal:
        with pytest.raises(SettingsError, match="in use"), Journal(path, PLAN.digest):
            pass
        await Extraction(PLAN, FakeModel('{"n": 1}'), journal, Redactor()).run(records(5))
    model = FakeModel('{"n": 2}')
    with Journal(path, PLAN.digest) as journal:
        tally = await Extraction(PLAN, model, journal, Redactor()).run(iter([*records(7)][::-1]))
    assert (tally.done, tally.skipped, len(model.requests)) == (7, 5, 2)


async def test_E13_an_extraction_that_is_cancelled_leaves_no_task_and_keeps_what_is_done(tmp_path: Path) -> None:
    model = FakeModel('{"n": 1}', [asyncio.Event()])
    with Journal(tmp_path / "part", PLAN.digest) as journal:
        task = asyncio.create_task(Extraction(PLAN, model, journal, Redactor()).run(records(20)))
        await model.wait_for_requests(9)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert journal.has(next(records(1)).digest)
    assert len(asyncio.all_tasks()) == 1


async def test_E8_a_request_beside_any_session_falls_back_and_is_bounded() -> None:
    refusal = ModelError("bad_request", "no")
    refusal.refuses_schema = True

    class Choosy(FakeModel):
        answer_forms = ("schema", "prompt")

    model = Choosy([refusal], "no", '{"n": "7"}')
    told = await ask_for_value(model, (ChatMessage(role="user", text="go"),), NUMBER, tries=1)
    assert (told.value, told.requests) == ({"n": 7}, 3)
    assert [request.schema is not None for request in model.requests] == [True, False, False]
    unfit = await ask_for_value(FakeModel("no"), (ChatMessage(role="user", text="go"),), NUMBER, tries=2)
    assert (unfit.value, unfit.requests, unfit.last) == (None, 3, "no")
