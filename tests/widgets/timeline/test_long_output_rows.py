"""Output of any length on the screen: what is drawn, what is left out, and that no frame has too much to do."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.app import App, ComposeResult

from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.outputs import StreamOutput, Tail, WholeOutput
from oi_tui.widgets.timeline.cells import BlockCell
from oi_tui.widgets.timeline.console import MEASURED_LINES, MOST_LINES, ConsoleStream
from oi_tui.widgets.timeline.logical import output_text, whole_output
from oi_tui.widgets.timeline.row_pieces import BlockDisplay, Canvas
from oi_tui.widgets.timeline.terminal import TerminalText
from oi_tui.widgets.timeline.view import Timeline
from oi_tui.widgets.timeline.viewport import Viewport

Draw = Callable[..., list[str]]

WHOLE = WholeOutput(path="/outputs/output-1.txt")
HEAD = "".join(f"line {number}\n" for number in range(100))
TAIL = Tail(
    text="".join(f"line {number}\n" for number in range(999_950, 1_000_000)),
    left_out_characters=10_000_000,
    left_out_lines=999_850,
)


def code(text: str, tail: Tail | None = None, whole: WholeOutput | None = WHOLE) -> CodeBlock:
    output = StreamOutput(name="stdout", text=text, tail=tail)
    return CodeBlock(id="c", language="python", source="1", state="ok", outputs=(output,), whole=whole)


def test_L14_the_end_of_a_million_lines_is_on_the_screen(drawn: Draw) -> None:
    rows = drawn(code(HEAD, TAIL))
    assert "output 1,000,000 lines" in rows[0]
    assert rows[2:] == [
        *(f" │ line {number}" for number in range(10)),
        " │ … 999,980 more lines · enter to show",
        *(f" │ line {number}" for number in range(999_990, 1_000_000)),
    ]


def test_opened_it_shows_all_that_is_here_and_where_the_rest_is(drawn: Draw) -> None:
    rows = drawn(code(HEAD, TAIL), fold="open")
    assert rows[2:] == [
        *(f" │ line {number}" for number in range(100)),
        " │ … 999,850 more lines in the file · v shows all",
        *(f" │ line {number}" for number in range(999_950, 1_000_000)),
    ]


@pytest.mark.parametrize(
    ("whole", "said"),
    [
        (None, "… 999,850 more lines were not kept"),
        (WholeOutput(path="", missing="no \x1b[2Jspace"), "… 999,850 more lines were not kept: no space"),
        (WholeOutput(path="/a", missing="full"), "… 999,850 more lines in the file · v shows all · full"),
    ],
)
def test_what_is_not_in_the_file_is_said(drawn: Draw, whole: WholeOutput | None, said: str) -> None:
    assert f" │ {said}" in drawn(code(HEAD, TAIL, whole), fold="open")


def test_the_file_can_come_after_the_text(drawn: Draw, canvas_of: Callable[[int], Canvas]) -> None:
    cell, before, after = BlockCell(code(HEAD, TAIL, None)), code(HEAD, TAIL, None), code(HEAD, TAIL)
    after = CodeBlock(id="c", language="python", source="1", state="ok", outputs=before.outputs, whole=WHOLE)
    cell.layout(before, canvas_of(60), BlockDisplay("open"))
    assert "not kept" in cell.row(102).text
    cell.layout(after, canvas_of(60), BlockDisplay("open"))
    assert "v shows all" in cell.row(102).text


def test_a_gap_inside_a_line_counts_characters(drawn: Draw) -> None:
    rows = drawn(code("x" * 30, Tail(text="y" * 30, left_out_characters=1_234)))
    assert rows[2:] == [" │ " + "x" * 30, " │ … 1,234 more characters · enter to show", " │ " + "y" * 30]


def test_a_tail_without_a_gap_continues_the_text(drawn: Draw) -> None:
    assert drawn(code("10%", Tail(text="\r20%\n")))[2:] == [" │ 20%"]


def test_what_stands_for_left_out_lines_is_no_text(canvas_of: Callable[[int], Canvas]) -> None:
    cell, block = BlockCell(code(HEAD, TAIL)), code(HEAD, TAIL)
    cell.layout(block, canvas_of(60), BlockDisplay())
    row = cell.row(12)
    assert "more lines" in row.text
    assert row.lead == row.reach


def test_all_of_a_long_output_can_be_found_and_what_is_here_copied() -> None:
    block = code("a\n", Tail(text="b\n", left_out_characters=5))
    assert whole_output(block) == Path("/outputs/output-1.txt")
    assert whole_output(code("a", whole=WholeOutput(path="", missing="full"))) is None
    assert whole_output(code("a", whole=None)) is None
    assert output_text(block) == "a\n[… 5 characters left out …]\nb"


# -- no frame has too much to do: counted work ---------------------------------------------------------


FLOODS = {
    "plain": "line of text with a number and more of it\n" * 50_000,
    "coloured": "\x1b[32mgreen\x1b[0m and \x1b[1;31mred\x1b[0m text\n" * 50_000,
    "a progress bar": "\r 45%|#####     | 450/1000 [00:10<00:12]" * 50_000,
    "two progress bars": "\n\r 45%|####  | inner\x1b[A\r 10%|#    | outer" * 30_000,
    "empty lines": "\n" * 500_000,
    "one line": "x" * 2_000_000,
    "backspaces": "x" * 5_000 + "\by" * 20_000,
    "wide": "\r日本語" * 50_000,
}


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_is_read_in_slices(name: str) -> None:
    text, budget = FLOODS[name], 1_000
    sliced, at_once = TerminalText(), TerminalText()
    at_once.update(text)
    sliced.update(text, budget)
    slices, most = 1, sliced._work
    while sliced.behind:
        sliced.advance(budget)
        slices, most = slices + 1, max(most, sliced._work)
    assert slices > 1
    assert most <= budget + 12_000  # a slice with nothing but line ends in it, or one token
    assert (sliced.count, sliced.widest) == (at_once.count, at_once.widest)
    numbers = {0, sliced.count // 2, sliced.count - 1}
    assert [sliced.line(n, 200) for n in numbers] == [at_once.line(n, 200) for n in numbers]


def test_what_continues_costs_only_what_is_new() -> None:
    terminal, text = TerminalText(), FLOODS["coloured"]
    terminal.update(text)
    work = terminal._work
    terminal.update(text + "one more line\n")
    assert terminal._work < work / 100


def test_frames_go_on_until_all_is_read(canvas_of: Callable[[int], Canvas]) -> None:
    view = Viewport(canvas_of(60))
    view.resize(60, 50)
    view.reset([code(FLOODS["coloured"] + "the end\n")])
    frames = 0
    while not frames or view.behind:
        view.to_end()
        rows, frames = view.rows(), frames + 1
        assert frames < 1_000
    assert frames > 2
    assert "the end" in rows[-2].strip.text


def test_a_folded_block_does_not_ask_for_frames(canvas_of: Callable[[int], Canvas]) -> None:
    cell, block = BlockCell(code(FLOODS["coloured"])), code(FLOODS["coloured"])
    cell.layout(block, canvas_of(60), BlockDisplay())
    assert cell.behind
    cell.layout(block, canvas_of(60), BlockDisplay("closed"))
    assert not cell.behind


def opened(canvas: Canvas, lines: int) -> ConsoleStream:
    """A stream that was laid out when it was opened."""
    stream = ConsoleStream(StreamOutput(name="stdout", text="line\n" * lines))
    stream.pieces(canvas, BlockDisplay("open"))
    while stream.behind:
        stream.pieces(canvas, BlockDisplay("open"))
    return stream


def test_of_an_opened_output_only_rows_that_are_painted_are_drawn(canvas_of: Callable[[int], Canvas]) -> None:
    canvas = canvas_of(60)
    stream = opened(canvas, 20_000)
    pieces = stream.pieces(canvas, BlockDisplay("open"))
    assert sum(piece.height for piece in pieces) == MOST_LINES + 1
    pieces[0].row(3)
    assert stream._lines is not None
    assert list(stream._lines[0]._drawn) == [3]


def test_a_long_output_opens_in_steps(canvas_of: Callable[[int], Canvas]) -> None:
    canvas, stream = canvas_of(60), ConsoleStream(StreamOutput(name="stdout", text="line\n" * MOST_LINES))
    heights: list[int] = []
    while not heights or stream.behind:
        heights.append(sum(piece.height for piece in stream.pieces(canvas, BlockDisplay("open"))))
    assert heights == [*range(MEASURED_LINES + 1, MOST_LINES + 1, MEASURED_LINES), MOST_LINES]


def test_streamed_text_measures_only_new_lines(canvas_of: Callable[[int], Canvas]) -> None:
    canvas = canvas_of(60)
    stream = opened(canvas, 1_000)
    assert stream._lines is not None
    heights = stream._lines[0]._heights
    heights.update(dict.fromkeys(range(1_000), 3))  # measured again, they would be 1
    stream.update(StreamOutput(name="stdout", text="line\n" * 1_000 + "one\ntwo\n"))
    assert sum(piece.height for piece in stream.pieces(canvas, BlockDisplay("open"))) == 3_002


async def test_a_flood_that_was_put_at_once_is_shown_to_its_end_without_further_news() -> None:
    class OneTimeline(App[None]):
        def compose(self) -> ComposeResult:
            yield Timeline()

    async with asyncio.timeout(30), OneTimeline().run_test(size=(60, 20)) as pilot:
        timeline = pilot.app.query_one(Timeline)
        timeline.put(0, code(FLOODS["coloured"] + "the end\n"))
        while not any("the end" in row.strip.text for row in timeline._shown.rows):
            await pilot.pause(0.01)
        assert not timeline._view.behind


def test_the_count_in_the_header_is_right_when_all_slices_were_read(canvas_of: Callable[[int], Canvas]) -> None:
    text = "".join(f"line {number} of a long output\n" for number in range(60_000))
    block = CodeBlock(
        id="c", language="python", source="go()", state="ok", outputs=(StreamOutput(name="stdout", text=text),)
    )
    cell, canvas = BlockCell(block), canvas_of(80)
    cell.layout(block, canvas, BlockDisplay())
    for _ in range(1_000):
        if not cell.behind:
            break
        cell.layout(block, canvas, BlockDisplay())
    assert not cell.behind
    assert "output 60,000 lines" in cell.row(0).text
