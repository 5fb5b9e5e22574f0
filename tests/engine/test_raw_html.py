"""HTML that a model writes into its prose is text wherever the prose is exported; what is code stays as it was."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from oi_tui.app.engine.core.blocks import ProseBlock, UserBlock
from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.text.markdown import as_markdown
from oi_tui.app.engine.text.raw_html import escape_html
from oi_tui.app.engine.transcript.event_log import fold_events
from oi_tui.plugins.session_files import export_session, import_session
from support.sessions import code, prose, turn

PIECES = (
    "<script>",
    "</b>",
    "<!--",
    "<!D",
    "<?",
    "<a href=`",
    "`",
    "``",
    "```",
    "~~~",
    "\n",
    "\n\n",
    "    ",
    "> ",
    "- ",
)
MARKUP = st.lists(
    st.sampled_from((*PIECES, "|", "|-|-|", "\\", "$", "$$", "x", " ", "<h:`>", "[a]: ", "#")), max_size=16
)

LIVE = "Hello <script>fetch('//evil')</script> <img src=x onerror=alert(1)>\n\n<div onclick=x>\n"
KEPT = (
    "`<b>` and ``<i>`</i>`` in code",
    "```html\n<script>\n```",
    "text\n\n    <script>\n\ntext",
    "1 < 2, a <- b, <https://example.org/>, \\<b>",
)


def html_in(text: str) -> list[str]:
    """What readers of Markdown would take for HTML."""
    tokens = [MarkdownIt("commonmark").parse(text), MarkdownIt("commonmark").enable("table").parse(text)]
    inner = [inline for parsed in tokens for token in parsed for inline in (token, *(token.children or ()))]
    return [token.content for token in inner if token.type in ("html_block", "html_inline")]


@given(MARKUP.map("".join))
@example("<div>\n```\n\n```\n<script>\n```")
@example("|a|b|\n|-|-|\n|`x|<script>`|")
@example("a <a href=`> ` <script> `")
@example("<a href=`\n<script><a href=`")
@example("- a\n\n      <script>\n\n     <script>")
def test_nothing_that_is_exported_is_html(text: str) -> None:
    escaped = escape_html(text)
    assert html_in(escaped) == []
    assert escape_html(escaped) == escaped


@pytest.mark.parametrize("text", KEPT)
def test_what_is_code_or_no_html_stays_as_it_was(text: str) -> None:
    assert escape_html(text) == text


def test_a_formula_stays_one() -> None:
    assert escape_html("$a<b$ and $$\nx<y\n$$") == "$a< b$ and $$\nx< y\n$$"


@pytest.mark.parametrize("form", ["md", "ipynb"])
def test_html_of_a_model_is_text_in_an_export_and_comes_back_as_it_was(form: str) -> None:
    rich = RichOutput(data={"text/markdown": LIVE})
    told = turn("u1", f"What does {LIVE} do?", prose("p1", LIVE), code("c1", "x", rich))
    data = export_session(told, "md" if form == "md" else "ipynb")
    if form == "md":
        assert html_in(data.decode()) == []
        assert "&lt;script>fetch('//evil')&lt;/script>" in data.decode()
        return
    cells = [cell for cell in json.loads(data)["cells"] if cell["cell_type"] == "markdown"]
    assert [html_in("".join(cell["source"])) for cell in cells] == [[]] * 2
    blocks = fold_events(import_session(data, "x.ipynb").events).blocks
    assert [block.text for block in blocks if isinstance(block, ProseBlock | UserBlock)] == [
        f"What does {LIVE} do?",
        LIVE,
    ]


def test_what_was_changed_in_the_notebook_is_what_comes_back() -> None:
    notebook = json.loads(export_session(turn("u1", "hi", prose("p1", LIVE)), "ipynb"))
    notebook["cells"][1]["source"] = ["My own words"]
    blocks = fold_events(import_session(json.dumps(notebook).encode(), "x.ipynb").events).blocks
    assert [block.text for block in blocks if isinstance(block, ProseBlock)] == ["My own words"]


def test_what_a_person_wrote_can_be_read() -> None:
    assert as_markdown(UserBlock(id="u", text="Why is <b> bold?")) == "> Why is &lt;b> bold?"
