"""Any Markdown in any pieces: the same rows as at once, never wider than the screen, nothing a terminal obeys."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from oi_tui.app.engine.core.blocks import ProseBlock
from oi_tui.widgets.timeline.cells import BlockCell
from oi_tui.widgets.timeline.prose import Prose
from oi_tui.widgets.timeline.row_pieces import BlockDisplay, Canvas, Stack

LINES = st.sampled_from(
    r"""
# heading with `code`
Setext :tada: at 12:30:45
===
---

a paragraph of words that is long enough to be wrapped on a narrow screen, with **bold** and *emphasis* and ~~struck~~
- item
- [ ] task
  - [x] nested task
    more of it
3. three
   ```python
   x = '''
   ```
> quote with [a] and [^1]
> > deeper $x_1^2$
```python
def f(x): return x  # 日本語
'''
```
~~~
[a]: https://example.org/a "title"
[a]: /other
[b]:
https://example.org/b
"a title
of two lines"
see [a], [b][a], [text][b] and [^1] and [^note]
[^1]: The first note with [a].
[^note]: Another one.

    with a second paragraph
| a | b | c |
|---|:-:|--:|
| 1 | two words<br>here | https://example.org/x_y |
| 日本語の文章 | | `a \| b` |
| a column | of a table | that | is | too wide for most of the screens that | people | have got |
|---|---|---|---|---|---|---|
$$
\frac{a}{b} = \begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}
$$
$$ x^2 $$
\[ \sum_{i=1}^n i
\]
\begin{align} a &= b \\ c &= d \end{align}
costs $5 and $10, or $x^2 + y^2$ and \(z\) and $$w$$ here
\$5 `$x$` \\(a)
https://example.org/a_(b). <https://example.org> mailto:a@b.c [x](javascript:alert(1)) [y](ftp://e.org)
line with a hard break\
and &amp; &#x202e; entity<br>
<div>html</div>
![picture](https://example.org/p.png)
日本語の文章は、単語の間に空白がありません。「括弧」も（使います）。
👩‍💻 👨‍👩‍👧 é café שלום עולם مرحبا
***
    indented code
\
""".splitlines()
)
ODD = st.sampled_from(
    ["\tx = 1", "\x1b[31mred", "\u202eabc", "a\u200db", "\ud800", "x\r", "\x9b2J", "a hard break  ", ":", "[", "$"]
)
MARKDOWN = st.lists(st.one_of(LINES, LINES, LINES, ODD, st.text(max_size=8)), max_size=16).map("\n".join)
DISPLAYS = st.builds(BlockDisplay, shift=st.sampled_from([0, 0, 7, 60]), numbers=st.booleans())


def strips(cell: BlockCell) -> list[list[object]]:
    return [[*cell.row(y)] for y in range(cell.height)]


@settings(max_examples=300, deadline=None)
@given(MARKDOWN, st.lists(st.integers(0, 400), max_size=8), st.integers(20, 140), st.lists(DISPLAYS, max_size=3))
def test_any_chunking_gives_the_same_strips(
    canvas_of: Callable[[int], Canvas], text: str, cuts: list[int], width: int, displays: list[BlockDisplay]
) -> None:
    canvas = canvas_of(width)
    displays.append(BlockDisplay())
    streamed = BlockCell(ProseBlock(id="p"))
    for number, cut in enumerate(sorted(cut for cut in cuts if cut < len(text))):
        streamed.layout(ProseBlock(id="p", text=text[:cut]), canvas, displays[number % len(displays)])
    whole = ProseBlock(id="p", text=text, state="complete")
    streamed.layout(whole, canvas, displays[-1])
    at_once = BlockCell(whole)
    at_once.layout(whole, canvas, displays[-1])

    assert strips(streamed) == strips(at_once)
    assert streamed.beyond == at_once.beyond


@settings(max_examples=300, deadline=None)
@given(MARKDOWN, st.integers(20, 140), DISPLAYS)
def test_V8_every_strip_is_as_wide_as_the_screen_and_safe(
    canvas_of: Callable[[int], Canvas], text: str, width: int, display: BlockDisplay
) -> None:
    block = ProseBlock(id="p", text=text, state="streaming")
    cell = BlockCell(block)
    for y in range(cell.layout(block, canvas_of(width), display)):
        row = cell.row(y)
        assert row.cell_length == width
        assert sum(cell_len(segment.text) for segment in row) == width
        assert not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", row.text)
        assert 0 <= row.lead <= row.reach <= width


def test_a_definition_redraws_only_what_refers_to_it(canvas_of: Callable[[int], Canvas]) -> None:
    canvas = canvas_of(80)
    content = Prose(ProseBlock(id="p"))
    text = "".join(f"Paragraph {number} with [a{number % 50}] and [^{number % 50}].\n\n" for number in range(500))
    content.update(ProseBlock(id="p", text=text))
    content.pieces(canvas, BlockDisplay())
    before = content.draws
    for number in range(50):
        text += f"[a{number}]: https://example.org/{number}\n[^{number}]: A note.\n\n"
        content.update(ProseBlock(id="p", text=text))
        content.pieces(canvas, BlockDisplay())

    assert 500 <= content.draws - before <= 500 * 2 + 100 + 2
    shown = [Stack(content.pieces(canvas, BlockDisplay())).row(y).text.strip() for y in (0, 1, 2)]
    assert shown == [
        "Paragraph 0 with a0 (https://example.org/0) and ⁰.",
        "",
        "Paragraph 1 with a1 (https://example.org/1) and ¹.",
    ]


def test_moving_sideways_redraws_only_what_is_too_wide(canvas_of: Callable[[int], Canvas]) -> None:
    canvas = canvas_of(40)
    table = "|" + "a column of words|" * 8 + "\n|" + "---|" * 8 + "\n|" + "x|" * 8 + "\n\n"
    content = Prose(ProseBlock(id="p", text="A paragraph.\n\n" * 50 + table + "The end.\n\nReally."))
    content.pieces(canvas, BlockDisplay())
    before = content.draws
    content.pieces(canvas, BlockDisplay(shift=8))

    assert content.draws == before + 1
    assert content.beyond == 8 * 17 + 7 * 3 - canvas.room


def test_a_long_table_streams_row_by_row(canvas_of: Callable[[int], Canvas]) -> None:
    canvas = canvas_of(80)
    content = Prose(ProseBlock(id="p"))
    text = "| name | number |\n|---|--:|\n"
    rows = []
    for number in range(200):
        text += f"| row {number:>4} | {number:>6} |\n"
        content.update(ProseBlock(id="p", text=text))
        _, table = content.pieces(canvas, BlockDisplay())
        rows.append(table.row(0))

    assert all(row is rows[-1] for row in rows[1:])
    assert table.height == 202


@pytest.mark.parametrize(
    "display", [BlockDisplay(numbers=True), BlockDisplay(shift=9), BlockDisplay(shift=30, numbers=True)]
)
@pytest.mark.parametrize("end", ["", "\nThe end.\n\nReally.\n"])
def test_another_display_is_drawn_as_if_it_had_always_been_so(
    canvas_of: Callable[[int], Canvas], display: BlockDisplay, end: str
) -> None:
    canvas = canvas_of(40)
    table = "|" + "a column of words|" * 8 + "\n|" + "---|" * 8 + "\n|" + "x|" * 8 + "\n"
    block = ProseBlock(id="p", text="```python\nx = 1\n```\n\n- item\n\n  ```\n  y\n  ```\n\n" + table + end)
    cell, fresh = BlockCell(block), BlockCell(block)
    cell.layout(block, canvas, BlockDisplay())
    for y in range(cell.height):
        cell.row(y)
    cell.layout(block, canvas, display)
    fresh.layout(block, canvas, display)

    assert strips(cell) == strips(fresh)


def test_a_title_of_two_lines_may_come_in_two_pieces(canvas_of: Callable[[int], Canvas]) -> None:
    text = '[a]: https://example.org/a\n"a title\nof two lines"\n\nsee [a]'
    canvas = canvas_of(60)
    for cut in range(len(text)):
        cell, fresh = BlockCell(ProseBlock(id="p")), BlockCell(ProseBlock(id="p", text=text))
        cell.layout(ProseBlock(id="p", text=text[:cut]), canvas, BlockDisplay())
        cell.layout(ProseBlock(id="p", text=text), canvas, BlockDisplay())
        fresh.layout(ProseBlock(id="p", text=text), canvas, BlockDisplay())
        assert strips(cell) == strips(fresh)
