"""A session as a page: all of it to be read, none of it to be obeyed."""

import base64
import hashlib
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_tui.app.engine.core.events import AnyEvent
from oi_tui.app.engine.core.outputs import RichOutput
from oi_tui.app.engine.text.compact_table import TABLE_TYPE
from support.exports import FEW, OPENED, PNG, code, out, prompt, prose, ran, sessions, tour
from support.kinds import narrow
from support.pages import page_of

HOSTILE = st.sampled_from(
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](file:///etc/passwd)",
        "[x](data:text/html;base64,AAAA)",
        "[x](data:image/svg+xml;base64,AAAA)",
        "![x](https://example.org/tracker.png)",
        "![x](data:image/svg+xml;base64,AAAA)",
        "<https://example.org/?a='\"b>",
        "</pre></style></title><svg onload=alert(1)>",
        "]]>\x00\x0b\ufffe&nbsp;&#x1b;",
        "<a href='vbscript:x' style='position:fixed'>x</a><iframe src=//example.org></iframe><base href=x>",
        "| a |\n| --: |\n| 1 |",
        "```html onload=x\n<b>\n```",
        "\u202egnp.exe",
    ]
) | st.text(max_size=20)


def text_at(root: ElementTree.Element, path: str) -> str:
    """All text of the first element there."""
    return "".join(narrow(root.find(path), ElementTree.Element).itertext())


def words(root: ElementTree.Element, path: str = ".//main") -> str:
    return " ".join("".join(element.text or "" for element in found.iter()) for found in root.iterfind(path))


def test_a_page_shows_each_block_in_its_form() -> None:
    root = page_of(tour(), title="A <tour>")
    assert root.findtext(".//h1") == root.findtext(".//title") == "A <tour>"
    assert root.findtext(".//section/p") == "Add the numbers.\n\n- *all* of them"
    assert root.findtext(".//div[@class='prose']/p/strong") == "sum"
    assert text_at(root, ".//pre[@class='source']") == "x = sum([1, 2, 3])\nprint('sum', x)\nx\n"
    assert text_at(root, ".//pre[@class='error']").strip() == "Trace\ny"
    assert [end.text for end in root.iterfind(".//p[@class='end']")] == ["Not run: no!"]
    assert text_at(root, ".//details/summary").startswith("Edited before it ran")
    assert root.findtext(".//p[@class='note']") == "… 10 characters left out …"
    assert len(list(root.iterfind(".//img"))) == 2
    assert root.findtext(".//table//td") == "1"
    assert "The kernel was started anew" in words(root, ".//aside")


def test_the_policy_forbids_what_is_not_there_anyway() -> None:
    root = page_of(tour())
    policy = narrow(root.find(".//meta[@http-equiv='Content-Security-Policy']"), ElementTree.Element).get("content")
    style = base64.b64encode(hashlib.sha256(text_at(root, ".//style").encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{style}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    assert "prefers-color-scheme: dark" in text_at(root, ".//style")


def test_without_images_there_are_none() -> None:
    assert not list(page_of(tour(), images=False).iter("img"))


def test_a_data_frame_is_a_table_with_names() -> None:
    table = {
        "index": [["", False]],
        "columns": [["city", False], ["n", True]],
        "head": [["0", "Köln", "3"]],
        "tail": [],
        "rows": 1,
        "width": 2,
    }
    events = [OPENED, *code("c", "df"), *ran("c", "df", RichOutput(data={TABLE_TYPE: table, "text/plain": "x"}))]
    root = page_of(events)
    assert [cell.text for cell in root.iterfind(".//thead//th")] == [None, "city", "n"]
    assert [(cell.tag, cell.text) for cell in root.iterfind(".//tbody/tr/*")] == [
        ("th", "0"),
        ("td", "Köln"),
        ("td", "3"),
    ]
    assert root.findtext(".//caption") == "1 row × 2 columns"


def test_what_hides_in_code_is_written_out() -> None:
    root = page_of([OPENED, *code("c", "x = 1 # \u202eevil"), *ran("c", "x = 1 # \u202eevil")])
    assert "<U+202E>" in text_at(root, ".//pre[@class='source']")


@pytest.mark.parametrize(
    ("mime", "content", "shown"),
    [
        ("text/html", "<h1>Hi</h1><script>x()</script><a href='https://a.org'>a</a>", "Hi"),
        ("text/markdown", "*Hi*", "Hi"),
        ("text/latex", "$x$", "$x$"),
        ("application/json", {"Hi": [1]}, '"Hi"'),
        ("application/vnd.plotly.v1+json", {"data": [{"type": "bar", "y": [1, 2]}]}, "2 points"),
        ("image/svg+xml", "<svg onload='x()'/>", ""),
        ("application/x-unknown", "Hi", "application/x-unknown"),
    ],
)
def test_every_form_of_a_result_has_one_on_the_page(mime: str, content: object, shown: str) -> None:
    root = page_of([OPENED, *code("c", "1"), *ran("c", "1", RichOutput(data={mime: content}))])
    assert shown in text_at(root, ".//div[@class='output']")


def test_a_picture_in_an_address_is_shown_and_no_link_leads_to_it() -> None:
    drawn = "data:image/svg+xml;base64,PHN2Zy8+"
    markdown = f"[one]({drawn}) <{drawn}> ![two]({drawn}) [three](https://a.org)\n\n[one][x] ![four][x]\n\n[x]: {drawn}"
    root = page_of([OPENED, *prose("p", markdown)])
    assert [link.get("href") for link in root.iter("a")] == [None, None, "https://a.org", None]
    assert [picture.get("src") for picture in root.iter("img")] == [drawn, drawn]


@FEW
@given(HOSTILE, HOSTILE, HOSTILE)
def test_nothing_that_anybody_wrote_becomes_markup(one: str, two: str, three: str) -> None:
    rich = [
        RichOutput(data={mime: one})
        for mime in ("text/html", "text/markdown", "text/plain", "text/latex", "image/png", "image/svg+xml", two)
    ]
    events = [
        OPENED,
        *prompt("u", one, two, f"data:image/png;base64,{three}", f"data:image/png;base64,{PNG}"),
        *prose("p", f"{one}\n\n{two} {three}"),
        *code("c", one, two),
        *ran("c", two, out(three), out(one, "stderr"), *rich, verdict="edit"),
    ]
    page_of(events, title=three)


@FEW
@given(sessions())
def test_any_session_is_a_page(events: list[AnyEvent]) -> None:
    page_of(events)
