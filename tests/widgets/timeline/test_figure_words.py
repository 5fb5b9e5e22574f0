"""The words of a figure over a picture made of characters, and what such a picture is made of."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from rich.cells import cell_len

from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.widgets.timeline.cell_pixels import cell_lines
from oi_tui.widgets.timeline.figure_words import FIGURE_MIME_TYPE, FigureWord, FigureWords, figure_words, place_words
from oi_tui.widgets.timeline.graphics import HALVES, QUADRANTS, SEXTANTS, CellParts
from oi_tui.widgets.timeline.table_data import figure_data

WORD = {
    "text": "Sales",
    "role": "title",
    "align": "center",
    "angle": 0,
    "colour": "#000000",
    "box": [0.4, 0.0, 0.6, 0.1],
}


def described(**changed: object) -> RichOutput:
    return RichOutput(data={FIGURE_MIME_TYPE: {"texts": [WORD | changed], "stretch": True}})


shares = st.floats(0, 1)
boxes = st.tuples(shares, shares, shares, shares).map(
    lambda box: (min(box[0], box[2]), min(box[1], box[3]), max(box[0], box[2]), max(box[1], box[3]))
)
some_words = st.builds(
    FigureWord,
    text=st.text(st.sampled_from("abc é日\n"), min_size=1, max_size=30),
    role=st.sampled_from(["title", "x-label", "y-label", "legend", "note", "x-tick", "y-tick"]),
    align=st.sampled_from(["left", "center", "right"]),
    upright=st.booleans(),
    colour=st.just("#123456"),
    box=boxes,
    axes=st.none() | boxes,
)


@given(st.lists(some_words, max_size=12), st.integers(1, 100), st.integers(1, 30))
def test_V13_words_stay_within_the_picture_and_none_covers_another(
    words: list[FigureWord], columns: int, rows: int
) -> None:
    placed = place_words(FigureWords(tuple(words)), columns, rows)
    by_row: dict[int, list[tuple[int, int]]] = {}
    for line in placed:
        assert 0 <= line.row < rows
        by_row.setdefault(line.row, []).append((line.column, line.column + cell_len(line.text)))
    for spans in by_row.values():
        spans.sort()
        assert spans[0][0] >= 0
        assert spans[-1][1] <= columns
        assert all(end <= start for (_, end), (start, _) in pairwise(spans))


@pytest.mark.parametrize(
    "changed",
    [
        {"text": 5},
        {"text": ""},
        {"role": "headline"},
        {"align": "middle"},
        {"angle": "0"},
        {"colour": "red; drop"},
        {"box": [0, 0, 1]},
        {"box": [0, 0, 1e300, 1]},
        {"box": [0, 0, 10**400, 1]},
        {"box": [0.5, 0, 0.4, 1]},
        {"box": [float("nan"), 0, 1, 1]},
        {"box": None},
    ],
    ids=str,
)
def test_what_is_no_word_of_a_figure_is_left_out(changed: dict[str, object]) -> None:
    assert figure_words(described(**changed)) is None


@pytest.mark.parametrize("content", [None, [], {}, {"texts": 3, "stretch": True}, {"texts": [], "stretch": 1}], ids=str)
def test_what_describes_no_figure_is_none(content: object) -> None:
    output = RichOutput(data={FIGURE_MIME_TYPE: content})
    assert figure_words(output) is None
    assert figure_data(output) is None


def test_T1_the_words_of_a_figure_are_safe_and_formulas_are_readable() -> None:
    words = figure_words(described(text="\x1b]0;owned\x07Sales $\\mathdefault{10^{3}}$"))
    assert words is not None
    assert words.words[0].text == "Sales 10³"


def test_labels_that_climb_stand_above_their_axis_and_crowded_ticks_are_thinned_from_between() -> None:
    def word(text: str, role: str, box: tuple[float, float, float, float]) -> FigureWord:
        upright = role != "y-label"
        return FigureWord(text, role, "center", upright, "#000000", box, (0.1, 0.2, 1, 0.9))  # type: ignore[arg-type]  # roles by name

    ticks = [word(f"{number:04}", "x-tick", (number / 20, 0.9, (number + 1) / 20, 1.0)) for number in range(20)]
    words = FigureWords((word("amplitude", "y-label", (0.0, 0.3, 0.05, 0.7)), *ticks))
    placed = {line.text: (line.row, line.column) for line in place_words(words, 40, 10)}
    assert placed.pop("amplitude") == (1, 0)
    assert {"0000", "0016"} <= set(placed)
    assert 4 <= len(placed) < 20


@pytest.mark.parametrize(
    ("parts", "drawn"), [(HALVES, "▀▀"), (QUADRANTS, "▘▀"), (SEXTANTS, "\N{BLOCK SEXTANT-1}\N{BLOCK SEXTANT-12}")]
)
def test_a_cell_is_the_character_that_is_nearest(parts: CellParts, drawn: str) -> None:
    across, down = parts
    picture = Image.new("RGB", (2 * across, down), "white")
    for x in (0, across, across + 1) if across == 2 else (0, 1):
        picture.putpixel((x, 0), (255, 0, 0))
    (line,) = cell_lines(picture, parts)
    assert "".join(segment.text for segment in line) == drawn
    style = line[0].style
    assert style is not None
    assert style.color is not None
    assert style.color.triplet == (255, 0, 0)


def test_every_sextant_is_a_character_of_its_own() -> None:
    patterns = []
    for bits in range(1, 63):
        picture = Image.new("RGB", (2, 3), "white")
        for at in range(6):
            if bits >> at & 1:
                picture.putpixel((at % 2, at // 2), (0, 0, 0))
        patterns.append("".join(segment.text for segment in cell_lines(picture, SEXTANTS)[0]))
    # A pattern and its reverse are the same character in other colours.
    assert len(set(patterns)) == 31
