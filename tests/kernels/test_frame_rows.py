"""All rows of a frame of a real kernel, by windows: sorted, filtered, counted, and nobody's code runs for it."""

from typing import Any

import pytest

from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.core.variable import ColumnFigures, FrameCondition, FramePage, FrameQuestion, FrameSign
from oi_tui.app.engine.kernels.base import Kernel
from oi_tui.app.engine.kernels.inspection import FrameAnswer
from oi_tui.app.engine.kernels.jupyter import JupyterKernel
from support.runs import collect

pytestmark = [pytest.mark.kernel, pytest.mark.asyncio(loop_scope="module")]

TABLE = "application/vnd.oi-tui.table+json"

SHOPS = """
import pandas as pd, numpy as np
shops = pd.DataFrame({"city": ["Oslo", "Bergen", None, "oslo", "Rome"], "score": [2.5, np.nan, 10.0, 2.5, -1.0],
    "n": [1, 2, 3, 4, 5], "when": pd.to_datetime(["2026-01-03", "2026-02-01", None, "2025-12-31", "2026-01-03"]),
    "open": [True, False, True, False, True]}, index=list("abcde"))
"""


async def shown(kernel: Kernel, source: str) -> str:
    """The name by which the frame that a source ends with can be asked about."""
    run = await collect(kernel, source)
    (output,) = (output for output in run.outputs if isinstance(output, RichOutput))
    return str(output.data[TABLE]["ref"])


async def ask(kernel: Kernel, ref: str, **wanted: Any) -> FrameAnswer:
    assert isinstance(kernel, JupyterKernel)
    defaults: dict[str, Any] = {"count": 100, "columns": tuple(range(20))}
    answer = await kernel.frame(FrameQuestion(ref=ref, **defaults | wanted))
    assert answer is not None
    return answer


async def page(kernel: Kernel, ref: str, **wanted: Any) -> FramePage:
    answer = await ask(kernel, ref, **wanted)
    assert answer.page is not None, answer.problem
    return answer.page


def where(column: str, sign: FrameSign, value: str | None) -> tuple[FrameCondition, ...]:
    return (FrameCondition(column=column, sign=sign, value=value),)


async def labels(kernel: Kernel, ref: str, **wanted: Any) -> str:
    """The labels of the rows that come, one letter each."""
    return "".join(row[0] for row in (await page(kernel, ref, **wanted)).cells)


async def test_R20_any_window_of_a_frame_can_be_had(python: Kernel) -> None:
    ref = await shown(python, SHOPS + "big = pd.DataFrame({'a': range(1_000_000), 'b': 0.5, 'c': 'x'})\nbig")
    found = await page(python, ref, first=700_000, count=2, columns=(2, 0))
    assert (found.rows, found.matching, found.width, found.first) == (1_000_000, 1_000_000, 3, 700_000)
    assert [(one.number, one.name, one.is_number) for one in found.columns] == [
        (-1, "", True),
        (2, "c", False),
        (0, "a", True),
    ]
    assert found.cells == (("700000", "x", "700000"), ("700001", "x", "700001"))
    assert (await page(python, ref, first=999_999, count=50)).cells == (("999999", "999999", "0.5", "x"),)
    assert (await page(python, ref, first=2_000_000, count=50)).cells == ()
    assert len((await page(python, ref, count=10**9)).cells) == 2_000


async def test_rows_are_sorted_by_a_column_or_the_index_and_what_is_absent_comes_last(python: Kernel) -> None:
    ref = await shown(python, SHOPS + "shops")
    assert await labels(python, ref, sort=1) == "eadcb"
    assert await labels(python, ref, sort=1, descending=True) == "cadeb"
    assert await labels(python, ref, sort=0) == "baedc"
    assert await labels(python, ref, sort=3) == "daebc"
    assert await labels(python, ref, sort=-1, descending=True) == "edcba"
    assert await labels(python, ref, sort=1, first=1, count=2) == "ad"
    assert (await ask(python, ref, sort=7)).problem == "There is no such column."


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        (("score", ">", "2"), "acd"),
        (("n", "<=", "2.5"), "ab"),
        (("n", "!=", "3"), "abde"),
        (("city", "~", "OSL"), "ad"),
        (("city", "!~", "osl"), "be"),
        (("city", "=", "oslo"), "d"),
        (("CITY", "=", "Oslo"), "a"),
        (("city", "=", None), "c"),
        (("when", "!=", None), "abde"),
        (("when", ">=", "2026-01-03"), "abe"),
        (("open", "=", "true"), "ace"),
        (("score", "~", ".5"), "ad"),
    ],
)
async def test_rows_are_filtered_by_what_a_column_holds(
    python: Kernel, condition: tuple[str, FrameSign, str | None], rows: str
) -> None:
    ref = await shown(python, SHOPS + "shops")
    found = await page(python, ref, where=where(*condition))
    assert "".join(row[0] for row in found.cells) == rows
    assert (found.rows, found.matching) == (5, len(rows))


async def test_conditions_and_an_order_hold_together(python: Kernel) -> None:
    ref = await shown(python, SHOPS + "shops")
    both = (*where("city", "~", "o"), *where("score", ">", "-5"))
    assert await labels(python, ref, where=both, sort=2, descending=True) == "eda"


async def test_what_cannot_be_compared_is_said(python: Kernel) -> None:
    ref = await shown(python, SHOPS + "shops")
    answer = await ask(python, ref, where=where("n", ">", "many"))
    assert answer.problem == "“many” cannot be compared with n, which is int64."
    answer = await ask(python, ref, where=where("price", ">", "1"))
    assert answer.problem == "There is no column price."


async def test_a_condition_is_never_run_as_code(python: Kernel) -> None:
    ref = await shown(python, SHOPS + "shops")
    for text in ("__import__('os').system('touch evil')", "@n", "`n`", "1 or True", "n.sum()"):
        assert await labels(python, ref, where=where("city", "=", text)) == ""
        assert "cannot be compared" in (await ask(python, ref, where=where("n", ">", text))).problem


async def test_figures_tell_of_a_column(python: Kernel) -> None:
    ref = await shown(python, SHOPS + "shops")
    assert (await ask(python, ref, figures=1)).figures == ColumnFigures(
        name="score",
        kind="float64",
        count=4,
        nulls=1,
        distinct=3,
        min="-1.0",
        max="10.0",
        mean="3.5",
        often=(("2.5", 2), ("10.0", 1), ("-1.0", 1)),
    )
    filtered = (await ask(python, ref, figures=0, where=where("score", "=", "2.5"))).figures
    assert filtered is not None
    assert (filtered.count, filtered.min, filtered.max, filtered.mean) == (2, "Oslo", "oslo", "")


async def test_R20_values_of_types_of_their_own_are_named_and_their_code_is_not_run(python: Kernel) -> None:
    source = """
import pandas as pd
class Spy:
    runs = []
    def note(self, *_): Spy.runs.append(1); return 1
    __str__ = __repr__ = __eq__ = __lt__ = __hash__ = __len__ = __bool__ = note
    def __str__(self): Spy.runs.append(2); return "spy"
odd = pd.DataFrame({"a": pd.Series([Spy(), Spy()], dtype=object), "mixed": pd.Series([1, "x"], dtype=object)})
None
"""
    await collect(python, source)
    assert isinstance(python, JupyterKernel)
    await collect(python, "Spy.runs.clear()")
    seen = await python.peek("odd")
    assert seen is not None
    ref = seen.table["ref"]
    found = await page(python, ref, exact=True)
    assert found.cells == (("0", "<Spy>", "1"), ("1", "<Spy>", "x"))
    for wanted in ({"sort": 0}, {"figures": 0}, {"where": where("a", "=", "spy")}, {"where": where("a", "~", "s")}):
        assert "own ways to compare" in (await ask(python, ref, **wanted)).problem
    assert "several types" in (await ask(python, ref, sort=1)).problem
    assert (await collect(python, "Spy.runs")).result == "[]"


async def test_R20_a_frame_of_a_class_of_its_own_is_looked_at_without_the_code_of_that_class(python: Kernel) -> None:
    source = """
import pandas as pd
ran = []
class Places(pd.DataFrame):
    _metadata = ["crs"]
    def __getitem__(self, key): ran.append("getitem"); return super().__getitem__(key)
    def __getattribute__(self, name): ran.append(name); return super().__getattribute__(name)
    @property
    def _constructor(self): ran.append("constructor"); return Places
    def __len__(self): ran.append("len"); return super().__len__()
places = Places({"name": [f"place {n}" for n in range(1_000)], "n": range(1_000)})
places
"""
    ref = await shown(python, source)
    await collect(python, "ran.clear()")
    found = await page(python, ref, sort=1, descending=True, count=2)
    assert (found.rows, found.cells) == (1_000, (("999", "place 999", "999"), ("998", "place 998", "998")))
    found = await page(python, ref, where=where("name", "~", "place 29"), count=1)
    assert (found.matching, found.cells) == (11, (("29", "place 29", "29"),))
    assert (await ask(python, ref, figures=1)).figures is not None
    assert isinstance(python, JupyterKernel)
    seen = await python.peek("places")
    assert seen is not None
    assert (await collect(python, "ran")).result == "[]"
    assert seen.table["rows"] == 1_000
    await collect(python, "places.loc[0, 'n'] = 2_000")
    assert (await page(python, ref, sort=1, descending=True, count=1)).cells == (("0", "place 0", "2000"),)
    run = await collect(python, "places.head(3)")  # all of it is shown already, as its class writes it
    (output,) = (output for output in run.outputs if isinstance(output, RichOutput))
    assert "ref" not in output.data[TABLE]


async def test_a_frame_that_was_changed_is_known_by_its_mark_and_one_that_is_gone_is_said(python: Kernel) -> None:
    ref = await shown(python, SHOPS + "shops.copy()")
    first = (await page(python, ref)).mark
    assert (await page(python, ref, sort=1)).mark == first
    await collect(python, "_.loc['a', 'score'] = 99")
    assert (await page(python, ref, where=where("score", "=", "99"))).cells[0][0] == "a"
    assert (await page(python, ref)).mark != first
    assert (await ask(python, "nothing-1")).state == "gone"


async def test_a_frame_that_was_only_shown_is_not_kept_alive(python: Kernel) -> None:
    run = await collect(python, SHOPS + "import gc\ndisplay(shops.head(2).copy()); gc.collect(); None")
    (output,) = (output for output in run.outputs if isinstance(output, RichOutput))
    assert (await ask(python, output.data[TABLE]["ref"])).state == "gone"


async def test_values_for_a_file_are_whole(python: Kernel) -> None:
    source = "import pandas as pd\npd.DataFrame({'x': [1 / 3, None], 'long': ['y' * 1000 + '\\n', None]})"
    ref = await shown(python, source)
    assert (await page(python, ref, exact=True)).cells == (
        ("0", "0.3333333333333333", "y" * 1000 + "\n"),
        ("1", "", ""),
    )


async def test_levels_of_an_index_come_with_every_window(python: Kernel) -> None:
    source = (
        "import pandas as pd\n"
        "pd.DataFrame({('x', 'a'): [1, 2]}, index=pd.MultiIndex.from_tuples([('p', 2), ('q', 1)], names=['k', 'm']))"
    )
    ref = await shown(python, source)
    found = await page(python, ref, sort=-1)
    assert [(one.number, one.name) for one in found.columns] == [(-2, "k"), (-1, "m"), (0, "x / a")]
    assert found.cells == (("q", "1", "2"), ("p", "2", "1"))
    assert (await page(python, ref, where=where("k", "=", "p"))).cells == (("p", "2", "1"),)


@pytest.mark.parametrize(
    ("library", "make"),
    [
        ("polars", "import polars as pl\npl.from_pandas(shops)"),
        ("pyarrow", "import pyarrow as pa\npa.Table.from_pandas(shops, preserve_index=False)"),
    ],
)
async def test_frames_of_other_libraries_are_read_in_the_same_way(python: Kernel, library: str, make: str) -> None:
    pytest.importorskip(library)
    ref = await shown(python, SHOPS + make)
    numbers = [row[2] for row in (await page(python, ref, sort=1, descending=True)).cells]
    assert numbers[:1] == ["3"]
    for condition, rows in (
        (("score", ">", "2"), "134"),
        (("n", "<=", "2.5"), "12"),
        (("city", "~", "OSL"), "14"),
        (("city", "=", None), "3"),
        (("when", ">=", "2026-01-03"), "125"),
        (("open", "=", "true"), "135"),
    ):
        found = await page(python, ref, where=where(*condition))
        assert "".join(row[2] for row in found.cells) == rows, condition
    assert "cannot be compared" in (await ask(python, ref, where=where("n", ">", "many"))).problem
    figures = (await ask(python, ref, figures=2)).figures
    assert figures is not None
    assert (figures.count, figures.min, figures.max, figures.mean, figures.distinct) == (5, "1", "5", "3", 5)
