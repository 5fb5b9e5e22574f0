"""Rich results as rows: which form is drawn, how each looks, and that nobody's content can break the drawing."""

from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace

import pytest

from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.hooks import calling
from oi_tui.app.engine.hooks.calling import Hooks
from oi_tui.app.engine.hooks.specs import hookimpl
from oi_tui.app.engine.text.rich_text import best_text
from oi_tui.plugins import host
from oi_tui.plugins.host import screen_hooks
from oi_tui.plugins.screen_specs import ScreenHooks
from oi_tui.widgets.timeline.cells import BlockCell
from oi_tui.widgets.timeline.outputs import registry
from oi_tui.widgets.timeline.outputs.json import JsonOutline
from oi_tui.widgets.timeline.row_pieces import BlockDisplay, Canvas
from support.gallery import picture
from support.plugin_packages import enable, install, plugin_home

Rows = Callable[..., list[str]]

NAMELESS = "<IPython.core.display.HTML object>"


def block(*outputs: RichOutput) -> CodeBlock:
    return CodeBlock(id="c", language="python", source="x", state="ok", outputs=outputs)


@pytest.fixture
def drawn(canvas_of: Callable[[int], Canvas]) -> Rows:
    """Draws a result and gives its rows as text, without the block's own."""

    def draw(output: RichOutput, width: int = 80, display: BlockDisplay = BlockDisplay()) -> list[str]:  # noqa: B008  a value
        cell = BlockCell(block(output))
        height = cell.layout(block(output), canvas_of(width), display)
        return [cell.row(number).text.rstrip() for number in range(2, height - 1)]

    return draw


# Which form


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        ({"text/plain": "1"}, [" │ 1"]),
        ({"text/markdown": "**bold**", "text/plain": NAMELESS}, [" │ bold"]),
        ({"application/json": {"a": [1]}}, [" │ {", ' │   "a": [1]', " │ }"]),
        ({"application/json": {"a": 1}}, [' │ {"a": 1}']),
        ({"application/json": {"a": {"b": 1}}}, [" │ {", ' │   "a": {"b": 1}', " │ }"]),
        ({"text/latex": "$x^2$", "text/plain": "x**2"}, [" │ x²"]),
        ({"text/latex": "$\\unknown{x}$", "text/plain": "x"}, [" │ x"]),
        ({"text/html": "<b>x</b>", "text/plain": "y"}, [" │ y"]),
        ({"text/html": "<b>x</b>", "text/plain": NAMELESS}, [" │ x"]),
        ({"text/html": "<script>go()</script>"}, [" │ an interactive page: only a browser can show it"]),
        ({"image/svg+xml": "no drawing", "text/plain": "z"}, [" │ z"]),
        ({"application/vnd.jupyter.widget-view+json": {"model_id": "1"}, "text/plain": "Slider(1)"}, [" │ Slider(1)"]),
        ({"application/vnd.other+json": [1, 2]}, [" │ [1, 2]"]),
        ({"application/x-other": "1"}, [" │ (application/x-other)"]),
        ({"image/png": "not base64!"}, [" │ figure · this picture cannot be read"]),
    ],
)
def test_R9_every_result_has_a_readable_form(drawn: Rows, data: dict[str, object], rows: list[str]) -> None:
    assert drawn(RichOutput(data=data)) == rows


@pytest.mark.parametrize(
    "data",
    [
        {"application/vnd.oi-tui.table+json": 5, "text/plain": "text"},
        {"application/vnd.oi-tui.table+json": {"index": [], "columns": []}, "text/plain": "text"},
        {"application/vnd.plotly.v1+json": "x", "text/plain": "text"},
        {"text/markdown": 5, "text/plain": "text"},
        {"text/latex": ["x"], "text/plain": "text"},
        {"text/html": {"a": 1}, "text/plain": "text"},
        {"image/svg+xml": None, "text/plain": "text"},
    ],
)
def test_a_form_of_the_wrong_shape_gives_way_to_the_next(drawn: Rows, data: dict[str, object]) -> None:
    assert drawn(RichOutput(data=data)) == [" │ text"]


# Plugins

PLUGIN = """
from oi_tui.plugins.api import Drawing, RichOutput, hookimpl

def translate(output):
    return RichOutput(data={"text/markdown": "**" + output.data["application/x-tale"] + "**"})

def decline(output):
    return None

def fail(output):
    raise RuntimeError("no")

def fail_later(output):
    def lines(width):
        yield "begun"
        raise RuntimeError("later")
    return Drawing(lines)

def wide(output):
    return Drawing(lambda width: ["x" * 999 + "y", "\x1b[2Jdrawn at " + str(width)])

def own(output):
    return Drawing(lambda width: ["\x1b[31mdrawn\x1b[0m by a plugin"])

def no_text(output):
    return Drawing(lambda width: [5])

def hang(output):
    while True:
        pass

def odd(output):
    return ["text"]

def endless(output):
    return output

@hookimpl
def register_renderers():
    here = {"tale": translate, "declined": decline, "fails": fail, "later": fail_later, "wide": wide, "own": own,
            "number": no_text, "odd": odd, "hangs": hang, "v*+x": own}
    references = {"endless": "oi_tui_tale:endless", "absent": "oi_tui_no_such_module:render"}
    return {f"application/x-{name}": renderer for name, renderer in (here | references).items()}
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package with renderers, as pip would have installed it."""
    with plugin_home(tmp_path, monkeypatch) as packages:
        install(packages, "oi-tui-tale", {"oi_tui_tale": PLUGIN}, {"screen": "oi_tui_tale"})
        install(
            packages, "oi-tui-broken", {"oi_tui_broken": "import oi_tui_no_such_module\n"}, {"screen": "oi_tui_broken"}
        )
        enable("oi-tui-tale")
        enable("oi-tui-broken")
        yield


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize(
    ("mime", "rows"),
    [
        ("application/x-tale", [" │ once"]),
        ("application/x-own", [" │ drawn by a plugin"]),
        ("application/x-v5+x", [" │ drawn by a plugin"]),
        ("application/x-wide", [" │ " + "x" * 75 + "›", " │ drawn at 76"]),
        ("application/x-declined", [" │ text"]),
        ("application/x-endless", [" │ text"]),
        ("application/x-absent", [" │ text", " │ oi-tui-tale could not draw this"]),
        ("application/x-fails", [" │ text", " │ oi-tui-tale could not draw this"]),
        ("application/x-later", [" │ text", " │ oi-tui-tale could not draw this"]),
        ("application/x-number", [" │ text", " │ oi-tui-tale could not draw this"]),
        ("application/x-odd", [" │ text", " │ oi-tui-tale could not draw this"]),
    ],
)
def test_a_plugin_draws_its_type_and_what_fails_in_it_is_said(drawn: Rows, mime: str, rows: list[str]) -> None:
    assert drawn(RichOutput(data={mime: "once", "text/plain": "text"})) == rows


@pytest.mark.usefixtures("plugin")
def test_x2_a_renderer_that_hangs_is_interrupted_and_the_next_form_is_drawn(
    drawn: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calling, "TIME_LIMIT", 0.1)
    rows = drawn(RichOutput(data={"application/x-hangs": "once", "text/plain": "text"}))
    assert rows == [" │ text", " │ oi-tui-tale could not draw this"]
    assert "hung" in {trouble.fault for trouble in screen_hooks().troubles}


def test_a_plugin_that_registers_what_is_no_table_is_named_and_the_result_is_drawn(
    drawn: Rows, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = Hooks(ScreenHooks, [("listing", SimpleNamespace(register_renderers=hookimpl(lambda: ["text/plain"])))])
    monkeypatch.setattr(host, "screen_hooks", lambda: hooks)
    registry.plugin_renderers.cache_clear()
    try:
        assert drawn(RichOutput(data={"text/plain": "text"})) == [" │ text"]
    finally:
        registry.plugin_renderers.cache_clear()
    assert [record.getMessage() for record in caplog.records] == [
        "the plugin listing gave nothing useful in register_renderers: list is no mapping"
    ]


@pytest.mark.usefixtures("plugin")
def test_a_plugin_that_cannot_be_imported_is_reported_once(drawn: Rows, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        drawn(RichOutput(data={"text/plain": "text"}))

    reported = [record.getMessage() for record in caplog.records]
    assert reported == ["the plugin oi-tui-broken cannot be loaded"]


# Tables


def frame(rows: int, columns: int, *, here: int = 550, text: str = "x") -> RichOutput:
    """A data frame as our part inside the kernel describes it."""
    described = [[f"column_{at}", "int64", True] for at in range(columns)] + [["shop", "str", False]]
    cells = [[str(number), *[str(number * at) for at in range(columns)], text] for number in range(min(rows, here))]
    content = {"index": [["", "int64", True]], "columns": described, "rows": rows, "width": columns + 1}
    tail = 50 if rows > here else 0
    content |= {"head": cells[: here - tail], "tail": cells[here - tail :]}
    return RichOutput(data={"application/vnd.oi-tui.table+json": content})


def test_R5_a_long_frame_shows_its_first_and_last_rows(drawn: Rows) -> None:
    rows = drawn(frame(12_345, 1))

    assert rows[:3] == [" │      column_0  shop", " │         int64  str", " │   0         0  x"]
    assert rows[9:] == [
        " │   7         0  x",
        " │ … 12,335 more rows · enter to show",
        " │ 548         0  x",
        " │ 549         0  x",
        " │ 12,345 rows × 2 columns",
    ]


def test_R5_an_opened_frame_shows_all_that_is_here_and_says_what_is_not(drawn: Rows) -> None:
    rows = drawn(frame(12_345, 1), display=BlockDisplay("open"))

    assert len(rows) == 2 + 550 + 2
    assert rows[2 + 500] == " │ … 11,795 more rows are not kept here"


def test_R5_what_does_not_fit_is_reached_sideways_and_the_labels_stay(drawn: Rows) -> None:
    assert drawn(frame(2, 5), 40) == [
        " │    column_0  column_1  column_2    ›",
        " │       int64     int64     int64    ›",
        " │ 0         0         0         0    ›",
        " │ 1         0         1         2    ›",
        " │ 2 rows × 6 columns · → more columns",
    ]
    assert drawn(frame(2, 5), 40, BlockDisplay(shift=16))[:4] == [
        " │    ‹column_1  column_2  column_3   ›",
        " │    ‹   int64     int64     int64   ›",
        " │ 0  ‹       0         0         0   ›",
        " │ 1  ‹       1         2         3   ›",
    ]
    assert drawn(frame(2, 5), 40, BlockDisplay(shift=500))[3] == " │ 1  ‹x"


def test_R5_every_column_can_be_reached(canvas_of: Callable[[int], Canvas]) -> None:
    output = frame(2, 30)
    cell = BlockCell(block(output))
    seen: set[str] = set()
    shift = 0
    for _ in range(100):
        cell.layout(block(output), canvas_of(40), BlockDisplay(shift=shift))
        seen |= set(cell.row(2).text.strip(" │").replace("‹", " ").split())
        if shift == cell.beyond:
            break
        shift = min(shift + 16, cell.beyond)

    assert {f"column_{at}" for at in range(30)} | {"shop"} <= seen


def test_a_long_cell_is_cut_and_longer_when_opened(drawn: Rows) -> None:
    output = frame(1, 0, text="0123456789" * 20)

    assert drawn(output, 200)[-1] == " │ 0  " + ("0123456789" * 4)[:39] + "…"
    assert len(drawn(output, 200, BlockDisplay("open"))[-1]) == 6 + 120


def test_a_data_resource_is_a_table(drawn: Rows) -> None:
    fields = [{"name": "shop", "type": "string"}, {"name": "id", "type": "integer"}]
    content = {"schema": {"fields": fields, "primaryKey": ["id"]}, "data": [{"id": 7, "shop": "東京"}, {"id": 12}]}

    assert drawn(RichOutput(data={"application/vnd.dataresource+json": content})) == [
        " │      id  shop",
        " │ integer  string",
        " │       7  東京",
        " │      12",
    ]


# JSON

DEEP = {"name": "x", "many": list(range(300)), "meta": {"inner": {str(key): {"k": key} for key in range(12)}}}


def test_a_tree_shows_two_levels_and_says_what_it_folds(drawn: Rows) -> None:
    rows = drawn(RichOutput(data={"application/json": DEEP}))

    assert rows[:3] == [" │ {", ' │   "name": "x",', ' │   "many": [']
    assert rows[-7:] == [
        " │     4,",
        " │     … 295 more items",
        " │   ],",
        ' │   "meta": {',
        ' │     "inner": {… 12 keys}',
        " │   }",
        " │ }",
    ]
    assert len(rows) <= 21


def test_an_opened_tree_shows_all_within_a_bound(drawn: Rows) -> None:
    rows = drawn(RichOutput(data={"application/json": DEEP}), display=BlockDisplay("open"))
    assert " │     299" in rows
    assert ' │       "11": {"k": 11}' in rows
    endless = drawn(RichOutput(data={"application/json": list(range(1_000_000))}), display=BlockDisplay("open"))
    assert 5_000 <= len(endless) <= 5_002
    assert "more" in endless[-1] + endless[-2]


def test_what_ipython_says_of_json_is_heeded(drawn: Rows) -> None:
    wanted = {"application/json": {"root": "config", "expanded": True}}
    value = {"a": {"b": {"c": [{"d": None}, {}, []]}}}

    assert drawn(RichOutput(data={"application/json": value}, metadata=wanted)) == [
        *(" │ config: {", ' │   "a": {', ' │     "b": {', ' │       "c": [', ' │         {"d": null},'),
        *(" │         {},", " │         []", " │       ]", " │     }", " │   }", " │ }"),
    ]
    assert ' │     "b": {… 1 key}' in drawn(RichOutput(data={"application/json": value}))


def test_wide_json_moves_sideways(drawn: Rows) -> None:
    output = RichOutput(data={"application/json": {"text": "0123456789" * 20}})

    assert drawn(output, 24)[1] == ' │   "text": "01234567›'
    assert drawn(output, 24, BlockDisplay(shift=10))[1] == " │ ‹012345678901234567›"


# Markdown, LaTeX, plotly


def test_markdown_is_drawn_as_prose_is(drawn: Rows) -> None:
    text = "# Title\n\nSome *words*.\n\n- one\n\n| a | b |\n|---|--:|\n| x | 1 |\n"

    rows = drawn(RichOutput(data={"text/markdown": text}))

    assert rows[:5] == [" │ Title", " │ ─────", " │", " │ Some words.", " │"]
    assert " │ x │ 1" in rows


def test_long_markdown_shows_its_head_and_tail(drawn: Rows) -> None:
    output = RichOutput(data={"text/markdown": "\n".join(f"- item {number}" for number in range(100))})

    assert drawn(output)[10] == " │ … 80 more lines · enter to show"
    assert len(drawn(output, display=BlockDisplay("open"))) == 100


def test_a_formula_is_readable(drawn: Rows) -> None:
    assert drawn(RichOutput(data={"text/latex": "$$\\begin{pmatrix} 1 & 2 \\\\ 3 & 4 \\end{pmatrix}$$"})) == [
        " │ ⎛1  2⎞",
        " │ ⎝3  4⎠",
    ]


FIGURE = {
    "data": [
        {"type": "scatter", "mode": "lines", "name": "mean", "x": [1, 2, 3], "y": [4.5, None, 6]},
        {"type": "bar", "x": ["Oslo", "Bergen"], "y": {"dtype": "f8", "bdata": "AAAAAAAA8D8AAAAAAAAAQA=="}},
    ],
    "layout": {"title": {"text": "Scores<br>2026"}, "xaxis": {"title": {"text": "month"}}},
}


def test_a_plotly_figure_is_the_picture_that_the_kernel_made_of_it(drawn: Rows) -> None:
    rows = drawn(RichOutput(data={"application/vnd.plotly.v1+json": FIGURE, "image/png": picture(40, 20)}), 100)
    assert any("▀" in row for row in rows)
    assert rows[-1].endswith("figure · 40×20 · z zoom · o open · s save")


def test_a_plotly_figure_is_told_in_words_and_how_to_see_it(drawn: Rows) -> None:
    rows = drawn(RichOutput(data={"application/vnd.plotly.v1+json": FIGURE, "text/html": "<script></script>"}), 100)

    assert rows[:4] == [
        " │ Scores 2026",
        " │ x: month",
        " │ scatter (lines) “mean” · 3 points · x 1 to 3 · y 4.5 to 6",
        " │ bar · 2 points · x Oslo to Bergen · y 1 to 2",
    ]
    assert "pip install kaleido" in " ".join(rows[4:])


# HTML

PAGE = dedent("""\
    <!doctype html><html><head><title>no</title><style>p { color: red }</style></head><body>
    <h1>Report &amp; more</h1>
    <p>Some <b>bold</b> text
       with <a href="https://example.org/a?b=1&amp;c">a link</a> and <a href="javascript:alert(1)">none</a>.</p>
    <ul><li>one<li>two<ol start=3><li>deep</ol></ul>
    <pre>
      kept   as it is
    </pre>
    <p hidden>no</p><div style="display: none">no</div><script>if (a < b) no()</script>
    <img src="http://example.org/x.png" alt="a cat">
    <table><caption>Scores</caption><tr><th>shop<th>score</tr><tr><td>Oslo<td>12.5</tr><tr><td>東京<td>7</table>
    </body></html>
""")


def test_R9_html_is_read_without_a_browser(drawn: Rows) -> None:
    assert drawn(RichOutput(data={"text/html": PAGE}), 70, BlockDisplay("open")) == [
        " │ Report & more",
        " │ ─────────────",
        " │",
        " │ Some bold text with a link (https://example.org/a?b=1&c) and none.",
        " │",
        " │ • one",
        " │ • two",
        " │   3. deep",
        " │",
        " │   kept   as it is",
        " │",
        " │ [picture: a cat]",
        " │",
        " │ Scores",
        " │",
        " │ shop  score",
        " │ Oslo   12.5",
        " │ 東京      7",
    ]


def test_a_html_table_alone_is_a_table(drawn: Rows) -> None:
    body = "".join(f"<tr><th>{number}<td>{number * 2}</tr>" for number in range(100))
    output = RichOutput(data={"text/html": f"<table><thead><tr><th><th>value</thead>{body}</table>"})

    assert drawn(output)[:3] == [" │     value", " │  0      0", " │  1      2"]
    assert drawn(output)[-3:] == [" │ … 90 more rows · enter to show", " │ 98    196", " │ 99    198"]


def test_R15_programs_for_a_browser_are_named_and_not_written_out() -> None:
    program = "(function(root) {\n" + "  let x;\n" * 1_000
    output = RichOutput(data={"application/javascript": program, "application/vnd.bokehjs_exec.v0+json": program})
    assert best_text(output.data) == "[JavaScript, which only a browser runs]"
    assert JsonOutline.of(output) is None
    assert registry.content_of(output).line_count == 1
