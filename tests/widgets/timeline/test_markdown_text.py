"""What Markdown says on the screen, and what is copied from there."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len, split_graphemes
from rich.style import Style

from oi_tui.app.engine.core.blocks import ProseBlock
from oi_tui.widgets.rows.row import RowStrip
from oi_tui.widgets.timeline.cells import BlockCell
from oi_tui.widgets.timeline.inline import HREF
from oi_tui.widgets.timeline.row_pieces import BlockDisplay, Canvas
from oi_tui.widgets.timeline.wrap import Continuation, wrap

CanvasOf = Callable[[int], Canvas]
Draw = Callable[..., list[str]]

WORDS = st.sampled_from(
    """
a word of length incomprehensibilities 日本語の文章は、単語の間に空白がありません。 「括弧」も（使います）。
한국어는 띄어쓰기 👩‍💻 👨‍👩‍👧 🇩🇪 é café שלום مرحبا x̂ (日本) Python、
""".strip()
    .replace("\n", " ")
    .split(" ")
)
SENTENCES = st.lists(WORDS, min_size=1, max_size=30).map(" ".join)
CODE = st.text(st.sampled_from("abc(){}=.,'\" 日é#\\"), max_size=70).map(str.rstrip)


def prose(text: str) -> ProseBlock:
    return ProseBlock(id="p", text=text, state="complete")


def rows(text: str, canvas: Canvas, display: BlockDisplay | None = None) -> list[RowStrip]:
    block = prose(text)
    cell = BlockCell(block)
    height = cell.layout(block, canvas, display or BlockDisplay())
    return [cell.row(y) for y in range(height - 1)]


def copied(drawn: list[RowStrip]) -> str:
    text = "".join(row.joint + row.crop(row.lead, row.reach).text for row in drawn)
    return text.removeprefix(drawn[0].joint)


@settings(deadline=None)
@given(st.lists(SENTENCES, min_size=1, max_size=3), st.integers(20, 140))
def test_V8_copying_wrapped_paragraphs_gives_their_source(
    canvas_of: CanvasOf, paragraphs: list[str], width: int
) -> None:
    text = "\n\n".join(paragraphs)
    assert copied(rows(text, canvas_of(width))) == text


@settings(deadline=None)
@given(
    st.lists(CODE, min_size=1, max_size=12), st.integers(20, 140), st.booleans(), st.sampled_from(["", "python", "c"])
)
def test_copying_a_fence_gives_its_source_without_numbers(
    canvas_of: CanvasOf, lines: list[str], width: int, numbers: bool, language: str
) -> None:
    source = "\n".join([*lines, "end"])
    drawn = rows(f"~~~{language}\n{source}\n~~~\n", canvas_of(width), BlockDisplay(numbers=numbers))
    assert copied(drawn[bool(language) :]) == source


@settings(deadline=None)
@given(st.lists(SENTENCES, min_size=1, max_size=5), st.integers(20, 140))
def test_copying_a_numbered_list_gives_its_source(canvas_of: CanvasOf, items: list[str], width: int) -> None:
    text = "\n".join(f"{number}. {item}" for number, item in enumerate(items, 1))
    assert copied(rows(text, canvas_of(width))) == text


@settings(deadline=None)
@given(SENTENCES, st.integers(2, 40))
def test_V8_no_row_splits_a_character_or_starts_with_closing_punctuation(text: str, width: int) -> None:
    boundaries = {start for start, _, _ in split_graphemes(text)[0]} | {len(text)}
    position = 0
    for line in wrap([(text, Style())], width):
        shown = "".join(segment.text for segment in line)
        position += len(line.joint) if isinstance(line, Continuation) else 0
        assert position in boundaries
        assert cell_len(shown) <= max(2, width)
        assert width < 16 or shown[:1] not in tuple("、。」）！")
        position += len(shown)


def test_V8_ideographs_fill_a_row_and_keep_their_punctuation() -> None:
    text = "hello 日本語の文章は、単語の間に。「括弧」(も)"
    shown = ["".join(segment.text for segment in line) for line in wrap([(text, Style())], 16)]
    assert shown == ["hello 日本語の文", "章は、単語の間", "に。「括弧」(も)"]


def test_formulas_are_read_and_prices_are_not(drawn: Draw) -> None:
    assert drawn(prose(r"It costs $5 and $10, $x^2$ is \(\frac{a}{b}\), \$1 and `$y$`; $HOME/$PATH."), 90) == [
        "   It costs $5 and $10, x² is a⁄b, $1 and $y$; $HOME/$PATH."
    ]
    assert drawn(prose("a $x and y $ b, $ x$, a$x$")) == ["   a $x and y $ b, $ x$, a$x$"]
    assert drawn(prose("Text:\n$$\nA = \\begin{pmatrix} 1 \\\\ 2 \\end{pmatrix}\n$$\nafter")) == [
        "   Text:",
        "",
        "     A = ⎛1⎞",
        "         ⎝2⎠",
        "",
        "   after",
    ]


def test_a_formula_that_is_never_closed_is_shown_as_written(drawn: Draw) -> None:
    assert drawn(prose("$$\nx^2\n\n# next")) == ["   $$", "   x^2", "", "   next", "   ────"]


def test_emoji_have_names_outside_of_code_and_times(drawn: Draw) -> None:
    assert drawn(prose(":tada: at 12:30:45, `:tada:`, a:100:b :unknown_name: :+1:")) == [
        "   🎉 at 12:30:45, :tada:, a:100:b :unknown_name: 👍"
    ]


def test_footnotes_and_links_find_definitions_that_come_later(drawn: Draw) -> None:
    text = "One[^1] and two[^b] but not[^c] of [the docs][d].\n\n- x[^1]\n\n[^1]: First\n[^b]: Second\n\n[d]: https://e.org"
    assert drawn(prose(text), 80) == [
        "   One¹ and two[b] but not[^c] of the docs (https://e.org).",
        "",
        "   • x¹",
        "",
        "   ¹ First",
        "   [b] Second",
    ]


def test_T4_only_web_and_mail_addresses_are_links(canvas_of: CanvasOf) -> None:
    text = (
        "https://e.org/a_(b). <mailto:a@e.org> [x](javascript:alert(1)) [ftp](ftp://e.org) [file](/etc/passwd)"
        " [caps](HTTPS://E.org) `https://code.org`"
    )
    drawn = rows(text, canvas_of(180))
    found = [segment for row in drawn for segment in row if segment.style and segment.style.meta]
    assert [(segment.text, segment.style.meta[HREF]) for segment in found if segment.style] == [
        ("https://e.org/a_(b)", "https://e.org/a_(b)"),
        ("mailto:a@e.org", "mailto:a@e.org"),
        ("caps", "HTTPS://E.org"),
    ]
    assert "[x](javascript:alert(1)) ftp (ftp://e.org) file (/etc/passwd)" in copied(drawn)


def test_a_table_too_wide_keeps_its_columns_and_moves_sideways(canvas_of: CanvasOf) -> None:
    words = (
        "| alpha beta gamma | delta epsilon | zeta eta theta | iota kappa |\n|---|---|---|---|\n| 1<br>2 | 3 | 4 | 5 |"
    )
    canvas = canvas_of(44)
    at_rest = [row.text.rstrip() for row in rows(words, canvas)]
    moved = [row.text.rstrip() for row in rows(words, canvas, BlockDisplay(shift=19))]

    assert at_rest[0] == "   alpha beta gamma │ delta epsilon │ zeta›"
    assert at_rest[2:] == [
        "   1                │ 3             │ 4   ›",
        "   2                │               │     ›",
    ]
    assert moved[0] == "   ‹elta epsilon │ zeta eta theta │ iota k›"
    assert [row.text.rstrip() for row in rows("- x\n\n" + words.replace("| ", "  | ", 0), canvas_of(100))][
        2
    ].startswith("   alpha beta gamma │")


def test_lines_of_code_are_numbered_on_demand(canvas_of: CanvasOf) -> None:
    text = (
        "```python\n" + "x = 1\n" * 9 + "y = 'a string that is too long for the row'\n```\n\n- item\n  ```\n  z\n  ```"
    )
    drawn = [row.text.rstrip() for row in rows(text, canvas_of(30), BlockDisplay(numbers=True))]

    assert drawn[1] == "    1 x = 1"
    assert drawn[10:12] == ["   10 y = 'a string that is t", " ↪    oo long for the row'"]
    assert drawn[-1] == "      1 z"
    assert [row.text.rstrip() for row in rows(text, canvas_of(30))][1] == "   x = 1"


@pytest.mark.parametrize("marker", ["- [ ] ", "1. [X] "])
def test_a_box_is_one_only_at_the_start_of_an_item(drawn: Draw, marker: str) -> None:
    (item,) = drawn(prose(marker + "task"))
    assert "☐" in item or "☑" in item
    assert drawn(prose("[ ] no task")) == ["   [ ] no task"]


def test_what_is_nested_too_deep_is_shown_as_written(drawn: Draw) -> None:
    assert "".join(drawn(prose(">" * 500 + " hidden?"))).replace(" ", "").endswith(">>hidden?")
    deep = "\n".join("  " * level + f"- item {level}" for level in range(40))
    assert "- item 39" in "\n".join(drawn(prose(deep)))
    assert "item 20" in "\n".join(drawn(prose("\n".join(deep.split("\n")[:21]))))
