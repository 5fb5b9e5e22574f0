"""Output of programs: what a terminal would show, bounded, and never wider than the screen."""

import re
from collections.abc import Callable
from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.outputs import ErrorOutput, Output, RichOutput, StreamOutput
from oi_tui.widgets.timeline.cells import BlockCell
from oi_tui.widgets.timeline.ink import Sgr
from oi_tui.widgets.timeline.row_pieces import BlockDisplay, Canvas, FoldState
from oi_tui.widgets.timeline.terminal import TerminalText
from oi_tui.widgets.timeline.terminal_row import LONGEST_ROW
from support.hostile import unseen

Draw = Callable[..., list[str]]

COLOURS = ["\x1b[31m", "\x1b[0m", "\x1b[38;5;200m", "\x1b[48;2;1;2;3m", "\x1b[38;5m"]
MOVES = ["\x1b[" + move for move in ("K", "2K", "1K", "A", "2A", "9999B", "3C", "5D", "4G", "J", "2J", "H")]
CONTROLS = [
    "\r",
    "\n",
    "\r\n",
    "\b",
    "\t",
    "\u202e",
    "\x1b",
    "\x9b",
    "\x00",
    "\x1b[",
    "\x1bP",
    "\x1b]0;t\x07",
    *("\x1b]", "\x1b_", "\x1b^", "\x1bX", "\x90", "\x98", "\x9d", "\x9e", "\x9f"),
    *("\x07", "\x18", "\x1a", "\x1b\\", "\x9c", "\x9b31m", "\x9bK", "\x1b(B"),
    "\ud800",
]
WORDS = [
    "text",
    "日本",
    "👩\u200d💻",
    "\u200d",
    "\ufe0f",
    "\u0301",
    "❤",
    "0123456789" * 3,
    "\x1b]8;;http://e.org\x1b\\link\x1b]8;;\x1b\\",
]
PIECES = st.sampled_from([*COLOURS, *MOVES, *CONTROLS, *WORDS])
OUTPUT = st.lists(st.one_of(PIECES, st.text(max_size=4)), max_size=30).map("".join)


def plain(text: str) -> str:
    terminal = TerminalText()
    terminal.update(text)
    return terminal.plain()


def code(*outputs: Output) -> CodeBlock:
    return CodeBlock(id="c", language="python", source="1", state="ok", outputs=outputs)


def stdout(text: str) -> StreamOutput:
    return StreamOutput(name="stdout", text=text)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("a\nb\n", "a\nb"),
        (" 10%|#   |\r100%|####|\n", "100%|####|"),
        ("abcdef\rxy\n", "xycdef"),
        ("abcdef\rxy\x1b[K\n", "xy"),
        ("abc\b\bX", "aXc"),
        ("one\ntwo\x1b[1A\x1b[2K\rONE\x1b[B\x1b[2Ktwo again", "ONE\n   two again"),
        ("a\tb", "a       b"),
        ("\x1b]0;title\x07shown", "shown"),
        ("\x1b]8;;http://evil\x1b\\good.com\x1b]8;;\x1b\\", "good.com"),
        ("\x1b[2Jstays", "stays"),
        ("\x1b[31", ""),
    ],
)
def test_R7_what_a_terminal_obeys_within_its_lines_is_obeyed(written: str, shown: str) -> None:
    assert plain(written) == shown


def test_R7_colours_are_read(drawn: Draw) -> None:
    terminal = TerminalText()
    terminal.update("\x1b[1;31mred\x1b[39m bold\x1b[0m \x1b[38;5;208mo\x1b[48;2;1;2;3mt\x1b[m\x1b[92mg")

    assert terminal.all_lines() == [
        [
            ("red", Sgr(1, None, frozenset({"bold"}))),
            (" bold", Sgr(None, None, frozenset({"bold"}))),
            (" ", Sgr()),
            ("o", Sgr(208)),
            ("t", Sgr(208, "#010203")),
            ("g", Sgr(10)),
        ]
    ]


@given(OUTPUT, st.lists(st.integers(0, 200), max_size=6), st.sampled_from([None, 1, 20]))
@example("\r\x9da", [2], None)  # a sequence that a C1 control begins
@example("\x1b]" + "a" * 5_000, [4_500], None)  # a sequence longer than any that is waited for
@example("\x1b[" + "1" * 5_000 + "m", [4_500], None)
@example("\r❤\ufe0f12\bx", [2], None)  # a character of several
@example("\r\u0301a", [2], None)
@example("x" * (LONGEST_ROW + 1) + "\x1b(B\n", [LONGEST_ROW + 1], None)
def test_T2_chunks_of_any_size_give_the_lines_of_the_whole(text: str, cuts: list[int], budget: int | None) -> None:
    streamed, at_once = TerminalText(), TerminalText()
    for end in [*sorted(cut for cut in cuts if cut < len(text)), len(text)]:
        streamed.update(text[:end], budget)
        while streamed.behind:
            streamed.advance(budget)
    at_once.update(text)

    assert streamed.all_lines() == at_once.all_lines()
    assert streamed.plain() == at_once.plain()


@given(OUTPUT)
def test_T1_lines_hold_nothing_that_is_hidden_or_obeyed(text: str) -> None:
    """Neither whole nor letter by letter, nor as they are at any time between."""
    terminal = TerminalText()
    for end in range(len(text) + 1):
        terminal.update(text[:end])
        assert unseen(terminal.plain()) == ""


@given(OUTPUT, st.integers(12, 60))
def test_T1_rows_are_as_wide_as_the_screen_and_hold_no_control_characters(
    canvas_of: Callable[[int], Canvas], text: str, width: int
) -> None:
    block = code(stdout(text), RichOutput(data={"text/plain": text}), ErrorOutput(name=text, value=text))
    cell = BlockCell(block)
    for fold in get_args(FoldState):
        for y in range(cell.layout(block, canvas_of(width), BlockDisplay(fold))):
            row = cell.row(y)
            assert sum(segment.cell_length for segment in row) == width
            assert not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", row.text)


def test_long_output_shows_its_head_and_its_tail(drawn: Draw) -> None:
    block = code(stdout("".join(f"line {number}\n" for number in range(100))))

    assert drawn(block)[2:] == [
        *(f" │ line {number}" for number in range(10)),
        " │ … 80 more lines · enter to show",
        *(f" │ line {number}" for number in range(90, 100)),
    ]
    assert drawn(block, fold="open")[2:] == [f" │ line {number}" for number in range(100)]


def test_R8_stderr_has_a_mark_of_its_own(drawn: Draw) -> None:
    assert drawn(code(stdout("out\n"), StreamOutput(name="stderr", text="err\n")))[2:] == [" │ out", " ┃ err"]


def test_long_lines_go_on_in_the_next_row(drawn: Draw) -> None:
    assert drawn(code(stdout("0123456789" * 2)), 14)[2:] == [" │ 0123456789", " │ 0123456789"]


def test_a_line_without_end_is_cut_until_it_is_opened(drawn: Draw) -> None:
    block = code(stdout("x" * 100_000))

    assert len(drawn(block, 103)) == 2 + 21
    assert drawn(block, 103)[-1].endswith("…")
    assert len(drawn(block, 103, "open")) == 2 + -(-20_001 // 99)


def test_R5_a_table_keeps_its_columns(drawn: Draw) -> None:
    table = "    date   shop  score\n0  01-03   Oslo   91.5"

    assert drawn(code(RichOutput(data={"text/plain": table}, is_result=True)), 20)[2:] == [
        " │     date   shop›",
        " │ 0  01-03   Oslo›",
    ]


def test_what_was_not_kept_is_counted(drawn: Draw) -> None:
    block = CodeBlock(id="c", language="python", source="1", state="ok", outputs=(stdout("x\n"),), dropped=1234)

    assert drawn(block)[-1] == " │ … 1,234 more characters were not kept"


def test_streamed_output_draws_only_what_is_new(canvas_of: Callable[[int], Canvas]) -> None:
    canvas, text = canvas_of(60), "first\n"
    cell = BlockCell(code(stdout(text)))
    cell.layout(code(stdout(text)), canvas, BlockDisplay("open"))
    for number in range(50):
        text += f"line {number}\n"
        cell.layout(code(stdout(text)), canvas, BlockDisplay("open"))

    assert cell.height == 2 + 51 + 1
    assert cell.row(2).text.startswith(" │ first")
