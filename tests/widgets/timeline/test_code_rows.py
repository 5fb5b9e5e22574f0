"""Code blocks: their line of facts, their source, their pictures; and what is copied of them."""

import base64
from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest
from msgspec.structs import replace
from PIL import Image

from oi_tui.app.engine.core.blocks import ActionBlock, Block, CallBlock, CodeBlock, NoticeBlock, ProseBlock, UserBlock
from oi_tui.app.engine.core.endings import Ending
from oi_tui.app.engine.core.outputs import Progress, RichOutput, StreamOutput, WrittenFile, WrittenFiles
from oi_tui.app.engine.text.words import duration
from oi_tui.widgets.timeline.cells import BlockCell
from oi_tui.widgets.timeline.highlighted_source import HighlightedSource, SourceRows
from oi_tui.widgets.timeline.logical import count_hidden, logical_text, output_text
from oi_tui.widgets.timeline.row_pieces import BlockDisplay, Canvas
from oi_tui.widgets.timeline.search import Search

Draw = Callable[..., list[str]]

ASKED, CUT_OFF = Ending(stage="undecided", cause="program"), Ending(stage="running", cause="program")
STOPPED = Ending(stage="undecided", cause="person")


def code(source: str = "x = 1", **fields: Any) -> CodeBlock:
    return CodeBlock(id="c", language="python", source=source, **fields)


def call(**fields: Any) -> CallBlock:
    return CallBlock(id="t", **{"tool": "clock", "source": "{}", **fields})


@pytest.mark.parametrize(
    ("block", "header"),
    [
        (code(state="ok", duration=0.42), " ✓ python · 1 line · 0.42 s"),
        (code("a\nb\n", state="streaming"), " ○ python · 3 lines"),
        (code("a\nb\n", state="ok"), " ✓ python · 2 lines"),
        (code(state="waiting"), " ◆ python · 1 line · waiting for approval"),
        (code(state="running"), " ⠋ python · 1 line"),
        (code(state="ok", original="y"), " ✎ python · 1 line · edited by you"),
        (code(state="error", exit_code=3, duration=12.3), " ✗ python · 1 line · 12 s · exit code 3"),
        (code(state="refused", refusal="no\n\x1b[2Jway"), " ⊘ python · 1 line · refused: no way"),
        (code(state="interrupted"), " ■ python · 1 line · interrupted"),
        (code(state="refused", ending=ASKED), " ⊘ python · 1 line · not decided: the program ended"),
        (code(state="refused", ending=STOPPED), " ⊘ python · 1 line · not run: you stopped the turn"),
        (code(state="interrupted", ending=CUT_OFF), " ■ python · 1 line · cut off: the program ended"),
        (code(state="died"), " ✗ python · 1 line · the kernel ended"),
        (code(state="cut"), " ■ python · 1 line · interrupted, not run"),
        (code(state="ok", withheld=("A", "A")), " ✓ python · 1 line · 2 secrets withheld"),
        (code(state="ok", withheld=("A",)), " ✓ python · 1 line · 1 secret withheld"),
        (code(state="ok", author="user"), " ✓ python · 1 line · typed by you"),
        (code(state="ok", caller="c0"), " ✓ python · 1 line · asked for by running code"),
        (code(state="ok", rerun="running"), " ✓ python · 1 line · runs again"),
        (code(state="ok", rerun="same"), " ✓ python · 1 line · run again: the same"),
        (code(state="ok", rerun="differs"), " ✓ python · 1 line · run again: ≠ other output"),
        (code(state="ok", rerun="error"), " ✓ python · 1 line · run again: ✗ error"),
        (call(state="ok", duration=0.01), " ✓ tool clock · no arguments · 0.01 s"),
        (call(state="running", progress=Progress(done=1204)), " ⠋ tool clock · no arguments · 1,204"),
        (
            call(state="running", progress=Progress(done=3, total=10, message="reading\x1b[2J\npages")),
            " ⠋ tool clock · no arguments · 3 of 10 · reading pages",
        ),
    ],
)
def test_the_header_says_what_happened(drawn: Draw, block: ActionBlock, header: str) -> None:
    assert drawn(block)[0] == header


def test_the_arguments_of_a_plan_are_shown_only_when_asked_for(drawn: Draw) -> None:
    arguments, told = '{"steps": [{"text": "read data.csv"}]}', StreamOutput(name="stdout", text="Kept.\n1. read it\n")
    block = call(tool="plan", source=arguments, state="ok", outputs=(told,))
    assert drawn(block) == [" ✓ tool plan · 1 argument · output 2 lines", " │ Kept.", " │ 1. read it"]
    assert any("data.csv" in row for row in drawn(block, fold="open"))
    assert BlockCell(block).has_more
    streaming = call(tool="plan", source=arguments[:20], state="streaming")
    assert drawn(streaming) == [" ○ tool plan"]
    foreign = replace(block, origin="the server notes")
    assert any("data.csv" in row for row in drawn(foreign))


LONG_ALLOWANCE = "allowed by the rule Shell(python make_summary.py *)"


@pytest.mark.parametrize(
    ("files", "undoable", "lost", "end"),
    [
        (("summary.csv",), 1, 0, "wrote summary.csv · u undo"),
        (("a.csv", "b.csv", "c.csv"), 3, 0, "wrote a.csv, b.csv and 1 more · u undo"),
        (("a.csv",), 0, 1, "wrote a.csv · 1 cannot be undone"),
        ((f"results/{'of-a-long-experiment-' * 4}final.csv",), 1, 0, "experiment-final.csv · u undo"),
    ],
)
@pytest.mark.parametrize("width", [60, 80])
def test_f16_the_file_and_the_key_stay_where_there_is_little_room(
    drawn: Draw, files: tuple[str, ...], undoable: int, lost: int, end: str, width: int
) -> None:
    written = WrittenFiles(files=tuple(WrittenFile(name=name, size=1) for name in files), undoable=undoable, lost=lost)
    fields: dict[str, Any] = {"state": "ok", "duration": 12.3, "allowance": LONG_ALLOWANCE, "written": written}
    rows = drawn(code("\n" * 40, outputs=(StreamOutput(name="stdout", text="1\n" * 9),), **fields), width=width)
    assert rows[0].startswith(" ✓ python · ")
    assert rows[0].endswith(end)


def test_a_wide_line_says_all_of_what_a_run_did(drawn: Draw) -> None:
    written = WrittenFiles(files=(WrittenFile(name="summary.csv", size=1),), undoable=1)
    rows = drawn(code(state="ok", duration=12.3, allowance="allowed by a rule", written=written), width=100)
    assert rows[0] == " ✓ python · 1 line · 12 s · allowed by a rule · wrote summary.csv · u undo"


def test_a_reason_that_is_longer_than_the_line_is_below_the_source(drawn: Draw) -> None:
    reason = "The path ../notes.md leads out of the folder, and links out of the folder are not followed either."
    block = call(state="refused", refusal=reason)
    rows = drawn(block, width=60)
    assert rows[0] == " ⊘ tool clock · no arguments · refused"
    below = [row for row in rows if row.startswith(" │ ")]
    assert " ".join(row.removeprefix(" │ ") for row in below) == reason
    assert [row for row in drawn(block, width=160) if row.startswith(" │ ")] == []
    assert drawn(block, fold="closed", width=60)[0].startswith(" ⊘ tool clock · refused: The path")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.004, "0.00 s"), (0.42, "0.42 s"), (3.21, "3.2 s"), (12.4, "12 s"), (180, "3 min"), (9000, "2.5 h")],
)
def test_durations_have_the_digits_that_matter(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_long_lines_go_on_behind_a_mark(drawn: Draw) -> None:
    assert drawn(code("0123456789abcdef", state="ok"), 14)[1:] == ["   0123456789", " ↪ abcdef"]


def test_L8_the_line_that_runs_is_marked(drawn: Draw) -> None:
    assert drawn(code("a\nb\nc", state="running", active_line=2))[1:] == ["   a", " ▸ b", "   c"]


def test_folded_to_its_header(drawn: Draw) -> None:
    assert len(drawn(code("a\nb\nc", state="ok"), fold="closed")) == 1


def test_the_active_line_moves_without_drawing_the_others_again(canvas_of: Callable[[int], Canvas]) -> None:
    source = "\n".join(f"line_{number}()" for number in range(20))
    cell = BlockCell(code(source, state="running", active_line=1))
    cell.layout(code(source, state="running", active_line=1), canvas_of(60), BlockDisplay())
    before = [cell.row(y) for y in range(1, 21)]

    cell.layout(code(source, state="running", active_line=2), cell_canvas := canvas_of(60), BlockDisplay())
    cell.layout(code(source, state="running", active_line=3), cell_canvas, BlockDisplay())
    between = [cell.row(y) for y in range(1, 21)]
    cell.layout(code(source, state="running", active_line=4), cell_canvas, BlockDisplay())
    after = [cell.row(y) for y in range(1, 21)]

    assert len(before) == 20
    assert [y for y in range(20) if between[y] is not after[y]] == [2, 3]


def test_growing_source_keeps_its_finished_rows(canvas_of: Callable[[int], Canvas]) -> None:
    canvas = canvas_of(60)
    source = "".join(f"line_{number}()\n" for number in range(50))
    cell = BlockCell(code(source, state="streaming"))
    cell.layout(code(source, state="streaming"), canvas, BlockDisplay())
    before = [cell.row(y) for y in range(1, 51)]

    cell.layout(code(source + "more", state="streaming"), canvas, BlockDisplay())

    assert all(one is cell.row(y + 1) for y, one in enumerate(before))


def picture(width: int, height: int) -> RichOutput:
    file = BytesIO()
    Image.new("RGB", (width, height), (255, 0, 0)).save(file, "PNG")
    return RichOutput(data={"image/png": base64.b64encode(file.getvalue()).decode(), "text/plain": "<Figure>"})


def test_R6_a_picture_is_drawn_in_half_blocks_with_its_proportions(drawn: Draw) -> None:
    rows = drawn(code(state="ok", outputs=(picture(640, 480),)), 80)[2:]

    assert len(rows) == 21
    assert rows[0] == " │ " + "▀" * 53
    assert rows[-1] == " │ figure · 640×480 · z zoom · o open · s save"


def test_a_small_picture_is_not_enlarged(drawn: Draw) -> None:
    assert drawn(code(state="ok", outputs=(picture(4, 4),)), 80)[2:] == [
        " │ ▀▀▀▀",
        " │ ▀▀▀▀",
        " │ figure · 4×4 · z zoom · o open · s save",
    ]


def test_a_broken_picture_is_survived(drawn: Draw) -> None:
    whole = base64.b64decode(picture(64, 64).data["image/png"])
    broken = RichOutput(data={"image/png": base64.b64encode(whole[:60]).decode()})

    assert drawn(code(state="ok", outputs=(broken,)), 80)[-1] == " │ figure · 64×64 · z zoom · o open · s save"


def test_V6_what_is_copied_is_the_text_without_gutters_and_colours() -> None:
    block = code(
        "if x:\n\ty()", state="ok", outputs=(StreamOutput(name="stdout", text="\x1b[31mred\x1b[0m\n10%\r99%\n"),)
    )

    assert logical_text(block) == "if x:\n\ty()"
    assert output_text(block) == "red\n99%"
    assert logical_text(ProseBlock(id="p", text="**bold** \u202ehidden")) == "**bold** hidden"
    assert logical_text(UserBlock(id="u", text="why?")) == "why?"
    assert logical_text(NoticeBlock(id="n", level="error", title="It broke", hint="Mend it")) == "It broke\nMend it"
    assert output_text(UserBlock(id="u", text="why?")) == ""


def test_user_and_notice_rows(drawn: Draw) -> None:
    assert drawn(UserBlock(id="u", text="one two three\nfour", files=("a.csv",)), 14) == [
        " › one two",
        "   three",
        "   four",
        "   with a.csv",
    ]
    notice = NoticeBlock(id="n", level="error", title="It broke", hint="Mend it", details="because")
    assert drawn(notice) == [" ✗ It broke", "   Mend it", "   details · enter to show"]
    assert drawn(notice, fold="open") == [" ✗ It broke", "   Mend it", " │ because"]


def test_V1_a_long_paste_is_folded(drawn: Draw) -> None:
    pasted = UserBlock(id="u", text="\n".join(str(number) for number in range(10_000)))

    assert len(drawn(pasted)) == 21
    assert len(drawn(UserBlock(id="u", text="word " * 200_000), 103)) < 30


@pytest.mark.parametrize(
    "block",
    [
        UserBlock(id="u", text="word " * 200_000),
        NoticeBlock(id="n", level="error", title="no", details="word " * 200_000),
        NoticeBlock(id="n", level="error", title="no", details="line\n" * 200_000),
    ],
    ids=["one line", "details of one line", "details of many lines"],
)
def test_what_is_opened_is_drawn_within_a_bound(drawn: Draw, block: Block) -> None:
    rows = drawn(block, 103, "open")
    assert len(rows) < 5_000
    assert "v shows all" in rows[-1]


HIDING = "if user != 'admin\u202e': # \u26a0\ufe0f\n    p\u0430y()"


@pytest.mark.parametrize("state", ["streaming", "proposed", "running", "ok"])
def test_U5_what_hides_in_code_is_written_out_before_it_runs_and_after(drawn: Draw, state: str) -> None:
    rows = "\n".join(drawn(code(HIDING, state=state)))
    assert "if user != 'admin<U+202E>': # \u26a0\ufe0f" in rows
    assert "p<U+0430>y()" in rows


def test_U5_what_hides_in_code_that_still_streams_is_written_out_as_it_comes() -> None:
    source = HighlightedSource("python", reveals=True)
    for end in range(len(HIDING) + 1):
        source.update(HIDING[:end], complete=False)
    assert source.lines == ["if user != 'admin<U+202E>': # \u26a0\ufe0f", "    p<U+0430>y()"]
    assert source.revealing == {0, 1}
    source.update("p\u0430y()\nx = '<U+202E>'", complete=True)
    assert source.revealing == {0}, "the second line has only words that look like it"


def test_U5_what_is_written_out_stands_out_wherever_it_stands(
    canvas_of: Callable[[int], Canvas],
) -> None:
    canvas = canvas_of(60)
    source = HighlightedSource("python", reveals=True)
    source.update("a\u202e\u200b = '\u2066x' # \u202e", complete=True)
    style = canvas.ink.code_hidden
    segments = list(SourceRows(source, canvas).row(0))
    marked = "".join(segment.text for segment in segments if segment.style == style)
    assert marked == "<U+202E><U+200B><U+2066><U+202E>"
    assert "a<U+202E><U+200B> = '<U+2066>x' # <U+202E>" in "".join(segment.text for segment in segments)


def test_U5_what_is_copied_or_found_of_code_is_what_is_shown_of_it() -> None:
    block = code(HIDING, state="ok")
    assert logical_text(block) == HIDING.replace("\u202e", "<U+202E>").replace("\u0430", "<U+0430>")
    assert count_hidden(block) == 2
    assert count_hidden(code("print('\u26a0\ufe0f')")) == 0
    assert Search("u+202e").matches_in(block) == 1
