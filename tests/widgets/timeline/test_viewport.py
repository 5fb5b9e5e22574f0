"""Heights and the window over them: sums are right, and nothing moves what is read."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from oi_tui.app.engine.core.blocks import Block, CodeBlock, ProseBlock, UserBlock
from oi_tui.widgets.timeline.heights import Heights
from oi_tui.widgets.timeline.row_pieces import Canvas
from oi_tui.widgets.timeline.viewport import Viewport

CanvasOf = Callable[[int], Canvas]


@given(st.lists(st.integers(1, 50), max_size=60), st.lists(st.tuples(st.integers(0, 59), st.integers(1, 50))))
def test_sums_and_searches_agree_with_a_plain_list(heights: list[int], changes: list[tuple[int, int]]) -> None:
    tree = Heights(heights)
    for index, height in changes:
        if index < len(heights):
            tree[index] = heights[index] = height

    assert tree.total == sum(heights)
    assert [tree.before(index) for index in range(len(heights) + 1)] == [
        sum(heights[:index]) for index in range(len(heights) + 1)
    ]
    rows = [(index, inside) for index, height in enumerate(heights) for inside in range(height)]
    assert [tree.find(row) for row in range(len(rows))] == rows
    assert tree.find(len(rows)) == (len(heights), 0)


def block(number: int, lines: int) -> Block:
    match number % 3:
        case 0:
            return UserBlock(id=str(number), text="\n".join(["word"] * lines))
        case 1:
            return ProseBlock(id=str(number), text="\n\n".join(["word " * 9] * lines), state="complete")
        case _:
            return CodeBlock(id=str(number), language="python", source="\n".join(["x = 1"] * lines), state="ok")


ACTIONS = st.one_of(
    st.tuples(st.just("scroll"), st.integers(-60, 60)),
    st.tuples(st.just("jump"), st.integers(0, 400)),
    st.tuples(st.just("put"), st.integers(0, 200)),
    st.tuples(st.just("resize"), st.integers(1, 60)),
    st.tuples(st.just("show"), st.integers(0, 100)),
    st.tuples(st.just("end"), st.just(0)),
)


@given(st.lists(st.integers(1, 12), min_size=1, max_size=12), st.lists(ACTIONS, max_size=12))
def test_whatever_happens_the_window_shows_consecutive_rows_and_no_gap(
    canvas_of: CanvasOf, lines: list[int], actions: list[tuple[str, int]]
) -> None:
    view = Viewport(canvas_of(40))
    view.reset([block(number, count) for number, count in enumerate(lines)])
    view.resize(40, 10)
    for action, number in actions:
        match action:
            case "scroll":
                view.scroll(number)
            case "jump":
                view.jump(number)
            case "put":
                index = number % (len(view.blocks) + 1)
                view.put(index, block(index, number % 7 + 1))
            case "resize":
                view.resize(number + 4, number % 30 + 1)
            case "show":
                view.show(number % len(view.blocks))
            case _:
                view.to_end()
        rows = view.rows()
        keys = [(row.item, row.inside) for row in rows]
        everything = [(index, inside) for index in range(len(view.blocks)) for inside in range(view.cell(index).height)]
        start = everything.index(keys[0])
        assert keys == everything[start : start + view.height]


@given(st.lists(st.integers(1, 12), min_size=4, max_size=12), st.integers(0, 2), st.integers(1, 40))
def test_V3_what_changes_above_moves_nothing(canvas_of: CanvasOf, lines: list[int], above: int, taller: int) -> None:
    view = Viewport(canvas_of(40))
    view.reset([block(number, count) for number, count in enumerate(lines)])
    view.resize(40, 5)
    view.top = (3, 0)
    before = [(row.item, row.inside) for row in view.rows()]

    view.put(above, block(above, taller))

    assert [(row.item, row.inside) for row in view.rows()] == before
