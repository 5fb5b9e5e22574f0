"""What streaming costs, counted in function calls: the same on every machine, and no clock is asked.

`tests/benchmarks/streaming.py` measures the seconds; here is held that four times the text takes four times the
work, and one block more takes the same however many there are.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import pytest

from oi_tui.app.engine.core.blocks import Block, CodeBlock, ProseBlock
from oi_tui.widgets.timeline.row_pieces import Canvas
from oi_tui.widgets.timeline.viewport import Viewport

CanvasOf = Callable[[int], Canvas]

TOKEN = 4
STEP = 33 * TOKEN
"""Characters between two frames: 1,000 tokens a second at 30 frames a second."""

SHORT, LONG = 2_000, 8_000
"""Tokens."""

PROSE = "Some **prose** with `code`, a [link](https://example.org) and words enough to wrap. " * 3
MIXED = f"## Heading\n\n{PROSE}\n\n- one item\n- another item\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
LINE = "    value = f(1, 'text')  # note\n"


def fenced(size: int) -> str:
    """Prose, then a fence of three quarters, then prose again."""
    fence = "```python\n" + LINE * (size * 3 // 4 // len(LINE)) + "```\n\n"
    part = MIXED * ((size - len(fence)) // 2 // len(MIXED))
    return part + fence + part


def mixed(size: int) -> str:
    """Many small elements."""
    return MIXED * (size // len(MIXED))


def listed(size: int) -> str:
    """One list."""
    item = "1. an item of a long list, with *some* words\n"
    return item * (size // len(item))


def prose(text: str) -> Block:
    """What arrives in an answer."""
    return ProseBlock(id="b", text=text)


def code(text: str) -> Block:
    """What arrives as proposed code."""
    return CodeBlock(id="b", language="python", source=text)


class Work:
    """Function calls, those of C among them."""

    calls = 0

    def note(self, frame: FrameType, event: str, argument: object) -> None:
        """Called by the interpreter."""
        self.calls += event in ("call", "c_call")


@contextmanager
def counted() -> Iterator[Work]:
    """What is called inside."""
    work, before = Work(), sys.getprofile()
    sys.setprofile(work.note)
    try:
        yield work
    finally:
        sys.setprofile(before)


def streamed(canvas: Canvas, text: str, block: Callable[[str], Block]) -> float:
    """Calls for each character of a text that is drawn at its end while it grows."""
    view = Viewport(canvas)
    view.resize(canvas.width, 40)
    with counted() as work:
        for end in range(STEP, len(text) + STEP, STEP):
            view.put(0, block(text[:end]))
            view.to_end()
            assert view.rows()
    return work.calls / len(text)


@pytest.mark.parametrize(
    ("text", "block"),
    [
        pytest.param(fenced, prose, id="an answer with a long fence"),
        pytest.param(mixed, prose, id="an answer of many elements"),
        pytest.param(listed, prose, id="a long list"),
        pytest.param(LINE.__mul__, code, id="code"),
    ],
)
def test_four_times_the_text_is_four_times_the_work(
    canvas_of: CanvasOf, text: Callable[[int], str], block: Callable[[str], Block]
) -> None:
    short, long = SHORT * TOKEN, LONG * TOKEN
    if block is code:
        short, long = short // len(LINE), long // len(LINE)
    streamed(canvas_of(120), text(short // 4), block)  # what is only done once: imports, caches, patterns

    assert streamed(canvas_of(120), text(long), block) < 1.25 * streamed(canvas_of(120), text(short), block)


def test_one_block_more_is_the_same_work_however_many_there_are(canvas_of: CanvasOf) -> None:
    def appended(count: int) -> int:
        view = Viewport(canvas_of(120))
        view.resize(120, 40)
        view.reset([ProseBlock(id=str(number), text=PROSE, state="complete") for number in range(count)])
        view.to_end()
        view.rows()
        with counted() as work:
            view.put(count, ProseBlock(id=str(count), text=PROSE, state="complete"))
            view.to_end()
            view.rows()
        return work.calls

    appended(100)  # what is only done once

    assert appended(20_000) < 1.25 * appended(100)
