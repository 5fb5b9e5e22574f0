"""Searching: what counts as a match, in what order blocks are found, and which cells of the rows it is."""

import sys
from collections.abc import Callable, Sequence
from functools import partial

from hypothesis import example, given
from hypothesis import strategies as st
from rich.segment import Segment

from oi_tui.app.engine.core.blocks import Block, CodeBlock, NoticeBlock, ProseBlock, UserBlock
from oi_tui.app.engine.core.outputs import ErrorOutput, RichOutput, StreamOutput, Tail
from oi_tui.themes.loader import load_palette
from oi_tui.widgets.rows.row import RowStrip
from oi_tui.widgets.timeline.ink import Ink
from oi_tui.widgets.timeline.logical import logical_text, output_text
from oi_tui.widgets.timeline.row_pieces import GUTTER, Canvas
from oi_tui.widgets.timeline.search import PORTION, SEARCH_SLICE, Search, fold_case
from oi_tui.widgets.timeline.wrap import Line, TextRun, fold_runs, wrap

INK = Ink(load_palette())
WORDS = st.text(st.sampled_from("aAb 日ä"), max_size=60)
NEEDLES = st.text(st.sampled_from("aAb 日ä"), min_size=1, max_size=4)
PRINTED = st.lists(
    st.sampled_from(["a", "b", " ", "日", "\n", "\r\n", "\r", "\b", "\t", "\x1b[1m", "\x1b[K", "\x1b[A"]), max_size=20
).map("".join)


def naive(text: str, needle: str) -> list[int]:
    """Offsets of matches, letter by letter."""

    any_case = not any(letter.isupper() for letter in needle)

    def same(one: str, other: str) -> bool:
        return one == other or (any_case and one.lower() == other)

    found: list[int] = []
    at = 0
    while at + len(needle) <= len(text):
        if all(same(text[at + number], letter) for number, letter in enumerate(needle)):
            found.append(at)
            at += len(needle)
        else:
            at += 1
    return found


def rows_of(
    lines: list[str], width: int, breaks: Callable[[Sequence[TextRun], int], list[Line]] = fold_runs
) -> list[RowStrip]:
    canvas = Canvas(width + GUTTER + 1, INK)
    return [canvas.strip(row, INK.page) for line in lines for row in breaks([(line, INK.page)], canvas.room)]


def marked(rows: list[RowStrip], needle: str) -> list[list[str]]:
    """The text in the marked cells."""
    spans = Search(needle).spans(rows)
    return [[row.crop(*span).text for span in of_row] for row, of_row in zip(rows, spans, strict=True)]


def said(text: str, id: str = "p") -> ProseBlock:
    return ProseBlock(id=id, text=text)


def test_a_needle_without_capitals_finds_any_case() -> None:
    assert Search("mean").count("Mean mean MEAN") == 3
    assert Search("Mean").count("Mean mean MEAN") == 1


def test_letters_of_any_alphabet_have_a_small_one_in_the_same_place() -> None:
    for number in range(sys.maxunicode + 1):
        letter = chr(number)
        assert len(fold_case(f"x{letter}y")) == 3
    assert fold_case("ΣΑΣ İ") == "σασ i"


def test_nothing_is_found_by_nothing_or_across_lines() -> None:
    assert Search("").count("abc") == 0
    assert Search("a\nb").count("a\nb") == 0
    assert list(Search("").find([said("abc")], 0, 1)) == []


def test_a_pattern_is_only_text() -> None:
    assert Search("a.c").count("abc a.c") == 1


@given(WORDS, NEEDLES)
def test_matches_are_those_that_a_letter_by_letter_search_finds(text: str, needle: str) -> None:
    search = Search(needle)
    assert list(search.in_text(text)) == naive(text, needle)
    assert search.count(text) == len(naive(text, needle))


def test_every_kind_of_block_is_searched_in_what_a_person_can_copy() -> None:
    blocks: list[Block] = [
        UserBlock(id="u", text="Find the needle"),
        said("a **needle**"),
        CodeBlock(id="c", language="python", source="needle = 1"),
        CodeBlock(id="o", language="python", outputs=(StreamOutput(name="stderr", text="x\nneedle\n"),)),
        CodeBlock(id="e", language="python", outputs=(ErrorOutput(name="Needle", value="no"),)),
        CodeBlock(id="r", language="python", outputs=(RichOutput(data={"text/plain": "needle"}),)),
        NoticeBlock(id="n", level="info", title="t", details="needle"),
    ]
    assert [Search("needle").matches_in(block) for block in blocks] == [1] * 7


def test_the_end_of_a_long_output_is_searched_too() -> None:
    output = StreamOutput(name="stdout", text="x\n", tail=Tail(text="needle\n", left_out_characters=9))
    assert Search("needle").matches_in(CodeBlock(id="c", language="python", outputs=(output,))) == 1


def test_colours_and_hidden_characters_do_not_hide_a_match() -> None:
    output = StreamOutput(name="stdout", text="ne\x1b[31med\x1b[0mle and nee\u200bdle")
    assert Search("needle").matches_in(CodeBlock(id="c", language="python", outputs=(output,))) == 2


def test_what_a_progress_bar_overwrote_is_not_found() -> None:
    block = CodeBlock(id="c", language="python", outputs=(StreamOutput(name="stdout", text="10 %\r99 %\n"),))
    assert Search("10 %").matches_in(block) == 0
    assert Search("99 %").matches_in(block) == 1


@given(PRINTED, st.sampled_from(["a", "ab", "b ", "日", " "]))
@example("\x1b[1mb\ta", "b       a")
def test_printed_text_is_searched_as_a_terminal_shows_it(text: str, needle: str) -> None:
    block = CodeBlock(id="c", language="python", outputs=(StreamOutput(name="stdout", text=text),))
    lines = output_text(block).split("\n")
    assert Search(needle).matches_in(block) == sum(len(naive(line, needle)) for line in lines)


def test_blocks_are_found_in_order_and_around_the_end() -> None:
    blocks = [said("x"), said("-"), said("x"), said("-"), said("x")]
    assert [index for index in Search("x").find(blocks, 1, 1) if index is not None] == [2, 4, 0]
    assert [index for index in Search("x").find(blocks, 1, -1) if index is not None] == [0, 4, 2]
    assert list(Search("x").find([], 0, 1)) == []


def test_a_search_lets_others_go_on_after_each_slice_of_work() -> None:
    ticks = iter(range(10_000))
    blocks = [said("-")] * 100
    search = Search("x", clock=lambda: next(ticks) * SEARCH_SLICE / 4)
    found = list(search.find(blocks, 0, 1))
    assert set(found) == {None}
    assert 15 <= len(found) <= 50


def test_a_long_output_is_searched_in_slices() -> None:
    text = "some words that are not it\n" * (20 * PORTION // 27)
    for written in (text, "\x1b[1m" + text, text + "\rneedle"):
        block = CodeBlock(id="c", language="python", outputs=(StreamOutput(name="stdout", text=written),))
        ticks = iter(range(10_000))
        search = Search("nowhere", clock=partial(lambda ticks: next(ticks) * SEARCH_SLICE, ticks))
        assert len(list(search.find([block], 0, 1))) >= 19


def test_a_match_that_goes_on_in_the_next_row_has_a_part_in_each() -> None:
    rows = rows_of(["xxhaystack"], 5)
    assert marked(rows, "haystack") == [["hay"], ["stack"]]
    assert Search("haystack").spans(rows) == [[(GUTTER + 2, GUTTER + 5)], [(GUTTER, GUTTER + 5)]]


def test_words_are_found_over_the_space_that_a_break_swallowed() -> None:
    rows = rows_of(["one two"], 4, wrap)
    assert marked(rows, "one two") == [["one"], ["two"]]


def test_rows_of_different_lines_do_not_belong_together() -> None:
    assert marked(rows_of(["hay", "stack"], 5), "haystack") == [[], []]


def test_gutter_indentation_and_padding_are_no_text() -> None:
    canvas = Canvas(20, INK)
    rows = [canvas.strip([Segment("12 12")], INK.page, "1", lead=3)]
    assert Search("12").spans(rows) == [[(GUTTER + 3, GUTTER + 5)]]
    assert Search(" ").spans([canvas.strip([Segment("x")], INK.page)]) == [[]]


def test_a_letter_is_marked_with_all_that_belongs_to_it() -> None:
    rows = rows_of(["日e\u0301a"], 10)
    assert Search("e").spans(rows) == [[(GUTTER + 2, GUTTER + 3)]]
    assert Search("\u0301").spans(rows) == [[(GUTTER + 2, GUTTER + 3)]]


@given(st.lists(WORDS, max_size=4), NEEDLES, st.integers(4, 12))
def test_marked_cells_are_the_matches_whatever_the_width(lines: list[str], needle: str, width: int) -> None:
    rows = rows_of(lines, width)
    found = [line[at : at + len(needle)] for line in lines for at in naive(line, needle)]
    assert "".join(part for of_row in marked(rows, needle) for part in of_row) == "".join(found)


@given(st.lists(WORDS, max_size=4), NEEDLES, st.integers(4, 12))
def test_marked_words_are_the_matches_wherever_lines_are_broken(lines: list[str], needle: str, width: int) -> None:
    lines = [line.rstrip(" ") for line in lines]
    found = [line[at : at + len(needle)] for line in lines for at in naive(line, needle)]
    painted = "".join(part for of_row in marked(rows_of(lines, width, wrap), needle) for part in of_row)
    assert painted.replace(" ", "") == "".join(found).replace(" ", "")


@given(st.text(max_size=30), NEEDLES)
def test_prose_is_searched_as_it_is_copied(text: str, needle: str) -> None:
    block = said(text)
    assert Search(needle).matches_in(block) == sum(len(naive(line, needle)) for line in logical_text(block).split("\n"))
