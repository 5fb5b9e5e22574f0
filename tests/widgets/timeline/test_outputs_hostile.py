"""Results made to break the drawing: of any shape, endless, deep, wide, or full of what a terminal obeys."""

import base64
import re
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.text.browser_page import needs_scripts, page_of
from oi_tui.app.engine.text.html import Grid, as_text
from oi_tui.app.engine.text.html_reader import (
    DEEPEST_HTML,
    MOST_HTML_CELLS,
    MOST_HTML_CHARACTERS,
    MOST_PARTS,
    read_html,
)
from oi_tui.app.engine.text.plotly_svg import plotly_summary, svg_summary
from oi_tui.app.engine.text.rich_text import best_text
from oi_tui.app.screens.browser_page import write_page
from oi_tui.widgets.timeline.cells import BlockCell
from oi_tui.widgets.timeline.row_pieces import BlockDisplay, Canvas, FoldState
from oi_tui.widgets.timeline.svg import LARGEST_RASTER, SMALLEST, png_of, raster_size
from oi_tui.widgets.timeline.table_data import MOST_TABLE_CELLS as MOST_TABLE_CELLS
from oi_tui.widgets.timeline.table_data import MOST_TABLE_ROWS, RESOURCE_TYPE, TABLE_MIME_TYPE, table_of
from support.libraries import require_cairo

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]")

TEXT = st.text(st.sampled_from("ab <>&\"'=/\\\n\t\x1b[31m\u202e東🙂\ufe0f\u0301|-_*`#01.e\ud800"), max_size=30)
FLOWING = ("p", "b", "i", "a", "h1", "h4", "ul", "ol", "li", "pre", "blockquote", "br", "hr", "div", "span", "img")
OTHERS = ("table", "tr", "td", "th", "caption", "script", "style", "svg", "title")
TAGS = st.sampled_from(FLOWING + OTHERS)
MARKUP = st.lists(
    st.one_of(
        TEXT,
        st.builds("<{}>".format, TAGS),
        st.builds("</{}>".format, TAGS),
        st.builds(
            "<{} {}='{}'>".format, TAGS, st.sampled_from(("href", "style", "colspan", "rowspan", "hidden")), TEXT
        ),
        st.sampled_from(
            ("<td colspan=99 rowspan=99>", "<!--", "-->", "<!x", '<a href="', "&#x202e;", "&#27;[2J", "<p", "<")
        ),
    ),
    max_size=40,
).map("".join)
SCALAR = st.one_of(TEXT, st.integers(), st.floats(), st.booleans(), st.none())
JSON = st.recursive(
    SCALAR,
    lambda inner: st.one_of(st.lists(inner, max_size=6), st.dictionaries(TEXT, inner, max_size=6)),
    max_leaves=40,
)
COLUMN = st.one_of(st.tuples(TEXT, TEXT, st.booleans()).map(list), JSON)
TABLE = st.fixed_dictionaries(
    {
        "index": st.lists(COLUMN, max_size=2),
        "columns": st.lists(COLUMN, max_size=5),
        "head": st.lists(st.lists(SCALAR, max_size=8), max_size=20),
        "tail": st.lists(st.lists(SCALAR, max_size=8), max_size=5),
        "rows": st.integers(-5, 2**62),
        "width": st.integers(-5, 2**62),
    }
)


@pytest.fixture(scope="session")
def draw(canvas_of: Callable[[int], Canvas]) -> Callable[[RichOutput, int], None]:
    """Draws a result in every way and looks at each row."""

    def look(output: RichOutput, width: int) -> None:
        block = CodeBlock(id="c", language="python", source="x", state="ok", outputs=(output,))
        cell, canvas = BlockCell(block), canvas_of(width)
        for fold in get_args(FoldState):
            for shift in (0, 7, 500):
                for y in range(cell.layout(block, canvas, BlockDisplay(fold, shift))):
                    row = cell.row(y)
                    assert sum(segment.cell_length for segment in row) == width
                    assert not CONTROL.search(row.text)
                    assert "could not draw this" not in row.text

    return look


Look = Callable[[RichOutput, int], None]
WIDTHS = st.integers(12, 90)


@settings(deadline=None)
@given(MARKUP, WIDTHS)
def test_T1_html_of_any_shape_is_drawn_within_the_canvas(draw: Look, markup: str, width: int) -> None:
    draw(RichOutput(data={"text/html": markup}), width)


@settings(deadline=None)
@given(JSON, WIDTHS)
def test_T1_json_of_any_shape_is_drawn_within_the_canvas(draw: Look, value: Any, width: int) -> None:
    draw(
        RichOutput(
            data={"application/json": value}, metadata={"application/json": {"expanded": True, "root": "r\x1b"}}
        ),
        width,
    )


@settings(deadline=None)
@given(st.one_of(TABLE, JSON), WIDTHS)
def test_T1_tables_of_any_shape_are_drawn_within_the_canvas(draw: Look, value: Any, width: int) -> None:
    draw(RichOutput(data={TABLE_MIME_TYPE: value}), width)


@settings(deadline=None)
@given(st.fixed_dictionaries({"schema": JSON, "data": JSON}), WIDTHS)
def test_T1_data_resources_of_any_shape_are_drawn_within_the_canvas(draw: Look, value: Any, width: int) -> None:
    value["schema"] = {"fields": [{"name": "a", "type": "integer"}, value["schema"]], "primaryKey": value["schema"]}
    draw(RichOutput(data={RESOURCE_TYPE: value}), width)


@settings(deadline=None)
@given(st.fixed_dictionaries({"data": st.lists(JSON, max_size=4), "layout": JSON}), WIDTHS)
def test_T1_figures_of_any_shape_are_drawn_within_the_canvas(draw: Look, value: Any, width: int) -> None:
    value["data"] = [{"type": trace, "x": trace, "y": {"dtype": "f8", "bdata": trace}} for trace in value["data"]]
    draw(RichOutput(data={"application/vnd.plotly.v1+json": value}), width)


@settings(deadline=None)
@given(st.sampled_from(("text/markdown", "text/latex")), TEXT, WIDTHS)
def test_T1_texts_of_any_shape_are_drawn_within_the_canvas(draw: Look, mime: str, text: str, width: int) -> None:
    draw(RichOutput(data={mime: text}), width)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(("text/plain", "text/html", "image/svg+xml", "application/json", "a/b")), JSON))
def test_every_bundle_has_a_text(data: dict[str, Any]) -> None:
    assert isinstance(best_text(data), str)
    assert bool(best_text(data)) or not data


# Bounds

N = MOST_HTML_CHARACTERS
ENDLESS = {
    "less": "<" * N,
    "tags": "<a " * (N // 3),
    "quotes": '<a b="' * (N // 6),
    "comments": "<!--" * (N // 4),
    "bogus": "<!" * (N // 2),
    "deep": "<div><b>" * (N // 8),
    "lists": "<ul><li>" * (N // 8),
    "tables": "<table><tr><td>" * (N // 15),
    "cells": "<table>" + "<td>x" * (N // 5),
    "spans": "<table>" + "<tr><td rowspan=100 colspan=100>x" * (N // 33),
    "entities": "&" * N,
    "ends": "<b>" * 100 + "</i>x" * (N // 5),
    "scripts": "<script></script" * (N // 16),
    "equals": "<p " + "=" * N,
    "breaks": "<br>x" * (N // 5),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_html_that_never_ends_is_read_in_a_bounded_time(name: str) -> None:
    """Quadratic work would take minutes; the time-out of the test is the bound."""
    document = read_html(ENDLESS[name] * 2)

    assert not document.is_whole
    assert len(document.parts) <= MOST_PARTS + 1
    cells = sum(len(part.rows) * len(part.rows[0]) for part in document.parts if isinstance(part, Grid))
    assert cells <= 4 * MOST_HTML_CELLS
    assert len(as_text(document)) <= 20 * N


def test_nesting_is_followed_so_far_and_no_further() -> None:
    document = read_html("<blockquote>" * 500 + "x" + "</blockquote>" * 500 + "<p>after")

    assert next(part.quotes for part in document.parts if not isinstance(part, Grid)) < DEEPEST_HTML
    assert as_text(document).endswith("after")


def test_what_is_cut_off_is_said(draw: Look) -> None:
    draw(RichOutput(data={"text/html": "<p>word" * N}), 60)
    assert not read_html("<p>word" * N).is_whole
    assert read_html("<p>word").is_whole


def test_a_table_that_claims_more_than_there_is_costs_no_more() -> None:
    column, row = ["a", "", False], ["x"]
    long = {"index": [], "columns": [column], "head": [row] * 50_000, "tail": [row] * 10, "rows": 2**62, "width": 1}
    made = table_of(RichOutput(data={TABLE_MIME_TYPE: long}))
    assert made is not None
    assert len(made.rows) == MOST_TABLE_ROWS
    wide = {"index": [], "columns": [column] * 90_000, "head": [row * 90_000], "tail": [], "rows": 1, "width": 90_000}
    made = table_of(RichOutput(data={TABLE_MIME_TYPE: wide}))
    assert made is not None
    assert len(made.rows) * len(made.columns) <= MOST_TABLE_CELLS
    assert made.hidden_columns == 90_000 - len(made.columns)


def test_numbers_of_a_long_trace_are_counted_and_not_read() -> None:
    packed = base64.b64encode(bytes(8_000_000)).decode()
    figure = {"data": [{"x": [0] * 1_000_000, "y": {"dtype": "f8", "bdata": packed}}]}

    assert plotly_summary(figure) == ["scatter · 1,000,000 points"]


# SVG

HEAD = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="10" height="10">'


@pytest.mark.parametrize(
    ("svg", "size"),
    [
        ('<svg width="640" height="480pt">', (640, 640)),
        ('<svg width="2.54cm" height="1in" viewBox="0 0 1 1">', (96, 96)),
        ('<?xml version="1.0"?><svg:svg viewBox="0 0 30,40">', (30, 40)),
        ('<svg width="100%" height="100%" viewBox="0 0 30 40">', (30, 40)),
        ('<svg width="0" height="1">', None),
        ('<svg width="99999999999" height="1">', None),
        ("<svg>", None),
        ("text", None),
    ],
)
def test_a_drawing_says_how_large_it_is(svg: str, size: tuple[int, int] | None) -> None:
    assert svg_summary(svg).size == size


@settings(deadline=None)
@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_no_drawing_is_huge_or_tiny(width: int, height: int) -> None:
    drawn = raster_size((width, height))

    assert SMALLEST <= max(drawn) <= LARGEST_RASTER
    assert min(drawn) >= 1


def test_a_drawing_fetches_nothing_and_reads_no_file(tmp_path: Path) -> None:
    require_cairo()
    asked: list[str] = []

    class Listener(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

    secret = tmp_path / "secret.svg"
    secret.write_text(f'{HEAD}<rect width="10" height="10" fill="red"/></svg>')
    with HTTPServer(("127.0.0.1", 0), Listener) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        web = f"http://127.0.0.1:{server.server_port}"
        drawn = png_of(
            f"{HEAD}<style>@import url({web}/css);</style><image xlink:href='{web}/image' width='9' height='9'/>"
            f"<image xlink:href='file://{secret}' width='10' height='10'/><use xlink:href='{web}/use#x'/></svg>",
            (10, 10),
        )
        server.shutdown()
    empty = png_of(f"{HEAD}</svg>", (10, 10))

    assert asked == []
    assert drawn == empty != b""


@pytest.mark.parametrize(
    "svg",
    [
        '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>' + HEAD + "<text>&b;</text></svg>",
        HEAD + "<g>" * 50_000 + "</g>" * 50_000 + "</svg>",
        "no drawing",
    ],
    ids=["entities", "deep", "text"],
)
def test_a_drawing_that_cannot_be_drawn_is_none(svg: str) -> None:
    assert png_of(svg, (10, 10)) == b""


def test_a_drawing_has_so_much_memory_and_no_more() -> None:
    require_cairo()

    assert png_of(f"{HEAD}</svg>", (1_000, 1_000)) != b""
    assert png_of(f"{HEAD}</svg>", (30_000, 30_000)) == b""


# In the browser


def test_a_page_can_load_and_run_nothing() -> None:
    page = page_of(
        RichOutput(data={"text/html": '<script>x()</script><meta http-equiv="refresh" content="0">"</iframe>'})
    )
    assert page is not None
    text = page.decode()

    assert "default-src &#x27;none&#x27;" in text
    assert "script-src" not in text
    assert 'sandbox="allow-popups allow-popups-to-escape-sandbox"' in text
    assert text.count("<script") == text.count('<meta http-equiv="refresh"') == 0
    assert text.count("</iframe>") == 1


def test_programs_run_only_where_they_are_needed_and_agreed_to() -> None:
    still, moving = RichOutput(data={"text/html": "<p>x"}), RichOutput(data={"text/html": "<script>x()</script>"})

    assert not needs_scripts(still)
    assert needs_scripts(moving)
    assert b"allow-scripts" not in (page_of(still, scripts=True) or b"")
    agreed = page_of(moving, scripts=True) or b""
    assert b'sandbox="allow-scripts"' in agreed
    assert b"default-src &#x27;none&#x27;" in agreed


@pytest.mark.parametrize(
    ("data", "part"),
    [
        ({"image/svg+xml": f"{HEAD}</svg>"}, b"data:image/svg+xml;base64,"),
        ({"application/vnd.plotly.v1+json": {"data": [{"name": "</pre><b>"}]}}, b"&amp;lt;/pre&amp;gt;"),
    ],
)
def test_other_results_become_pages_too(data: dict[str, Any], part: bytes) -> None:
    assert part in (page_of(RichOutput(data=data)) or b"")


def test_what_a_browser_shows_no_better_has_no_page() -> None:
    assert page_of(RichOutput(data={"text/plain": "x"})) is None
    assert page_of(RichOutput(data={"text/html": 5})) is None


def test_a_page_is_written_for_its_owner_alone() -> None:
    path = write_page(b"page")
    try:
        assert path.read_bytes() == b"page"
        assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    finally:
        path.unlink()
        path.parent.rmdir()
