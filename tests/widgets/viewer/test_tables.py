"""Tables that are looked at by windows: filters as they are typed, what is loaded, what is said when it is gone."""

import asyncio
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from oi_tui.app.engine.core.variable import ColumnFigures, FrameColumn, FrameCondition, FramePage, FrameQuestion
from oi_tui.widgets.timeline.search import Search
from oi_tui.widgets.timeline.table_data import TableColumn, TableData, build_table
from oi_tui.widgets.viewer.frame_filter import FilterError, filter_text, parse_filter
from oi_tui.widgets.viewer.table_csv import csv_parts, csv_to_copy
from oi_tui.widgets.viewer.table_grid import CHUNK_ROWS, KEPT_CHUNKS
from oi_tui.widgets.viewer.table_pager import CHANGED, CHANGED_BEFORE, TablePager
from oi_tui.widgets.viewer.table_source import LoadedTable, NoRows, RowsGone

ROWS = 1_000_000


def seed(rows: int = ROWS) -> TableData:
    columns = [TableColumn("", "int64", True), TableColumn("n", "int64", True), TableColumn("name", "str")]
    head = [[row, row * 2, f"name {row}"] for row in range(min(rows, 500))]
    tail = [[row, row * 2, f"name {row}"] for row in range(max(500, rows - 50), rows)]
    return build_table(columns, head, tail, index=1, total_rows=rows, total_columns=2)


class FarTable:
    """A table of a million rows somewhere else; what is asked is recorded."""

    state = ""

    def __init__(self) -> None:
        self.asked: list[FrameQuestion] = []
        self.mark = "a"
        self.gone = False
        self.refuses = ""

    async def read(self, question: FrameQuestion) -> FramePage:
        self.asked.append(question)
        await asyncio.sleep(0)
        if self.gone:
            raise RowsGone("Gone.")
        if self.refuses and question.where:
            raise NoRows(self.refuses)
        matching = ROWS // 2 if question.where else ROWS
        rows = range(question.first, min(question.first + question.count, matching))
        if question.descending:
            rows = range(matching - 1 - rows.start, matching - 1 - rows.stop, -1)
        known = {-1: ("", "int64", True), 0: ("n", "int64", True), 1: ("name", "str", False)}
        numbers = (-1, *question.columns)
        return FramePage(
            mark=self.mark,
            rows=ROWS,
            matching=matching,
            width=2,
            first=question.first,
            columns=tuple(
                FrameColumn(number=at, name=known[at][0], kind=known[at][1], is_number=known[at][2]) for at in numbers
            ),
            cells=tuple(tuple({-1: str(row), 0: str(row * 2), 1: f"name {row}"}[at] for at in numbers) for row in rows),
        )

    async def figures(self, question: FrameQuestion) -> ColumnFigures:
        raise NoRows("Not here.")


async def load(pager: TablePager, *rows: int) -> list[str | None]:
    """The numbers in these rows, once they were looked at."""
    found = []
    for row in rows:
        await pager.load(partial(lambda first: (range(first, first + 20), [-1, 0, 1]), row), lambda: None)
        found.append(pager.grid.cell(row, 0))
    return found


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("score > 5", [("score", ">", "5")]),
        ("score>=-1.5 and city ~ berg", [("score", ">=", "-1.5"), ("city", "~", "berg")]),
        ("unit price == 3 AND a!~b", [("unit price", "=", "3"), ("a", "!~", "b")]),
        ('"a > b" <= "x and y"', [("a > b", "<=", "x and y")]),
        ("city = null and n is not null", [("city", "=", None), ("n", "!=", None)]),
        ("city is 'null'", [("city", "=", "null")]),
        ("name contains Ada & n<2", [("name", "~", "Ada"), ("n", "<", "2")]),
        ("", []),
    ],
)
def test_a_filter_is_read_as_it_is_typed_and_written_back(typed: str, found: list[tuple[str, str, str | None]]) -> None:
    conditions = parse_filter(typed)
    assert [(one.column, one.sign, one.value) for one in conditions] == found
    assert parse_filter(filter_text(conditions)) == conditions


@pytest.mark.parametrize("typed", ["score", "> 5", "score >", "a > 1 and", "a ~ null", '"a" 5', '"a" = "b" c = 1'])
def test_what_is_no_filter_is_said(typed: str) -> None:
    with pytest.raises(FilterError):
        parse_filter(typed)


async def test_only_what_is_looked_at_is_read_and_it_is_kept() -> None:
    far = FarTable()
    pager = TablePager(seed(), far, "df")
    await pager.open()
    assert await load(pager, 0, 700_000, 700_010, 999_990) == ["0", "1400000", "1400020", "1999980"]
    assert [(one.first, one.count) for one in far.asked] == [(0, 100), (700_000, 100), (999_900, 100)]
    assert all(one.ref == "df" and one.columns == (0, 1) for one in far.asked)


async def test_what_is_kept_of_a_large_table_is_bounded() -> None:
    far = FarTable()
    pager = TablePager(seed(), far, "df")
    await load(pager, *range(0, 200 * CHUNK_ROWS * 2, CHUNK_ROWS))
    assert len(pager.grid._chunks) <= KEPT_CHUNKS


async def test_an_order_is_asked_of_the_source_and_comes_back_if_another_cannot_be_had() -> None:
    far = FarTable()
    pager = TablePager(seed(), far, "df")
    pager.sort(0)
    pager.sort(0)
    assert await load(pager, 0) == ["1999998"]
    far.refuses = "There is no column price."
    pager.filter((FrameCondition(column="price", sign=">", value="1"),))
    assert await load(pager, 0) == ["1999998"]
    assert (pager.note, pager.grid.where, pager.grid.matching) == ("There is no column price.", (), ROWS)
    far.refuses = ""
    pager.filter((FrameCondition(column="n", sign=">", value="1"),))
    await load(pager, 0)
    assert pager.describe_row(0) == "row 1 of 500,000 (1,000,000 in all)"
    pager.sort(0)
    assert (pager.grid.sort, pager.grid.descending) == (None, False)


async def test_a_table_that_was_changed_is_said_and_what_was_loaded_stays_until_it_is_read_anew() -> None:
    far = FarTable()
    pager = TablePager(seed(), far, "df")
    await pager.open()
    far.mark = "b"
    assert await load(pager, 5_000, 0) == [None, "0"]
    assert (pager.note, pager.is_frozen) == (CHANGED, True)
    pager.renew()
    assert await load(pager, 5_000) == ["10000"]


async def test_a_table_that_was_changed_before_it_was_opened_is_shown_as_it_is_now() -> None:
    old = build_table([TableColumn("n")], [["1"], ["2"]], index=0, total_rows=2, total_columns=1)
    pager = TablePager(old, FarTable(), "df")
    await pager.open()
    assert (pager.note, pager.grid.total) == (CHANGED_BEFORE, ROWS)


async def test_a_table_that_has_another_index_by_now_is_shown_with_it() -> None:
    class Reindexed(FarTable):
        async def read(self, question: FrameQuestion) -> FramePage:
            page = await super().read(question)
            return replace(page, columns=page.columns[1:], cells=tuple(row[1:] for row in page.cells))

    pager = TablePager(seed(), Reindexed(), "frame 1")
    await pager.open()
    assert await load(pager, 0, 600) == ["0", "1200"]
    assert [pager.grid.cell(600, at) for at in pager.grid.order] == ["1200", "name 600"]


async def test_what_came_with_the_result_is_there_when_the_table_is_gone() -> None:
    far = FarTable()
    far.gone = True
    pager = TablePager(seed(), far, "df")
    await pager.open()
    assert pager.note == "Gone."
    assert pager.describe_row(500) == "999,450 rows are not here"
    pager.sort(0)
    pager.sort(0)
    assert await load(pager, 0) == ["1999998"]
    assert pager.describe_row(0) == "row 1 of 550 (1,000,000 in all)"
    assert "999,450 rows" in pager.left_out


async def test_what_was_loaded_stays_when_the_table_goes() -> None:
    far = FarTable()
    pager = TablePager(seed(), far, "df")
    await pager.open()
    assert await load(pager, 5_000) == ["10000"]
    far.gone = True
    assert await load(pager, 9_000, 5_000) == [None, "10000"]
    assert pager.note == "Gone. What was loaded is still here."


async def test_a_search_goes_through_all_rows_and_around() -> None:
    pager = TablePager(seed(), FarTable(), "df")

    async def find(needle: str, step: int, row: int) -> tuple[int, int] | None:
        async for at in pager.find(Search(needle), step, row, 0):
            if at.line is not None:
                return divmod(at.line, 3)
        return None

    assert await find("name 1234", 1, 0) == (1234, 2)
    assert await find("name 1234", 1, 1234) == (1234, 2)
    assert await find("name 1235", -1, 2_000) == (1235, 2)
    loaded = TablePager(seed(3), None, "")
    await loaded.open()
    assert [at.line async for at in loaded.find(Search("nowhere"), 1, 0, 0)][-1] is None


async def test_rows_are_copied_and_saved_as_csv_a_page_at_a_time() -> None:
    far = FarTable()
    pager = TablePager(seed(), far, "df")
    await pager.open()
    assert await csv_to_copy(pager, range(2, 4), [-1, 1]) == ",name\n2,name 2\n3,name 3\n"
    assert far.asked[-1].exact
    parts = [part async for part in csv_parts(pager, range(5_000), [0])]
    assert [part.rows for part in parts] == [2_000, 4_000, 5_000]
    assert "".join(part.text for part in parts).splitlines()[::5_000] == ["n", "9998"]
    assert await csv_to_copy(pager, range(ROWS), [0, 1]) is None
    far.mark = "b"
    with pytest.raises(NoRows, match="changed"):
        await csv_to_copy(pager, range(2), [0])


async def test_rows_that_are_not_here_are_in_no_file() -> None:
    pager = TablePager(seed(), None, "")
    await pager.open()
    lines = "".join([part.text async for part in csv_parts(pager, range(pager.grid.matching), [0])]).splitlines()
    assert (len(lines), lines[500:502]) == (551, ["998", "1999900"])


async def test_loaded_rows_are_sorted_filtered_and_counted_here() -> None:
    columns = [TableColumn("n", "int64", True), TableColumn("city", "str")]
    table = LoadedTable(build_table(columns, [["10", "Oslo"], ["9", "Bergen"], ["NaN", "oslo"], ["-1", ""]]))

    async def cities(**wanted: Any) -> list[str]:
        page = await table.read(FrameQuestion(ref="", count=9, columns=(1,), **wanted))
        return [row[0] for row in page.cells]

    assert await cities(sort=0) == ["", "Bergen", "Oslo", "oslo"]
    assert await cities(sort=0, descending=True) == ["Oslo", "Bergen", "", "oslo"]
    assert await cities(where=parse_filter("n >= 9")) == ["Oslo", "Bergen"]
    assert await cities(where=parse_filter("CITY ~ osl and n = null")) == ["oslo"]
    with pytest.raises(NoRows, match="There is no column price"):
        await cities(where=parse_filter("price > 1"))
    with pytest.raises(NoRows, match="cannot be compared with n, which is int64"):
        await cities(where=parse_filter("n > many"))
    figures = await table.figures(FrameQuestion(ref="", figures=0))
    assert (figures.count, figures.nulls, figures.min, figures.max, figures.mean) == (3, 1, "-1", "10", "6")
