"""Blocks as Markdown: each kind in its form, and nothing that a block says can end or swallow another one."""

import base64
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from oi_tui.app.engine.core.blocks import Block, CodeBlock, NoticeBlock, ProseBlock, UserBlock
from oi_tui.app.engine.core.outputs import ErrorOutput, Output, RichOutput, StreamOutput, Tail
from oi_tui.app.engine.text.markdown import as_markdown, fenced_block, transcript_markdown
from oi_tui.app.engine.text.safe import visible_text

PNG = b"\x89PNG\r\n\x1a\n" + bytes(24)
HOSTILE = st.text(st.sampled_from("`~\n >-#*$[]()<!?/\\|1.x\t\x1b\u202e&"), max_size=40)


def parsed(text: str) -> list[tuple[str, str]]:
    """The elements at the top level: type and content."""
    return [
        (token.type, token.content)
        for token in MarkdownIt("commonmark").parse(text)
        if token.level == 0 and token.nesting >= 0
    ]


def ran(*outputs: Output, source: str = "1", **more: Any) -> CodeBlock:
    return CodeBlock(id="c", language="python", source=source, state="ok", outputs=outputs, **more)


def shown(*outputs: Output) -> str:
    """The Markdown of outputs alone."""
    return as_markdown(ran(*outputs, source=""))


def test_a_prompt_is_a_quote_with_the_files_that_came_with_it() -> None:
    block = UserBlock(id="u", text="Plot it.\n\n- in blue", files=("my_data.csv",))
    assert as_markdown(block) == "> Plot it.\n>\n> - in blue\n>\n> Files: my\\_data.csv"


def test_prose_stays_as_it_is_written() -> None:
    assert as_markdown(ProseBlock(id="p", text="# Done\n\n*All* of it.\n")) == "# Done\n\n*All* of it."


def test_code_is_a_fence_with_the_word_that_highlighters_know() -> None:
    assert as_markdown(ran(source="x = 1\n")) == "```python\nx = 1\n```"
    assert as_markdown(CodeBlock(id="c", language="shell", source="ls")) == "```bash\nls\n```"
    assert as_markdown(CodeBlock(id="c", language="a`\nb", source="ls")) == "```\nls\n```"


def test_a_fence_is_longer_than_any_run_of_backticks_inside() -> None:
    assert fenced_block("a ```` b") == "`````\na ```` b\n`````"


def test_printed_text_is_what_a_terminal_leaves_without_colours() -> None:
    text = "\x1b[31m10 %\x1b[0m\r100 %\nok\u202e\n"
    assert shown(StreamOutput(name="stdout", text=text)) == "```text\n100 %\nok\n```"


def test_of_a_long_output_head_and_tail_are_kept_apart() -> None:
    output = StreamOutput(name="stdout", text="head\n", tail=Tail(text="tail\n", left_out_characters=1234))
    assert shown(output) == "```text\nhead\n```\n\n*… 1,234 characters …*\n\n```text\ntail\n```"


def test_an_error_is_its_whole_traceback_without_colours() -> None:
    error = ErrorOutput(name="E", value="no", traceback=("\x1b[31mCell In[1], line 1\x1b[0m", "lib.py", "E: no"))
    assert shown(error) == "```text\nCell In[1], line 1\nlib.py\nE: no\n```"
    assert shown(ErrorOutput(name="E", value="no")) == "```text\nE: no\n```"


def test_markdown_and_formulas_are_themselves() -> None:
    assert shown(RichOutput(data={"text/plain": "x", "text/markdown": "**x**"})) == "**x**"
    assert shown(RichOutput(data={"text/plain": "x", "text/latex": r"\frac{1}{2}"})) == "$$\n\\frac{1}{2}\n$$"
    assert shown(RichOutput(data={"text/latex": "$x\n\ny$", "image/png": "AA=="})) == "$x\ny$"


def test_json_is_a_fence_of_json_and_a_result_its_plain_text() -> None:
    assert shown(RichOutput(data={"application/json": {"a": 1}})) == '```json\n{\n  "a": 1\n}\n```'
    assert shown(RichOutput(data={"text/plain": "42", "text/html": "<b>42</b>"})) == "```text\n42\n```"
    assert shown(RichOutput(data={"text/html": "<b>42</b>"})) == "```html\n<b>42</b>\n```"


def test_a_picture_is_written_out_or_kept_where_the_caller_says() -> None:
    encoded = base64.b64encode(PNG).decode()
    output = RichOutput(data={"text/plain": "<Figure>", "image/png": encoded + "\n"})
    assert shown(output) == f"![figure](data:image/png;base64,{encoded})"
    kept: list[tuple[str, bytes]] = []

    def place(mime: str, content: bytes) -> str:
        kept.append((mime, content))
        return "figures/my plot (1).png"

    assert as_markdown(ran(output), place).endswith("![figure](figures/my%20plot%20%281%29.png)")
    assert kept == [("image/png", PNG)]


@pytest.mark.parametrize("content", ["日本", "%%%%", "iVBOR", "", "iVBORw0KGgo" + "日" * 40, 5, ["x"]])
def test_a_picture_that_is_none_is_said_to_be_one_and_breaks_nothing(content: object) -> None:
    assert shown(RichOutput(data={"image/png": content})) == "```text\n[a picture was shown to the user]\n```"


def frame(rows: int, cell: object = 1.5) -> RichOutput:
    content = {
        "index": [["", "int64", True]],
        "columns": [["a|b", "float64", True], ["na\nme", "object", False]],
        "head": [[n, cell, "x"] for n in range(min(rows, 500))],
        "tail": [[rows - 1, cell, "last"]] if rows > 500 else [],
        "rows": rows,
        "width": 2,
    }
    return RichOutput(data={"application/vnd.oi-tui.table+json": content, "text/plain": "plain"})


def test_a_data_frame_is_a_table_with_what_was_left_out() -> None:
    assert shown(frame(1)) == "|  | a\\|b | na me |\n| ---: | ---: | --- |\n| 0 | 1.5 | x |\n\n*1 row × 2 columns*"
    lines = shown(frame(1000)).split("\n")
    assert len(lines) < 40
    assert "| … | … | … |" in lines
    assert lines[-3:] == ["| 999 | 1.5 | last |", "", "*1,000 rows × 2 columns*"]


def test_what_only_claims_to_be_a_table_is_text() -> None:
    claims: tuple[object, ...] = (
        {},
        [],
        "x",
        {"index": [], "columns": [1], "head": [], "tail": [], "rows": 1, "width": 1},
    )
    for content in claims:
        output = RichOutput(data={"application/vnd.oi-tui.table+json": content, "text/plain": "plain"})
        assert shown(output) == "```text\nplain\n```"


@given(HOSTILE)
def test_a_cell_never_leaves_its_table(cell: str) -> None:
    elements = parsed(transcript_markdown([ran(frame(1, cell)), ran(source="next()")]))
    assert elements[-1] == ("fence", "next()\n")
    table = MarkdownIt("commonmark").enable("table").parse(shown(frame(1, cell)))
    assert sum(token.type == "td_open" for token in table) == 3


def test_what_only_claims_to_be_a_picture_is_text() -> None:
    output = RichOutput(data={"image/png": "<scriptly>", "text/plain": "<Figure>"})
    assert "script" not in shown(output)
    assert shown(output).startswith("```text\n")


def test_how_a_run_ended_stands_under_it() -> None:
    refused = CodeBlock(id="c", language="shell", source="rm x", state="refused", refusal="not *that*\nfile")
    assert as_markdown(refused).endswith("\n\n*Not run: not \\*that\\* file*")
    assert as_markdown(ran(exit_code=2)).endswith("*Exit code 2.*")


def test_a_notice_says_its_level_and_keeps_its_details_apart() -> None:
    notice = NoticeBlock(id="n", level="warning", title="Busy.", hint="Wait.", details="a\nb")
    assert as_markdown(notice) == "**Warning:** Busy. Wait.\n\n```text\na\nb\n```"


def test_a_transcript_is_a_file_and_what_is_empty_leaves_no_trace() -> None:
    blocks: list[Block] = [
        UserBlock(id="u", text="Hi"),
        ProseBlock(id="p"),
        ran(source="  "),
        ProseBlock(id="q", text="Hello"),
    ]
    assert transcript_markdown(blocks) == "> Hi\n\nHello\n"
    assert transcript_markdown([]) == ""


def test_prose_that_was_cut_inside_a_fence_does_not_swallow_what_follows() -> None:
    blocks: list[Block] = [ProseBlock(id="p", text="So:\n~~~~python\nx = 1", state="cut"), ran(source="y")]
    assert parsed(transcript_markdown(blocks))[-2:] == [("fence", "x = 1\n"), ("fence", "y\n")]


def test_a_comment_that_prose_leaves_open_is_text() -> None:
    assert as_markdown(ProseBlock(id="p", text="Hm.\n\n<!-- never closed")) == "Hm.\n\n&lt;!-- never closed"


@given(HOSTILE)
@example("<!-- never closed")
@example("<pre>\n```")
@example("<?php")
@example("<!D")
@example("<![CDATA[ ")
@example("- a\n\n      ```")
@example("> ```\n> x")
def test_prose_never_reaches_into_the_next_block(text: str) -> None:
    elements = parsed(transcript_markdown([ProseBlock(id="p", text=text), ran(source="next()")]))
    assert elements[-1] == ("fence", "next()\n")


@given(HOSTILE, HOSTILE, HOSTILE)
@example("```\nout", "~~~", "```")
def test_source_and_output_never_leave_their_fences(source: str, printed: str, error: str) -> None:
    block = ran(StreamOutput(name="stdout", text=printed), ErrorOutput(name="E", value=error), source=source + "\nx")
    elements = parsed(transcript_markdown([block, ProseBlock(id="p", text="end")]))
    assert elements[0] == ("fence", visible_text(source + "\nx").text + "\n")
    assert {kind for kind, _ in elements[:-1]} == {"fence"}
    assert elements[-1][0] == "paragraph_open"


@given(HOSTILE, HOSTILE)
def test_words_of_prompts_refusals_and_files_stay_in_their_place(text: str, name: str) -> None:
    blocks: list[Block] = [
        UserBlock(id="u", text=text + "x", files=(name,)),
        CodeBlock(id="c", language="python", source="1", state="refused", refusal=name),
    ]
    elements = [kind for kind, _ in parsed(transcript_markdown(blocks))]
    assert elements == ["blockquote_open", "fence", "paragraph_open"]


@given(st.dictionaries(st.sampled_from(["text/markdown", "text/latex", "text/html", "image/svg+xml"]), HOSTILE))
def test_a_rich_result_never_reaches_into_the_next_block(data: dict[str, str]) -> None:
    elements = parsed(transcript_markdown([ran(RichOutput(data=data)), ran(source="next()")]))
    assert elements[-1] == ("fence", "next()\n")
