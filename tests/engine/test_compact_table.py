"""Data frames as the model reads them: fewer tokens, the same rows, columns and digits."""

from typing import Any

import pytest

from oi_tui.app.engine.kernels.in_kernel_frames import pandas_table
from oi_tui.app.engine.text.compact_table import TABLE_TYPE, compact_table
from oi_tui.app.engine.text.tokens import estimate_tokens


@pytest.fixture(scope="module")
def pandas() -> Any:
    """Loaded by the one test process that needs it."""
    return pytest.importorskip("pandas")


def result(frame: object) -> dict[str, object]:
    return {"text/plain": repr(frame), TABLE_TYPE: pandas_table(frame)}


def test_R5_a_frame_goes_as_lines_where_that_is_shorter_and_says_what_its_text_says(pandas: Any) -> None:
    frame = pandas.DataFrame({"mean": [1.5, -2.25, 1000.0], "note": ["a, b", "c", "d"]}, index=["x", "y", "z"])
    wide = pandas.concat([frame] * 5, axis=1).describe()
    told = compact_table(result(wide))
    plain = repr(wide)
    assert estimate_tokens(told) < estimate_tokens(plain)
    assert set(plain.split()) <= set(told.replace(",", " ").split())


def test_R5_of_a_long_frame_both_ends_go_with_its_size(pandas: Any) -> None:
    frame = pandas.DataFrame({"alpha": [number / 3 for number in range(500)], "beta": range(500)})
    told = compact_table(result(frame)).split("\n")
    assert told[0] == ",alpha,beta"
    assert told[1] == "0,0.000000,0"
    assert told[6] == "..."
    assert told[-1] == "[500 rows x 2 columns]"
    assert set(repr(frame).replace("..", " ").split()) - {"."} <= set("\n".join(told).replace(",", " ").split())


@pytest.mark.parametrize(
    "data",
    [
        {"text/plain": "x"},
        {"text/plain": "0    1\nName: a, dtype: int64", TABLE_TYPE: {}},
        {"text/plain": "long " * 50, TABLE_TYPE: {"index": [["", "int64", True]], "columns": 5}},
        {
            "text/plain": "long " * 50,
            TABLE_TYPE: {"index": [[]], "columns": [[]], "head": [], "tail": [], "rows": 1, "width": 1},
        },
    ],
)
def test_what_is_no_frame_of_ours_stays_text(data: dict[str, object]) -> None:
    assert compact_table(data) == ""
