"""Markdown as rows: the same however it arrives, never wider than the screen, cheap to append to."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from oi_tui.app.engine.core.blocks import ProseBlock, ThoughtBlock
from oi_tui.widgets.timeline.cells import BlockCell
from oi_tui.widgets.timeline.prose import Prose
from oi_tui.widgets.timeline.row_pieces import BlockDisplay, Canvas

Draw = Callable[..., list[str]]
CanvasOf = Callable[[int], Canvas]

LINES = st.sampled_from(
    r"""
text|more words here|# head|## two|#|-|+ |- item|  - inner|* star|1. one|2) two|10. ten|> quote|>|- [ ] task
---|===|***|```|```python|~~~|````|    indented|def f(): pass|'''|/* a|*/|!a ! b !|!---!:-:!|! 1 ! 2 !|**bold|_em_ `code
``|<div>|</div>|[a]: /u|[a]|[x](http://e.org)|&#x202e;&#27;|日本語|![p](x)|\|   deeper|   1. three
""".strip()
    .replace("\n", "|")
    .split("|")
).map(lambda line: line.replace("!", "|"))
ODDITIES = st.sampled_from(["\tx = 1", "👩\u200d💻", "\x1b[31mred", "\u202eabc", "a\u200db", "\ud800", "x\r", "\x9b2J"])
MARKDOWN = st.lists(st.one_of(LINES, LINES, ODDITIES, st.text(max_size=8)), max_size=14).map("\n".join)


@settings(deadline=None)
@given(MARKDOWN, st.lists(st.integers(0, 200), max_size=6), st.integers(12, 70))
def test_chunks_of_any_size_give_the_rows_of_the_whole(
    canvas_of: CanvasOf, text: str, cuts: list[int], width: int
) -> None:
    canvas = canvas_of(width)
    whole = ProseBlock(id="p", text=text, state="complete")
    streamed = BlockCell(ProseBlock(id="p"))
    for cut in sorted(cut for cut in cuts if cut < len(text)):
        streamed.layout(ProseBlock(id="p", text=text[:cut]), canvas, BlockDisplay())
    streamed.layout(whole, canvas, BlockDisplay())
    at_once = BlockCell(whole)
    at_once.layout(whole, canvas, BlockDisplay())

    assert [list(streamed.row(y)) for y in range(streamed.height)] == [
        list(at_once.row(y)) for y in range(at_once.height)
    ]


@settings(deadline=None)
@given(MARKDOWN, st.integers(12, 70))
def test_T1_rows_are_as_wide_as_the_screen_and_hold_no_control_characters(
    canvas_of: CanvasOf, text: str, width: int
) -> None:
    block = ProseBlock(id="p", text=text, state="streaming")
    cell = BlockCell(block)
    for y in range(cell.layout(block, canvas_of(width), BlockDisplay())):
        row = cell.row(y)
        assert row.cell_length == width
        assert sum(cell_len(segment.text) for segment in row) == width
        assert not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", row.text)


def prose(text: str) -> ProseBlock:
    return ProseBlock(id="p", text=text, state="complete")


def test_headings_lists_and_tasks(drawn: Draw) -> None:
    text = "# Title\n\ntext\n\n1. one\n2. two\n   - deep\n\n- [x] done\n- [ ] open"

    assert drawn(prose(text)) == [
        "   Title",
        "   ─────",
        "",
        "   text",
        "",
        "   1. one",
        "   2. two",
        "      ◦ deep",
        "",
        "   • ☑ done",
        "   • ☐ open",
    ]


def test_each_level_of_a_heading_looks_another_way_without_colours_too(canvas_of: CanvasOf) -> None:
    block = prose("# Same\n\n## Same\n\n### Same")
    cell = BlockCell(block)
    cell.layout(block, canvas_of(30), BlockDisplay())
    rows = [cell.row(number) for number in range(cell.height)]
    looks = [
        (segment.style.bold, segment.style.underline, at + 1 < len(rows) and "─" in rows[at + 1].text)
        for at, row in enumerate(rows)
        for segment in row
        if "Same" in segment.text and segment.style is not None
    ]
    assert len(set(looks)) == len(looks) == 3


def test_paragraphs_wrap_at_spaces_and_at_a_hundred_cells(drawn: Draw) -> None:
    assert drawn(prose("one two three four"), 16) == ["   one two", "   three four"]
    assert max(map(len, drawn(prose("word " * 100), 200))) <= 103


def test_tables_keep_their_columns_and_shrink_to_fit(drawn: Draw) -> None:
    table = "| a | number |\n|---|---:|\n| 日本 | 1 |\n| a long cell of words | 22 |"

    assert drawn(prose(table), 60) == [
        "   a                    │ number",
        "   ─────────────────────┼───────",
        "   日本                 │      1",
        "   a long cell of words │     22",
    ]
    assert all(cell_len(row) <= 30 for row in drawn(prose(table), 30))


def test_T4_a_link_shows_where_it_leads(drawn: Draw) -> None:
    assert drawn(prose("[good.com](https://evil.example/x)")) == ["   good.com (https://evil.example/x)"]
    assert drawn(prose("<https://same.example>")) == ["   https://same.example"]
    assert drawn(prose("![chart](https://evil.example/?leak=1)")) == [
        "   [picture: chart] (https://evil.example/?leak=1)"
    ]


def test_T1_entities_cannot_smuggle_control_characters(drawn: Draw) -> None:
    assert drawn(prose("a&#27;[31m&#x202e;b&#x9b;c")) == ["   a\ufffd[31mb\ufffdc"]


def test_a_fence_has_its_label_and_no_fence_marks(drawn: Draw) -> None:
    assert drawn(prose("```sql\nSELECT 1;\n```\nafter")) == ["   sql", "   SELECT 1;", "", "   after"]


def test_an_answer_that_was_cut_says_so(drawn: Draw) -> None:
    assert drawn(ProseBlock(id="p", text="half a sen", state="cut")) == ["   half a sen", "   … interrupted"]


@pytest.mark.parametrize("language", ["python", "c", "javascript", "html", "nonsense", "pycon"])
def test_finished_code_is_coloured_alike_streamed_or_not(canvas_of: CanvasOf, language: str) -> None:
    text = f"```{language}\n" + "/* a\n b */ x = '''\n1\n''' # <b>\n>>> f\n" * 3 + "```\n"
    canvas = canvas_of(40)
    streamed = BlockCell(ProseBlock(id="p"))
    for cut in range(0, len(text), 3):
        streamed.layout(ProseBlock(id="p", text=text[:cut]), canvas, BlockDisplay())
    block = prose(text)
    at_once = BlockCell(block)

    assert streamed.layout(block, canvas, BlockDisplay()) == at_once.layout(block, canvas, BlockDisplay())
    assert all(list(streamed.row(y)) == list(at_once.row(y)) for y in range(at_once.height))


def test_appending_leaves_finished_rows_alone(canvas_of: CanvasOf) -> None:
    canvas = canvas_of(80)
    text = "".join(f"Paragraph {number} with some words.\n\n- item\n- item\n\n" for number in range(100))
    cell = BlockCell(prose(text))
    before = [cell.row(y) for y in range(cell.layout(prose(text), canvas, BlockDisplay()) - 1)]

    cell.layout(prose(text + "and more"), canvas, BlockDisplay())

    assert all(row is cell.row(y) for y, row in enumerate(before[:-2]))


def test_lists_keep_their_numbers_and_the_gaps_of_their_author(drawn: Draw) -> None:
    assert drawn(prose("3. a\n3. b\n\n3. c\n\n   more")) == ["   3. a", "   4. b", "", "   5. c", "", "      more"]


def test_the_work_per_append_does_not_grow_with_the_message(canvas_of: CanvasOf) -> None:
    canvas = canvas_of(80)
    content = Prose(ProseBlock(id="p"))
    text = ""
    counts = []
    for number in range(400):
        before = content.parses
        text += f"Paragraph {number} with some words.\n\n"
        content.update(ProseBlock(id="p", text=text))
        content.pieces(canvas, BlockDisplay())
        counts.append(content.parses - before)

    assert max(counts) <= 2


def test_L25_a_thought_shows_its_last_lines_while_it_grows_and_one_line_afterwards(drawn: Draw) -> None:
    text = "\n".join(f"thought {number}" for number in range(9)) + "\nlast\x1b[0m"
    assert drawn(ThoughtBlock(id="t", text=text), 60) == [
        " ~ thinking · ~25 tokens",
        " │ thought 6",
        " │ thought 7",
        " │ thought 8",
        " │ last",
    ]
    over = ThoughtBlock(id="t", text=text, state="complete", seconds=75, tokens=1340)
    assert drawn(over, 60) == [" ~ thought for 1:15 min · 1,340 tokens · enter to show"]
    opened = drawn(over, 60, "open")
    assert opened[0] == " ~ thought for 1:15 min · 1,340 tokens"
    assert (opened[1], opened[-1], len(opened)) == (" │ thought 0", " │ last", 11)
