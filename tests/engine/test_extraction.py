"""Extraction without a program: memory, order, and a model that is asked beside any session."""

import asyncio
import csv
import json
import os
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from oi_tui.app.engine.core.chat_model import ChatMessage
from oi_tui.app.engine.core.errors import ModelError, SettingsError
from oi_tui.app.engine.extraction import records as record_files
from oi_tui.app.engine.extraction.extraction import Extraction, ExtractionPlan
from oi_tui.app.engine.extraction.journal import Journal
from oi_tui.app.engine.extraction.output import write_output
from oi_tui.app.engine.extraction.records import LONGEST, SourceRecord, read_records
from oi_tui.app.engine.secrets.redaction import Redactor
from oi_tui.app.engine.structured.answer_schema import AnswerSchema
from oi_tui.app.engine.structured.asking import ask_for_value
from oi_tui.app.engine.structured.schema_files import read_schema
from oi_tui.app.engine.testing import FakeModel
from oi_tui.app.extract.console import run_summary
from support.pdfs import written_pdf

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


async def test_E14_secrets_are_withheld_and_the_task_is_the_persons(tmp_path: Path) -> None:
    model = FakeModel('{"n": 1}')
    plan = ExtractionPlan(schema=NUMBER, task="Only whole numbers")
    with Journal(tmp_path / "part", plan.digest) as journal:
        redactor = Redactor({"TOKEN": "a-secret-of-the-person-42"})
        said = SourceRecord("1", "the key is a-secret-of-the-person-42, seven")
        await Extraction(plan, model, journal, redactor).run(iter([said]))
    system, user = model.requests[0].messages
    assert "Only whole numbers" in system.text
    assert "seven" in user.text
    assert "a-secret-of-the-person-42" not in user.text


async def test_E11_as_many_records_at_a_time_as_was_said(tmp_path: Path) -> None:
    model = FakeModel([asyncio.Event()])
    plan = ExtractionPlan(schema=NUMBER, workers=3)
    with Journal(tmp_path / "part", plan.digest) as journal:
        task = asyncio.create_task(Extraction(plan, model, journal, Redactor()).run(records(20)))
        await model.wait_for_requests(3)
        for _ in range(50):
            await asyncio.sleep(0)
        assert len(model.requests) == 3
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_E11_a_record_that_is_too_long_is_cut_and_the_summary_says_so(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("x" * (LONGEST + 1) + "\n")
    model = FakeModel('{"n": 1}')
    with Journal(tmp_path / "part", PLAN.digest) as journal:
        tally = await Extraction(PLAN, model, journal, Redactor()).run(read_records(tmp_path / "long.txt"))
    assert "Of 1 record only the beginning was read: too long." in [*run_summary(tally)]
    assert model.requests[0].messages[1].text.count("x") < LONGEST + 200


def test_E11_files_of_a_folder_are_read_as_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(written_pdf("Total 42"))
    (tmp_path / "b.bin").write_bytes(b"\0\1\2")
    (tmp_path / "c.pdf").write_bytes(b"%PDF-1.4 broken")
    pdf, binary, broken = read_records(tmp_path)
    assert "Total 42" in pdf.text
    assert binary.trouble == "is no text"
    assert broken.trouble


MODELS = """
from typing import TypedDict
import msgspec
from pydantic import BaseModel

class Typed(TypedDict):
    n: int

class Struct(msgspec.Struct):
    n: int

class Model(BaseModel):
    n: int

number = 7
"""


@pytest.mark.parametrize("name", ["Typed", "Struct", "Model"])
def test_E10_models_of_each_kind_are_schemas(tmp_path: Path, name: str) -> None:
    (tmp_path / "shop.py").write_text(MODELS)
    schema = read_schema(f"shop:{name}", tmp_path, Path(sys.executable), {"PATH": os.environ["PATH"]})
    assert schema.read('{"n": "7"}').value == {"n": 7}
    with pytest.raises(SettingsError):
        read_schema("shop:number", tmp_path, Path(sys.executable), {})


def test_E16_a_line_or_a_row_without_an_end_does_not_fill_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_files, "_LINE", 1_000)
    lines = tmp_path / "long.jsonl"
    lines.write_text('{"a": 1}\n' + "x" * 100_000 + '\n{"a": 2}\n')
    first, long, last = read_records(lines)
    assert (first.text, last.source, last.text) == ('{"a": 1}', "3", '{"a": 2}')
    assert (long.trouble, len(long.text)) == ("is too long", 1_000)
    for cells in ("x" * 3_000, ",".join('"' + "x\n" * 300 + '"' for _ in range(9))):
        table = tmp_path / "long.csv"
        table.write_text(f"a,b\n1,2\n{cells}\n")
        rows = read_records(table)
        assert json.loads(next(rows).text) == {"a": "1", "b": "2"}
        with pytest.raises(SettingsError, match="row or line with more than 1,000 characters"):
            next(rows)


def test_E11_no_folder_that_is_a_link_is_read(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "docs"
    outside.mkdir()
    (outside / "key.txt").write_text("secret")
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "mine.txt").write_text("mine")
    (folder / "link").symlink_to(outside)
    (folder / "key.txt").symlink_to(outside / "key.txt")
    for named in (folder, folder / "*" / "*", folder / "**" / "*.txt", tmp_path / "d*" / "*" / "*.txt"):
        assert [one.text for one in read_records(named)] == ["mine"], named


def test_E14_no_cell_of_a_table_is_calculated_by_a_spreadsheet(tmp_path: Path) -> None:
    output = tmp_path / "out.csv"
    signs = ("=1+1", "+1", "-1", "@a", "\t=1", "\r=1", "\n=1", "a\r=1", "\uff1d1+1")
    write_output(output, [(sign, {sign: sign}) for sign in signs], signs)
    with output.open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    safe = [sign if sign[0] == "a" else f"'{sign}" for sign in signs]
    assert head == ["_source", *safe]
    assert [next(filter(None, row[1:])) for row in rows] == [row[0] for row in rows] == safe
